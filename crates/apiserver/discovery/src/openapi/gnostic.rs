//! The protobuf form of OpenAPI version 2, as client-go reads it.
//!
//! Translated from the JSON form, message by message, with the field numbers of `openapi.v2`. Parts that this server's
//! documents never contain are not supported.

use super::wire::{boolean, bytes, chosen, double, integer, message, string};
use pintle_schema::{Map, Value};

/// The parts of a document.
pub(crate) struct Parts<P, D, S> {
    pub info: Value,
    pub paths: P,
    pub definitions: D,
    pub parameters: S,
    pub bearer_token: Value,
}

/// Writes a `Document`.
pub(crate) fn document<'a, P, D, S>(parts: Parts<P, D, S>) -> Vec<u8>
where
    P: Iterator<Item = (&'a str, Value)>,
    D: Iterator<Item = (&'a str, Value)>,
    S: Iterator<Item = (&'a str, Value)>,
{
    let mut out = Vec::new();
    string(&mut out, 1, "2.0");
    message(&mut out, 2, |out| {
        string(out, 1, parts.info.str_at(&["title"]));
        string(out, 2, parts.info.str_at(&["version"]));
    });
    message(&mut out, 8, |out| parts.paths.for_each(|(name, item)| named(out, 2, name, |out| path_item(out, &item))));
    message(&mut out, 9, |out| {
        parts.definitions.for_each(|(name, definition)| named(out, 1, name, |out| schema(out, &definition)));
    });
    message(&mut out, 10, |out| {
        parts.parameters.for_each(|(name, value)| named(out, 1, name, |out| parameter(out, &value)));
    });
    message(&mut out, 12, |out| named(out, 1, "BearerToken", |_| ()));
    message(&mut out, 13, |out| {
        named(out, 1, "BearerToken", |out| {
            message(out, 2, |out| {
                for (number, key) in [(1, "type"), (2, "name"), (3, "in"), (4, "description")] {
                    string(out, number, parts.bearer_token.str_at(&[key]));
                }
            });
        });
    });
    out
}

/// An entry of a JSON map.
pub(super) fn named(out: &mut Vec<u8>, number: u32, name: &str, write: impl FnOnce(&mut Vec<u8>)) {
    message(out, number, |out| {
        string(out, 1, name);
        message(out, 2, write);
    });
}

/// A value of any type, as YAML in block style.
pub(super) fn any(out: &mut Vec<u8>, value: &Value) {
    bytes(out, 2, pintle_codec::yaml::encode(value).as_bytes());
}

pub(super) fn text(out: &mut Vec<u8>, number: u32, value: &Value) {
    string(out, number, value.as_str().unwrap_or(""));
}

pub(super) fn flag(out: &mut Vec<u8>, number: u32, value: &Value) {
    boolean(out, number, value.as_bool().unwrap_or(false));
}

pub(super) fn count(out: &mut Vec<u8>, number: u32, value: &Value) {
    integer(out, number, value.as_i64().unwrap_or(0));
}

pub(super) fn number(value: &Value) -> f64 {
    match value {
        Value::Int(number) => *number as f64,
        Value::Float(number) => *number,
        _ => 0.0,
    }
}

/// The content of `additionalProperties`: a schema, or whether there may be any.
pub(super) fn additional(out: &mut Vec<u8>, value: &Value, schema: fn(&mut Vec<u8>, &Value)) {
    match value {
        Value::Bool(allows) => chosen(out, 2, *allows),
        value => message(out, 1, |out| schema(out, value)),
    }
}

pub(super) fn external_docs(out: &mut Vec<u8>, value: &Value) {
    string(out, 1, value.str_at(&["description"]));
    string(out, 2, value.str_at(&["url"]));
}

pub(super) fn members(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_map().into_iter().flat_map(Map::iter).map(|(key, value)| (key.as_str(), value))
}

pub(super) fn items(value: &Value) -> &[Value] {
    value.as_list().unwrap_or(&[])
}

pub(super) fn strings(out: &mut Vec<u8>, number: u32, value: &Value) {
    items(value).iter().filter_map(Value::as_str).for_each(|text| bytes(out, number, text.as_bytes()));
}

pub(super) fn extension(out: &mut Vec<u8>, number: u32, key: &str, value: &Value) {
    if key.starts_with("x-") {
        named(out, number, key, |out| any(out, value));
    }
}

/// The methods of a path, whose numbers are consecutive from `get`.
pub(super) fn methods(out: &mut Vec<u8>, get: u32, item: &Value, operation: fn(&mut Vec<u8>, &Value)) {
    for (key, value) in members(item) {
        let mut numbers = (get..).zip(["get", "put", "post", "delete", "options", "head", "patch"]);
        if let Some((number, _)) = numbers.find(|(_, method)| *method == key) {
            message(out, number, |out| operation(out, value));
        }
    }
}

fn path_item(out: &mut Vec<u8>, item: &Value) {
    methods(out, 2, item, operation);
    for parameter in item.get("parameters").map_or(&[][..], items) {
        message(out, 9, |out| parameters_item(out, parameter));
    }
}

fn operation(out: &mut Vec<u8>, operation: &Value) {
    for (key, value) in members(operation) {
        match key {
            "tags" => strings(out, 1, value),
            "description" => string(out, 3, value.as_str().unwrap_or("")),
            "operationId" => string(out, 5, value.as_str().unwrap_or("")),
            "produces" => strings(out, 6, value),
            "consumes" => strings(out, 7, value),
            "parameters" => {
                items(value).iter().for_each(|parameter| message(out, 8, |out| parameters_item(out, parameter)));
            }
            "responses" => message(out, 9, |out| {
                members(value).for_each(|(code, value)| {
                    named(out, 1, code, |out| message(out, 1, |out| response(out, value)));
                });
            }),
            "schemes" => strings(out, 10, value),
            key => extension(out, 13, key, value),
        }
    }
}

fn response(out: &mut Vec<u8>, response: &Value) {
    string(out, 1, response.str_at(&["description"]));
    if let Some(answered) = response.get("schema") {
        message(out, 2, |out| message(out, 1, |out| schema(out, answered)));
    }
}

fn parameters_item(out: &mut Vec<u8>, item: &Value) {
    match item.get("$ref").and_then(Value::as_str) {
        Some(reference) => message(out, 2, |out| string(out, 1, reference)),
        None => message(out, 1, |out| parameter(out, item)),
    }
}

fn parameter(out: &mut Vec<u8>, value: &Value) {
    let required = value.get("required").and_then(Value::as_bool).unwrap_or(false);
    let (name, place) = (value.str_at(&["name"]), value.str_at(&["in"]));
    let description = value.str_at(&["description"]);
    if place == "body" {
        message(out, 1, |out| {
            string(out, 1, description);
            string(out, 2, name);
            string(out, 3, place);
            boolean(out, 4, required);
            if let Some(sent) = value.get("schema") {
                message(out, 5, |out| schema(out, sent));
            }
        });
        return;
    }
    // The numbers of the two kinds differ from the type on, since only queries may have empty values.
    let (kind, ty, unique) = if place == "path" { (4, 5, 18) } else { (3, 6, 20) };
    message(out, 2, |out| {
        message(out, kind, |out| {
            boolean(out, 1, required);
            string(out, 2, place);
            string(out, 3, description);
            string(out, 4, name);
            string(out, ty, value.str_at(&["type"]));
            boolean(out, unique, value.get("uniqueItems").and_then(Value::as_bool).unwrap_or(false));
        });
    });
}

fn schema(out: &mut Vec<u8>, value: &Value) {
    for (key, value) in members(value) {
        match key {
            "$ref" => text(out, 1, value),
            "format" => text(out, 2, value),
            "title" => text(out, 3, value),
            "description" => text(out, 4, value),
            "default" => message(out, 5, |out| any(out, value)),
            "multipleOf" => double(out, 6, number(value)),
            "maximum" => double(out, 7, number(value)),
            "exclusiveMaximum" => flag(out, 8, value),
            "minimum" => double(out, 9, number(value)),
            "exclusiveMinimum" => flag(out, 10, value),
            "maxLength" => count(out, 11, value),
            "minLength" => count(out, 12, value),
            "pattern" => text(out, 13, value),
            "maxItems" => count(out, 14, value),
            "minItems" => count(out, 15, value),
            "uniqueItems" => flag(out, 16, value),
            "maxProperties" => count(out, 17, value),
            "minProperties" => count(out, 18, value),
            "required" => strings(out, 19, value),
            "enum" => items(value).iter().for_each(|value| message(out, 20, |out| any(out, value))),
            "additionalProperties" => message(out, 21, |out| additional(out, value, schema)),
            "type" => message(out, 22, |out| text(out, 1, value)),
            "items" => message(out, 23, |out| message(out, 1, |out| schema(out, value))),
            "properties" => message(out, 25, |out| {
                members(value).for_each(|(name, property)| named(out, 1, name, |out| schema(out, property)));
            }),
            "externalDocs" => message(out, 29, |out| external_docs(out, value)),
            "example" => message(out, 30, |out| any(out, value)),
            key => extension(out, 31, key, value),
        }
    }
}
