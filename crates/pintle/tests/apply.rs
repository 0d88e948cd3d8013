//! Server-side apply as clients use it: kubectl with all its ways to apply and edit, and kube-rs.
//! Guarantees that who owns what is told, asked about and taken over as with the reference.
//! Must never depend on the second that a write falls into.

mod common;

use common::kubectl::{Kubectl, said};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Config};
use pintle::TestServer;
use serde_json::json;

/// kubectl, and the one config map that the tests are about.
struct Settings(Kubectl);

impl Settings {
    /// `None` where there is no kubectl.
    fn start() -> Option<Settings> {
        Kubectl::start().map(Settings)
    }

    /// Writes a config map's manifest.
    fn manifest(&self, file: &str, data: &[(&str, &str)]) {
        let data: serde_json::Map<_, _> = data.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
        self.0.installation.scratch.write(file, &object.to_string());
    }

    /// Runs a command whose exit code is known and returns what it says.
    fn run(&self, line: &str, code: i32) -> String {
        let output = self.0.output(line);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(code), "kubectl {line}: {said}{}", self.0.process.errors());
        said
    }

    /// The managers of the config map, in order.
    fn managers(&self) -> String {
        let path = "{range.metadata.managedFields[*]}{.manager}:{.operation}|{end}";
        self.run(&format!("get configmap settings --show-managed-fields -o jsonpath={path}"), 0)
    }

    fn data(&self) -> String {
        self.run("get configmap settings -o jsonpath={.data}", 0)
    }
}

#[test]
fn kubectl_applies_on_the_servers_side() {
    let Some(kubectl) = Settings::start() else { return };
    kubectl.manifest("one.json", &[("color", "blue"), ("size", "1")]);
    kubectl.manifest("two.json", &[("color", "red")]);
    assert!(kubectl.run("apply --server-side -f one.json", 0).contains("serverside-applied"));
    assert_eq!(kubectl.managers(), "kubectl:Apply|");
    let refusal = kubectl.run("apply --server-side --field-manager=other -f two.json", 1);
    assert!(refusal.contains("conflict with \"kubectl\": .data.color"), "{refusal}");
    kubectl.run("apply --server-side --field-manager=other --force-conflicts -f two.json", 0);
    assert_eq!(kubectl.data(), r#"{"color":"red","size":"1"}"#);
    kubectl.manifest("one.json", &[("color", "red")]);
    kubectl.run("apply --server-side -f one.json", 0);
    assert_eq!(kubectl.data(), r#"{"color":"red"}"#, "what is applied no more is gone");
    kubectl.manifest("one.json", &[("color", "red"), ("shape", "round")]);
    let difference = kubectl.run("diff --server-side -f one.json", 1);
    assert!(difference.contains("+  shape: round"), "{difference}");
    assert_eq!(kubectl.data(), r#"{"color":"red"}"#, "a difference changes nothing");
    assert!(!kubectl.run("get configmap settings -o yaml", 0).contains("managedFields"));
}

#[test]
fn what_was_applied_on_the_clients_side_is_taken_over() {
    let Some(kubectl) = Settings::start() else { return };
    kubectl.manifest("one.json", &[("color", "blue"), ("size", "1")]);
    kubectl.run("apply -f one.json", 0);
    assert_eq!(kubectl.managers(), "kubectl-client-side-apply:Update|");
    kubectl.run("edit configmap settings", 0);
    assert_eq!(kubectl.data(), r#"{"color":"green","size":"1"}"#);
    assert_eq!(kubectl.managers(), "kubectl-client-side-apply:Update|kubectl-edit:Update|");
    kubectl.manifest("one.json", &[("color", "green"), ("size", "2")]);
    kubectl.run("apply --server-side -f one.json", 0);
    assert_eq!(kubectl.data(), r#"{"color":"green","size":"2"}"#);
    let recorded = kubectl.run("apply view-last-applied configmap settings -o json", 0);
    assert!(recorded.contains(r#""size": "2""#), "the annotation is kept up to date: {recorded}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_rs_applies() {
    let server = TestServer::start().await.expect("a server");
    let client = Client::try_from(Config::new(server.url().parse().expect("an address"))).expect("a client");
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let config = |data| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": data});
    let applied = |manager: &str, data| {
        let (api, params, config) = (api.clone(), PatchParams::apply(manager), config(data));
        async move { api.patch("a", &params, &Patch::Apply(config)).await }
    };
    let created = applied("one", json!({"k": "1"})).await.expect("created");
    assert_eq!(created.metadata.managed_fields.map(|entries| entries.len()), Some(1));
    let again = applied("one", json!({"k": "1"})).await.expect("the same");
    assert_eq!(again.metadata.resource_version, created.metadata.resource_version);
    match applied("two", json!({"k": "2"})).await {
        Err(kube::Error::Api(status)) => assert_eq!((status.code, status.reason.as_str()), (409, "Conflict")),
        other => panic!("no conflict: {other:?}"),
    }
    let forced = api.patch("a", &PatchParams::apply("two").force(), &Patch::Apply(config(json!({"k": "2"})))).await;
    let managers = forced.expect("forced").metadata.managed_fields.unwrap_or_default();
    assert_eq!(managers.iter().map(|entry| entry.manager.as_deref()).collect::<Vec<_>>(), [Some("two")]);
    let mut object = api.get("a").await.expect("there");
    object.metadata.managed_fields = Some(Vec::new());
    object.data = Some([("k".to_owned(), "3".to_owned())].into());
    let reset = api.replace("a", &PostParams::default(), &object).await.expect("replaced");
    assert!(reset.data.is_some_and(|data| data["k"] == "3"));
    server.stop().await.expect("stopped");
}
