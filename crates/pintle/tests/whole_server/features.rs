//! Features that clients can see and that gates turn off. Guarantees that all steps use only the API.

use crate::common::http::Client;
use crate::common::process::Installation;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const STREAMED: &str = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn create(client: &mut Client, name: &str, text: &str) {
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": text}});
    client.post(CONFIG_MAPS, &object).expect("an answer").expect(201);
}

#[test]
fn tables_without_objects_tell_where_the_initial_events_end() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let mut client = process.endpoint().client();
    create(&mut client, "a", "b");
    let path = format!("{CONFIG_MAPS}?{STREAMED}&includeObject=None&fieldSelector=metadata.name%3Da");
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let mut watch = client.with_header("Accept", table).watch(&path).expect("a watch");
    let (kind, shown) = watch.event();
    assert_eq!((kind.as_str(), &shown["rows"][0]["object"]), ("ADDED", &Value::Null));
    let (kind, shown) = watch.event();
    let object = &shown["rows"][0]["object"];
    assert_eq!((kind.as_str(), &object["kind"]), ("BOOKMARK", &json!("PartialObjectMetadata")));
    assert_eq!(object["metadata"]["annotations"], json!({"k8s.io/initial-events-end": "true"}));
    assert_eq!(object["metadata"]["resourceVersion"], shown["metadata"]["resourceVersion"]);
}
