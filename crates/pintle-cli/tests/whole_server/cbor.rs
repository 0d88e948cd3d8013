//! CBOR over HTTP: bodies, responses, lists and watches where it is enabled, and errors where it is not.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, JSON};
use crate::common::process::Installation;
use pintle_codec::cbor;
use pintle_schema::{ApiType, Value, value};
use pintle_types::core::v1::ConfigMap;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CBOR: &str = "application/cbor";

/// Sends a body in CBOR, and requests a response in CBOR.
fn send(client: &mut Client, method: &str, path: &str, body: &[u8]) -> Answer {
    // The client writes one header of its caller's choice; the second rides on it.
    client.send(method, path, &format!("{CBOR}\r\nAccept: {CBOR}"), body).answer()
}

fn body(name: &str) -> Vec<u8> {
    let object = value!({
        "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"k": "v"}, "binaryData": {"b": "aGVsbG8="}
    });
    let mut bytes = Vec::new();
    cbor::encode(ConfigMap::schema(), &object, &mut bytes);
    bytes
}

fn decoded(answer: &Answer, status: u16, content_type: &str) -> Value {
    let found = answer.headers.iter().find(|(name, _)| name == "content-type").map(|(_, value)| value.as_str());
    assert_eq!((answer.status, found), (status, Some(content_type)), "{}", answer.text());
    assert!(answer.body.starts_with(cbor::SELF_DESCRIBED), "{:?}", answer.body);
    cbor::parse(&answer.body).expect("CBOR")
}

#[test]
fn objects_lists_and_watches_are_cbor_where_it_is_served() {
    let installation = Installation::new();
    let server = installation.start_with(&["--feature-gates", "CBORServingAndStorage=true"]);
    let mut client = server.endpoint().client();
    let created = decoded(&send(&mut client, "POST", CONFIG_MAPS, &body("a")), 201, CBOR);
    assert_eq!(created.at(&["binaryData", "b"]), Some(&Value::from("aGVsbG8=")));
    let read = client.get(&format!("{CONFIG_MAPS}/a")).expect_status(200);
    assert_eq!((&read["data"]["k"], &read["binaryData"]["b"]), (&"v".into(), &"aGVsbG8=".into()));

    let one = format!("{CONFIG_MAPS}?fieldSelector=metadata.name=a");
    let list = decoded(&send(&mut client, "GET", &one, b""), 200, CBOR);
    assert_eq!(list.str_at(&["kind"]), "ConfigMapList");
    assert_eq!(list.get("items").and_then(Value::as_list).map(<[Value]>::len), Some(1));

    let watch = send(&mut client, "GET", &format!("{one}&watch=1&timeoutSeconds=1"), b"");
    let event = decoded(&watch, 200, "application/cbor-seq");
    assert_eq!((event.str_at(&["type"]), event.str_at(&["object", "kind"])), ("ADDED", "ConfigMap"));

    let missing = decoded(&send(&mut client, "GET", &format!("{CONFIG_MAPS}/b"), b""), 404, CBOR);
    assert_eq!(missing.str_at(&["reason"]), "NotFound");
    let path = format!("{CONFIG_MAPS}/a?fieldManager=m&force=true");
    let accept = format!("application/apply-patch+cbor\r\nAccept: {CBOR}");
    let applied = decoded(&client.send("PATCH", &path, &accept, &body("a")).answer(), 200, CBOR);
    let managers = applied.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    assert!(managers.iter().any(|entry| entry.str_at(&["operation"]) == "Apply"), "{applied:?}");
    let answer = client.send("PATCH", &path, &accept, b"\x01").answer();
    assert!(decoded(&answer, 400, CBOR).str_at(&["message"]).starts_with("error decoding YAML: "));
    let mut twice = body("c");
    twice.truncate(3);
    twice.extend_from_slice(b"\xa2\x44kind\x41a\x44kind\x41b");
    let refused = decoded(&send(&mut client, "POST", CONFIG_MAPS, &twice), 400, CBOR);
    assert!(refused.str_at(&["message"]).contains("found duplicate map key"), "{refused:?}");
}

/// Appends a tree without a schema, as a client does that knows none.
fn put_tree(tree: &serde_json::Value, out: &mut Vec<u8>) {
    let head = |major: u8, count: usize, out: &mut Vec<u8>| match u8::try_from(count).expect("a short value") {
        count @ ..24 => out.push(major << 5 | count),
        count => out.extend_from_slice(&[major << 5 | 24, count]),
    };
    match tree {
        serde_json::Value::Null => out.push(0xf6),
        serde_json::Value::Bool(is) => out.push(if *is { 0xf5 } else { 0xf4 }),
        serde_json::Value::Number(number) => match number.as_u64() {
            Some(number) => head(0, usize::try_from(number).expect("a small number"), out),
            None => {
                out.push(0xfb);
                out.extend_from_slice(&number.as_f64().expect("a number").to_be_bytes());
            }
        },
        serde_json::Value::String(text) => {
            head(3, text.len(), out);
            out.extend_from_slice(text.as_bytes());
        }
        serde_json::Value::Array(items) => {
            head(4, items.len(), out);
            items.iter().for_each(|item| put_tree(item, out));
        }
        serde_json::Value::Object(fields) => {
            head(5, fields.len(), out);
            for (name, value) in fields {
                put_tree(&name.as_str().into(), out);
                put_tree(value, out);
            }
        }
    }
}

#[test]
fn custom_resources_are_cbor_where_it_is_served() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
    let installation = Installation::new();
    let server = installation.start_with(&["--feature-gates", "CBORServingAndStorage=true"]);
    let mut client = server.endpoint().client();
    let spec = serde_json::json!({"type": "object", "properties": {
        "size": {"type": "integer", "default": 3}, "share": {"type": "number"}, "data": {"type": "string"},
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "keys": {"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"}}}});
    let schema = serde_json::json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
    let definition = serde_json::json!({"metadata": {"name": "widgets.example.com"}, "spec": {
        "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}]}});
    client.post(DEFINITIONS, &definition).expect_status(201);
    crate::common::wait_for("the resource", || client.get(WIDGETS).ok().filter(|answer| answer.status == 200));

    let encoded = |object: &Value| {
        let mut bytes = cbor::SELF_DESCRIBED.to_vec();
        put_tree(&serde_json::from_str(&pintle_codec::json::to_string(object)).expect("JSON"), &mut bytes);
        bytes
    };
    let widget = |spec: Value| value!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "a"}, "spec": spec});
    let sent = value!({"share": 0.5, "free": {"n": 7, "list": [1, true, null, "x"]}, "keys": ["k"], "gone": 1});
    let created = decoded(&send(&mut client, "POST", WIDGETS, &encoded(&widget(sent))), 201, CBOR);
    let stored = value!({"free": {"list": [1, true, null, "x"], "n": 7}, "keys": ["k"], "share": 0.5, "size": 3});
    assert_eq!(created.get("spec"), Some(&stored));
    let read = client.get(&format!("{WIDGETS}/a")).expect_status(200);
    assert_eq!(read["spec"].to_string(), pintle_codec::json::to_string(&stored));
    let unknown =
        send(&mut client, "POST", &format!("{WIDGETS}?fieldValidation=Strict"), &encoded(&widget(value!({"gone": 1}))));
    assert!(
        decoded(&unknown, 400, CBOR)
            .str_at(&["message"])
            .ends_with("strict decoding error: unknown field \"spec.gone\"")
    );

    let list = decoded(&send(&mut client, "GET", WIDGETS, b""), 200, CBOR);
    assert_eq!(list.str_at(&["kind"]), "WidgetList");
    let items = list.get("items").and_then(Value::as_list).unwrap_or_default();
    assert_eq!(items.iter().map(|item| item.get("spec")).collect::<Vec<_>>(), [Some(&stored)]);
    let watch = send(&mut client, "GET", &format!("{WIDGETS}?watch=1&timeoutSeconds=1"), b"");
    let event = decoded(&watch, 200, "application/cbor-seq");
    assert_eq!((event.str_at(&["type"]), event.at(&["object", "spec"])), ("ADDED", Some(&stored)));

    let path = format!("{WIDGETS}/a?fieldManager=m");
    let accept = format!("application/apply-patch+cbor\r\nAccept: {CBOR}");
    let config = encoded(&widget(value!({"keys": ["l"]})));
    let applied = decoded(&client.send("PATCH", &path, &accept, &config).answer(), 200, CBOR);
    assert_eq!(applied.at(&["spec", "keys"]), Some(&value!(["k", "l"])));
    let protobuf = client.send("POST", WIDGETS, "application/vnd.kubernetes.protobuf", b"k8s\0").answer();
    assert_eq!(protobuf.expect(415)["reason"], "UnsupportedMediaType");
}

#[test]
fn cbor_is_unknown_where_it_is_not_served() {
    let installation = Installation::new();
    let server = installation.start();
    let mut client = server.endpoint().client();
    let refused = client.send("POST", CONFIG_MAPS, CBOR, &body("a")).expect_status(415);
    assert_eq!(refused["reason"], "UnsupportedMediaType");
    let applied =
        client.send("PATCH", &format!("{CONFIG_MAPS}/a?fieldManager=m"), "application/apply-patch+cbor", b"\xa0");
    applied.expect_status(415);
    let accept = format!("{JSON}\r\nAccept: {CBOR}");
    let refused = client.send("GET", CONFIG_MAPS, &accept, b"").expect_status(406);
    assert_eq!(refused["reason"], "NotAcceptable");
}
