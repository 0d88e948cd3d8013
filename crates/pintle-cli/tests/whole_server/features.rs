//! Features that clients can see and that gates turn off. Guarantees that all steps use only the API.

use crate::common::http::Answered;
use crate::common::http::{Answer, Client, JSON};
use crate::common::process::Installation;
use serde_json::{Value, json};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const STREAMED: &str = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";

fn ask(client: &mut Client, path: &str, headers: &str) -> Answer {
    client.send("GET", path, &format!("{JSON}\r\n{headers}"), b"").answer()
}

fn create(client: &mut Client, name: &str, text: &str) {
    let object = json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": {"a": text}});
    client.post(CONFIG_MAPS, &object).expect_status(201);
}

/// The values of a header, which may be there several times.
fn values<'a>(answer: &'a Answer, name: &str) -> Vec<&'a str> {
    answer.headers.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
}

#[test]
fn features_can_be_turned_off() {
    let installation = Installation::own();
    let gates = ["APIResponseCompression", "WatchList", "OpenAPIEnums", "StorageVersionHash"];
    let off = format!("--feature-gates={}", gates.map(|gate| format!("{gate}=false")).join(","));
    for (arguments, is_on) in [(vec!["--storage=memory"], true), (vec!["--storage=memory", &off], false)] {
        let process = installation.start_with(&arguments);
        let mut client = process.endpoint().client();
        create(&mut client, "large", &"x".repeat(200 << 10));

        let compressed = ask(&mut client, CONFIG_MAPS, "Accept-Encoding: gzip");
        let wanted = if is_on { ("gzip", vec!["Accept-Encoding"]) } else { ("", vec![]) };
        assert_eq!((compressed.header("content-encoding"), values(&compressed, "vary")), wanted);
        let plain = client.get(CONFIG_MAPS).answer();
        assert_eq!(values(&plain, "vary"), [""; 0]);

        let mut watch = client.watch(&format!("{CONFIG_MAPS}?watch=1&resourceVersion=0")).expect("a watch");
        assert_eq!(watch.event().0, "ADDED");
        if is_on {
            let mut watch = client.watch(&format!("{CONFIG_MAPS}?{STREAMED}")).expect("a watch");
            let kinds = std::iter::repeat_with(|| watch.event().0).take_while(|kind| kind != "BOOKMARK");
            assert!(kinds.collect::<Vec<_>>().iter().all(|kind| kind == "ADDED"));
        } else {
            let refused = client.get(&format!("{CONFIG_MAPS}?{STREAMED}")).expect_status(422);
            let why = "ListOptions.meta.k8s.io \"\" is invalid: sendInitialEvents: Forbidden: sendInitialEvents is \
                       forbidden for watch unless the WatchList feature gate is enabled";
            assert_eq!(refused["message"], why);
        }

        let document = client.get("/openapi/v3/api/v1").expect_status(200);
        let policy = &document["components"]["schemas"]["io.k8s.api.core.v1.PodSpec"]["properties"]["restartPolicy"];
        assert_eq!(policy.get("enum").is_some(), is_on);
        let list = client.get("/api/v1").expect_status(200);
        let resources = list["resources"].as_array().expect("resources");
        assert_eq!(resources.iter().any(|resource| resource.get("storageVersionHash").is_some()), is_on);
    }
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
        let page = client.get(&format!("{CONFIG_MAPS}?resourceVersion=0&limit=2")).expect_status(200);
        let found = names(&page);
        assert_eq!((found.len() == 2, found.starts_with(&["a".into(), "b".into()])), (is_limited, true), "{found:?}");
        let next = page["metadata"]["continue"].as_str().unwrap_or_default();
        assert_eq!(!next.is_empty(), is_limited);
        if is_limited {
            let page = client.get(&format!("{CONFIG_MAPS}?resourceVersion=0&limit=2&continue={next}"));
            let page = page.expect_status(200);
            assert_eq!(names(&page).first().map(String::as_str), Some("c"));
            assert!(names(&page).len() <= 2);
        }
    }
}

/// The claims of a token, without a look at its signature.
fn claims(token: &Value) -> Value {
    let payload = token.as_str().and_then(|token| token.split('.').nth(1)).expect("a token");
    serde_json::from_slice(&data_encoding::BASE64URL_NOPAD.decode(payload.as_bytes()).expect("base64")).expect("claims")
}

#[test]
fn tokens_are_those_of_the_emulated_release() {
    let installation = Installation::own();
    let gates = ["JTI", "NodeBinding", "PodNodeInfo"].map(|gate| format!("ServiceAccountToken{gate}=false"));
    let off = format!("--feature-gates={}", gates.join(","));
    for (arguments, is_on) in [(vec![], true), (vec!["--emulated-version=1.31", &off], false)] {
        let arguments: Vec<&str> = ["--storage=memory"].into_iter().chain(arguments).collect();
        let process = installation.start_with(&arguments);
        let mut client = process.endpoint().client();
        let account = json!({"metadata": {"name": "builder"}});
        client.post("/api/v1/namespaces/default/serviceaccounts", &account).expect_status(201);
        let node = json!({"metadata": {"name": "n"}});
        client.post("/api/v1/nodes", &node).expect_status(201);
        let pod = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "serviceAccountName": "builder",
            "containers": [{"name": "c", "image": "i"}]}});
        client.post("/api/v1/namespaces/default/pods", &pod).expect_status(201);
        let mut ask = |kind: &str, name: &str| {
            let bound = json!({"kind": kind, "apiVersion": "v1", "name": name});
            let request = json!({"spec": {"audiences": [], "boundObjectRef": bound}});
            client.post("/api/v1/namespaces/default/serviceaccounts/builder/token", &request).answer()
        };
        let claims = claims(&ask("Pod", "p").expect(201)["status"]["token"]);
        assert_eq!(claims.get("jti").is_some(), is_on);
        assert_eq!(claims["kubernetes.io"].get("node").is_some(), is_on);
        assert_eq!(claims["kubernetes.io"]["pod"]["name"], "p");
        let of_node = ask("Node", "n");
        if is_on {
            of_node.expect(201);
        } else {
            let why =
                "cannot bind token to a Node object as the \"ServiceAccountTokenNodeBinding\" feature-gate is disabled";
            assert_eq!(of_node.expect(400)["message"], why);
        }
    }
}

#[test]
fn fields_that_the_emulated_release_lacks_are_dropped() {
    let installation = Installation::own();
    let gates = ["UserNamespacesSupport", "ProcMountType", "JobManagedBy", "MatchLabelKeysInPodTopologySpread"];
    let off = format!("--feature-gates={}", gates.map(|gate| format!("{gate}=false")).join(","));
    for (arguments, is_on) in [(vec![], true), (vec!["--emulated-version=1.33", &off], false)] {
        let arguments: Vec<&str> = ["--storage=memory"].into_iter().chain(arguments).collect();
        let process = installation.start_with(&arguments);
        let mut client = process.endpoint().client();
        let constraint = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"a": "b"}}, "matchLabelKeys": ["c"]});
        let template = json!({"spec": {"restartPolicy": "Never", "hostUsers": false,
            "topologySpreadConstraints": [constraint], "containers": [{"name": "c", "image": "i"}]}});
        let job = json!({"metadata": {"name": "j"}, "spec": {"managedBy": "example.com/queue", "template": template}});
        let created = client.post("/apis/batch/v1/namespaces/default/jobs", &job).expect_status(201);
        let (spec, pod) = (&created["spec"], &created["spec"]["template"]["spec"]);
        let shown = |value: &Value| if is_on { Some(value.clone()) } else { None };
        assert_eq!(spec.get("managedBy").cloned(), shown(&json!("example.com/queue")));
        assert_eq!(pod.get("hostUsers").cloned(), shown(&json!(false)));
        assert_eq!(pod["topologySpreadConstraints"][0].get("matchLabelKeys").cloned(), shown(&json!(["c"])));
    }
}
