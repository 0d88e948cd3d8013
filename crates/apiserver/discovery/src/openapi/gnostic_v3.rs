//! The protobuf form of OpenAPI version 3.
//!
//! Translated from the JSON form, message by message, with the field numbers of `openapi.v3`. Parts that this server's
//! documents never contain are not supported.

use super::gnostic::{
    additional, any, count, extension, external_docs, flag, items, members, methods, named, number, strings, text,
};
use super::wire::{bytes, chosen, double, message, string};
use pintle_schema::Value;

/// Writes a `Document`.
pub(crate) fn document(document: &Value) -> Vec<u8> {
    let out = &mut Vec::new();
    string(out, 1, document.str_at(&["openapi"]));
    message(out, 2, |out| {
        string(out, 1, document.str_at(&["info", "title"]));
        string(out, 6, document.str_at(&["info", "version"]));
    });
    let at = |path: &[&str]| document.at(path).into_iter().flat_map(members);
    message(out, 4, |out| at(&["paths"]).for_each(|(path, item)| named(out, 1, path, |out| path_item(out, item))));
    message(out, 5, |out| {
        message(out, 1, |out| {
            at(&["components", "schemas"])
                .for_each(|(name, value)| named(out, 1, name, |out| schema_or_reference(out, value)));
        });
        message(out, 7, |out| {
            at(&["components", "securitySchemes"]).for_each(|(name, scheme)| {
                named(out, 1, name, |out| message(out, 1, |out| security_scheme(out, scheme)));
            });
        });
    });
    std::mem::take(out)
}

fn security_scheme(out: &mut Vec<u8>, scheme: &Value) {
    for (number, key) in [(1, "type"), (2, "description"), (3, "name"), (4, "in")] {
        string(out, number, scheme.str_at(&[key]));
    }
}

fn path_item(out: &mut Vec<u8>, item: &Value) {
    methods(out, 4, item, operation);
    item.get("parameters").into_iter().for_each(|list| parameters(out, 13, list));
}

fn operation(out: &mut Vec<u8>, operation: &Value) {
    for (key, value) in members(operation) {
        match key {
            "tags" => strings(out, 1, value),
            "description" => text(out, 3, value),
            "operationId" => text(out, 5, value),
            "parameters" => parameters(out, 6, value),
            "requestBody" => message(out, 7, |out| message(out, 1, |out| request_body(out, value))),
            "responses" => message(out, 8, |out| {
                members(value).for_each(|(code, value)| {
                    named(out, 2, code, |out| message(out, 1, |out| response(out, value)));
                });
            }),
            key => extension(out, 13, key, value),
        }
    }
}

fn parameters(out: &mut Vec<u8>, number: u32, list: &Value) {
    for parameter in items(list) {
        message(out, number, |out| {
            message(out, 1, |out| {
                for (key, value) in members(parameter) {
                    match key {
                        "name" => text(out, 1, value),
                        "in" => text(out, 2, value),
                        "description" => text(out, 3, value),
                        "required" => flag(out, 4, value),
                        "schema" => message(out, 10, |out| schema_or_reference(out, value)),
                        _ => {}
                    }
                }
            });
        });
    }
}

fn request_body(out: &mut Vec<u8>, body: &Value) {
    string(out, 1, body.str_at(&["description"]));
    body.get("content").into_iter().for_each(|value| content(out, 2, value));
    body.get("required").into_iter().for_each(|value| flag(out, 3, value));
}

fn response(out: &mut Vec<u8>, response: &Value) {
    string(out, 1, response.str_at(&["description"]));
    response.get("content").into_iter().for_each(|value| content(out, 3, value));
}

fn content(out: &mut Vec<u8>, number: u32, content: &Value) {
    message(out, number, |out| {
        for (media_type, value) in members(content) {
            named(out, 1, media_type, |out| {
                value
                    .get("schema")
                    .into_iter()
                    .for_each(|value| message(out, 1, |out| schema_or_reference(out, value)));
            });
        }
    });
}

fn schema_or_reference(out: &mut Vec<u8>, value: &Value) {
    match value.get("$ref") {
        Some(reference) => message(out, 2, |out| text(out, 1, reference)),
        None => message(out, 1, |out| schema(out, value)),
    }
}

fn schema(out: &mut Vec<u8>, value: &Value) {
    for (key, value) in members(value) {
        match key {
            "nullable" => flag(out, 1, value),
            "externalDocs" => message(out, 6, |out| external_docs(out, value)),
            "example" => message(out, 7, |out| any(out, value)),
            "title" => text(out, 9, value),
            "multipleOf" => double(out, 10, number(value)),
            "maximum" => double(out, 11, number(value)),
            "exclusiveMaximum" => flag(out, 12, value),
            "minimum" => double(out, 13, number(value)),
            "exclusiveMinimum" => flag(out, 14, value),
            "maxLength" => count(out, 15, value),
            "minLength" => count(out, 16, value),
            "pattern" => text(out, 17, value),
            "maxItems" => count(out, 18, value),
            "minItems" => count(out, 19, value),
            "uniqueItems" => flag(out, 20, value),
            "maxProperties" => count(out, 21, value),
            "minProperties" => count(out, 22, value),
            "required" => strings(out, 23, value),
            "enum" => items(value).iter().for_each(|value| message(out, 24, |out| any(out, value))),
            "type" => text(out, 25, value),
            "allOf" => items(value).iter().for_each(|value| message(out, 26, |out| schema_or_reference(out, value))),
            "oneOf" => items(value).iter().for_each(|value| message(out, 27, |out| schema_or_reference(out, value))),
            "anyOf" => items(value).iter().for_each(|value| message(out, 28, |out| schema_or_reference(out, value))),
            "not" => message(out, 29, |out| schema(out, value)),
            "items" => message(out, 30, |out| message(out, 1, |out| schema_or_reference(out, value))),
            "properties" => message(out, 31, |out| {
                members(value)
                    .for_each(|(name, property)| named(out, 1, name, |out| schema_or_reference(out, property)));
            }),
            "additionalProperties" => message(out, 32, |out| additional(out, value, schema_or_reference)),
            "default" => message(out, 33, |out| default(out, value)),
            "description" => text(out, 34, value),
            "format" => text(out, 35, value),
            key => extension(out, 36, key, value),
        }
    }
}

/// Only scalars, including zeros, can be represented; any other default becomes an empty message.
fn default(out: &mut Vec<u8>, value: &Value) {
    match value {
        Value::Int(_) | Value::Float(_) => double(out, 1, number(value)),
        Value::Bool(flag) => chosen(out, 2, *flag),
        Value::String(text) => bytes(out, 3, text.as_bytes()),
        _ => {}
    }
}
