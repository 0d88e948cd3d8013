//! Converts OpenAPI documents of extension servers from version 2 to version 3. Guarantees kube-apiserver's conversion,
//! including its losses (headers of responses, and bounds of parameters without a schema), and a result of bounded size. Must
//! never trust a document: malformed parts are left out.

use pintle_codec::{Strictness, json};
use pintle_schema::{Map, Str, Value, value};

const DEFINITIONS: &str = "#/definitions/";
const SCHEMAS: &str = "#/components/schemas/";
/// The most media types of an operation. The document of version 3 has the schema once for each of them: without a bound, a small
/// document that lists many could fill the memory.
const MAX_MEDIA_TYPES: usize = 16;

const METHODS: [&str; 7] = ["get", "put", "post", "delete", "options", "head", "patch"];

/// Converts a document; `None` if it is no JSON object.
pub fn openapi_v3_of_v2(document: &[u8]) -> Option<Vec<u8>> {
    let document = json::parse(document, Strictness::Ignore).ok()?.value;
    document.as_map()?;
    let mut converted = Map::new();
    converted.set("openapi", "3.0.0");
    converted.set("info", document.get("info").cloned().unwrap_or(Value::Null));
    let paths = document.get("paths").and_then(Value::as_map);
    if let Some(paths) = paths {
        converted.set("paths", each(paths, |key, item| if is_extension(key) { item.clone() } else { path_item(item) }));
    }
    converted.set("components", components(&document));
    copy(&document, &["externalDocs"], &mut converted);
    Some(json::to_vec(&Value::Map(converted)))
}

fn is_extension(key: &str) -> bool {
    key.starts_with("x-")
}

/// All values of a map, converted.
fn each(map: &Map, convert: impl Fn(&str, &Value) -> Value) -> Value {
    Value::Map(Map::from_entries(map.iter().map(|(key, value)| (key.clone(), convert(key, value))).collect()))
}

/// Copies the fields of these names, if present.
fn copy(from: &Value, names: &[&'static str], to: &mut Map) {
    for name in names {
        if let Some(value) = from.get(name) {
            to.set(Str::new_static(name), value.clone());
        }
    }
}

fn copy_extensions(from: &Value, to: &mut Map) {
    let all = from.as_map().map(Map::entries).unwrap_or_default();
    all.iter().filter(|(key, _)| is_extension(key)).for_each(|(key, value)| _ = to.set(key.clone(), value.clone()));
}

/// The media types that a list names, the first of them where there are too many.
fn media_types(list: Option<&Value>) -> Option<Vec<Str>> {
    let list = list?.as_list()?;
    Some(list.iter().filter_map(Value::as_str).take(MAX_MEDIA_TYPES).map(Str::new).collect())
}

/// A schema under each media type.
fn content(media_types: Vec<Str>, converted: &Value) -> Value {
    let entry = |name| (name, value!({ "schema": (converted.clone()) }));
    Value::Map(Map::from_entries(media_types.into_iter().map(entry).collect()))
}

fn components(document: &Value) -> Value {
    let mut components = Map::new();
    let entries = |name: &str| document.get(name).and_then(Value::as_map);
    if let Some(definitions) = entries("definitions") {
        components.set("schemas", each(definitions, |_, definition| schema(definition)));
    }
    if let Some(responses) = entries("responses") {
        let produces = media_types(document.get("produces"));
        components.set("responses", each(responses, |_, it| response(it, produces.as_ref())));
    }
    if let Some(schemes) = entries("securityDefinitions") {
        components.set("securitySchemes", each(schemes, |_, scheme| security_scheme(scheme)));
    }
    Value::Map(components)
}

fn security_scheme(scheme: &Value) -> Value {
    let mut converted = Map::new();
    copy(scheme, &["type", "description", "name", "in"], &mut converted);
    let flow = scheme.str_at(&["flow"]);
    if !flow.is_empty() {
        let mut of_flow = Map::new();
        copy(scheme, &["authorizationUrl", "tokenUrl", "scopes"], &mut of_flow);
        let mut flows = Map::new();
        flows.set(flow, Value::Map(of_flow));
        converted.set("flows", Value::Map(flows));
    }
    copy_extensions(scheme, &mut converted);
    Value::Map(converted)
}

fn path_item(item: &Value) -> Value {
    let mut converted = Map::new();
    copy(item, &["$ref"], &mut converted);
    for method in METHODS {
        if let Some(found) = item.get(method).filter(|found| found.as_map().is_some()) {
            converted.set(Str::new_static(method), operation(found));
        }
    }
    if let Some(parameters) = item.get("parameters").and_then(Value::as_list).filter(|list| !list.is_empty()) {
        converted.set("parameters", Value::List(parameters.iter().map(parameter).collect()));
    }
    copy_extensions(item, &mut converted);
    Value::Map(converted)
}

fn operation(operation: &Value) -> Value {
    let mut converted = Map::new();
    copy(operation, &["tags", "summary", "description", "externalDocs", "operationId"], &mut converted);
    let mut parameters = Vec::new();
    for given in operation.get("parameters").and_then(Value::as_list).unwrap_or_default() {
        match given.get("schema").filter(|_| given.str_at(&["name"]) == "body") {
            Some(body) => {
                let consumes = media_types(operation.get("consumes"));
                let mut request = Map::new();
                if let Some(consumes) = consumes.filter(|consumes| !consumes.is_empty()) {
                    request.set("content", content(consumes, &schema(body)));
                }
                converted.set("requestBody", Value::Map(request));
            }
            None => parameters.push(parameter(given)),
        }
    }
    if !parameters.is_empty() {
        converted.set("parameters", Value::List(parameters));
    }
    let produces = media_types(operation.get("produces"));
    let responses = operation.get("responses").and_then(Value::as_map);
    let of = |key: &str, it: &Value| if is_extension(key) { it.clone() } else { response(it, produces.as_ref()) };
    converted.set("responses", responses.map_or_else(Value::map, |responses| each(responses, of)));
    copy(operation, &["deprecated"], &mut converted);
    copy_extensions(operation, &mut converted);
    Value::Map(converted)
}

/// A reference in version 3, from `before` to `after`.
fn moved(value: &Value, before: &str, after: &str) -> Option<Value> {
    let reference = value.str_at(&["$ref"]);
    (!reference.is_empty()).then(|| reference.replacen(before, after, 1).into())
}

fn response(response: &Value, produces: Option<&Vec<Str>>) -> Value {
    let mut converted = Map::new();
    if let Some(reference) = moved(response, "#/responses/", "#/components/responses/") {
        converted.set("$ref", reference);
    }
    copy(response, &["description"], &mut converted);
    let produces = produces.filter(|produces| !produces.is_empty());
    if let (Some(found), Some(produces)) = (response.get("schema"), produces) {
        converted.set("content", content(produces.clone(), &schema(found)));
    }
    copy_extensions(response, &mut converted);
    Value::Map(converted)
}

fn parameter(parameter: &Value) -> Value {
    let mut converted = Map::new();
    if let Some(reference) = moved(parameter, "#/parameters/", "#/components/parameters/") {
        converted.set("$ref", reference);
    }
    copy(parameter, &["name", "in", "description", "required", "allowEmptyValue"], &mut converted);
    let of_parameter = match parameter.get("schema") {
        Some(found) => schema(found),
        None => {
            let mut simple = Map::new();
            simple.set("type", parameter.str_at(&["type"]));
            copy(parameter, &["format", "uniqueItems"], &mut simple);
            Value::Map(simple)
        }
    };
    converted.set("schema", of_parameter);
    copy_extensions(parameter, &mut converted);
    Value::Map(converted)
}

/// Converts a schema and its references. A reference with siblings is wrapped, since version 3 does not allow them. The parser
/// bounds the depth of documents.
fn schema(found: &Value) -> Value {
    let Some(fields) = found.as_map() else { return found.clone() };
    let mut converted = Map::new();
    let mut reference = None;
    for (key, value) in fields.iter() {
        let value = match (key.as_str(), value) {
            ("$ref", Value::String(text)) => {
                let name = text.split_once(DEFINITIONS).map(|(_, name)| format!("{SCHEMAS}{name}"));
                reference = Some(name.map_or_else(|| value.clone(), Value::from));
                continue;
            }
            ("properties", Value::Map(properties)) => each(properties, |_, property| schema(property)),
            ("items", Value::List(items)) => Value::List(items.iter().map(schema).collect()),
            ("items" | "additionalProperties" | "additionalItems", value) => schema(value),
            (_, value) => value.clone(),
        };
        converted.set(key.clone(), value);
    }
    if let Some(reference) = reference {
        if converted.is_empty() {
            converted.set("$ref", reference);
        } else {
            converted.set("allOf", Value::List(vec![value!({ "$ref": reference })]));
        }
    }
    Value::Map(converted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_of_version_2_becomes_one_of_version_3() {
        let document = br##"{"swagger":"2.0","info":{"title":"t","version":"v"},
            "paths":{"/apis/g/v1/things":{"parameters":[{"name":"pretty","in":"query","type":"string","uniqueItems":true}],
              "post":{"operationId":"create","consumes":["*/*"],"produces":["application/json"],"x-kubernetes-action":"post",
                "parameters":[{"name":"body","in":"body","required":true,"schema":{"$ref":"#/definitions/A"}},{"$ref":"#/parameters/p"}],
                "responses":{"200":{"description":"OK","headers":{"X":{}},"schema":{"$ref":"#/definitions/A"}},"401":{"description":"no"}}}}},
            "definitions":{"A":{"type":"object","properties":{"$ref":{"type":"string"},"b":{"description":"d","$ref":"#/definitions/B"},
              "c":{"type":"array","items":{"$ref":"#/definitions/B"}},"d":{"additionalProperties":{"$ref":"#/definitions/B"}}}},"B":{}},
            "securityDefinitions":{"Bearer":{"type":"apiKey","name":"authorization","in":"header"}}}"##;
        let converted = openapi_v3_of_v2(document).expect("a document");
        let converted = json::parse(&converted, Strictness::Ignore).expect("JSON").value;
        let at = |path: &[&str]| path.iter().try_fold(&converted, |value, name| value.get(name)).map(json::to_string);
        let post = |name| at(&["paths", "/apis/g/v1/things", "post", name]).unwrap_or_default();
        let content = r##"{"application/json":{"schema":{"$ref":"#/components/schemas/A"}}}"##;
        let rows = [
            (at(&["openapi"]).unwrap_or_default(), r#""3.0.0""#.to_owned()),
            (
                at(&["paths", "/apis/g/v1/things", "parameters"]).unwrap_or_default(),
                r#"[{"name":"pretty","in":"query","schema":{"type":"string","uniqueItems":true}}]"#.to_owned(),
            ),
            (post("requestBody"), format!(r#"{{"content":{}}}"#, content.replace("application/json", "*/*"))),
            (post("parameters"), r##"[{"$ref":"#/components/parameters/p","schema":{"type":""}}]"##.to_owned()),
            (
                post("responses"),
                format!(r#"{{"200":{{"description":"OK","content":{content}}},"401":{{"description":"no"}}}}"#),
            ),
            (post("x-kubernetes-action"), r#""post""#.to_owned()),
            (
                at(&["components", "schemas", "A", "properties"]).unwrap_or_default(),
                r##"{"$ref":{"type":"string"},"b":{"description":"d","allOf":[{"$ref":"#/components/schemas/B"}]},"c":{"type":"array","items":{"$ref":"#/components/schemas/B"}},"d":{"additionalProperties":{"$ref":"#/components/schemas/B"}}}"##.to_owned(),
            ),
            (
                at(&["components", "securitySchemes", "Bearer"]).unwrap_or_default(),
                r#"{"type":"apiKey","name":"authorization","in":"header"}"#.to_owned(),
            ),
        ];
        for (found, expected) in rows {
            assert_eq!(found, expected);
        }
        assert_eq!(openapi_v3_of_v2(b"[]"), None);
        let many = (0..1000).map(|number| format!("\"a/{number}\"")).collect::<Vec<_>>().join(",");
        let many = format!(
            r#"{{"produces":[{many}],"responses":{{"r":{{"schema":{{"description":"{}"}}}}}}}}"#,
            "x".repeat(1000)
        );
        let converted = openapi_v3_of_v2(many.as_bytes()).expect("a document");
        assert!(converted.len() < 2 * MAX_MEDIA_TYPES * 1000, "{}", converted.len());
        assert!(openapi_v3_of_v2(br#"{"paths":{"/a":[]},"definitions":{"A":1}}"#).is_some());
    }
}
