//! Objects under the schema of a definition: defaults, dropped nulls, and checks of lists and embedded objects.
//!
//! Recursion ends with the value, whose depth the decoder bounds.

use crate::json_schema::JsonSchema;
use pintle_schema::{Map, Str, Value, names};
use pintle_validation::{ErrorList, FieldPath, metadata};
use std::collections::HashMap;

/// The fields that every object has.
pub(crate) const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Whether null means absence under a schema.
fn is_absent(value: &Value, schema: &JsonSchema) -> bool {
    value.is_null() && !schema.nullable
}

/// Drops nulls that mean absence and that no default replaces.
pub fn drop_nulls(value: &mut Value, schema: Option<&JsonSchema>) {
    match value {
        Value::Map(map) => map.retain(|name, value| {
            let schema = schema.and_then(|schema| schema.property(name).or(schema.additional()));
            if schema.is_some_and(|schema| is_absent(value, schema) && schema.default.is_none()) {
                return false;
            }
            drop_nulls(value, schema);
            true
        }),
        Value::List(items) => {
            let item = schema.and_then(JsonSchema::item);
            items.iter_mut().for_each(|value| drop_nulls(value, item));
        }
        _ => {}
    }
}

/// Makes negative zeros what they are when they are read again: the text of the stored object has them as `-0`, an integer.
pub fn settle_zeros(value: &mut Value) {
    match value {
        Value::Float(number) if *number == 0.0 && number.is_sign_negative() => *value = Value::Int(0),
        Value::Map(map) => map.iter_mut().for_each(|(_, value)| settle_zeros(value)),
        Value::List(items) => items.iter_mut().for_each(settle_zeros),
        _ => {}
    }
}

/// The bytes of defaults that one object is given at most: an object of so many is never stored, as it is larger than
/// etcd takes. A short list can have a default for each of its items, which would otherwise fill the memory.
const DEFAULTS_BYTES: usize = 16 << 20;

/// Fills in the defaults of a schema, as many as an object may have.
pub fn default(value: &mut Value, schema: &JsonSchema) {
    Defaulting { left: DEFAULTS_BYTES }.fill(value, schema);
}

struct Defaulting {
    /// How many bytes of defaults may still be filled in.
    left: usize,
}

impl Defaulting {
    fn fill(&mut self, value: &mut Value, schema: &JsonSchema) {
        match value {
            Value::Map(map) => {
                for (name, property) in &schema.properties {
                    let Some(default) = &property.default else { continue };
                    if map.get(name).is_none_or(|value| is_absent(value, property)) {
                        if !self.takes(name.len() + size(default)) {
                            return;
                        }
                        map.set(name.clone(), default.clone());
                    }
                }
                for (name, value) in map.iter_mut() {
                    match (schema.property(name), schema.additional()) {
                        (Some(property), _) => self.fill(value, property),
                        (None, Some(additional)) => self.fill_in_place(value, additional),
                        (None, None) => {}
                    }
                }
            }
            Value::List(items) => {
                if let Some(item) = schema.item() {
                    items.iter_mut().for_each(|value| self.fill_in_place(value, item));
                }
            }
            _ => {}
        }
    }

    fn fill_in_place(&mut self, value: &mut Value, schema: &JsonSchema) {
        if is_absent(value, schema) {
            let default = schema.default.clone().unwrap_or_default();
            if !self.takes(size(&default)) {
                return;
            }
            *value = default;
        }
        self.fill(value, schema);
    }

    fn takes(&mut self, bytes: usize) -> bool {
        let left = self.left.checked_sub(bytes);
        self.left = left.unwrap_or(0);
        left.is_some()
    }
}

/// About how many bytes a value takes in JSON.
fn size(value: &Value) -> usize {
    match value {
        Value::Map(map) => 2 + map.iter().map(|(name, value)| name.len() + 4 + size(value)).sum::<usize>(),
        Value::List(items) => 2 + items.iter().map(|item| 1 + size(item)).sum::<usize>(),
        other => 8 + other.as_str().map_or(0, str::len),
    }
}

/// Whether the items of sets differ, and those of associative lists in their keys.
pub fn validate_lists(value: &Value, schema: &JsonSchema, path: &FieldPath<'_>, errors: &mut ErrorList) {
    match value {
        Value::Map(map) => {
            for (name, value) in map.iter() {
                match (schema.property(name), schema.additional()) {
                    (Some(property), _) => validate_lists(value, property, &path.child(name), errors),
                    (None, Some(additional)) => validate_lists(value, additional, &path.key(name), errors),
                    (None, None) => {}
                }
            }
        }
        Value::List(items) => {
            match schema.list_type.as_deref() {
                Some("set") => repeated(items.iter().map(Item::Value), path, errors),
                Some("map") => keyed(items, &schema.list_map_keys, path, errors),
                _ => {}
            }
            if let Some(item) = schema.item() {
                items.iter().enumerate().for_each(|(at, value)| validate_lists(value, item, &path.index(at), errors));
            }
        }
        _ => {}
    }
}

/// The identity of an item of a set or map.
enum Item<'a> {
    Value(&'a Value),
    Keys(Value),
}

impl Item<'_> {
    fn value(&self) -> &Value {
        match self {
            Item::Value(value) => value,
            Item::Keys(keys) => keys,
        }
    }
}

fn keyed(items: &[Value], keys: &[Str], path: &FieldPath<'_>, errors: &mut ErrorList) {
    let is_item = |item: &Value| matches!(item, Value::Map(_) | Value::Null);
    if let Some(at) = items.iter().position(|item| !is_item(item)) {
        let detail = "must be an object for an array of list-type map";
        return errors.invalid(path.index(at), items[at].clone(), detail);
    }
    // An error shows them in the order of their names.
    let mut keys: Vec<&Str> = keys.iter().collect();
    keys.sort_unstable();
    let keys_of = |item: &Value| {
        let present = keys.iter().filter_map(|key| Some(((*key).clone(), item.get(key)?.clone())));
        Item::Keys(Value::Map(Map::from_entries(present.collect())))
    };
    repeated(items.iter().map(keys_of), path, errors);
}

/// Reports the second of several equal items; further ones are ignored.
fn repeated<'a>(items: impl Iterator<Item = Item<'a>>, path: &FieldPath<'_>, errors: &mut ErrorList) {
    let mut seen: HashMap<Vec<u8>, usize> = HashMap::new();
    for (at, item) in items.enumerate() {
        let times = seen.entry(sorted_text(item.value())).or_default();
        *times += 1;
        if *times == 2 {
            errors.duplicate(path.index(at), item.value().clone());
        }
    }
}

/// A value as text, its fields by name.
fn sorted_text(value: &Value) -> Vec<u8> {
    let mut sorted = value.clone();
    sorted.sort_keys();
    let mut text = pintle_codec::json::to_vec(&sorted);
    if matches!(value, Value::Float(_)) {
        // Another type than the integer that has the same text.
        text.push(b'f');
    }
    text
}

/// Validates the type and the metadata of embedded objects.
pub fn validate_embedded(
    value: &Value,
    schema: &JsonSchema,
    is_object: bool,
    path: &FieldPath<'_>,
    errors: &mut ErrorList,
) {
    match value {
        Value::Map(map) => {
            if is_object || schema.embedded_resource {
                embedded(map, path, errors);
            }
            for (name, value) in map.iter() {
                match (schema.property(name), schema.additional()) {
                    (Some(property), _) => validate_embedded(value, property, false, &path.child(name), errors),
                    (None, Some(additional)) => validate_embedded(value, additional, false, &path.key(name), errors),
                    (None, None) => {}
                }
            }
        }
        Value::List(items) => {
            if let Some(item) = schema.item() {
                for (at, value) in items.iter().enumerate() {
                    validate_embedded(value, item, false, &path.index(at), errors);
                }
            }
        }
        _ => {}
    }
}

fn embedded(map: &Map, path: &FieldPath<'_>, errors: &mut ErrorList) {
    for name in ["apiVersion", "kind"] {
        let here = path.child(name);
        match map.get(name) {
            None => errors.required(here, ""),
            Some(Value::String(text)) if text.is_empty() => errors.invalid(here, "", "must not be empty"),
            Some(Value::String(text)) if name == "apiVersion" => {
                if text.matches('/').count() > 1 {
                    errors.invalid(here, text.clone(), format!("unexpected GroupVersion string: {text}"));
                }
            }
            Some(Value::String(kind)) => {
                let faults = names::dns1035_label(&kind.to_lowercase());
                if !faults.is_empty() {
                    let detail = format!("may have mixed case, but should otherwise match: {}", faults.join(","));
                    errors.invalid(here, kind.clone(), detail);
                }
            }
            Some(other) => errors.invalid(here, other.clone(), "must be a string"),
        }
    }
    let Some(of) = map.get("metadata") else { return };
    let mut of = of.clone();
    if of.get("name").and_then(Value::as_str).unwrap_or_default().is_empty() {
        of.make_map().set("name", "fakename");
    }
    let namespaced = of.get("namespace").and_then(Value::as_str).is_some_and(|namespace| !namespace.is_empty());
    let check = |name: &str, prefix: bool| match prefix {
        true => names::path_segment_prefix(name),
        false => names::path_segment_name(name),
    };
    let mut found = ErrorList::default();
    metadata::validate_create(&of, namespaced, &check, &mut found);
    for error in found.0 {
        errors.push(error.kind, format!("{path}.{}", error.field), error.value, error.detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::prune::prune;
    use pintle_schema::value;

    fn schema(schema: Value) -> JsonSchema {
        JsonSchema::from_value(&schema)
    }

    #[test]
    fn unknown_fields_are_pruned() {
        let schema = schema(value!({"type": "object", "properties": {
            "a": {"type": "object", "properties": {"b": {"type": "string"}}},
            "free": {"x-kubernetes-preserve-unknown-fields": true, "properties": {"c": {"type": "object"}}},
            "map": {"type": "object", "additionalProperties": {"type": "object"}},
            "list": {"type": "array", "items": {"type": "object", "properties": {"d": {"type": "string"}}}},
            "object": {"type": "object", "x-kubernetes-embedded-resource": true}}}));
        let mut value = value!({"kind": "K", "metadata": {"x": 1}, "other": 1, "a": {"b": "1", "x": 1},
            "free": {"x": {"y": 1}, "c": {"x": 1}}, "map": {"k": {"x": 1}}, "list": [{"d": "", "x": 1}],
            "object": {"kind": "K", "spec": 1}});
        prune(&mut value, &schema, true);
        let kept = value!({"kind": "K", "metadata": {"x": 1}, "a": {"b": "1"}, "free": {"x": {"y": 1}, "c": {}},
            "map": {"k": {}}, "list": [{"d": ""}], "object": {"kind": "K"}});
        assert_eq!(value, kept);
    }

    #[test]
    fn no_object_is_given_more_defaults_than_can_be_stored() {
        let schema =
            schema(value!({"type": "object", "properties": {"l": {"type": "array", "items": {"type": "object",
            "properties": {"a": {"type": "string", "default": ("x".repeat(1 << 20))}}}}}}));
        let mut value = value!({"l": (Value::List(vec![value!({}); 1000]))});
        default(&mut value, &schema);
        let bytes = pintle_codec::json::to_vec(&value).len();
        assert!((15 << 20..17 << 20).contains(&bytes), "{bytes}");
    }

    #[test]
    fn defaults_take_the_place_of_nulls() {
        let schema = schema(value!({"type": "object", "properties": {
            "a": {"type": "object", "default": {}, "properties": {"b": {"type": "integer", "default": 3}}},
            "n": {"type": "string", "nullable": true, "default": "x"},
            "m": {"type": "string"},
            "list": {"type": "array", "items": {"type": "string", "default": "y"}}}}));
        let mut value = value!({"a": null, "n": null, "m": null, "list": [null, "z"]});
        drop_nulls(&mut value, Some(&schema));
        default(&mut value, &schema);
        assert_eq!(value, value!({"a": {"b": 3}, "n": null, "list": ["y", "z"]}));
    }

    #[test]
    fn items_of_sets_and_maps_differ() {
        let schema = schema(value!({"type": "object", "properties": {
            "set": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}},
            "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k", "l"],
                "items": {"type": "object"}},
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["protocol", "port"], "items": {"type": "object"}}}}));
        let port = || value!({"protocol": "TCP", "port": 80});
        let value = value!({"set": ["a", "b", "a", "a"], "map": [{"k": 1}, {"k": 1, "x": 2}, {"k": 1, "l": 2}],
            "ports": [(port()), (port())]});
        let mut errors = ErrorList::default();
        validate_lists(&value, &schema, &FieldPath::ROOT, &mut errors);
        let lines: Vec<String> = errors.0.iter().map(|error| error.line()).collect();
        assert_eq!(
            lines,
            [
                "set[2]: Duplicate value: \"a\"",
                "map[1]: Duplicate value: {\"k\":1}",
                "ports[1]: Duplicate value: {\"port\":80,\"protocol\":\"TCP\"}"
            ]
        );
    }

    #[test]
    fn embedded_objects_have_a_type() {
        let schema = schema(value!({"type": "object", "x-kubernetes-embedded-resource": true}));
        let value = value!({"kind": "a b", "metadata": {"labels": {"a": "b c"}}});
        let mut errors = ErrorList::default();
        validate_embedded(&value, &schema, false, &FieldPath::new("t"), &mut errors);
        let fields: Vec<&str> = errors.0.iter().map(|error| error.field.as_str()).collect();
        assert_eq!(fields, ["t.apiVersion", "t.kind", "t.metadata.labels"]);
    }
}
