//! Declarations of OpenAPI schemas, as structural schemas have them.

use super::{Decl, Field, Fields, Items, ListKind, MAX_REQUEST_BYTES, Shape, escape};
use crate::types::Type;
use pintle_schema::{Map, Str, Value};
use std::sync::Arc;

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool).unwrap_or(false)
}

fn bound(schema: &Value, key: &str) -> Option<u64> {
    match schema.get(key)? {
        Value::Int(i) => Some(u64::try_from(*i).unwrap_or(0)),
        Value::Float(d) => Some(*d as u64),
        _ => None,
    }
}

fn decl(shape: Shape, ty: Option<Type>, max_elements: Option<u64>, min_bytes: u64) -> Decl {
    Decl { shape, nullable: false, ty, max_elements, min_bytes }
}

/// The declaration of a schema whose objects are named after `name`.
pub(super) fn declare(schema: &Value, is_root: bool, name: &str) -> Decl {
    let mut declared = declare_any(schema, is_root || is_embedded(schema), name);
    declared.nullable = flag(schema, "nullable");
    declared
}

fn declare_any(schema: &Value, is_root: bool, name: &str) -> Decl {
    if flag(schema, "x-kubernetes-int-or-string") {
        let longest = bound(schema, "maxLength").map_or(MAX_REQUEST_BYTES - 2, |length| length.saturating_mul(4));
        return decl(Shape::IntOrString, Some(Type::Dyn), Some(longest), 1);
    }
    match schema.str_at(&["type"]) {
        "array" => declare_list(schema, name),
        "object" => declare_object(schema, is_root, name),
        "string" => declare_string(schema),
        "boolean" => decl(Shape::Bool, Some(Type::Bool), None, 4),
        "number" => decl(Shape::Double, Some(Type::Double), None, 1),
        "integer" => decl(Shape::Int, Some(Type::Int), None, 1),
        _ if is_root => declare_object(schema, is_root, name),
        _ => decl(Shape::Preserved, None, None, 0),
    }
}

fn is_embedded(schema: &Value) -> bool {
    flag(schema, "x-kubernetes-embedded-resource")
}

fn declare_list(schema: &Value, name: &str) -> Decl {
    let Some(items) = schema.get("items").filter(|items| items.as_map().is_some()) else {
        return decl(Shape::Preserved, None, None, 0);
    };
    let items = declare(items, false, &format!("{name}.@idx"));
    let kind = match schema.str_at(&["x-kubernetes-list-type"]) {
        "set" => ListKind::Set,
        "map" => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_list).unwrap_or(&[]);
            ListKind::Map(keys.iter().filter_map(|key| key.as_str().map(Str::new)).collect())
        }
        _ => ListKind::Atomic,
    };
    let longest = bound(schema, "maxItems").unwrap_or((MAX_REQUEST_BYTES - 2) / (items.min_bytes + 1));
    let ty = items.ty.clone().map(Type::list);
    decl(Shape::List(Items::new(Arc::new(items), kind)), ty, Some(longest), 2)
}

fn declare_object(schema: &Value, is_root: bool, name: &str) -> Decl {
    let properties = schema.get("properties").and_then(Value::as_map);
    if let Some(values) = schema.get("additionalProperties").filter(|values| values.as_map().is_some())
        && properties.is_none_or(Map::is_empty)
    {
        let values = declare(values, false, &format!("{name}.@elem"));
        let longest = bound(schema, "maxProperties").unwrap_or((MAX_REQUEST_BYTES - 2) / (values.min_bytes + 6));
        let ty = values.ty.clone().map(|ty| Type::map(Type::String, ty));
        return decl(Shape::Map { values: Arc::new(values) }, ty, Some(longest), 2);
    }
    let required: Vec<&str> =
        schema.get("required").and_then(Value::as_list).unwrap_or(&[]).iter().filter_map(Value::as_str).collect();
    let mut min_bytes = 2;
    let mut fields = Vec::new();
    let with_meta;
    let properties = match properties {
        properties if is_root => {
            with_meta = with_type_and_meta(properties);
            Some(&with_meta)
        }
        properties => properties,
    };
    for (property, schema) in properties.into_iter().flat_map(Map::iter) {
        let escaped = escape(property).map(Str::from);
        let shown = escaped.as_deref().unwrap_or(property);
        let field = declare(schema, false, &format!("{name}.{shown}"));
        if field.ty.is_some() && required.contains(&property.as_str()) && schema.get("default").is_none() {
            min_bytes += property.len() as u64 + field.min_bytes + 4;
        }
        fields.push(Field { name: property.clone(), escaped, decl: Arc::new(field) });
    }
    decl(Shape::Object { fields: Fields::new(fields) }, Some(Type::Struct(Str::new(name))), None, min_bytes)
}

/// What is readable of every resource: apiVersion, kind, metadata.name and metadata.generateName.
fn with_type_and_meta(properties: Option<&Map>) -> Map {
    let mut all = properties.cloned().unwrap_or_default();
    let is = |map: &Map, name: &str, ty: &str| map.get(name).is_some_and(|schema| schema.str_at(&["type"]) == ty);
    let metadata = all.get("metadata").and_then(|metadata| metadata.get("properties")).and_then(Value::as_map);
    let complete = is(&all, "kind", "string")
        && is(&all, "apiVersion", "string")
        && is(&all, "metadata", "object")
        && metadata.is_some_and(|fields| is(fields, "name", "string") && is(fields, "generateName", "string"));
    if complete {
        return all;
    }
    let string = || pintle_schema::value!({"type": "string"});
    all.set("kind", string());
    all.set("apiVersion", string());
    let mut meta = Map::new();
    meta.set("name", string());
    meta.set("generateName", string());
    let mut schema = pintle_schema::value!({"type": "object"});
    schema.make_map().set("properties", meta);
    all.set("metadata", schema);
    all
}

fn declare_string(schema: &Value) -> Decl {
    let longest = bound(schema, "maxLength");
    match schema.str_at(&["format"]) {
        "byte" => {
            let longest = longest.unwrap_or(MAX_REQUEST_BYTES - 2);
            decl(Shape::Bytes, Some(Type::Bytes), Some(longest), 2)
        }
        "duration" => decl(Shape::Duration, Some(Type::Duration), Some(32), 3),
        "date" => decl(Shape::Date, Some(Type::Timestamp), Some(12), 12),
        "date-time" => decl(Shape::DateTime, Some(Type::Timestamp), Some(32), 21),
        _ => {
            let named = schema.get("enum").and_then(Value::as_list).unwrap_or(&[]);
            let longest = match longest {
                Some(length) => length.saturating_mul(4),
                None if !named.is_empty() => {
                    named.iter().filter_map(|value| value.as_str().map(str::len)).max().unwrap_or(0) as u64
                }
                None => MAX_REQUEST_BYTES - 2,
            };
            decl(Shape::String, Some(Type::String), Some(longest), 2)
        }
    }
}
