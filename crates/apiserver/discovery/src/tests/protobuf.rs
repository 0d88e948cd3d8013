//! The protobuf forms of OpenAPI, read back by a small reader and compared with the JSON form.
//!
//! The reader knows the message numbers that clients read, apart from the writer.

use super::custom::{Published, widgets_of};
use super::{assert_same, everything, parse, whole};
use crate::openapi::{v2, v3};
use pintle_schema::{Map, Str, Value, value};

/// The fields of a message: number and content, a varint as its bytes.
fn fields(mut bytes: &[u8]) -> Vec<(u64, &[u8])> {
    fn varint(bytes: &mut &[u8]) -> u64 {
        let (mut value, mut shift) = (0, 0);
        loop {
            let (first, rest) = bytes.split_first().expect("a whole varint");
            *bytes = rest;
            value |= u64::from(first & 0x7f) << shift;
            shift += 7;
            if first & 0x80 == 0 {
                return value;
            }
        }
    }
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let tag = varint(&mut bytes);
        let length = match tag & 7 {
            0 => {
                let before = bytes;
                varint(&mut bytes);
                fields.push((tag >> 3, &before[..before.len() - bytes.len()]));
                continue;
            }
            1 => 8,
            2 => varint(&mut bytes) as usize,
            other => panic!("wire type {other}"),
        };
        let (content, rest) = bytes.split_at(length);
        fields.push((tag >> 3, content));
        bytes = rest;
    }
    fields
}

fn text(bytes: &[u8]) -> Value {
    Value::from(std::str::from_utf8(bytes).expect("text"))
}

/// The only field of a message.
fn only(bytes: &[u8]) -> (u64, &[u8]) {
    let fields = fields(bytes);
    assert_eq!(fields.len(), 1);
    fields[0]
}

fn named(bytes: &[u8]) -> (String, &[u8]) {
    let fields = fields(bytes);
    let [(1, name), (2, value)] = fields[..] else { panic!("no name and value: {fields:?}") };
    (String::from_utf8(name.to_vec()).expect("text"), value)
}

fn map(bytes: &[u8], number: u64, read: fn(&[u8]) -> Value) -> Value {
    let entries = fields(bytes).into_iter().map(|(at, entry)| {
        assert_eq!(at, number);
        let (name, value) = named(entry);
        (Str::from(name), read(value))
    });
    Value::Map(entries.collect())
}

fn append(out: &mut Map, key: &'static str, value: Value) {
    match out.get_mut(key) {
        Some(Value::List(items)) => items.push(value),
        _ => drop(out.set(key, Value::List(vec![value]))),
    }
}

fn any(bytes: &[u8]) -> Value {
    let (2, yaml) = only(bytes) else { panic!("no YAML") };
    pintle_codec::yaml::parse(yaml, pintle_codec::Strictness::Collect).expect("YAML").value
}

fn double(bytes: &[u8]) -> Value {
    let number = f64::from_le_bytes(bytes.try_into().expect("a double"));
    if number.fract() == 0.0 { Value::Int(number as i64) } else { Value::Float(number) }
}

fn count(bytes: &[u8]) -> Value {
    let [count] = bytes else { panic!("more than a byte") };
    Value::Int(i64::from(*count))
}

fn external_docs(bytes: &[u8]) -> Value {
    let key = |number| if number == 1 { "description" } else { "url" };
    Value::Map(fields(bytes).into_iter().map(|(number, content)| (Str::from(key(number)), text(content))).collect())
}

fn additional(bytes: &[u8], schema: fn(&[u8]) -> Value) -> Value {
    match only(bytes) {
        (1, content) => schema(content),
        (2, allows) => Value::Bool(allows == [1]),
        other => panic!("{other:?}"),
    }
}

fn extension(out: &mut Map, bytes: &[u8]) {
    let (name, value) = named(bytes);
    out.set(name, any(value));
}

fn schema(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    for (number, content) in fields(bytes) {
        match number {
            1 => drop(out.set("$ref", text(content))),
            2 => drop(out.set("format", text(content))),
            3 => drop(out.set("title", text(content))),
            4 => drop(out.set("description", text(content))),
            6 => drop(out.set("multipleOf", double(content))),
            7 => drop(out.set("maximum", double(content))),
            8 => drop(out.set("exclusiveMaximum", Value::Bool(content == [1]))),
            9 => drop(out.set("minimum", double(content))),
            10 => drop(out.set("exclusiveMinimum", Value::Bool(content == [1]))),
            11 => drop(out.set("maxLength", count(content))),
            12 => drop(out.set("minLength", count(content))),
            13 => drop(out.set("pattern", text(content))),
            14 => drop(out.set("maxItems", count(content))),
            15 => drop(out.set("minItems", count(content))),
            16 => drop(out.set("uniqueItems", Value::Bool(content == [1]))),
            17 => drop(out.set("maxProperties", count(content))),
            18 => drop(out.set("minProperties", count(content))),
            19 => append(&mut out, "required", text(content)),
            20 => append(&mut out, "enum", any(content)),
            21 => drop(out.set("additionalProperties", additional(content, schema))),
            22 => drop(out.set("type", text(only(content).1))),
            23 => drop(out.set("items", schema(only(content).1))),
            25 => drop(out.set("properties", map(content, 1, schema))),
            29 => drop(out.set("externalDocs", external_docs(content))),
            30 => drop(out.set("example", any(content))),
            31 => extension(&mut out, content),
            other => panic!("field {other} of a schema"),
        }
    }
    Value::Map(out)
}

fn parameter(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    let (kind, content) = only(bytes);
    let (place, content) = if kind == 1 { (0, content) } else { only(content) };
    for (number, content) in fields(content) {
        let (key, value) = match (place, number) {
            (0, 1) | (_, 3) if place != 0 || number == 1 => ("description", text(content)),
            (0, 2) => ("name", text(content)),
            (0, 3) => ("in", text(content)),
            (0, 4) => ("required", Value::Bool(content == [1])),
            (0, 5) => ("schema", schema(content)),
            (_, 1) => ("required", Value::Bool(content == [1])),
            (_, 2) => ("in", text(content)),
            (_, 4) => ("name", text(content)),
            (3, 6) | (4, 5) => ("type", text(content)),
            (3, 20) | (4, 18) => ("uniqueItems", Value::Bool(content == [1])),
            other => panic!("field {other:?} of a parameter"),
        };
        out.set(key, value);
    }
    Value::Map(out)
}

fn parameters_item(bytes: &[u8]) -> Value {
    match only(bytes) {
        (1, content) => parameter(content),
        (2, content) => pintle_schema::value!({ "$ref": (text(only(content).1)) }),
        other => panic!("{other:?}"),
    }
}

fn response(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    for (number, content) in fields(only(bytes).1) {
        match number {
            1 => drop(out.set("description", text(content))),
            2 => drop(out.set("schema", schema(only(content).1))),
            other => panic!("field {other} of a response"),
        }
    }
    Value::Map(out)
}

fn operation(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    for (number, content) in fields(bytes) {
        match number {
            1 => append(&mut out, "tags", text(content)),
            3 => drop(out.set("description", text(content))),
            5 => drop(out.set("operationId", text(content))),
            6 => append(&mut out, "produces", text(content)),
            7 => append(&mut out, "consumes", text(content)),
            8 => append(&mut out, "parameters", parameters_item(content)),
            9 => drop(out.set("responses", map(content, 1, response))),
            10 => append(&mut out, "schemes", text(content)),
            13 => extension(&mut out, content),
            other => panic!("field {other} of an operation"),
        }
    }
    Value::Map(out)
}

fn path_item(bytes: &[u8]) -> Value {
    let mut out = Map::new();
    for (number, content) in fields(bytes) {
        let method = match number {
            2 => "get",
            3 => "put",
            4 => "post",
            5 => "delete",
            6 => "options",
            7 => "head",
            8 => "patch",
            9 => {
                append(&mut out, "parameters", parameters_item(content));
                continue;
            }
            other => panic!("field {other} of a path item"),
        };
        out.set(method, operation(content));
    }
    Value::Map(out)
}

#[test]
fn protobuf_says_what_json_says() {
    let catalog = everything();
    let json = whole();
    let bytes = v2::protobuf(&catalog, &[]);
    let mut seen = Vec::new();
    for (number, content) in fields(&bytes) {
        let (key, value) = match number {
            1 => ("swagger", text(content)),
            8 => ("paths", map(content, 2, path_item)),
            9 => ("definitions", map(content, 1, schema)),
            10 => ("parameters", map(content, 1, parameter)),
            _ => {
                seen.push(number);
                continue;
            }
        };
        seen.push(number);
        assert_same(key, &value, json.get(key).expect("in both"));
    }
    assert_eq!(seen, [1, 2, 8, 9, 10, 12, 13]);
}

/// Parts that the writer does not support would be lost silently.
#[test]
fn definitions_hold_nothing_that_is_not_translated() {
    const KNOWN: [&str; 9] =
        ["$ref", "format", "description", "required", "enum", "additionalProperties", "type", "items", "properties"];
    for (name, definition) in whole().get("definitions").and_then(Value::as_map).expect("definitions").iter() {
        let mut schemas = vec![definition];
        while let Some(schema) = schemas.pop() {
            for (key, value) in schema.as_map().expect("a schema").iter() {
                assert!(KNOWN.contains(&key.as_str()) || key.starts_with("x-"), "{key} in {name}");
                match key.as_str() {
                    "properties" => schemas.extend(value.as_map().expect("properties").values()),
                    "items" | "additionalProperties" => schemas.push(value),
                    _ => {}
                }
            }
        }
    }
}

fn schema_v3(bytes: &[u8]) -> Value {
    match only(bytes) {
        (1, content) => plain_schema_v3(content),
        (2, content) => pintle_schema::value!({ "$ref": (text(only(content).1)) }),
        other => panic!("{other:?}"),
    }
}

fn plain_schema_v3(content: &[u8]) -> Value {
    let mut out = Map::new();
    for (number, content) in fields(content) {
        match number {
            1 => drop(out.set("nullable", true)),
            6 => drop(out.set("externalDocs", external_docs(content))),
            7 => drop(out.set("example", any(content))),
            9 => drop(out.set("title", text(content))),
            10 => drop(out.set("multipleOf", double(content))),
            11 => drop(out.set("maximum", double(content))),
            12 => drop(out.set("exclusiveMaximum", Value::Bool(content == [1]))),
            13 => drop(out.set("minimum", double(content))),
            14 => drop(out.set("exclusiveMinimum", Value::Bool(content == [1]))),
            15 => drop(out.set("maxLength", count(content))),
            16 => drop(out.set("minLength", count(content))),
            17 => drop(out.set("pattern", text(content))),
            18 => drop(out.set("maxItems", count(content))),
            19 => drop(out.set("minItems", count(content))),
            20 => drop(out.set("uniqueItems", true)),
            21 => drop(out.set("maxProperties", count(content))),
            22 => drop(out.set("minProperties", count(content))),
            23 => append(&mut out, "required", text(content)),
            24 => append(&mut out, "enum", any(content)),
            25 => drop(out.set("type", text(content))),
            26 => append(&mut out, "allOf", schema_v3(content)),
            27 => append(&mut out, "oneOf", schema_v3(content)),
            28 => append(&mut out, "anyOf", schema_v3(content)),
            29 => drop(out.set("not", plain_schema_v3(content))),
            30 => drop(out.set("items", schema_v3(only(content).1))),
            31 => drop(out.set("properties", map(content, 1, schema_v3))),
            32 => drop(out.set("additionalProperties", additional(content, schema_v3))),
            33 => drop(out.set("default", default_v3(content))),
            34 => drop(out.set("description", text(content))),
            35 => drop(out.set("format", text(content))),
            36 => extension(&mut out, content),
            other => panic!("field {other} of a schema"),
        }
    }
    Value::Map(out)
}

fn default_v3(bytes: &[u8]) -> Value {
    match fields(bytes)[..] {
        [(1, number)] => Value::Int(f64::from_le_bytes(number.try_into().expect("a double")) as i64),
        [(2, flag)] => Value::Bool(flag == [1]),
        [(3, content)] => text(content),
        [] => Value::map(),
        ref other => panic!("{other:?}"),
    }
}

#[test]
fn protobuf_of_version_3_says_what_json_says() {
    let catalog = everything();
    for path in ["api/v1", "apis/apps/v1", "apis/apiextensions.k8s.io/v1"] {
        let json = v3::document(&catalog, path, None).expect("served");
        let bytes = v3::protobuf(&json).expect("JSON");
        let json = parse(&json);
        let parts = fields(&bytes);
        let [(1, version), (2, _), (4, paths), (5, components)] = parts[..] else { panic!("{path}") };
        assert_eq!(version, b"3.0.0");
        let operations =
            map(paths, 1, |item| Value::List(fields(item).into_iter().map(|(at, _)| Value::from(at as i64)).collect()));
        let methods = |item: &Value| item.as_map().map_or(0, |item| item.len());
        for (path, item) in json.get("paths").and_then(Value::as_map).expect("paths").iter() {
            let shared = item.get("parameters").and_then(Value::as_list).map_or(0, |list| list.len().saturating_sub(1));
            let read = operations.get(path).and_then(Value::as_list).map_or(0, <[Value]>::len);
            assert_eq!(read, methods(item) + shared, "{path}");
        }
        let [(1, schemas), (7, _)] = fields(components)[..] else { panic!("{path}") };
        let read = map(schemas, 1, schema_v3);
        let written = json.at(&["components", "schemas"]).expect("schemas");
        assert_same(path, &read, written);
    }
}

/// A schema as a definition may have it, with every keyword that OpenAPI publishes of it.
fn keywords() -> Value {
    value!({"type": "object", "title": "A widget", "description": "d", "required": ["spec"], "properties": {
        "spec": {"type": "object", "maxProperties": 9, "minProperties": 1, "additionalProperties": true,
            "externalDocs": {"description": "more", "url": "https://example.com"}},
        "rest": {"type": "object", "additionalProperties": false},
        "size": {"type": "number", "format": "double", "maximum": 7, "exclusiveMaximum": true, "minimum": 1.5,
            "exclusiveMinimum": true, "multipleOf": 0.5, "example": {"a": [1, "2", null]}},
        "name": {"type": "string", "maxLength": 9, "minLength": 1, "pattern": "^[a-z: ]+$", "enum": ["a", "yes", "1"]},
        "list": {"type": "array", "items": {"type": "string"}, "maxItems": 3, "minItems": 1, "uniqueItems": true},
    }})
}

#[test]
fn protobuf_of_custom_resources_says_what_json_says() {
    const NAME: &str = "com.example.fun.v1.Widget";
    let selectable = || vec![Str::new("spec.color"), Str::new("spec.size")];
    let catalog = widgets_of(Published { schema: keywords(), selectable: selectable() });
    let json = parse(&v2::json(&catalog, &[]));
    let bytes = v2::protobuf(&catalog, &[]);
    let definitions = fields(&bytes).into_iter().find(|(number, _)| *number == 9).expect("definitions").1;
    let find = |all: &'_ [u8]| {
        let mut all = fields(all).into_iter().map(|(_, entry)| named(entry));
        all.find(|(name, _)| name == NAME).map(|(_, content)| content.to_vec()).expect("defined")
    };
    let content = find(definitions);
    assert_same(NAME, &schema(&content), json.at(&["definitions", NAME]).expect("defined"));
    // Clients get the text.
    let extensions = fields(&content).into_iter().filter(|(number, _)| *number == 31).map(|(_, entry)| named(entry));
    let texts: Vec<(String, String)> =
        extensions.map(|(name, any)| (name, String::from_utf8_lossy(only(any).1).into_owned())).collect();
    let wanted = [
        ("x-kubernetes-group-version-kind", "- group: fun.example.com\n  kind: Widget\n  version: v1\n"),
        ("x-kubernetes-selectable-fields", "- fieldPath: spec.color\n- fieldPath: spec.size\n"),
    ];
    assert_eq!(texts, wanted.map(|(name, text)| (name.to_owned(), text.to_owned())));

    let mut more = keywords();
    let other = value!({"anyOf": [{"type": "string"}], "not": {"pattern": "x"}, "nullable": true});
    more.set_at(&["properties", "other"], other);
    let catalog = widgets_of(Published { schema: more, selectable: selectable() });
    let json = v3::document(&catalog, "apis/fun.example.com/v1", None).expect("served");
    let bytes = v3::protobuf(&json).expect("JSON");
    let components = fields(&bytes).into_iter().find(|(number, _)| *number == 5).expect("components").1;
    let content = find(fields(components)[0].1);
    assert_same(NAME, &schema_v3(&content), parse(&json).at(&["components", "schemas", NAME]).expect("defined"));
}
