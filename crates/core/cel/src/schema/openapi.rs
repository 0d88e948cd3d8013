//! Declarations of OpenAPI schemas, as structural schemas have them.
//!
//! What a schema states is read through `OpenApi`, so that schemas in JSON and parsed ones are declared in the same way.

use super::{Decl, Field, Fields, Items, ListKind, MAX_REQUEST_BYTES, Shape, escape};
use crate::types::Type;
use pintle_schema::{Str, Value};
use std::sync::Arc;

/// A schema whose values expressions read.
pub trait OpenApi: Sized {
    /// `type`; "" when it is not stated.
    fn kind(&self) -> &str;
    /// `format`; "" when it is not stated.
    fn format(&self) -> &str;
    fn is_nullable(&self) -> bool;
    fn is_int_or_string(&self) -> bool;
    /// Whether it is the schema of a whole object, whose name and kind are readable.
    fn is_embedded(&self) -> bool;
    fn has_default(&self) -> bool;
    fn max_length(&self) -> Option<u64>;
    fn max_items(&self) -> Option<u64>;
    fn max_properties(&self) -> Option<u64>;
    /// The bytes of the longest string of `enum`; `None` without an `enum`.
    fn longest_of_enum(&self) -> Option<u64>;
    fn requires(&self, property: &str) -> bool;
    /// `x-kubernetes-list-type`; "" when it is not stated.
    fn list_type(&self) -> &str;
    fn list_map_keys(&self) -> Vec<Str>;
    /// The schema of all items.
    fn items(&self) -> Option<&Self>;
    /// The schema of all properties that are not named.
    fn additional(&self) -> Option<&Self>;
    fn property(&self, name: &str) -> Option<&Self>;
    /// Calls a function with each property that is named.
    fn each_property<'s>(&'s self, each: &mut dyn FnMut(&Str, &'s Self));
}

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

fn list<'s>(schema: &'s Value, key: &str) -> &'s [Value] {
    schema.get(key).and_then(Value::as_list).unwrap_or(&[])
}

impl OpenApi for Value {
    fn kind(&self) -> &str {
        self.str_at(&["type"])
    }

    fn format(&self) -> &str {
        self.str_at(&["format"])
    }

    fn is_nullable(&self) -> bool {
        flag(self, "nullable")
    }

    fn is_int_or_string(&self) -> bool {
        flag(self, "x-kubernetes-int-or-string")
    }

    fn is_embedded(&self) -> bool {
        flag(self, "x-kubernetes-embedded-resource")
    }

    fn has_default(&self) -> bool {
        self.get("default").is_some()
    }

    fn max_length(&self) -> Option<u64> {
        bound(self, "maxLength")
    }

    fn max_items(&self) -> Option<u64> {
        bound(self, "maxItems")
    }

    fn max_properties(&self) -> Option<u64> {
        bound(self, "maxProperties")
    }

    fn longest_of_enum(&self) -> Option<u64> {
        let named = list(self, "enum");
        let longest = || named.iter().filter_map(|value| value.as_str().map(str::len)).max().unwrap_or(0);
        (!named.is_empty()).then(|| longest() as u64)
    }

    fn requires(&self, property: &str) -> bool {
        list(self, "required").iter().any(|name| name.as_str() == Some(property))
    }

    fn list_type(&self) -> &str {
        self.str_at(&["x-kubernetes-list-type"])
    }

    fn list_map_keys(&self) -> Vec<Str> {
        list(self, "x-kubernetes-list-map-keys").iter().filter_map(|key| key.as_str().map(Str::new)).collect()
    }

    fn items(&self) -> Option<&Self> {
        self.get("items").filter(|items| items.as_map().is_some())
    }

    fn additional(&self) -> Option<&Self> {
        self.get("additionalProperties").filter(|values| values.as_map().is_some())
    }

    fn property(&self, name: &str) -> Option<&Self> {
        self.get("properties")?.get(name)
    }

    fn each_property<'s>(&'s self, each: &mut dyn FnMut(&Str, &'s Self)) {
        let properties = self.get("properties").and_then(Value::as_map);
        properties.into_iter().flat_map(|map| map.iter()).for_each(|(name, schema)| each(name, schema));
    }
}

fn decl(shape: Shape, ty: Option<Type>, max_elements: Option<u64>, min_bytes: u64) -> Decl {
    Decl { shape, nullable: false, ty, max_elements, min_bytes }
}

/// The declaration of a schema whose objects are named after `name`.
pub(super) fn declare<S: OpenApi>(schema: &S, is_root: bool, name: &str) -> Decl {
    let mut declared = declare_any(schema, is_root || schema.is_embedded(), name);
    declared.nullable = schema.is_nullable();
    declared
}

fn declare_any<S: OpenApi>(schema: &S, is_root: bool, name: &str) -> Decl {
    if schema.is_int_or_string() {
        let longest = schema.max_length().map_or(MAX_REQUEST_BYTES - 2, |length| length.saturating_mul(4));
        return decl(Shape::IntOrString, Some(Type::Dyn), Some(longest), 1);
    }
    match schema.kind() {
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

fn declare_list<S: OpenApi>(schema: &S, name: &str) -> Decl {
    let Some(items) = schema.items() else {
        return decl(Shape::Preserved, None, None, 0);
    };
    let items = declare(items, false, &format!("{name}.{ITEMS}"));
    let kind = match schema.list_type() {
        "set" => ListKind::Set,
        "map" => ListKind::Map(schema.list_map_keys()),
        _ => ListKind::Atomic,
    };
    let longest = schema.max_items().unwrap_or((MAX_REQUEST_BYTES - 2) / (items.min_bytes + 1));
    let ty = items.ty.clone().map(Type::list);
    decl(Shape::List(Items::new(Arc::new(items), kind)), ty, Some(longest), 2)
}

/// The step of a type's name to the elements of a list, and that to the values of a map.
pub(crate) const ITEMS: &str = "@idx";
pub(crate) const VALUES: &str = "@elem";

fn declare_object<S: OpenApi>(schema: &S, is_root: bool, name: &str) -> Decl {
    let mut is_plain = true;
    schema.each_property(&mut |_, _| is_plain = false);
    if let Some(values) = schema.additional().filter(|_| is_plain) {
        let values = declare(values, false, &format!("{name}.{VALUES}"));
        let longest = schema.max_properties().unwrap_or((MAX_REQUEST_BYTES - 2) / (values.min_bytes + 6));
        let ty = values.ty.clone().map(|ty| Type::map(Type::String, ty));
        return decl(Shape::Map { values: Arc::new(values) }, ty, Some(longest), 2);
    }
    let mut min_bytes = 2;
    let mut fields = Vec::new();
    let mut add = |property: &Str, field: Decl, escaped: Option<Str>, has_default: bool| {
        if field.ty.is_some() && schema.requires(property) && !has_default {
            min_bytes += property.len() as u64 + field.min_bytes + 4;
        }
        fields.push(Field { name: property.clone(), escaped, decl: Arc::new(field) });
    };
    let adds_meta = is_root && !has_type_and_meta(schema);
    schema.each_property(&mut |property, of| {
        if adds_meta && META_FIELDS.contains(&property.as_str()) {
            return;
        }
        let escaped = escape(property).map(Str::from);
        let field = declare(of, false, &format!("{name}.{}", escaped.as_deref().unwrap_or(property)));
        add(property, field, escaped, of.has_default());
    });
    if adds_meta {
        let string = || decl(Shape::String, Some(Type::String), Some(MAX_REQUEST_BYTES - 2), 2);
        let field = |name: &'static str, decl| Field {
            name: Str::new_static(name),
            escaped: Some(Str::new_static(name)),
            decl: Arc::new(decl),
        };
        let names = Fields::new(vec![field("name", string()), field("generateName", string())]);
        let metadata =
            decl(Shape::Object { fields: names }, Some(Type::Struct(format!("{name}.metadata").into())), None, 2);
        for (property, of) in META_FIELDS.into_iter().zip([string(), string(), metadata]) {
            let property = Str::new_static(property);
            add(&property, of, Some(property.clone()), false);
        }
    }
    decl(Shape::Object { fields: Fields::new(fields) }, Some(Type::Struct(Str::new(name))), None, min_bytes)
}

/// What is readable of every resource, of `metadata` its `name` and `generateName`.
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Whether a schema states all that is readable of every resource.
fn has_type_and_meta<S: OpenApi>(schema: &S) -> bool {
    let is = |of: &S, name: &str, kind: &str| of.property(name).is_some_and(|property| property.kind() == kind);
    is(schema, "kind", "string")
        && is(schema, "apiVersion", "string")
        && is(schema, "metadata", "object")
        && schema
            .property("metadata")
            .is_some_and(|metadata| is(metadata, "name", "string") && is(metadata, "generateName", "string"))
}

fn declare_string<S: OpenApi>(schema: &S) -> Decl {
    let longest = schema.max_length();
    match schema.format() {
        "byte" => {
            let longest = longest.unwrap_or(MAX_REQUEST_BYTES - 2);
            decl(Shape::Bytes, Some(Type::Bytes), Some(longest), 2)
        }
        "duration" => decl(Shape::Duration, Some(Type::Duration), Some(32), 3),
        "date" => decl(Shape::Date, Some(Type::Timestamp), Some(12), 12),
        "date-time" => decl(Shape::DateTime, Some(Type::Timestamp), Some(32), 21),
        _ => {
            let longest = match longest {
                Some(length) => length.saturating_mul(4),
                None => schema.longest_of_enum().unwrap_or(MAX_REQUEST_BYTES - 2),
            };
            decl(Shape::String, Some(Type::String), Some(longest), 2)
        }
    }
}
