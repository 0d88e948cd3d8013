//! Requests for custom resources: unknown fields, media types, kinds, patches and apply. Guarantees that all steps use only the
//! API.

use crate::common::http::Answered;
use crate::common::http::{Client, JSON, JSON_PATCH, MERGE_PATCH, YAML};
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const WIDGETS: &str = "/apis/example.com/v1/namespaces/default/widgets";
const APPLY: &str = "application/apply-patch+yaml";

fn definition() -> Value {
    let text = || json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {
        "a": text(),
        "replicas": {"type": "integer"},
        "set": {"type": "array", "x-kubernetes-list-type": "set", "items": text()},
        "map": {"type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
            "items": {"type": "object", "required": ["k"], "properties": {"k": text(), "v": text()}}},
        "inner": {"type": "object", "x-kubernetes-embedded-resource": true, "x-kubernetes-preserve-unknown-fields": true},
        "free": {"x-kubernetes-preserve-unknown-fields": true}}});
    let schema = json!({"type": "object", "properties": {"spec": spec, "status": {"type": "object",
        "properties": {"replicas": {"type": "integer"}, "selector": text()}}}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
                "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas", "labelSelectorPath": ".status.selector"}}}]}})
}

fn widget(name: &str, spec: Value) -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
}

fn serve() -> (Installation, crate::common::process::Process, Client) {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    client.post(DEFINITIONS, &definition()).expect_status(201);
    wait_for("the resource", || (client.get(WIDGETS).answer().status == 200).then_some(()));
    (installation, process, client)
}

#[test]
fn a_version_is_listed_whatever_the_method() {
    let (_installation, _process, mut client) = serve();
    for method in ["GET", "POST", "DELETE"] {
        let list = client.send(method, "/apis/example.com/v1", JSON, b"").expect_status(200);
        assert_eq!(list["kind"], "APIResourceList", "{method}");
    }
    let accept = format!("{JSON}\r\nAccept: text/html");
    let refused = client.send("GET", "/apis/example.com/v1", &accept, b"").expect_status(406);
    let message = "only the following media types are accepted: application/json, application/yaml, \
                   application/vnd.kubernetes.protobuf";
    assert_eq!(refused["message"], message);
}

#[test]
fn unknown_fields_are_reported_as_asked() {
    let (_installation, _process, mut client) = serve();
    let sent = br#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","junkmeta":1},"spec":{"a":"x","a":"y",
        "junk":1,"map":[{"k":"1","junk":2}],"inner":{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","junk":2},"any":1}}}"#;
    let problems = [
        "duplicate field \"spec.a\"",
        "unknown field \"metadata.junkmeta\"",
        "unknown field \"spec.junk\"",
        "unknown field \"spec.map[0].junk\"",
        "unknown field \"spec.inner.metadata.junk\"",
    ];
    let mut post = |query: &str, sent: &[u8]| {
        client.send("POST", &format!("{WIDGETS}?dryRun=All{query}"), "application/json", sent).answer()
    };
    let strict = post("&fieldValidation=Strict", sent).expect(400);
    assert_eq!(
        strict["message"],
        format!(
            "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: {}",
            problems.join(", ")
        )
    );
    let warned = post("", sent);
    assert!(warned.header("warning").contains("duplicate field"), "{}", warned.header("warning"));
    let kept = json!({"a": "y", "map": [{"k": "1"}],
        "inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "any": 1}});
    assert_eq!(warned.expect(201)["spec"], kept);
    let held = br#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"b","finalizers":["cleanup.example.com"]}}"#;
    let held = post("", held);
    assert!(held.header("warning").contains("prefer a domain-qualified finalizer name"), "{}", held.header("warning"));
    held.expect(201);
    let ignored = post("&fieldValidation=Ignore", sent);
    assert_eq!((ignored.header("warning"), &ignored.expect(201)["spec"]), ("", &kept));

    let rows = [
        (
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"}}),
            422,
            "Gadget.example.com \"a\" is invalid: kind: Invalid value: \"Gadget\": must be Widget",
        ),
        (
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a"},
                "spec": {"a": 1, "inner": {"kind": "Pod"}}}),
            422,
            "Gadget.example.com \"a\" is invalid: [kind: Invalid value: \"Gadget\": must be Widget, \
             spec.inner.apiVersion: Required value]",
        ),
        (
            json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": "a", "namespace": "other"}}),
            400,
            "the namespace of the provided object does not match the namespace sent on the request",
        ),
        (
            json!({"apiVersion": "example.com/v2", "kind": "Widget", "metadata": {"name": "a"}}),
            400,
            "the API version in the data (example.com/v2) does not match the expected API version (example.com/v1)",
        ),
        (
            json!({"kind": "Widget", "metadata": {"name": "a"}}),
            400,
            "the API version in the data () does not match the expected API version (example.com/v1)",
        ),
        (
            json!({"metadata": {"name": "a"}}),
            400,
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in \
             '{\"metadata\":{\"name\":\"a\"}}' ({\"metadata\":{\"name\":\"a\"}})",
        ),
        (
            widget("a", json!({"inner": {"apiVersion": "v1", "kind": "Pod", "metadata": {"labels": {"x": 1}}}})),
            400,
            "Widget in version \"v1\" cannot be handled as a Widget: spec.inner.metadata: Invalid value: \
             {\"labels\":{\"x\":1}}: json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string",
        ),
    ];
    for (sent, code, message) in rows {
        assert_eq!(post("", sent.to_string().as_bytes()).expect(code)["message"], message);
    }
    let mut versioned = widget("a", json!({}));
    versioned["metadata"]["resourceVersion"] = json!("5");
    assert_eq!(post("", versioned.to_string().as_bytes()).expect(201)["metadata"]["resourceVersion"], "5");
    let texts = [
        (
            r#"{"apiVersion":null,"kind":"Widget"}"#,
            "Widget in version \"\" cannot be handled as a Widget: .apiVersion accessor error: <nil> is of the type <nil>, \
             expected string",
        ),
        (
            r#"{"KIND":"Widget"}"#,
            "the object provided is unrecognized (must be of type Widget): Object 'Kind' is missing in \
             '{\"KIND\":\"Widget\"}' ({\"KIND\":\"Widget\"})",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a"},"spec":{"replicas":1e400}}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of \
             type float64",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":1e400}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of \
             type float64",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":1e400,"generation":true}}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1e400 into Go value of \
             type float64",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":1.50}}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 1.5 into Go struct field \
             ObjectMeta.generation of type int64",
        ),
        (
            r#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","generation":9223372036854775808}}"#,
            "Widget in version \"v1\" cannot be handled as a Widget: json: cannot unmarshal number 9223372036854776000 into \
             Go struct field ObjectMeta.generation of type int64",
        ),
    ];
    for (sent, message) in texts {
        assert_eq!(post("", sent.as_bytes()).expect(400)["message"], message);
    }
    for generation in ["1.0", "1e0", "10e-1", "-0"] {
        let sent = format!(
            r#"{{"apiVersion":"example.com/v1","kind":"Widget","metadata":{{"name":"n","generation":{generation}}}}}"#
        );
        post("", sent.as_bytes()).expect(201);
    }
    let quoted =
        br#"{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"a","b\"c":1},"spec":{"d\"e\\":1}}"#;
    assert_eq!(
        post("&fieldValidation=Strict", quoted).expect(400)["message"],
        "Widget in version \"v1\" cannot be handled as a Widget: strict decoding error: unknown field \"metadata.b\"c\", \
         unknown field \"spec.d\"e\\\""
    );
    assert_eq!(
        post("&fieldValidation=Ignore", b"{}").expect(400)["message"],
        "Widget in version \"v1\" cannot be handled as a Widget: Object 'Kind' is missing in '{}'"
    );
    // The kind is the last thing that is checked before the content.
    client.post(WIDGETS, &widget("b", json!({}))).expect_status(201);
    let replacements = [
        ("missing", "missing", 404, "widgets.example.com \"missing\" not found"),
        ("b", "c", 400, "the name of the object (c) does not match the name on the URL (b)"),
        (
            "b",
            "b",
            422,
            "widgets.example.com \"b\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update",
        ),
    ];
    for (path, name, code, message) in replacements {
        let sent = json!({"apiVersion": "example.com/v1", "kind": "Gadget", "metadata": {"name": name}});
        let answer = client.send("PUT", &format!("{WIDGETS}/{path}"), JSON, sent.to_string().as_bytes());
        assert_eq!(answer.expect_status(code)["message"], message);
    }
    let mut stored = client.get(&format!("{WIDGETS}/b")).expect_status(200);
    stored["kind"] = json!("Gadget");
    let status = client.send("PUT", &format!("{WIDGETS}/b/status"), JSON, stored.to_string().as_bytes());
    assert_eq!(status.expect_status(200)["kind"], "Widget");
}

#[test]
fn negative_zeros_are_zeros() {
    let (_installation, _process, mut client) = serve();
    let path = format!("{WIDGETS}/a");
    let body = |zero: &str| {
        format!(
            "{{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{{\"name\":\"a\"}},\
             \"spec\":{{\"free\":{{\"zero\":{zero},\"list\":[{zero}]}}}}}}"
        )
    };
    for zero in ["-0", "-0.0", "-0e1"] {
        for (method, path, media_type) in [
            ("POST", WIDGETS.to_owned(), JSON),
            ("POST", WIDGETS.to_owned(), YAML),
            ("PATCH", format!("{path}?fieldManager=m"), APPLY),
        ] {
            let made = client.send(method, &path, media_type, body(zero).as_bytes()).answer();
            assert_eq!(made.status, 201, "{zero}: {}", made.text());
            let read = client.get(&format!("{WIDGETS}/a")).answer();
            for answer in [made, read] {
                assert!(answer.text().contains(r#""free":{"list":[0],"zero":0}"#), "{zero}: {}", answer.text());
            }
            client.delete(&format!("{WIDGETS}/a")).expect_status(200);
        }
        client.post(WIDGETS, &widget("a", json!({}))).expect_status(201);
        let merge = format!("{{\"spec\":{{\"free\":{{\"zero\":{zero}}}}}}}");
        let json = format!(r#"[{{"op":"add","path":"/spec/free","value":{{"zero":{zero}}}}}]"#);
        for (media_type, patch) in [(MERGE_PATCH, merge), (JSON_PATCH, json)] {
            let patched = client.send("PATCH", &path, media_type, patch.as_bytes()).answer();
            assert!(patched.text().contains(r#""free":{"zero":0}"#), "{zero}: {}", patched.text());
        }
        client.delete(&path).expect_status(200);
    }
}

#[test]
fn patches_remove_neither_the_version_nor_the_owners() {
    let (_installation, _process, mut client) = serve();
    client.post(WIDGETS, &widget("a", json!({"a": "x"}))).expect_status(201);
    let object = format!("{WIDGETS}/a");
    let mut patch = |patch: Value| client.send("PATCH", &object, MERGE_PATCH, patch.to_string().as_bytes()).answer();
    for version in [json!(null), json!(""), json!("0")] {
        let refused = patch(json!({"metadata": {"resourceVersion": version}})).expect(422);
        let message = "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for \
                       an update";
        assert_eq!(refused["message"], message);
    }
    let patched = patch(json!({"metadata": {"managedFields": []}, "spec": {"a": "y"}})).expect(200);
    assert_eq!(patched["metadata"]["managedFields"].as_array().map(Vec::len), Some(1));
    let reset = patch(json!({"metadata": {"managedFields": [{}]}})).expect(200);
    assert_eq!(reset["metadata"]["managedFields"], Value::Null);
}

#[test]
fn patches_change_no_type() {
    let (_installation, _process, mut client) = serve();
    client.post(WIDGETS, &widget("a", json!({"a": "x"}))).expect_status(201);
    let mut patch = |part: &str, patch: Value| {
        let path = format!("{WIDGETS}/a{part}");
        client.send("PATCH", &path, MERGE_PATCH, patch.to_string().as_bytes()).answer()
    };
    let other_version = patch("", json!({"apiVersion": "example.com/v9", "spec": {"set": ["a", "a"]}}));
    assert_eq!(other_version.header("warning"), "299 - \"unknown field \\\"spec\\\"\"");
    let invalid =
        "Widget.example.com \"a\" is invalid: apiVersion: Invalid value: \"example.com/v9\": must be example.com/v1";
    assert_eq!(other_version.expect(422)["message"], invalid);
    let rows = [
        (
            json!({"kind": "Other", "spec": {"set": ["a", "a"]}}),
            422,
            "Other.example.com \"a\" is invalid: [kind: Invalid value: \"Other\": must be Widget, \
             spec.set[1]: Duplicate value: \"a\"]",
        ),
        (
            json!({"apiVersion": "other/v1", "spec": {"set": ["a", "a"]}}),
            422,
            "Widget.other \"a\" is invalid: [apiVersion: Invalid value: \"other/v1\": must be example.com/v1, \
             spec.set[1]: Duplicate value: \"a\"]",
        ),
        (
            json!({"kind": "Other", "metadata": {"name": "b"}}),
            400,
            "the name of the object (b) does not match the name on the URL (a)",
        ),
    ];
    for (sent, code, message) in rows {
        assert_eq!(patch("", sent).expect(code)["message"], message);
    }
    assert_eq!(patch("/status", json!({"kind": "Other", "status": {"replicas": 1}})).expect(200)["kind"], "Widget");
}

#[test]
fn unsupported_methods_are_named_by_their_verbs() {
    let (_installation, _process, mut client) = serve();
    client.post(WIDGETS, &widget("a", json!({"a": "x"}))).expect_status(201);
    let (object, status) = (format!("{WIDGETS}/a"), format!("{WIDGETS}/a/status"));
    let (below, nameless) = (format!("{status}/x"), format!("{WIDGETS}//status"));
    let proxy = WIDGETS.replace("/v1/", "/v1/proxy/") + "/a";
    let unsupported = |verb: &str| format!("{verb} is not supported on resources of kind \"widgets.example.com\"");
    for (method, path, code, message) in [
        ("PUT", WIDGETS, 400, "name must be provided".to_owned()),
        ("PATCH", WIDGETS, 400, "name must be provided".to_owned()),
        ("OPTIONS", WIDGETS, 405, unsupported("")),
        ("OPTIONS", object.as_str(), 405, unsupported("")),
        ("POST", status.as_str(), 405, unsupported("create")),
        ("DELETE", status.as_str(), 405, unsupported("delete")),
        // What follows a subresource does not count, and a part of nothing is one of the collection.
        ("POST", below.as_str(), 405, unsupported("create")),
        ("GET", nameless.as_str(), 405, unsupported("list")),
        ("DELETE", nameless.as_str(), 405, unsupported("deletecollection")),
        ("PUT", nameless.as_str(), 400, "name must be provided".to_owned()),
        ("GET", proxy.as_str(), 405, unsupported("proxy")),
    ] {
        let answer = client.send(method, path, MERGE_PATCH, b"{}").expect_status(code);
        assert_eq!(answer["message"], message, "{method} {path}");
    }
    // The legacy path of a watch is one whatever the method is.
    let watch = WIDGETS.replace("/v1/", "/v1/watch/") + "?timeoutSeconds=1";
    for method in ["GET", "POST", "PUT"] {
        let events = client.send(method, &watch, MERGE_PATCH, b"").answer();
        assert_eq!(events.status, 200, "{method}");
        assert!(events.text().starts_with("{\"type\":\"ADDED\""), "{method} {}", events.text());
    }
    let everywhere = client.send("PUT", "/apis/example.com/v1/widgets", MERGE_PATCH, b"{}").answer();
    assert_eq!((everywhere.status, everywhere.text().as_str()), (404, "404 page not found\n"));
    let twice = "/apis/example.com/v1/namespaces/default/namespaces/widgets";
    let twice = client.send("GET", twice, MERGE_PATCH, b"").answer();
    assert_eq!((twice.status, twice.text().as_str()), (404, "404 page not found\n"));
}

#[test]
fn apply_follows_the_topology_of_the_schema() {
    let (_installation, _process, mut client) = serve();
    let mut apply = |manager: &str, spec: Value| {
        let path = format!("{WIDGETS}/a?fieldManager={manager}");
        client.send("PATCH", &path, APPLY, widget("a", spec).to_string().as_bytes()).answer()
    };
    apply("one", json!({"set": ["x"], "map": [{"k": "1", "v": "a"}]})).expect(201);
    let both = apply("two", json!({"set": ["y"], "map": [{"k": "2", "v": "b"}]})).expect(200);
    assert_eq!(both["spec"], json!({"set": ["x", "y"], "map": [{"k": "1", "v": "a"}, {"k": "2", "v": "b"}]}));
    assert_eq!(
        both["metadata"]["managedFields"][1]["fieldsV1"],
        json!({"f:spec": {"f:set": {"v:\"y\"": {}}, "f:map": {"k:{\"k\":\"2\"}": {".": {}, "f:k": {}, "f:v": {}}}}})
    );
    let conflict = apply("two", json!({"map": [{"k": "1", "v": "c"}]})).expect(409);
    let message = "Apply failed with 1 conflict: conflict with \"one\": .spec.map[k=\"1\"].v";
    assert_eq!(conflict["message"], message);
    let fewer = apply("one", json!({"set": ["x"]})).expect(200);
    assert_eq!(fewer["spec"]["map"], json!([{"k": "2", "v": "b"}]));
    // Nulls that no schema allows are not read again.
    let nulls = apply("one", json!({"free": null, "set": ["x"]})).expect(200);
    assert_eq!(nulls["spec"].get("free"), None);
    let nulls = apply("one", json!({"free": {"a": null}, "set": ["x"]})).expect(200);
    assert_eq!(nulls["spec"]["free"], json!({"a": null}));
    let undeclared = apply("one", json!({"junk": 1})).expect(500);
    let message = "failed to create typed patch object (/a; example.com/v1, Kind=Widget): .spec.junk: field not declared in schema";
    assert_eq!(undeclared["message"], message);
}

#[test]
fn media_types_are_those_of_trees() {
    let (_installation, _process, mut client) = serve();
    client.post(WIDGETS, &widget("a", json!({"a": "x"}))).expect_status(201);
    let object = format!("{WIDGETS}/a");
    let patches = "the body of the request was in an unknown format - accepted media types include: \
                   application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml";
    for content_type in ["application/strategic-merge-patch+json", "application/json"] {
        let refused = client.send("PATCH", &object, content_type, b"{}").answer();
        assert_eq!(refused.expect(415)["message"], patches, "{content_type}");
    }
    let protobuf = client.send("POST", WIDGETS, "application/vnd.kubernetes.protobuf", b"k8s\0").answer();
    assert_eq!(protobuf.status, 415);
    let mut get = |path: &str, accept: &str| {
        client.send("GET", path, &format!("{JSON}\r\nAccept: {accept}"), b"").answer().status
    };
    assert_eq!(get(&format!("{object}/scale"), "application/vnd.kubernetes.protobuf"), 406);
    assert_eq!(get(&object, "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"), 500);
    assert_eq!(["status/x", "scale/x/y", "x"].map(|path| get(&format!("{object}/{path}"), JSON)), [200, 500, 404]);
    let list = client.get(WIDGETS).expect_status(200);
    assert_eq!((&list["kind"], &list["metadata"]["continue"]), (&json!("WidgetList"), &json!("")));
    assert_eq!(
        (&list["items"][0]["kind"], &list["items"][0]["apiVersion"]),
        (&json!("Widget"), &json!("example.com/v1"))
    );
    let missing = client.get(&WIDGETS.replace("/v1/", "/v9/")).answer();
    assert_eq!((missing.status, missing.body.as_slice()), (404, b"404 page not found\n".as_slice()));
}

#[test]
fn scales_are_those_of_the_paths() {
    let (_installation, process, mut client) = serve();
    client.post(WIDGETS, &widget("a", json!({}))).expect_status(201);
    let (object, scale) = (format!("{WIDGETS}/a"), format!("{WIDGETS}/a/scale"));
    let none = client.get(&scale).expect_status(500);
    assert_eq!(none["message"], "Internal error occurred: the spec replicas field \".spec.replicas\" does not exist");
    let mut patch =
        |path: &str, body: Value| client.send("PATCH", path, MERGE_PATCH, body.to_string().as_bytes()).answer();
    patch(&object, json!({"spec": {"replicas": 2}})).expect(200);
    patch(&format!("{object}/status"), json!({"status": {"replicas": 1, "selector": "a=b"}})).expect(200);
    let set = patch(&scale, json!({"spec": {"replicas": 4}})).expect(200);
    assert_eq!((&set["spec"]["replicas"], &set["status"]), (&json!(4), &json!({"replicas": 1, "selector": "a=b"})));
    let unversioned = patch(&scale, json!({"metadata": {"resourceVersion": "0"}, "spec": {"replicas": 3}})).expect(422);
    let message = "widgets.example.com \"a\" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update";
    assert_eq!(unversioned["message"], message);
    let refused = patch(&scale, json!({"spec": {"replicas": -1}})).expect(422);
    let message =
        "Widget.example.com \"a\" is invalid: .spec.replicas: Invalid value: -1: should be a non-negative integer";
    assert_eq!(refused["message"], message);
    let other = patch(&scale, json!({"metadata": {"uid": "other"}, "spec": {"replicas": 4}})).expect(200);
    assert_ne!(other["metadata"]["uid"], "other");
    assert_eq!(client.get(&object).expect_status(200)["spec"]["replicas"], 4);
    let sent = |name: &str, replicas: Value| json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": name}, "spec": {"replicas": replicas}});
    let no_type = "no kind is registered for the type v1.Scale in scheme \
                   \"k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go:781\"";
    let (missing, another) =
        ("widgets.example.com \"b\" not found", "the name of the object (c) does not match the name on the URL (b)");
    let absent = format!("{WIDGETS}/b/scale");
    for (path, body, code, message) in [
        (&scale, sent("a", json!("x")), 400, no_type),
        (&absent, sent("b", json!(1)), 404, missing),
        (&absent, sent("c", json!(1)), 400, another),
    ] {
        let answer = client.send("PUT", path, JSON, body.to_string().as_bytes()).answer();
        assert_eq!(answer.expect(code)["message"], message);
    }
    let mut apply = |path: &str, body: Value| {
        client.send("PATCH", &format!("{path}?fieldManager=m"), APPLY, body.to_string().as_bytes()).answer()
    };
    apply(&format!("{WIDGETS}/d"), widget("d", json!({"replicas": 3}))).expect(201);
    apply(&format!("{WIDGETS}/d/scale"), sent("d", json!(3))).expect(200);
    apply(&format!("{WIDGETS}/e"), widget("e", json!({"a": "x"}))).expect(201);
    // The server counts generations, so that it does not matter how one is written.
    for (name, code) in [("e", 200), ("f", 400)] {
        let mut sent = widget(name, json!({"a": "x"}));
        sent["metadata"]["generation"] = json!(1.5);
        sent["metadata"]["creationTimestamp"] = json!(5);
        apply(&format!("{WIDGETS}/e"), sent).expect(code);
    }
    let untracked = apply(&format!("{WIDGETS}/e/scale"), sent("e", json!(3))).expect(500);
    assert!(
        untracked["message"].as_str().is_some_and(|why| why.starts_with("failed to create manager")),
        "{untracked}"
    );
    let list = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let refused = process.endpoint().client().with_header("Accept", list).get(&scale).expect_status(406);
    let message = "you requested PartialObjectMetadataList, but the requested object is not a list (*v1.Scale)";
    assert_eq!(refused["message"], message);
}

/// The definition of gauges, whose spec has this schema.
fn gauges(spec: Value) -> Value {
    let schema = json!({"type": "object", "properties": {"spec": spec}});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "gauges.example.com"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": {"plural": "gauges", "kind": "Gauge"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

/// The causes of a refusal, each with its reason, field and message.
fn causes(refused: &Value) -> Vec<[&str; 3]> {
    let causes = refused["details"]["causes"].as_array().map(Vec::as_slice).unwrap_or_default();
    causes.iter().map(|cause| ["reason", "field", "message"].map(|of| cause[of].as_str().unwrap_or_default())).collect()
}

#[test]
fn rules_validate_objects_and_their_changes() {
    const GAUGES: &str = "/apis/example.com/v1/namespaces/default/gauges";
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory", "--disable-admission-plugins=ServiceAccount"]);
    let mut client = process.endpoint().client();
    let rules = |rules: Value, mut schema: Value| {
        schema["x-kubernetes-validations"] = rules;
        schema
    };
    let text = || json!({"type": "string", "maxLength": 20});
    let item = rules(
        json!([{"rule": "self.count >= oldSelf.count", "message": "counts do not fall"}]),
        json!({"type": "object", "required": ["k"], "properties": {"k": text(), "count": {"type": "integer"}}}),
    );
    let spec = rules(
        json!([
            {"rule": "self.min <= self.max", "reason": "FieldValueForbidden", "fieldPath": ".min",
                "messageExpression": "'%d is above %d'.format([self.min, self.max])"},
            {"rule": "!has(self.fixed) || self.fixed.startsWith('f')", "message": "begins otherwise"},
        ]),
        json!({"type": "object", "required": ["min", "max"], "properties": {
            "min": {"type": "integer"}, "max": {"type": "integer"},
            "fixed": rules(json!([{"rule": "self == oldSelf", "message": "is immutable"}]), text()),
            "first": rules(json!([{"rule": "oldSelf.hasValue() || self == 'new'", "optionalOldSelf": true}]), text()),
            "items": {"type": "array", "maxItems": 5, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"],
                "items": item}}}),
    );
    // What costs too much, or has no old value, is no definition.
    let refused = |client: &mut Client, spec: Value, message: &str| {
        let refused = client.post(DEFINITIONS, &gauges(spec)).expect_status(422);
        assert!(refused["message"].as_str().unwrap_or_default().contains(message), "{refused}");
    };
    let costly = rules(
        json!([{"rule": "self.all(a, self.all(b, self.all(c, a + b != c)))"}]),
        json!({"type": "array", "items": {"type": "string"}}),
    );
    let costly = json!({"type": "object", "properties": {"l": costly}});
    refused(&mut client, costly, "estimated rule cost exceeds budget by factor of more than 100x");
    let atomic = json!({"type": "array", "maxItems": 5, "items":
        rules(json!([{"rule": "self == oldSelf"}]), text())});
    let atomic = json!({"type": "object", "properties": {"l": atomic}});
    refused(&mut client, atomic, "oldSelf cannot be used on the uncorrelatable portion of the schema");

    client.post(DEFINITIONS, &gauges(spec)).expect_status(201);
    wait_for("the resource", || (client.get(GAUGES).answer().status == 200).then_some(()));
    let gauge =
        |spec: Value| json!({"apiVersion": "example.com/v1", "kind": "Gauge", "metadata": {"name": "a"}, "spec": spec});
    let rows = [
        (json!({"min": 5, "max": 3}), vec![["FieldValueForbidden", "spec.min", "Forbidden: 5 is above 3"]]),
        (
            json!({"min": 1, "max": 3, "fixed": "x", "first": "old"}),
            vec![
                ["FieldValueInvalid", "spec", "Invalid value: begins otherwise"],
                [
                    "FieldValueInvalid",
                    "spec.first",
                    "Invalid value: \"old\": failed rule: oldSelf.hasValue() || self == 'new'",
                ],
            ],
        ),
    ];
    for (spec, expected) in rows {
        let refused = client.post(GAUGES, &gauge(spec.clone())).expect_status(422);
        assert_eq!(causes(&refused), expected, "{spec}");
    }
    let spec = json!({"min": 1, "max": 3, "fixed": "f", "first": "new", "items": [{"k": "x", "count": 2}, {"k": "y", "count": 5}]});
    client.post(GAUGES, &gauge(spec)).expect_status(201);
    let path = format!("{GAUGES}/a");
    let mut patch = |spec: Value, status: u16| {
        let patch = json!({"spec": spec}).to_string();
        client.send("PATCH", &path, MERGE_PATCH, patch.as_bytes()).expect_status(status)
    };
    patch(json!({"first": "other"}), 200);
    // Items are compared with those of the same key, wherever they stand.
    patch(json!({"items": [{"k": "y", "count": 6}, {"k": "x", "count": 2}, {"k": "z", "count": 0}]}), 200);
    let refused = patch(json!({"fixed": "g", "items": [{"k": "x", "count": 1}, {"k": "y", "count": 6}]}), 422);
    let expected = [
        ["FieldValueInvalid", "spec.fixed", "Invalid value: \"g\": is immutable"],
        ["FieldValueInvalid", "spec.items[0]", "Invalid value: counts do not fall"],
        ["FieldValueInvalid", "spec", "Invalid value: begins otherwise"],
    ];
    let mut found = causes(&refused);
    found.sort_by_key(|[_, field, _]| expected.iter().position(|[_, of, _]| of == field));
    assert_eq!(found, expected);
}
