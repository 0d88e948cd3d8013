//! CBOR over the wire: bodies, answers, lists and watches where it is served, and refusals where it is not.

mod common;

use common::http::{Answer, Client, JSON};
use common::process::Installation;
use pintle_codec::cbor;
use pintle_schema::{ApiType, Value, value};
use pintle_types::core::v1::ConfigMap;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const CBOR: &str = "application/cbor";

/// Sends a body in CBOR, and wants the answer in CBOR, too.
fn send(client: &mut Client, method: &str, path: &str, body: &[u8]) -> Answer {
    // The client writes one header of its caller's choice; the second rides on it.
    client.send(method, path, &format!("{CBOR}\r\nAccept: {CBOR}"), body).expect("an answer")
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
    let read = client.get(&format!("{CONFIG_MAPS}/a")).expect("an answer").expect(200);
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
    let applied = decoded(&client.send("PATCH", &path, &accept, &body("a")).expect("an answer"), 200, CBOR);
    let managers = applied.at(&["metadata", "managedFields"]).and_then(Value::as_list).unwrap_or_default();
    assert!(managers.iter().any(|entry| entry.str_at(&["operation"]) == "Apply"), "{applied:?}");
    let answer = client.send("PATCH", &path, &accept, b"\x01").expect("an answer");
    assert!(decoded(&answer, 400, CBOR).str_at(&["message"]).starts_with("error decoding YAML: "));
    let mut twice = body("c");
    twice.truncate(3);
    twice.extend_from_slice(b"\xa2\x44kind\x41a\x44kind\x41b");
    let refused = decoded(&send(&mut client, "POST", CONFIG_MAPS, &twice), 400, CBOR);
    assert!(refused.str_at(&["message"]).contains("found duplicate map key"), "{refused:?}");
}

#[test]
fn cbor_is_unknown_where_it_is_not_served() {
    let installation = Installation::new();
    let server = installation.start();
    let mut client = server.endpoint().client();
    let refused = client.send("POST", CONFIG_MAPS, CBOR, &body("a")).expect("an answer").expect(415);
    assert_eq!(refused["reason"], "UnsupportedMediaType");
    let applied =
        client.send("PATCH", &format!("{CONFIG_MAPS}/a?fieldManager=m"), "application/apply-patch+cbor", b"\xa0");
    applied.expect("an answer").expect(415);
    let accept = format!("{JSON}\r\nAccept: {CBOR}");
    let refused = client.send("GET", CONFIG_MAPS, &accept, b"").expect("an answer").expect(406);
    assert_eq!(refused["reason"], "NotAcceptable");
}
