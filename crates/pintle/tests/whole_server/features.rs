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

#[test]
fn lists_are_limited_at_version_0_without_a_watch_cache() {
    let installation = Installation::own();
    for (flag, is_limited) in [("--watch-cache=true", false), ("--watch-cache=false", true)] {
        let process = installation.start_with(&["--storage=memory", flag]);
        let mut client = process.endpoint().client();
        ["a", "b", "c"].into_iter().for_each(|name| create(&mut client, name, name));
        let names = |list: &Value| -> Vec<String> {
            let items = list["items"].as_array().expect("items").iter();
            items.map(|item| item["metadata"]["name"].as_str().unwrap_or_default().to_owned()).collect()
        };
        let page = client.get(&format!("{CONFIG_MAPS}?resourceVersion=0&limit=2")).expect("an answer").expect(200);
        let found = names(&page);
        assert_eq!((found.len() == 2, found.starts_with(&["a".into(), "b".into()])), (is_limited, true), "{found:?}");
        let next = page["metadata"]["continue"].as_str().unwrap_or_default();
        assert_eq!(!next.is_empty(), is_limited);
        if is_limited {
            let page = client.get(&format!("{CONFIG_MAPS}?resourceVersion=0&limit=2&continue={next}"));
            let page = page.expect("an answer").expect(200);
            assert_eq!(names(&page).first().map(String::as_str), Some("c"));
            assert!(names(&page).len() <= 2);
        }
    }
}
