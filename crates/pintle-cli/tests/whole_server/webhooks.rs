//! Admission webhooks of a whole server: closures of the process, and a peer that accepts connections and never responds.
//! Guarantees that a webhook that hangs, sends invalid or endless responses affects only the requests that it matches. Must
//! never depend on a timeout: the peer decides when a call ends.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::http::Client;
use bytes::Bytes;
use data_encoding::BASE64;
use http::Response;
use pintle_webhook::{InProcess, ResolveError, ServiceResolver};
use serde_json::{Value, json};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// Registers a webhook for new config maps.
fn configure(client: &mut Client, kind: &str, url: &str, failure_policy: &str) {
    let configuration = json!({
        "metadata": {"name": "hooks"},
        "webhooks": [{
            "name": "w.example.com",
            "clientConfig": {"url": url},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "failurePolicy": failure_policy,
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 30,
        }],
    });
    let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations");
    client.delete(&format!("{path}/hooks")).answer();
    client.post(&path, &configuration).expect_status(201);
}

/// A closure that returns this body for every review.
fn answering(body: Vec<u8>) -> InProcess {
    let body = Bytes::from(body);
    InProcess::new(move |_| {
        let body = body.clone();
        async move { Response::new(body) }
    })
}

/// A closure that allows every review and adds these fields to its response.
fn allowing(more: Value) -> InProcess {
    InProcess::new(move |request| {
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let mut response = json!({"uid": review["request"]["uid"], "allowed": true});
        if let (Some(response), Some(more)) = (response.as_object_mut(), more.as_object()) {
            response.extend(more.clone());
        }
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        async move { Response::new(Bytes::from(answer.to_string())) }
    })
}

#[test]
fn a_hanging_webhook_blocks_only_matching_requests() {
    let peer = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let url = format!("https://127.0.0.1:{}/", peer.local_addr().expect("an address").port());
    let fixture = Fixture::empty(|_| {});
    let mut client = fixture.client();
    configure(&mut client, "validating", &url, "Fail");
    let mut waiting = fixture.client();
    let (answered, answer) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            let object = json!({"metadata": {"name": "a"}});
            let _ = answered.send(waiting.post(CONFIG_MAPS, &object).answer());
        });
        let (connection, _) = peer.accept().expect("a call");
        // The call is under way; all else goes on, config maps that are not new among it.
        for name in ["a", "b", "c"] {
            client.post(SECRETS, &json!({"metadata": {"name": name}})).expect_status(201);
        }
        client.get(CONFIG_MAPS).expect_status(200);
        client.get("/readyz").answer().expect_text("ok");
        assert!(answer.try_recv().is_err(), "the webhook's requests wait for it");
        drop(connection);
        drop(peer);
        let refused = answer.recv().expect("an answer").expect(500);
        let message = refused["message"].as_str().unwrap_or_default().to_owned();
        assert!(message.contains("failed calling webhook \"w.example.com\""), "{message}");
    });
    client.get(&format!("{CONFIG_MAPS}/a")).expect_status(404);
}

/// Knows one service, which is no object of the cluster.
struct OneService(u16);

impl ServiceResolver for OneService {
    fn resolve(&self, namespace: &str, name: &str, _: u16) -> Result<(String, u16), ResolveError> {
        match (namespace, name) {
            ("nowhere", "known") => Ok(("127.0.0.1".to_owned(), self.0)),
            _ => Err(ResolveError("unknown here".to_owned())),
        }
    }
}

#[test]
fn a_resolver_of_the_embedder_finds_services() {
    let peer = TcpListener::bind(("127.0.0.1", 0)).expect("a port");
    let port = peer.local_addr().expect("an address").port();
    let fixture = Fixture::empty(|builder| builder.resolve_services_by(Arc::new(OneService(port))));
    let mut client = fixture.client();
    let hook = |name: &str| {
        json!({
            "name": format!("{name}.example.com"), "clientConfig": {"service": {"namespace": "nowhere", "name": name}},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]}],
            "sideEffects": "None", "admissionReviewVersions": ["v1"],
        })
    };
    let path = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
    let refused = std::thread::scope(|scope| {
        client.post(path, &json!({"metadata": {"name": "hooks"}, "webhooks": [hook("known")]})).expect_status(201);
        let mut waiting = fixture.client();
        let call = scope.spawn(move || waiting.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).answer());
        drop(peer.accept().expect("a call"));
        call.join().expect("an answer").expect(500)
    });
    let message = refused["message"].as_str().unwrap_or_default();
    let [is_url, is_peer] = ["Post \"https://known.nowhere.svc:443/?timeout=10s\": ", &format!("127.0.0.1:{port}")]
        .map(|part| message.contains(part));
    assert!(is_url && (is_peer || message.ends_with("EOF")), "{message}");
    client.delete(&format!("{path}/hooks")).expect_status(200);
    client.post(path, &json!({"metadata": {"name": "hooks"}, "webhooks": [hook("other")]})).expect_status(201);
    let refused = client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).expect_status(500);
    let message = refused["message"].as_str().unwrap_or_default();
    assert!(message.ends_with("service \"other\" not found"), "{message}");
}

#[test]
fn invalid_responses_follow_the_failure_policy() {
    let mut urls = Vec::new();
    let fixture = Fixture::empty(|builder| {
        let review = |response: Value| json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        let answers = [
            b"not JSON".to_vec(),
            // More than is read of any answer.
            vec![b' '; 17 << 20],
            "[".repeat(1 << 20).into_bytes(),
            review(json!({"uid": "another", "allowed": true})).to_string().into_bytes(),
            review(Value::Null).to_string().into_bytes(),
        ];
        for (at, body) in answers.into_iter().enumerate() {
            urls.push(builder.webhooks().register(&format!("w{at}"), answering(body)));
        }
    });
    let mut client = fixture.client();
    for (at, url) in urls.iter().enumerate() {
        let object = json!({"metadata": {"name": format!("c{at}")}});
        configure(&mut client, "validating", url, "Fail");
        let refused = client.post(CONFIG_MAPS, &object).expect_status(500);
        let message = refused["message"].as_str().unwrap_or_default();
        assert!(
            message.starts_with("Internal error occurred: failed calling webhook \"w.example.com\""),
            "{at}: {message}"
        );
        configure(&mut client, "validating", url, "Ignore");
        client.post(CONFIG_MAPS, &object).expect_status(201);
    }
}

#[test]
fn validating_webhooks_warn_after_policies() {
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| {
        url = builder.webhooks().register("w", allowing(json!({"warnings": ["from the webhook"]})));
    });
    let mut client = fixture.client();
    configure(&mut client, "validating", &url, "Fail");
    let group = "/apis/admissionregistration.k8s.io/v1";
    let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    let validations = json!([{"expression": "false", "message": "from the policy"}]);
    let spec = json!({"matchConstraints": {"resourceRules": [rule]}, "validations": validations});
    let policy = json!({"metadata": {"name": "p"}, "spec": spec});
    client.post(&format!("{group}/validatingadmissionpolicies"), &policy).expect_status(201);
    let binding = json!({"metadata": {"name": "p"}, "spec": {"policyName": "p", "validationActions": ["Warn"]}});
    client.post(&format!("{group}/validatingadmissionpolicybindings"), &binding).expect_status(201);
    let answer = client.post(CONFIG_MAPS, &json!({"metadata": {"name": "warned"}})).answer();
    let warnings: Vec<&str> =
        answer.headers.iter().filter(|(name, _)| name == "warning").map(|(_, text)| text.as_str()).collect();
    assert_eq!(answer.status, 201);
    assert!(warnings.len() == 2 && warnings[0].contains("from the policy") && warnings[1].contains("from the webhook"));
}

#[test]
fn a_closure_changes_what_is_written() {
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| {
        // [{"op":"add","path":"/data","value":{"a":"b"}}]
        let patch = "W3sib3AiOiJhZGQiLCJwYXRoIjoiL2RhdGEiLCJ2YWx1ZSI6eyJhIjoiYiJ9fV0=";
        let more = json!({"patch": patch, "patchType": "JSONPatch", "warnings": ["changed"]});
        url = builder.webhooks().register("changes", allowing(more));
    });
    let mut client = fixture.client();
    configure(&mut client, "mutating", &url, "Fail");
    let answer = client.post(CONFIG_MAPS, &json!({"metadata": {"name": "a"}})).answer();
    assert_eq!(answer.header("warning"), "299 - \"changed\"");
    assert_eq!(answer.expect(201)["data"], json!({"a": "b"}));
}

/// A closure that allows every review, and patches what this function finds to be patched in its request.
fn patching(patch: fn(&Value) -> Value) -> InProcess {
    InProcess::new(move |request| {
        let review: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let patch = BASE64.encode(patch(&review["request"]).to_string().as_bytes());
        let response =
            json!({"uid": review["request"]["uid"], "allowed": true, "patch": patch, "patchType": "JSONPatch"});
        let answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response});
        async move { Response::new(Bytes::from(answer.to_string())) }
    })
}

#[test]
fn what_is_not_stored_is_changed_by_webhooks() {
    const AUTHENTICATION: &str = "/apis/authentication.k8s.io/v1";
    const AUTHORIZATION: &str = "/apis/authorization.k8s.io/v1";
    let mut url = String::new();
    let fixture = Fixture::start_with(1, |builder| {
        let patching = patching(|request| {
            let replace = |path: &str, value: Value| json!([{"op": "replace", "path": path, "value": value}]);
            match request["kind"]["kind"].as_str().unwrap_or_default() {
                "Binding" => replace("/target/name", json!("right")),
                "TokenReview" => replace("/spec/token", json!("replaced")),
                "SelfSubjectRulesReview" => replace("/spec/namespace", json!("replaced")),
                "SelfSubjectReview" => replace("/metadata/labels", json!({"by": "webhook"})),
                _ => replace("/spec/resourceAttributes/verb", json!("replaced")),
            }
        });
        url = builder.webhooks().register("patches", patching);
    });
    let mut client = fixture.client();
    let unbound = json!({"metadata": {"name": "q"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    fixture.create("/api/v1/namespaces/default/pods", &unbound);
    let rule = json!({
        "operations": ["CREATE"], "apiGroups": ["", "authentication.k8s.io", "authorization.k8s.io"], "apiVersions": ["*"],
        "resources": [
            "bindings", "tokenreviews", "selfsubjectreviews", "selfsubjectaccessreviews", "subjectaccessreviews",
            "localsubjectaccessreviews", "selfsubjectrulesreviews"
        ]
    });
    let hook = json!({
        "name": "w.example.com", "clientConfig": {"url": url}, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"]
    });
    let configuration = json!({"metadata": {"name": "hooks"}, "webhooks": [hook]});
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    client.post(path, &configuration).expect_status(201);
    let binding = json!({"metadata": {"name": "q"}, "target": {"name": "wrong"}});
    client.post("/api/v1/namespaces/default/bindings", &binding).expect_status(201);
    let bound = client.get("/api/v1/namespaces/default/pods/q").expect_status(200);
    assert_eq!(bound["spec"]["nodeName"], "right");
    let attributes = json!({"verb": "get", "resource": "pods"});
    let own = json!({"resourceAttributes": attributes});
    let other = json!({"resourceAttributes": attributes, "user": "bob"});
    let local =
        json!({"resourceAttributes": {"verb": "get", "resource": "pods", "namespace": "default"}, "user": "bob"});
    for (path, spec, field, expected) in [
        (format!("{AUTHENTICATION}/tokenreviews"), json!({"token": "sent"}), "/spec/token", json!("replaced")),
        (format!("{AUTHENTICATION}/selfsubjectreviews"), Value::Null, "/kind", json!("SelfSubjectReview")),
        (format!("{AUTHORIZATION}/selfsubjectrulesreviews"), json!({"namespace": "sent"}), "/spec", json!({})),
        (format!("{AUTHORIZATION}/selfsubjectaccessreviews"), own, "/spec/resourceAttributes/verb", json!("replaced")),
        (format!("{AUTHORIZATION}/subjectaccessreviews"), other, "/spec/resourceAttributes/verb", json!("replaced")),
        (
            format!("{AUTHORIZATION}/namespaces/default/localsubjectaccessreviews"),
            local,
            "/spec/resourceAttributes/verb",
            json!("replaced"),
        ),
    ] {
        // Labels for a review without a spec, to have something that can be replaced.
        let review = match spec.is_null() {
            true => json!({"metadata": {"labels": {"by": "client"}}}),
            false => json!({"spec": spec}),
        };
        let answer = client.post(&path, &review).unwrap_or_else(|error| panic!("{path}: {error}")).expect(201);
        assert_eq!(answer.pointer(field), Some(&expected), "{path}: {answer}");
    }
}

/// A closure that converts things: the field `host` of `v1` is `address` in `v2`.
fn converting() -> InProcess {
    converting_with(|_, _| {})
}

/// A closure that converts in the same way, and then changes the specs of objects of the version that it was asked for.
fn converting_with(change: fn(&str, &mut serde_json::Map<String, Value>)) -> InProcess {
    InProcess::new(move |request| {
        let answer = converted(request.body(), change);
        async move { Response::new(answer) }
    })
}

/// The answer of such a closure.
fn converted(review: &[u8], change: fn(&str, &mut serde_json::Map<String, Value>)) -> Bytes {
    let review: Value = serde_json::from_slice(review).unwrap_or_default();
    let request = &review["request"];
    let (from, to) = match request["desiredAPIVersion"].as_str() {
        Some("shop.example.com/v2") => ("host", "address"),
        _ => ("address", "host"),
    };
    let mut objects = request["objects"].as_array().cloned().unwrap_or_default();
    for object in &mut objects {
        object["apiVersion"] = request["desiredAPIVersion"].clone();
        let spec = object["spec"].as_object_mut();
        if let Some((spec, value)) = spec.and_then(|spec| spec.remove(from).map(|value| (spec, value))) {
            spec.insert(to.to_owned(), value);
        }
        if let Some(spec) = object["spec"].as_object_mut() {
            change(to, spec);
        }
    }
    let answer = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "ConversionReview",
        "response": {"uid": request["uid"], "result": {"status": "Success"}, "convertedObjects": objects},
    });
    Bytes::from(answer.to_string())
}

/// The definition of things, stored in this version.
fn things(url: &str, stored: &str) -> Value {
    let version = |name: &str, field: &str| {
        let spec = json!({"type": "object", "properties": {field: {"type": "string"}, "size": {"type": "integer"}}});
        let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}});
        json!({"name": name, "served": true, "storage": name == stored, "schema": schema})
    };
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.shop.example.com"},
        "spec": {
            "group": "shop.example.com",
            "scope": "Cluster",
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [version("v1", "host"), version("v2", "address")],
            "conversion": {
                "strategy": "Webhook",
                "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": {"url": url}},
            },
        },
    })
}

#[test]
fn objects_of_an_older_storage_version_lose_nothing() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const THINGS: &str = "/apis/shop.example.com/v2/things";
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| url = builder.webhooks().register("converts", converting()));
    let mut client = fixture.client();
    client.post(DEFINITIONS, &things(&url, "v1")).expect_status(201);
    for name in ["read", "written"] {
        let object = json!({"apiVersion": "shop.example.com/v1", "kind": "Thing", "metadata": {"name": name}, "spec": {"host": "h"}});
        let path = "/apis/shop.example.com/v1/things";
        crate::common::wait_for("a thing", || client.post(path, &object).ok().filter(|answer| answer.status == 201));
    }
    let moved = json!({"spec": {"versions": things(&url, "v2")["spec"]["versions"]}}).to_string();
    let path = format!("{DEFINITIONS}/things.shop.example.com");
    client.send("PATCH", &path, "application/merge-patch+json", moved.as_bytes()).expect_status(200);
    // As soon as the definition has changed, whether or not the objects in memory were converted yet.
    let patch = json!({"spec": {"size": 1}}).to_string();
    let path = format!("{THINGS}/written");
    let written = client.send("PATCH", &path, "application/merge-patch+json", patch.as_bytes());
    assert_eq!(written.expect_status(200)["spec"], json!({"address": "h", "size": 1}));
    // An object that was not written since is converted whenever it is shown.
    let read = client.get(&format!("{THINGS}/read")).expect_status(200);
    assert_eq!((&read["apiVersion"], &read["spec"]), (&json!("shop.example.com/v2"), &json!({"address": "h"})));
    let list = client.get(THINGS).expect_status(200);
    let versions = list["items"].as_array().into_iter().flatten().map(|thing| thing["spec"]["address"].clone());
    assert_eq!(versions.collect::<Vec<_>>(), [json!("h"), json!("h")]);
    let metrics = client.get("/metrics").answer().text();
    for counted in [
        "apiserver_conversion_webhook_request_total{failure_type=\"\",result=\"success\"} ",
        "apiserver_crd_conversion_webhook_duration_seconds_count{crd_name=\"things.shop.example.com\",from_version=\"v1\",\
         succeeded=\"true\",to_version=\"v2\"} ",
    ] {
        assert!(metrics.contains(counted), "{counted}");
    }
}

#[test]
fn objects_are_validated_in_the_version_that_they_are_sent_in() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const THINGS: &str = "/apis/shop.example.com/v2/things";
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| {
        let stored_wrong = converting_with(|to, spec| {
            if to == "host" {
                spec.insert("host".to_owned(), json!(5));
            }
        });
        url = builder.webhooks().register("converts", stored_wrong);
    });
    let mut client = fixture.client();
    client.post(DEFINITIONS, &things(&url, "v1")).expect_status(201);
    let thing = |name: &str, address: Value| json!({"apiVersion": "shop.example.com/v2", "kind": "Thing", "metadata": {"name": name}, "spec": {"address": address}});
    let created = crate::common::wait_for("a thing", || {
        client.post(THINGS, &thing("a", json!("h"))).ok().filter(|answer| answer.status == 201)
    });
    assert_eq!(created.json()["spec"], json!({"address": 5}), "what conversion gives is not validated");
    let refused = client.post(THINGS, &thing("b", json!(5))).expect_status(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "spec.address");
}

/// A closure that converts objects until the test makes it fail.
fn converting_unless(fails: &Arc<AtomicBool>) -> InProcess {
    let fails = fails.clone();
    InProcess::new(move |request| {
        let mut answer = Response::new(converted(request.body(), |_, _| {}));
        if fails.load(Ordering::Relaxed) {
            *answer.status_mut() = http::StatusCode::INTERNAL_SERVER_ERROR;
        }
        async move { answer }
    })
}

/// The names of the things of a list.
fn names(list: &Value) -> Vec<&str> {
    list["items"].as_array().into_iter().flatten().map(crate::common::name).collect()
}

#[test]
fn what_is_stored_in_another_version_is_converted_when_it_is_shown() {
    const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const GROUP: &str = "/apis/shop.example.com";
    let fails = Arc::<AtomicBool>::default();
    let mut url = String::new();
    let fixture = Fixture::empty(|builder| {
        url = builder.webhooks().register("converts", converting_unless(&fails));
    });
    let mut client = fixture.client();
    let definition = |stored: &str| {
        let mut definition = things(&url, stored);
        for (version, field) in [(0, ".spec.host"), (1, ".spec.address")] {
            let version = &mut definition["spec"]["versions"][version];
            version["selectableFields"] = json!([{"jsonPath": field}]);
            version["additionalPrinterColumns"] = json!([{"name": "Where", "type": "string", "jsonPath": field}]);
        }
        definition
    };
    client.post(DEFINITIONS, &definition("v1")).expect_status(201);
    let mut create = |version: &str, name: &str, field: &str, value: &str| {
        let object = json!({"apiVersion": format!("shop.example.com/{version}"), "kind": "Thing",
            "metadata": {"name": name}, "spec": {field: value}});
        let path = format!("{GROUP}/{version}/things");
        crate::common::wait_for("a thing", || client.post(&path, &object).ok().filter(|answer| answer.status == 201))
            .json()
    };
    create("v1", "old-red", "host", "red");
    create("v1", "old-blue", "host", "blue");
    let mut client = fixture.client();
    let moved = json!({"spec": {"versions": definition("v2")["spec"]["versions"]}}).to_string();
    let path = format!("{DEFINITIONS}/things.shop.example.com");
    client.send("PATCH", &path, "application/merge-patch+json", moved.as_bytes()).expect_status(200);
    create("v2", "new-red", "address", "red");

    // Both versions select all objects by their own fields, whatever version these are stored in.
    for (version, field) in [("v1", "spec.host"), ("v2", "spec.address")] {
        let path = format!("{GROUP}/{version}/things?fieldSelector={field}%3Dred");
        let list = client.get(&path).expect_status(200);
        assert_eq!(names(&list), ["new-red", "old-red"], "{version}");
        let api_version = format!("shop.example.com/{version}");
        assert!(
            list["items"].as_array().into_iter().flatten().all(|thing| thing["apiVersion"] == api_version.as_str())
        );
        let mut watch = client.watch(&format!("{path}&watch=true")).expect("a watch");
        let begins: Vec<_> = (0..2).map(|_| watch.event()).collect();
        assert_eq!(
            begins.iter().map(|(_, thing)| crate::common::name(thing)).collect::<Vec<_>>(),
            ["new-red", "old-red"]
        );
        assert!(begins.iter().all(|(kind, thing)| kind == "ADDED" && thing["apiVersion"] == api_version.as_str()));
        // One comes to be selected, and leaves again.
        let mut change = fixture.client();
        for color in ["red", "green"] {
            let patch = json!({"spec": {"address": color}}).to_string();
            let path = format!("{GROUP}/v2/things/old-blue");
            let merge = "application/merge-patch+json";
            change.send("PATCH", &path, merge, patch.as_bytes()).expect_status(200);
        }
        for kind in ["ADDED", "DELETED"] {
            let (found, thing) = watch.event();
            assert_eq!((found.as_str(), crate::common::name(&thing)), (kind, "old-blue"), "{version}");
            let last = field.rsplit('.').next().unwrap_or_default();
            assert_eq!(thing["spec"][last], "red");
        }
        let table = fixture.client().with_header("accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let table = { table }.get(&format!("{GROUP}/{version}/things")).expect_status(200);
        let cells = table["rows"].as_array().into_iter().flatten().map(|row| row["cells"][1].clone());
        assert_eq!(cells.collect::<Vec<_>>(), [json!("red"), json!("green"), json!("red")], "{version}");
    }

    // What needs no conversion goes on while the webhook fails.
    fails.store(true, Ordering::Relaxed);
    for (path, status) in [
        ("v1/things/old-red", 200),
        ("v2/things/old-red", 500),
        ("v1/things/new-red", 500),
        ("v2/things/new-red", 200),
        ("v1/things", 500),
        ("v2/things", 500),
    ] {
        client.get(&format!("{GROUP}/{path}")).expect_status(status);
    }
    client.delete(&format!("{GROUP}/v2/things/old-red")).expect_status(500);
    client.delete(&format!("{GROUP}/v1/things/old-red")).expect_status(200);
}
