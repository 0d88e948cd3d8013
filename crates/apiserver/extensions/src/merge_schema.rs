//! The merge schema of a definition's schema: which lists are sets or maps, which objects are atomic, and which fields are
//! declared. Guarantees kube-apiserver's interpretation of `x-kubernetes-*` keywords. Used by apply and managed fields; objects
//! are never decoded with it.

use crate::json_schema::{JsonSchema, SchemaOrBool};
use crate::metadata_schema::metadata_schema;
use pintle_schema::{
    Field, FieldDefault, Form, Keys, List, ListKind, MapType, Presence, Ref, Slice, Struct, Text, Type,
};
use std::sync::Arc;

/// The merge schema of the objects of a version, with fields that its schema does not know if these are kept.
pub fn of_object(schema: &JsonSchema, keeps_unknown: bool) -> Struct {
    Struct { atomic: false, ..object(schema, keeps_unknown || schema.preserves_unknown(), true) }
}

/// The merge schema of objects of which no schema tells anything: values are what they look like, and lists are atomic, in their metadata
/// too.
pub fn of_anything() -> Struct {
    of_fields(Vec::new(), true)
}

/// A field with only its JSON name and type.
pub(crate) fn field(name: Text, ty: Type) -> Field {
    Field {
        name,
        proto: 0,
        ty,
        presence: Presence::OmitEmpty,
        inline: false,
        optional: true,
        required: false,
        nullable: false,
        default: None,
        doc: Text::Static(""),
        patch_strategy: "",
        patch_merge_key: "",
        atomic: None,
        gates: &[],
        rules: Slice::Static(&[]),
    }
}

/// The fields that every object has.
pub(crate) fn meta_fields() -> [Field; 3] {
    [
        field(Text::Static("apiVersion"), Type::String),
        field(Text::Static("kind"), Type::String),
        field(Text::Static("metadata"), Type::Struct(Ref::Static(metadata_schema))),
    ]
}

/// A struct of these fields, which are in the order of their names.
fn of_fields(fields: Vec<Field>, preserve_unknown: bool) -> Struct {
    // Fields beyond the limit are not distinguished.
    let fields = if u16::try_from(fields.len()).is_ok() { fields } else { Vec::new() };
    let by_name: Vec<u16> = (0..).take(fields.len()).collect();
    Struct {
        name: Text::Static(""),
        module: Text::Static(""),
        doc: Text::Static(""),
        fields: Slice::Shared(fields.into()),
        by_name: Slice::Shared(by_name.into()),
        atomic: false,
        form: Form::Plain,
        rules: Slice::Static(&[]),
        union: None,
        preserve_unknown,
        compiled: Default::default(),
    }
}

/// An object with declared fields. `preserves` is inherited: below a schema that keeps unknown fields all are accepted.
fn object(schema: &JsonSchema, preserves: bool, is_object: bool) -> Struct {
    let mut fields: Vec<Field> = Vec::with_capacity(schema.properties.len() + 3);
    if is_object {
        fields.extend(meta_fields());
    }
    let is_new = |name: &str| !is_object || !crate::object::META_FIELDS.contains(&name);
    for (name, property) in schema.properties.iter().filter(|(name, _)| is_new(name)) {
        let mut field = field(Text::Shared(Arc::from(name.as_str())), type_of(property, preserves));
        field.default = property.default.clone().map(|default| FieldDefault::Value(Arc::new(default)));
        field.atomic = is_atomic(property);
        fields.push(field);
    }
    fields.sort_by(|a, b| a.name.as_str().cmp(b.name.as_str()));
    of_fields(fields, preserves)
}

/// The value of `x-kubernetes-map-type`.
fn is_atomic(schema: &JsonSchema) -> Option<bool> {
    match schema.map_type.as_deref() {
        Some("atomic") => Some(true),
        Some("granular") => Some(false),
        _ => None,
    }
}

fn type_of(schema: &JsonSchema, preserves: bool) -> Type {
    let preserves = preserves || schema.preserves_unknown();
    match schema.kind.as_str() {
        "object" => object_type(schema, preserves),
        "array" => Type::List(Ref::Shared(Arc::new(list(schema, preserves)))),
        "integer" => Type::Int64,
        "number" => Type::Float64,
        "boolean" => Type::Bool,
        "string" if matches!(schema.format.as_str(), "" | "byte") => Type::String,
        // kube-apiserver compares no other format as text.
        "string" => Type::Time,
        _ => Type::Any,
    }
}

fn object_type(schema: &JsonSchema, preserves: bool) -> Type {
    match &schema.additional_properties {
        Some(SchemaOrBool::Schema(additional)) if schema.properties.is_empty() && !schema.embedded_resource => {
            Type::Map(Ref::Shared(Arc::new(MapType { elem: element(additional, preserves) })))
        }
        Some(SchemaOrBool::Bool(true)) if schema.properties.is_empty() && !schema.embedded_resource => {
            Type::Map(Ref::Shared(Arc::new(MapType { elem: Type::Any })))
        }
        _ => Type::Struct(Ref::Shared(Arc::new(object(schema, preserves, schema.embedded_resource)))),
    }
}

fn list(schema: &JsonSchema, preserves: bool) -> List {
    let kind = match schema.list_type.as_deref() {
        Some("set") => ListKind::Set,
        Some("map") => {
            ListKind::Map(Keys::Shared(schema.list_map_keys.iter().map(|key| Arc::from(key.as_str())).collect()))
        }
        _ => ListKind::Atomic,
    };
    let elem = schema.item().map_or(Type::RawExtension, |item| element(item, preserves));
    List { elem, kind, declared: true }
}

/// The type of items and map values. If it has a map type it is wrapped, since only fields have one.
fn element(schema: &JsonSchema, preserves: bool) -> Type {
    let ty = type_of(schema, preserves);
    let Some(atomic) = is_atomic(schema) else { return ty };
    let mut only = field(Text::Static(""), ty);
    only.atomic = Some(atomic);
    Type::Struct(Ref::Shared(Arc::new(Struct { form: Form::Wrapper, ..of_fields(vec![only], false) })))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_apply::typed::fields_of;
    use pintle_schema::{Value, value};

    fn fields(schema: Value, spec: Value) -> Result<String, String> {
        let schema = value!({"type": "object", "properties": {"spec": (schema)}});
        let merge_schema = of_object(&JsonSchema::from_value(&schema), false);
        let set =
            fields_of(&merge_schema, &value!({"kind": "K", "spec": (spec)})).map_err(|error| error.to_string())?;
        let json = pintle_codec::json::to_string(&set.to_v1());
        Ok(json
            .strip_prefix("{\"f:kind\":{},\"f:spec\":")
            .and_then(|rest| rest.strip_suffix('}'))
            .unwrap_or(&json)
            .to_owned())
    }

    #[test]
    fn keywords_say_who_owns_what() {
        let of = |ty: Value| value!({"type": "object", "properties": {"f": (ty)}});
        let text = || value!({"type": "string"});
        let keyed = |extra: Value| {
            let mut list = value!({"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": {"type": "object", "properties": {"k": {"type": "string", "default": "d"}, "v": (extra)}}});
            list.set_at(&["description"], "");
            list
        };
        let rows = [
            (of(text()), value!({"f": "x"}), "{\"f:f\":{}}"),
            (of(value!({"type": "array", "items": (text())})), value!({"f": ["a"]}), "{\"f:f\":{}}"),
            (
                of(value!({"type": "array", "x-kubernetes-list-type": "set", "items": (text())})),
                value!({"f": ["a"]}),
                "{\"f:f\":{\"v:\\\"a\\\"\":{}}}",
            ),
            (
                of(keyed(text())),
                value!({"f": [{"v": "x"}]}),
                "{\"f:f\":{\"k:{\\\"k\\\":\\\"d\\\"}\":{\".\":{},\"f:v\":{}}}}",
            ),
            (
                of(value!({"type": "object", "x-kubernetes-map-type": "atomic", "properties": {"a": (text())}})),
                value!({"f": {"a": "x"}}),
                "{\"f:f\":{}}",
            ),
            (
                of(
                    value!({"type": "object", "additionalProperties": {"type": "object", "x-kubernetes-map-type": "atomic",
                    "properties": {"a": (text())}}}),
                ),
                value!({"f": {"k": {"a": "x"}}}),
                "{\"f:f\":{\"f:k\":{}}}",
            ),
            (
                of(value!({"type": "object"})),
                value!({"f": {"k": {"a": "x"}}}),
                "{\"f:f\":{\"f:k\":{\".\":{},\"f:a\":{}}}}",
            ),
            (of(value!({"x-kubernetes-int-or-string": true})), value!({"f": 1}), "{\"f:f\":{}}"),
        ];
        for (schema, spec, expected) in rows {
            assert_eq!(fields(schema.clone(), spec), Ok(expected.to_owned()), "{schema:?}");
        }
        let undeclared = fields(of(text()), value!({"g": 1}));
        assert!(undeclared.is_err(), "{undeclared:?}");
        let mut open = of(value!({"type": "object", "properties": {"a": (text())}}));
        open.set_at(&["x-kubernetes-preserve-unknown-fields"], true);
        assert!(fields(open, value!({"f": {"b": 1}, "g": 1})).is_ok(), "what is kept is accepted, at any depth");
    }
}
