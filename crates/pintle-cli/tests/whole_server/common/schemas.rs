//! Schemas built at run time. Must never know a kind.

use pintle_schema::{Field, FieldDefault, Form, Presence, Slice, Struct, Text, Type, Value};
use std::sync::Arc;

/// An optional field that is left out when it is empty.
pub fn field(name: &str, ty: Type, default: Option<Value>) -> Field {
    Field {
        name: Text::Shared(name.into()),
        proto: 0,
        ty,
        presence: Presence::OmitEmpty,
        inline: false,
        optional: true,
        required: false,
        nullable: false,
        default: default.map(|value| FieldDefault::Value(Arc::new(value))),
        doc: Text::Shared("A field.".into()),
        patch_strategy: "",
        patch_merge_key: "",
        atomic: None,
        gates: &[],
        rules: Slice::Static(&[]),
    }
}

/// A struct of these fields.
pub fn object(name: &str, fields: Vec<Field>) -> Struct {
    let mut by_name: Vec<u16> = (0..fields.len() as u16).collect();
    by_name.sort_by_key(|at| fields[usize::from(*at)].name.to_string());
    Struct {
        name: Text::Shared(name.into()),
        module: Text::Shared("".into()),
        doc: Text::Shared("Something to frob.".into()),
        by_name: Slice::Shared(by_name.into()),
        fields: Slice::Shared(fields.into()),
        atomic: false,
        form: Form::Plain,
        rules: Slice::Static(&[]),
        union: None,
        preserve_unknown: false,
        compiled: Default::default(),
    }
}
