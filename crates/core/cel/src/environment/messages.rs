//! Types that have names of their own: standard types, protobuf's well-known messages, objects of mutations.

use crate::types::Type;
use pintle_schema::Str;
use std::sync::Arc;

fn wrapper(inner: Type) -> Type {
    Type::Wrapper(Arc::new(inner))
}

/// The type that a name is.
pub(super) fn named_type(name: &str) -> Option<Type> {
    Some(match name {
        "bool" => Type::Bool,
        "bytes" => Type::Bytes,
        "double" => Type::Double,
        "int" => Type::Int,
        "list" => Type::list(Type::param("A")),
        "map" => Type::map(Type::param("A"), Type::param("B")),
        "null_type" => Type::Null,
        "string" => Type::String,
        "type" => Type::Type(None),
        "uint" => Type::Uint,
        "optional_type" => Type::optional(Type::param("V")),
        "net.IP" => Type::opaque("net.IP"),
        "net.CIDR" => Type::opaque("net.CIDR"),
        "google.protobuf.Any" => Type::Any,
        "google.protobuf.BoolValue" => wrapper(Type::Bool),
        "google.protobuf.BytesValue" => wrapper(Type::Bytes),
        "google.protobuf.DoubleValue" | "google.protobuf.FloatValue" => wrapper(Type::Double),
        "google.protobuf.Duration" => Type::Duration,
        "google.protobuf.Int32Value" | "google.protobuf.Int64Value" => wrapper(Type::Int),
        "google.protobuf.ListValue" => Type::list(Type::Dyn),
        "google.protobuf.StringValue" => wrapper(Type::String),
        "google.protobuf.Struct" => Type::map(Type::String, Type::Dyn),
        "google.protobuf.Timestamp" => Type::Timestamp,
        "google.protobuf.UInt32Value" | "google.protobuf.UInt64Value" => wrapper(Type::Uint),
        "google.protobuf.Value" => Type::Dyn,
        "google.protobuf.Empty" => Type::object("google.protobuf.Empty"),
        _ => return None,
    })
}

/// The message that a type is, as it is made by its name.
pub(super) fn well_known_name(ty: &Type) -> Option<&'static str> {
    Some(match ty {
        Type::Any => "google.protobuf.Any",
        Type::Timestamp => "google.protobuf.Timestamp",
        Type::Duration => "google.protobuf.Duration",
        Type::Dyn => "google.protobuf.Value",
        Type::Null => "google.protobuf.NullValue",
        Type::List(element) if **element == Type::Dyn => "google.protobuf.ListValue",
        Type::Map(entry) if **entry == (Type::String, Type::Dyn) => "google.protobuf.Struct",
        Type::Wrapper(inner) => match **inner {
            Type::Bool => "google.protobuf.BoolValue",
            Type::Bytes => "google.protobuf.BytesValue",
            Type::Double => "google.protobuf.DoubleValue",
            Type::Int => "google.protobuf.Int64Value",
            Type::String => "google.protobuf.StringValue",
            Type::Uint => "google.protobuf.UInt64Value",
            _ => return None,
        },
        _ => return None,
    })
}

/// The fields of a well-known message.
pub(super) fn fields(name: &str) -> Option<Vec<(&'static str, Type)>> {
    let value = |ty: Type| vec![("value", ty)];
    Some(match name {
        "google.protobuf.Timestamp" | "google.protobuf.Duration" => vec![("seconds", Type::Int), ("nanos", Type::Int)],
        "google.protobuf.BoolValue" => value(Type::Bool),
        "google.protobuf.BytesValue" => value(Type::Bytes),
        "google.protobuf.DoubleValue" => value(Type::Double),
        "google.protobuf.Int64Value" => value(Type::Int),
        "google.protobuf.StringValue" => value(Type::String),
        "google.protobuf.UInt64Value" => value(Type::Uint),
        "google.protobuf.Any" => vec![("type_url", Type::String), ("value", Type::Bytes)],
        "google.protobuf.Struct" => vec![("fields", Type::map(Type::String, Type::Dyn))],
        "google.protobuf.ListValue" => vec![("values", Type::list(Type::Dyn))],
        "google.protobuf.Empty" => Vec::new(),
        "google.protobuf.Value" => vec![
            ("null_value", Type::Int),
            ("number_value", Type::Double),
            ("string_value", Type::String),
            ("bool_value", Type::Bool),
            ("struct_value", Type::map(Type::String, Type::Dyn)),
            ("list_value", Type::list(Type::Dyn)),
        ],
        _ => return None,
    })
}

/// Whether a mutation can make an object of the name.
pub(super) fn is_mutation(name: &str) -> bool {
    name == "Object" || name == "JSONPatch" || name.starts_with("Object.")
}

/// The type of a field of an object that a mutation makes.
pub(super) fn mutation_field(name: &str, field: &str) -> Option<Type> {
    match (name, field) {
        ("JSONPatch", "op" | "from" | "path") => Some(Type::String),
        ("JSONPatch", "value") => Some(Type::Dyn),
        ("JSONPatch", _) => None,
        _ => Some(Type::Struct(Str::from(format!("{name}.{field}")))).map(|_| Type::Dyn),
    }
}
