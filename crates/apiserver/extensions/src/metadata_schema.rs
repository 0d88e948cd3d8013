//! The schema of the metadata of custom resources: that of all objects, in the order of field names.
//! Guarantees the same fields, types and tags as those of `ObjectMeta`.
//! Must never be used for objects of built-in kinds, whose fields are in the order of their declaration.

use pintle_meta::meta::v1::ObjectMeta;
use pintle_schema::{ApiType, Field, Form, List, Ref, Slice, Struct, Type};
use std::sync::{Arc, LazyLock};

static METADATA: LazyLock<Struct> = LazyLock::new(|| sorted(ObjectMeta::schema()));

/// `ObjectMeta` with its fields, and those of the structs in it, in the order of their names.
pub(crate) fn metadata_schema() -> &'static Struct {
    &METADATA
}

fn sorted(of: &Struct) -> Struct {
    let mut fields: Vec<Field> =
        of.fields.iter().map(|field| Field { ty: sorted_type(&field.ty), ..field.clone() }).collect();
    fields.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    let by_name: Vec<u16> = (0..).take(fields.len()).collect();
    Struct {
        name: of.name.clone(),
        module: of.module.clone(),
        doc: of.doc.clone(),
        fields: Slice::Shared(fields.into()),
        by_name: Slice::Shared(by_name.into()),
        atomic: of.atomic,
        form: of.form,
        rules: of.rules.clone(),
        union: of.union,
        preserve_unknown: of.preserve_unknown,
        compiled: Default::default(),
    }
}

fn sorted_type(ty: &Type) -> Type {
    match ty {
        Type::Struct(schema) if schema.form == Form::Plain => Type::Struct(Ref::Shared(Arc::new(sorted(schema)))),
        Type::List(list) => {
            let List { elem, kind, declared } = &**list;
            Type::List(Ref::Shared(Arc::new(List { elem: sorted_type(elem), kind: kind.clone(), declared: *declared })))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{canonicalize, value};

    #[test]
    fn metadata_have_the_order_of_names_at_every_depth() {
        let mut metadata = value!({
            "name": "a", "uid": "u", "labels": {"b": "1", "a": "2"}, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"uid": "o", "name": "n", "kind": "K", "controller": true, "apiVersion": "v1"}],
            "managedFields": [{"manager": "m", "operation": "Update", "time": "2026-01-01T00:00:00Z", "apiVersion": "v1"}]
        });
        canonicalize(metadata_schema(), &mut metadata);
        let expected = r#"{"creationTimestamp":"2026-01-01T00:00:00Z","labels":{"a":"2","b":"1"},"#.to_owned()
            + r#""managedFields":[{"apiVersion":"v1","manager":"m","operation":"Update","time":"2026-01-01T00:00:00Z"}],"#
            + r#""name":"a","ownerReferences":[{"apiVersion":"v1","controller":true,"kind":"K","name":"n","uid":"o"}],"uid":"u"}"#;
        assert_eq!(pintle_codec::json::to_string(&metadata), expected);
        assert_eq!(metadata_schema().fields.len(), ObjectMeta::schema().fields.len());
    }
}
