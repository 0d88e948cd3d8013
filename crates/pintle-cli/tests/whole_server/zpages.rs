//! `/statusz` and `/flagz` for people and programs. Guarantees kube-apiserver's forms, errors and permissions. Must never read
//! the times in the texts.

use crate::common::http::Answered;
use crate::common::process::Installation;
use crate::common::wait_for;
use serde_json::{Value, json};

const HEADING: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is \
                       for debugging purposes only.";

fn object(kind: &str, version: &str) -> String {
    format!("application/json;as={kind};g=config.k8s.io;v={version}")
}

#[test]
fn the_server_says_what_it_is() {
    let installation = Installation::own();
    let process = installation.start_with(&[
        "--storage=memory",
        "--event-ttl=2h",
        "--event-ttl=30m",
        "--feature-gates=AllAlpha=false",
    ]);
    let client = || process.endpoint().client();
    let answer = |path: &str, accept: &str| client().with_header("Accept", accept).get(path).answer();
    for accept in ["*/*", "text/plain", "text/*", "application/json;q=0.5,text/plain"] {
        let text = answer("/statusz", accept);
        assert_eq!((text.status, text.header("content-type")), (200, "text/plain; charset=utf-8"), "{accept}");
        let text = text.text();
        assert!(text.starts_with(&format!("\napiserver statusz\n{HEADING}\n\nStarted")), "{accept}: {text}");
        for line in ["Binary version", "Emulation version", "Up", "Go version", "Paths"] {
            assert!(text.contains(&format!("\n{line}")), "{line}: {text}");
        }
        assert!(text.contains(" /flagz /healthz /livez /metrics /readyz /statusz /version\n"), "{text}");
    }
    let flags = answer("/flagz", "*/*").text();
    assert!(flags.starts_with(&format!("\napiserver flagz\n{HEADING}\n")), "{flags}");
    let line = flags.lines().find(|line| line.starts_with("event-ttl")).expect("the flag");
    assert!(["event-ttl:30m", "event-ttl: 30m", "event-ttl=30m", "event-ttl 30m"].contains(&line), "{line}");

    for version in ["v1beta1", "v1alpha1"] {
        let shown = answer("/statusz", &object("Statusz", version));
        let content_type = format!("application/json;g=config.k8s.io;v={version};as=Statusz");
        assert_eq!(shown.header("content-type"), content_type);
        let warning = "299 - \"This version of the statusz endpoint is deprecated. Please use a newer version.\"";
        assert_eq!(shown.header("warning"), if version == "v1alpha1" { warning } else { "" });
        let mut status = shown.expect(200);
        let fields: Vec<_> = status.as_object().expect("an object").keys().cloned().collect();
        assert!(fields.contains(&"startTime".to_owned()) && fields.contains(&"goVersion".to_owned()), "{status}");
        assert!(status["uptimeSeconds"].as_i64().is_some_and(|seconds| seconds >= 0), "{status}");
        for field in ["startTime", "uptimeSeconds", "goVersion"] {
            status.as_object_mut().expect("an object").remove(field);
        }
        let expected = json!({
            "kind": "Statusz", "apiVersion": format!("config.k8s.io/{version}"), "metadata": {"name": "apiserver"},
            "binaryVersion": "1.36.2", "emulationVersion": "1.36",
            "paths": ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"],
        });
        assert_eq!(status, expected);
        let flags = answer("/flagz", &object("Flagz", version)).expect(200);
        assert_eq!(flags["apiVersion"], format!("config.k8s.io/{version}"));
        let flag = |name: &str| flags["flags"][name].clone();
        assert_eq!(
            [flag("event-ttl"), flag("storage"), flag("anonymous-auth")],
            [json!("30m"), json!("memory"), json!("")]
        );
    }
    let yaml = answer("/flagz", "application/yaml;as=Flagz;g=config.k8s.io;v=v1beta1").text();
    assert!(yaml.starts_with("apiVersion: config.k8s.io/v1beta1\nflags:\n"), "{yaml}");

    for (path, accept) in [
        ("/statusz", "application/json".to_owned()),
        ("/statusz", object("Flagz", "v1beta1")),
        ("/flagz", object("Flagz", "v1")),
        ("/flagz", "application/vnd.kubernetes.protobuf;as=Flagz;g=config.k8s.io;v=v1beta1".to_owned()),
        ("/flagz", "text/plain;as=Flagz;g=config.k8s.io;v=v1beta1".to_owned()),
    ] {
        let refused = answer(path, &accept).expect(406);
        let message = "only the following media types are accepted: application/json, application/yaml, text/plain";
        assert_eq!((&refused["message"], &refused["reason"]), (&json!(message), &json!("NotAcceptable")), "{accept}");
    }
    for path in ["/statusz/", "/flagz/x"] {
        assert_eq!(answer(path, "*/*").status, 404, "{path}");
    }
    let root = client().get("/").expect_status(200);
    let listed = |path: &str| root["paths"].as_array().is_some_and(|paths| paths.contains(&json!(path)));
    assert!(listed("/statusz") && listed("/flagz"), "{root}");
}

#[test]
fn zpages_need_monitoring_rights_and_their_gates() {
    let installation = Installation::own();
    let process = installation.start_with(&["--storage=memory"]);
    let binding = json!({
        "metadata": {"name": "m"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "system:monitoring"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "watcher"}],
    });
    let bindings = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    process.endpoint().client().post(bindings, &binding).expect_status(201);
    // Authorization follows the roles; it is not part of the write.
    let as_watcher = || process.endpoint().client().with_header("Impersonate-User", "watcher").get("/statusz");
    wait_for("the binding to hold", || (as_watcher().answer().status == 200).then_some(()));
    for (user, expected) in [("watcher", 200), ("other", 403)] {
        for path in ["/statusz", "/flagz"] {
            let mut client = process.endpoint().client().with_header("Impersonate-User", user);
            assert_eq!(client.get(path).answer().status, expected, "{user} {path}");
        }
    }
    let gates = "--feature-gates=ComponentFlagz=false,ComponentStatusz=false";
    let process = Installation::own();
    let process = process.start_with(&["--storage=memory", gates]);
    for path in ["/statusz", "/flagz"] {
        assert_eq!(process.endpoint().client().get(path).answer().status, 404, "{path}");
    }
    let root: Value = process.endpoint().client().get("/").expect_status(200);
    assert!(!root.to_string().contains("/flagz"), "{root}");
}
