//! kube-rs against the server: typed objects, objects of kinds found by discovery, and watches. Guarantees that a controller
//! written with it works. Must never use anything but the crate's results: it is an unmodified client.

use crate::common::DEADLINE;
use crate::common::stores::Server;
use futures_util::{Stream, StreamExt, pin_mut};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{GroupVersionKind, WatchEvent};
use kube::runtime::controller::Action;
use kube::runtime::finalizer::{Event as Finalized, finalizer};
use kube::runtime::wait::{await_condition, conditions};
use kube::runtime::{Controller, watcher};
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde_json::{Value, json};
use std::borrow::Cow;
use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

async fn server() -> (Server, Client) {
    let server = Server::start().await.expect("a server");
    let config = Config::new(server.url().parse().expect("an address"));
    let client = Client::try_from(config).expect("a client");
    (server, client)
}

fn typed<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).expect("an object of this type")
}

fn deployment(name: &str) -> Deployment {
    typed(json!({
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": "main:1"}, {"name": "side", "image": "side:1"}]},
            },
        },
    }))
}

/// The reason of an answer that is an error.
fn reason<T: Debug>(outcome: kube::Result<T>) -> (u16, String) {
    match outcome {
        Err(kube::Error::Api(status)) => (status.code, status.reason.clone()),
        other => panic!("not an answer with an error: {other:?}"),
    }
}

/// The next event as its type, and what `show` makes of its object.
async fn next<K: Clone>(
    stream: &mut (impl Stream<Item = kube::Result<WatchEvent<K>>> + Unpin),
    show: impl Fn(&K) -> String,
) -> (&'static str, String) {
    loop {
        let event = tokio::time::timeout(DEADLINE, stream.next()).await.expect("an event in time");
        match event.expect("the watch goes on").expect("an event") {
            WatchEvent::Added(object) => return ("ADDED", show(&object)),
            WatchEvent::Modified(object) => return ("MODIFIED", show(&object)),
            WatchEvent::Deleted(object) => return ("DELETED", show(&object)),
            // They come when the server likes.
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => panic!("{status:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn config_maps() {
    let (server, client) = server().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();

    // Create, with names given and made.
    for (name, color) in [("a", "red"), ("b", "green"), ("c", "red"), ("d", "blue")] {
        let object = typed(json!({"metadata": {"name": name, "labels": {"color": color}}, "data": {"k": "1"}}));
        let created = api.create(&post, &object).await.expect("created");
        assert!(created.uid().is_some() && created.resource_version().is_some());
        assert_eq!(created.namespace().as_deref(), Some("default"));
    }
    let made = typed(json!({"metadata": {"generateName": "made-"}}));
    let made = api.create(&post, &made).await.expect("created");
    assert!(made.name_any().starts_with("made-") && made.name_any().len() == 10, "{}", made.name_any());
    let again = typed(json!({"metadata": {"name": "a"}}));
    assert_eq!(reason(api.create(&post, &again).await), (409, "AlreadyExists".to_owned()));

    // Get.
    assert_eq!(api.get("a").await.expect("there").data.expect("data")["k"], "1");
    assert!(api.get_opt("nobody").await.expect("an answer").is_none());
    assert_eq!(reason(api.get("nobody").await), (404, "NotFound".to_owned()));
    assert_eq!(api.get_metadata("b").await.expect("there").labels()["color"], "green");

    // List: all, selected, page by page, and from all namespaces.
    let names = async |params: ListParams| -> Vec<String> {
        api.list(&params).await.expect("a list").iter().map(ResourceExt::name_any).collect()
    };
    assert_eq!(names(ListParams::default().labels("color")).await, ["a", "b", "c", "d"]);
    assert_eq!(names(ListParams::default().labels("color=red")).await, ["a", "c"]);
    assert_eq!(names(ListParams::default().labels("color in (green,blue)")).await, ["b", "d"]);
    assert_eq!(names(ListParams::default().fields("metadata.name!=a").labels("color=red")).await, ["c"]);
    let mut pages = Vec::new();
    let mut params = ListParams::default().labels("color").limit(3);
    loop {
        let page = api.list(&params).await.expect("a page");
        pages.push(page.iter().map(ResourceExt::name_any).collect::<Vec<_>>());
        match page.metadata.continue_.as_deref() {
            None | Some("") => break,
            Some(token) => params = params.continue_token(token),
        }
    }
    assert_eq!(pages, [vec!["a", "b", "c"], vec!["d"]]);
    let everywhere: Api<ConfigMap> = Api::all(client);
    assert!(everywhere.list(&ListParams::default()).await.expect("a list").items.len() >= 5);

    // Replace, and a conflict.
    let mut first = api.get("a").await.expect("there");
    let second = first.clone();
    first.data.get_or_insert_default().insert("k".into(), "2".into());
    let replaced = api.replace("a", &post, &first).await.expect("replaced");
    assert_ne!(replaced.resource_version(), second.resource_version());
    assert_eq!(reason(api.replace("a", &post, &second).await), (409, "Conflict".to_owned()));

    // Patch: merge and JSON need no more than the fields.
    let patch = Patch::Merge(json!({"data": {"k": null, "l": "3"}}));
    let patched = api.patch("a", &PatchParams::default(), &patch).await.expect("patched");
    assert_eq!(serde_json::to_value(&patched.data).expect("JSON"), json!({"l": "3"}));

    // A dry run changes nothing.
    let dry = PatchParams { dry_run: true, ..PatchParams::default() };
    let patch = Patch::Merge(json!({"data": {"l": "4"}}));
    assert_eq!(api.patch("a", &dry, &patch).await.expect("patched").data.expect("data")["l"], "4");
    assert_eq!(api.get("a").await.expect("there").data.expect("data")["l"], "3");

    // Delete one, with a precondition; delete the rest.
    let uid = kube::api::Preconditions { uid: Some("another".into()), resource_version: None };
    let guarded = DeleteParams { preconditions: Some(uid), ..DeleteParams::default() };
    assert_eq!(reason(api.delete("a", &guarded).await), (409, "Conflict".to_owned()));
    api.delete("a", &DeleteParams::default()).await.expect("deleted");
    let red = ListParams::default().labels("color=red");
    api.delete_collection(&DeleteParams::default(), &red).await.expect("deleted");
    assert_eq!(names(ListParams::default().labels("color")).await, ["b", "d"]);
    server.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deployments_and_their_subresources() {
    let (server, client) = server().await;
    let api: Api<Deployment> = Api::default_namespaced(client);
    let (post, patch) = (PostParams::default(), PatchParams::default());
    let created = api.create(&post, &deployment("web")).await.expect("created");
    let spec = created.spec.expect("a spec");
    assert_eq!(spec.replicas, Some(1), "defaults are filled in");
    assert_eq!(created.metadata.generation, Some(1));

    // Strategic: a container is found by its name, the other one stays.
    let image = json!({"spec": {"template": {"spec": {"containers": [{"name": "main", "image": "main:2"}]}}}});
    let patched = api.patch("web", &patch, &Patch::Strategic(&image)).await.expect("patched");
    let containers = patched.spec.and_then(|spec| spec.template.spec).expect("a pod's spec").containers;
    let images: Vec<_> = containers.iter().filter_map(|container| container.image.as_deref()).collect();
    assert_eq!(images, ["main:2", "side:1"]);
    assert_eq!(patched.metadata.generation, Some(2));
    // Merge: a list is replaced as a whole.
    let patched = api.patch("web", &patch, &Patch::Merge(&image)).await.expect("patched");
    let containers = patched.spec.and_then(|spec| spec.template.spec).expect("a pod's spec").containers;
    assert_eq!(containers.len(), 1);

    // Scale.
    let scale = api.get_scale("web").await.expect("a scale");
    assert_eq!(scale.spec.and_then(|spec| spec.replicas), Some(1));
    let three = Patch::Merge(json!({"spec": {"replicas": 3}}));
    api.patch_scale("web", &patch, &three).await.expect("scaled");
    assert_eq!(api.get("web").await.expect("there").spec.and_then(|spec| spec.replicas), Some(3));

    // Status: the rest of the object stays as it is, and so does the generation.
    let before = api.get("web").await.expect("there");
    let status = Patch::Merge(json!({"status": {"replicas": 3, "observedGeneration": 4}, "spec": {"replicas": 9}}));
    let after = api.patch_status("web", &patch, &status).await.expect("patched");
    assert_eq!(after.status.and_then(|status| status.replicas), Some(3));
    assert_eq!(after.spec.and_then(|spec| spec.replicas), Some(3));
    assert_eq!(after.metadata.generation, before.metadata.generation);

    api.delete("web", &DeleteParams::background()).await.expect("deleted");
    assert!(api.get_opt("web").await.expect("an answer").is_none());
    server.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_tells_what_happens_in_order() {
    let (server, client) = server().await;
    let api: Api<ConfigMap> = Api::default_namespaced(client.clone());
    let post = PostParams::default();
    let list = api.list(&ListParams::default()).await.expect("a list");
    let version = list.metadata.resource_version.expect("a resource version");
    let params = kube::api::WatchParams::default().labels("watched=yes");
    let live = api.watch(&params, &version).await.expect("a watch");
    pin_mut!(live);

    let object = json!({"metadata": {"name": "a", "labels": {"watched": "yes"}}, "data": {"k": "1"}});
    api.create(&post, &typed(object)).await.expect("created");
    api.create(&post, &typed(json!({"metadata": {"name": "other"}}))).await.expect("created");
    let change = async |patch: Value| {
        api.patch("a", &PatchParams::default(), &Patch::Merge(patch)).await.expect("patched");
    };
    change(json!({"data": {"k": "2"}})).await;
    change(json!({"metadata": {"labels": {"watched": "no"}}})).await;
    change(json!({"data": {"k": "3"}})).await;
    change(json!({"metadata": {"labels": {"watched": "yes"}}})).await;
    api.delete("a", &DeleteParams::default()).await.expect("deleted");

    let show = |object: &ConfigMap| {
        let data = object.data.clone().unwrap_or_default();
        format!("{} {}", object.name_any(), data.get("k").map_or("", String::as_str))
    };
    // Leaving the selection is a deletion, coming back an addition.
    let expected = [("ADDED", "a 1"), ("MODIFIED", "a 2"), ("DELETED", "a 2"), ("ADDED", "a 3"), ("DELETED", "a 3")];
    for (kind, what) in expected {
        assert_eq!(next(&mut live, show).await, (kind, what.to_owned()));
    }

    // Another one, which starts after all changes, receives the same.
    let late = api.watch(&params, &version).await.expect("a watch");
    pin_mut!(late);
    for (kind, what) in expected {
        assert_eq!(next(&mut late, show).await, (kind, what.to_owned()));
    }

    // A resource version that is too new is an answer, not a hang; 0 begins with what is there.
    let state =
        api.watch(&kube::api::WatchParams::default().fields("metadata.name=other"), "0").await.expect("a watch");
    pin_mut!(state);
    assert_eq!(next(&mut state, show).await, ("ADDED", "other ".to_owned()));
    server.stop().await.expect("stopped");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kinds_known_only_at_run_time() {
    let (server, client) = server().await;
    let rows = [
        (
            "batch",
            "v1",
            "CronJob",
            json!({
                "schedule": "0 * * * *",
                "jobTemplate": {"spec": {"template": {"spec": {
                    "restartPolicy": "Never", "containers": [{"name": "c", "image": "i"}],
                }}}},
            }),
        ),
        ("networking.k8s.io", "v1", "NetworkPolicy", json!({"podSelector": {}})),
        ("", "v1", "Service", json!({"ports": [{"port": 80}], "selector": {"a": "b"}})),
    ];
    for (group, version, kind, spec) in rows {
        let kind = GroupVersionKind::gvk(group, version, kind);
        // As discovery tells it.
        let (resource, _) = kube::discovery::pinned_kind(&client, &kind).await.expect("discovered");
        assert_eq!(resource, ApiResource::from_gvk(&kind), "the plural is the usual one");
        let api: Api<DynamicObject> = Api::default_namespaced_with(client.clone(), &resource);
        let watch = api.watch(&kube::api::WatchParams::default().fields("metadata.name=x"), "0").await;
        let watch = watch.expect("a watch");
        pin_mut!(watch);
        let mut object = DynamicObject::new("x", &resource);
        object.data = json!({"spec": spec});
        let created = api.create(&PostParams::default(), &object).await.expect("created");
        assert_eq!(created.types.as_ref().map(|types| types.kind.as_str()), Some(kind.kind.as_str()));
        let patch = Patch::Merge(json!({"metadata": {"annotations": {"a": "b"}}}));
        let patched = api.patch("x", &PatchParams::default(), &patch).await.expect("patched");
        assert_eq!(patched.annotations()["a"], "b");
        let list = api.list(&ListParams::default().fields("metadata.name=x")).await.expect("a list");
        assert_eq!(list.items.len(), 1);
        api.delete("x", &DeleteParams::default()).await.expect("deleted");
        for expected in ["ADDED", "MODIFIED", "DELETED"] {
            assert_eq!(next(&mut watch, ResourceExt::name_any).await, (expected, "x".to_owned()), "{kind:?}");
        }
    }
    // And all of discovery, as a client reads it at its start.
    let discovery = kube::Discovery::new(client).run_aggregated().await.expect("discovery");
    for group in ["", "apps", "batch", "rbac.authorization.k8s.io", "storage.k8s.io", "policy"] {
        assert!(discovery.has_group(group), "{group}");
    }
    server.stop().await.expect("stopped");
}

/// A custom resource as a client declares it.
#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct Widget {
    api_version: String,
    kind: String,
    metadata: ObjectMeta,
    spec: WidgetSpec,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<WidgetStatus>,
}

#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
struct WidgetSpec {
    size: i64,
}

#[derive(Clone, Debug, serde::Deserialize, serde::Serialize)]
struct WidgetStatus {
    size: i64,
}

impl Resource for Widget {
    type DynamicType = ();
    type Scope = kube::core::NamespaceResourceScope;

    fn kind(_: &()) -> Cow<'_, str> {
        "Widget".into()
    }

    fn group(_: &()) -> Cow<'_, str> {
        "example.com".into()
    }

    fn version(_: &()) -> Cow<'_, str> {
        "v1".into()
    }

    fn plural(_: &()) -> Cow<'_, str> {
        "widgets".into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

impl Widget {
    fn applied(name: &str, spec: Value) -> Value {
        json!({"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": name}, "spec": spec})
    }
}

type ReconcileError = kube::runtime::finalizer::Error<kube::Error>;

/// Follows the size into the status, and notes in a config map what is cleaned up.
async fn reconcile(widget: Arc<Widget>, client: Arc<Client>) -> Result<Action, ReconcileError> {
    let widgets: Api<Widget> = Api::default_namespaced((*client).clone());
    let notes: Api<ConfigMap> = Api::default_namespaced((*client).clone());
    let follow = async |event: Finalized<Widget>| match event {
        Finalized::Apply(widget) => {
            let status =
                json!({"apiVersion": "example.com/v1", "kind": "Widget", "status": {"size": widget.spec.size}});
            let apply = PatchParams::apply("controller");
            widgets.patch_status(&widget.name_any(), &apply, &Patch::Apply(status)).await?;
            Ok(Action::await_change())
        }
        Finalized::Cleanup(widget) => {
            let note = json!({"metadata": {"name": format!("cleaned-{}", widget.name_any())}});
            notes.create(&PostParams::default(), &typed(note)).await?;
            Ok(Action::await_change())
        }
    };
    finalizer(&widgets, "example.com/clean", widget, follow).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_controller_of_a_custom_resource() {
    let (server, client) = server().await;
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let size =
        || json!({"type": "object", "required": ["size"], "properties": {"size": {"type": "integer", "minimum": 1}}});
    let schema = json!({"type": "object", "required": ["spec"], "properties": {"spec": size(), "status": size()}});
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "widgets", "kind": "Widget"},
            "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": schema}}]}});
    let apply = PatchParams::apply("test");
    definitions.patch("widgets.example.com", &apply, &Patch::Apply(definition)).await.expect("defined");
    let established = await_condition(definitions.clone(), "widgets.example.com", conditions::is_crd_established());
    tokio::time::timeout(DEADLINE, established).await.expect("in time").expect("established");

    let widgets: Api<Widget> = Api::default_namespaced(client.clone());
    let retry = |_: Arc<Widget>, _: &ReconcileError, _: Arc<Client>| Action::requeue(Duration::from_millis(50));
    let controller = Controller::new(widgets.clone(), watcher::Config::default());
    let running = tokio::spawn(controller.run(reconcile, retry, Arc::new(client.clone())).for_each(async |_| {}));

    let has_status = |size: i64| {
        move |widget: Option<&Widget>| {
            widget.and_then(|widget| widget.status.as_ref()).is_some_and(|it| it.size == size)
        }
    };
    for size in [1, 2] {
        widgets.patch("a", &apply, &Patch::Apply(Widget::applied("a", json!({"size": size})))).await.expect("applied");
        let followed = await_condition(widgets.clone(), "a", has_status(size));
        tokio::time::timeout(DEADLINE, followed).await.expect("in time").expect("followed");
    }
    let widget = widgets.get("a").await.expect("a widget");
    assert_eq!((widget.metadata.generation, widget.finalizers()), (Some(2), &["example.com/clean".to_owned()][..]));
    let managers = widget.managed_fields().iter().map(|entry| entry.manager.clone().unwrap_or_default());
    assert!(managers.collect::<Vec<_>>().contains(&"controller".to_owned()));
    let refused = widgets.patch("a", &apply, &Patch::Apply(Widget::applied("a", json!({"size": 0})))).await;
    assert_eq!(reason(refused), (422, "Invalid".to_owned()));

    let uid = widget.uid().expect("a uid");
    widgets.delete("a", &DeleteParams::default()).await.expect("deleted");
    let gone = await_condition(widgets.clone(), "a", conditions::is_deleted(&uid));
    tokio::time::timeout(DEADLINE, gone).await.expect("in time").expect("gone");
    let notes: Api<ConfigMap> = Api::default_namespaced(client.clone());
    notes.get("cleaned-a").await.expect("cleaned up");
    running.abort();
    server.stop().await.expect("stopped");
}
