//! Admission configurations in files: what they do, what of them the API shows, and when their files change.
//! Guarantees that an invalid file changes nothing while the server runs, and lets it not start.

use crate::common::http::Answered;
use crate::common::http::Client;
use crate::common::process::{Installation, free_port};
use crate::common::wait_for;
use serde_json::{Value, json};
use std::path::Path;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const GATE: &str = "--feature-gates=ManifestBasedAdmissionControlConfig=true";

/// The flag of a configuration that names these directories, which are made.
fn configure(installation: &Installation, policies: &Path, webhooks: &Path) -> String {
    let plugin = |name: &str, kind: &str, directory: &Path| {
        std::fs::create_dir_all(directory).expect("a directory");
        let settings =
            json!({"apiVersion": "apiserver.config.k8s.io/v1", "kind": kind, "staticManifestsDir": directory});
        json!({"name": name, "configuration": settings})
    };
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "AdmissionConfiguration",
        "plugins": [
            plugin("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyConfiguration", policies),
            plugin("ValidatingAdmissionWebhook", "WebhookAdmissionConfiguration", webhooks),
        ],
    });
    let path = installation.scratch.write("admission.yaml", &configuration.to_string());
    format!("--admission-control-config-file={}", path.display())
}

/// A policy that allows what this expression does, and its binding.
fn policy(name: &str, group: &str, resource: &str, operation: &str, expression: &str) -> String {
    let rule = json!({"apiGroups": [group], "apiVersions": ["*"], "operations": [operation], "resources": [resource]});
    let spec = json!({
        "matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": expression, "message": "by a file"}]
    });
    let version = "admissionregistration.k8s.io/v1";
    let policy =
        json!({"apiVersion": version, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": name}, "spec": spec});
    let spec = json!({"policyName": name, "validationActions": ["Deny"]});
    let binding = json!({
        "apiVersion": version, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec
    });
    format!("{policy}\n---\n{binding}\n")
}

fn status(client: &mut Client, path: &str, object: &Value) -> u16 {
    client.post(path, object).answer().status
}

/// The value of a metric's sample with this plugin and these labels.
fn metric(client: &mut Client, name: &str, status: &str) -> Option<String> {
    let text = client.get("/metrics").answer().text();
    let name = format!("apiserver_manifest_admission_config_controller_{name}{{");
    let is_it = |line: &&str| {
        line.starts_with(&name) && line.contains("plugin=\"ValidatingAdmissionPolicy\"") && line.contains(status)
    };
    text.lines().find(is_it).and_then(|line| line.rsplit_once(' ')).map(|(_, value)| value.to_owned())
}

#[test]
fn files_configure_admission() {
    let installation = Installation::own();
    let (policies, webhooks) = (installation.path("policies"), installation.path("webhooks"));
    let flag = configure(&installation, &policies, &webhooks);
    let named = |value: &str| format!("object.data.k == '{value}'");
    let file = policies.join("config-maps.yaml");
    let of_config_maps = |expression: &str| policy("maps.static.k8s.io", "", "configmaps", "CREATE", expression);
    std::fs::write(&file, of_config_maps(&named("one"))).expect("written");
    let protected = policy(
        "protected.static.k8s.io",
        "admissionregistration.k8s.io",
        "validatingadmissionpolicies",
        "DELETE",
        "oldObject.metadata.name != 'kept'",
    );
    std::fs::write(policies.join("protected.yaml"), protected).expect("written");
    let rule = json!({
        "apiGroups": ["admissionregistration.k8s.io"], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["validatingwebhookconfigurations"]
    });
    let hook = json!({
        "name": "w.example.com", "clientConfig": {"url": "https://127.0.0.1:1/"}, "rules": [rule], "sideEffects": "None",
        "admissionReviewVersions": ["v1"]
    });
    let hooks = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "hooks.static.k8s.io"}, "webhooks": [hook]
    });
    std::fs::write(webhooks.join("hooks.json"), hooks.to_string()).expect("written");
    let process = installation.start_with(&["--storage=memory", "--controllers=", GATE, &flag]);
    let mut client = process.endpoint().client();

    // They apply to the first request, and the API does not show them.
    let object = |name: &str, value: &str| json!({"metadata": {"name": name}, "data": {"k": value}});
    let refused = client.post(CONFIG_MAPS, &object("a", "two")).expect_status(422);
    assert!(refused["message"].as_str().is_some_and(|message| message.ends_with("request: by a file")), "{refused}");
    assert_eq!(status(&mut client, CONFIG_MAPS, &object("a", "one")), 201);
    for plural in
        ["validatingadmissionpolicies", "validatingadmissionpolicybindings", "validatingwebhookconfigurations"]
    {
        let list = client.get(&format!("{GROUP}/{plural}")).expect_status(200);
        assert_eq!(list["items"], json!([]), "{plural}");
    }

    // Their names are their own, and they act on the configurations of the API, which those do not.
    let rule = json!({"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*"]});
    let spec = json!({"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "true"}]});
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let of_api = |name: &str| json!({"metadata": {"name": name}, "spec": spec});
    let refused = client.post(&path, &of_api("mine.static.k8s.io")).expect_status(422);
    assert_eq!(refused["details"]["causes"][0]["field"], "metadata.name", "{refused}");
    for (name, deleted) in [("kept", 422), ("free", 200)] {
        assert_eq!(status(&mut client, &path, &of_api(name)), 201);
        assert_eq!(client.delete(&format!("{path}/{name}")).answer().status, deleted, "{name}");
    }
    let empty = json!({"metadata": {"name": "h"}, "webhooks": []});
    let refused = client.post(&format!("{GROUP}/validatingwebhookconfigurations"), &empty).answer();
    assert!(refused.text().contains("failed calling webhook \\\"w.example.com\\\""), "{}", refused.text());

    // A change is followed, an invalid one changes nothing.
    let applied = metric(&mut client, "automatic_reloads_total", "status=\"success\"");
    assert_eq!(
        (applied.as_deref(), metric(&mut client, "last_config_info", "hash=\"sha256:")),
        (Some("1"), Some("1".into()))
    );
    std::fs::write(&file, of_config_maps("no expression")).expect("written");
    wait_for("a reload that fails", || metric(&mut client, "automatic_reloads_total", "status=\"failure\""));
    assert_eq!(status(&mut client, CONFIG_MAPS, &object("b", "two")), 422);
    assert_eq!(status(&mut client, CONFIG_MAPS, &object("b", "one")), 201);
    std::fs::write(&file, of_config_maps(&named("two"))).expect("written");
    wait_for("a reload", || (status(&mut client, CONFIG_MAPS, &object("c", "two")) == 201).then_some(()));
    assert_eq!(status(&mut client, CONFIG_MAPS, &object("d", "one")), 422);
    assert_eq!(metric(&mut client, "automatic_reloads_total", "status=\"success\"").as_deref(), Some("2"));
    std::fs::remove_file(&file).expect("removed");
    wait_for("no policy", || (status(&mut client, CONFIG_MAPS, &object("e", "three")) == 201).then_some(()));
}

#[test]
fn an_invalid_file_stops_the_start() {
    let installation = Installation::own();
    let (policies, webhooks) = (installation.path("policies"), installation.path("webhooks"));
    let flag = configure(&installation, &policies, &webhooks);
    let start = |flags: &[&str]| {
        let mut command = installation.command(free_port());
        let output = command.args(["--storage=memory", &flag]).args(flags).output().expect("it ran");
        assert!(!output.status.success());
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
    };
    let off = start(&[]);
    assert!(off.contains("requires the ManifestBasedAdmissionControlConfig feature gate"), "{off}");
    let text = policy("unreserved", "", "configmaps", "CREATE", "true");
    std::fs::write(policies.join("p.yaml"), text).expect("written");
    let refused = start(&[GATE]);
    assert!(refused.contains("must have a name ending with \".static.k8s.io\""), "{refused}");
}
