//! Server-side apply as clients use it: kubectl with all its ways to apply and edit, and kube-rs.
//! Guarantees that ownership of fields is reported, checked and transferred as by kube-apiserver. Must
//! never depend on the second that a write falls into.

use crate::common::kubectl::{Kubectl, said};
use crate::common::stores::Server;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, ServiceAccount};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};

/// kubectl, and the one config map that the tests are about.
struct Settings(Kubectl);

impl Settings {
    /// `None` without kubectl.
    fn start() -> Option<Settings> {
        Kubectl::start().map(Settings)
    }

    /// Writes a config map's manifest.
    fn manifest(&self, file: &str, data: &[(&str, &str)]) {
        let data: serde_json::Map<_, _> = data.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "settings"}, "data": data});
        self.0.installation.scratch.write(file, &object.to_string());
    }

    /// Runs a command with a known exit code and returns its output.
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
fn client_side_apply_is_migrated() {
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
    let (server, client) = started().await;
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

async fn started() -> (Server, Client) {
    let server = Server::start().await.expect("a server");
    let client = Client::try_from(Config::new(server.url().parse().expect("an address"))).expect("a client");
    (server, client)
}

/// Managers as `name operation subresource fields`, in order.
fn owners(entries: &[ManagedFieldsEntry]) -> Vec<String> {
    let show = |entry: &ManagedFieldsEntry| {
        let fields = entry.fields_v1.as_ref().map(|fields| fields.0.to_string()).unwrap_or_default();
        let text = |part: &Option<String>| part.clone().unwrap_or_default();
        format!("{} {} {} {fields}", text(&entry.manager), text(&entry.operation), text(&entry.subresource))
    };
    entries.iter().map(show).collect()
}

/// The message of an error.
fn refusal<T: std::fmt::Debug>(outcome: kube::Result<T>) -> String {
    match outcome {
        Err(kube::Error::Api(status)) => status.message.clone(),
        other => panic!("not refused: {other:?}"),
    }
}

fn managed_by(name: &str) -> PatchParams {
    PatchParams { field_manager: Some(name.to_owned()), ..PatchParams::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_updaters_the_oldest_are_one() {
    let (server, client) = started().await;
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let first = Some([("first".to_owned(), "1".to_owned())].into());
    let crowded = ConfigMap { metadata: named("crowded"), data: first, ..ConfigMap::default() };
    api.create(&PostParams::default(), &crowded).await.expect("created");
    let mut object = None;
    for at in 0..14 {
        let patch = Patch::Merge(json!({"data": {(format!("k{at:02}")): "1"}}));
        object = Some(api.patch("crowded", &managed_by(&format!("m{at:02}")), &patch).await.expect("patched"));
    }
    let owners = owners(object.expect("patched").managed_fields());
    assert_eq!(owners.len(), 10, "{owners:?}");
    let ancient: Vec<&String> = owners.iter().filter(|owner| owner.starts_with("ancient-changes Update")).collect();
    assert_eq!(ancient.len(), 1, "{owners:?}");
    let all = owners.join(" ");
    assert!(all.contains("f:first") && (0..14).all(|at| all.contains(&format!("f:k{at:02}"))), "{owners:?}");
    server.stop().await.expect("stopped");
}

fn named(name: &str) -> kube::core::ObjectMeta {
    kube::core::ObjectMeta { name: Some(name.to_owned()), ..Default::default() }
}

fn deployment(replicas: Option<i32>) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {"containers": [{"name": "main", "image": "main:1"}]},
            },
        },
    });
    if let Some(replicas) = replicas {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_change_hands_through_the_scale() {
    let (server, client) = started().await;
    let api: Api<Deployment> = Api::namespaced(client, "default");
    let apply = |config: Value, params: PatchParams| {
        let api = api.clone();
        async move { api.patch("web", &params, &Patch::Apply(config)).await }
    };
    apply(deployment(Some(1)), PatchParams::apply("team")).await.expect("created");
    let scale = json!({
        "apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web"}, "spec": {"replicas": 3},
    });
    let conflict = api.patch_scale("web", &PatchParams::apply("scaler"), &Patch::Apply(scale.clone())).await;
    assert_eq!(refusal(conflict), "Apply failed with 1 conflict: conflict with \"team\": .spec.replicas");
    let scaled = api.patch_scale("web", &PatchParams::apply("scaler").force(), &Patch::Apply(scale)).await;
    assert_eq!(scaled.expect("scaled").spec.and_then(|spec| spec.replicas), Some(3));
    let owners = owners(api.get("web").await.expect("there").managed_fields());
    assert_eq!(owners[0], r#"scaler Apply scale {"f:spec":{"f:replicas":{}}}"#, "{owners:?}");
    assert!(owners[1].starts_with("team Apply") && !owners[1].contains("f:replicas"), "{owners:?}");

    for (field, expected) in [
        ("uid", "deployments/scale.apps \"web\": Precondition failed: UID in precondition: x, UID in object meta: "),
        ("namespace", "the namespace of the provided object does not match the namespace sent on the request"),
    ] {
        let other = json!({"apiVersion": "autoscaling/v1", "kind": "Scale", "metadata": {"name": "web", (field): "x"}});
        let refused = api.patch_scale("web", &PatchParams::apply("scaler"), &Patch::Apply(other.clone())).await;
        assert!(refusal(refused).contains(expected), "{other}");
        let refused = api.patch_scale("web", &PatchParams::default(), &Patch::Merge(other)).await;
        assert!(refusal(refused).contains(expected));
    }

    let odd = json!({"metadata": {"generateName": "A_"}});
    let refused = api.patch_scale("web", &PatchParams::default(), &Patch::Merge(odd)).await;
    assert!(refusal(refused).contains("metadata.generateName: Invalid value: \"A_\""));

    let conflict = refusal(apply(deployment(Some(2)), PatchParams::apply("team")).await);
    let expected = "Apply failed with 1 conflict: conflict with \"scaler\" with subresource \"scale\": .spec.replicas";
    assert_eq!(conflict, expected);
    let left = apply(deployment(None), PatchParams::apply("team")).await.expect("no conflict");
    assert_eq!(left.spec.and_then(|spec| spec.replicas), Some(3), "another owns them");
    server.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subresources_have_managers_of_their_own() {
    let (server, client) = started().await;
    let account = ServiceAccount { metadata: named("default"), ..ServiceAccount::default() };
    Api::namespaced(client.clone(), "default").create(&PostParams::default(), &account).await.expect("created");
    let api: Api<Pod> = Api::namespaced(client, "default");
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}]},
    });
    api.patch("p", &PatchParams::apply("team"), &Patch::Apply(pod)).await.expect("created");
    let resize = json!({"spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "2"}}}]}});
    let resized = api.patch_subresource("resize", "p", &managed_by("sizer"), &Patch::Strategic(resize)).await;
    let owners = owners(resized.expect("resized").managed_fields());
    let key = r#""k:{\"name\":\"c\"}""#;
    let expected = format!(
        r#"sizer Update resize {{"f:spec":{{"f:containers":{{{key}:{{"f:resources":{{"f:requests":{{"f:cpu":{{}}}}}}}}}}}}}}"#
    );
    assert!(owners.contains(&expected), "{owners:?}");
    assert!(owners[0].starts_with("team Apply") && !owners[0].contains("f:cpu"), "{owners:?}");
    let status = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"},
        "status": {"message": "well"}, "spec": {"nodeName": "n"},
    });
    let reported =
        api.patch_subresource("status", "p", &PatchParams::apply("node").force(), &Patch::Apply(status)).await;
    let reported = reported.expect("reported");
    assert_eq!(reported.spec.as_ref().and_then(|spec| spec.node_name.clone()), None);
    let owners = self::owners(reported.managed_fields());
    assert!(owners.contains(&r#"node Apply status {"f:status":{"f:message":{}}}"#.to_owned()), "{owners:?}");
    server.stop().await.expect("stopped");
}
