//! The controllers over a registry in memory: their effects, seen in the cache, with a simulated clock. Guarantees that
//! nothing waits for real time, only for work to be done. Must never need a socket.

mod aggregated;
mod conditions;
mod definitions;
mod false_owners;
mod random_owners;
mod reconcile;
use pintle_schema::gates::{GateSet, NO_GATES};

use crate::expiry::Expiry;
use crate::feed::{self, Listed, Observer};
use crate::requests::{Requests, Who};
use crate::resource_index::{KindId, ResourceIndex};
use crate::{Controller, Controllers, Settings};
use pintle_cache::{Cache, Event, Object, WatchFilter, encoded_object};
use pintle_registry::options::Propagation;
use pintle_registry::{AdmissionChain, DeleteOptions, Environment, Registry, Target, WriteOptions};
use pintle_schema::{Value, value};
use pintle_storage::{MemoryStore, Observer as _, Record, Revision, Started, Store};
use std::pin::Pin;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// A simulated clock, and random numbers that do not repeat.
struct Simulated {
    now: Arc<AtomicI64>,
    random: AtomicU64,
}

impl Environment for Simulated {
    fn now_unix(&self) -> i64 {
        self.now.load(Ordering::SeqCst)
    }

    fn random(&self, buffer: &mut [u8]) {
        let next = self.random.fetch_add(1, Ordering::SeqCst).to_be_bytes();
        buffer.iter_mut().rev().zip(next.iter().rev().cycle()).for_each(|(byte, digit)| *byte = *digit);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

pub(crate) struct Fixture {
    pub(crate) registry: Arc<Registry>,
    now: Arc<AtomicI64>,
}

impl Fixture {
    pub(crate) async fn new() -> Fixture {
        let cache =
            Cache::new(pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str())));
        let store = Arc::new(MemoryStore::new());
        store.start(Box::new(cache.writer())).expect("a fresh store starts");
        let now = Arc::new(AtomicI64::new(1_000_000));
        let environment = Box::new(Simulated { now: now.clone(), random: AtomicU64::new(1) });
        let registry = Registry::new(cache, store, environment, AdmissionChain::default(), pintle_groups::resources());
        let fixture = Fixture { registry: Arc::new(registry), now };
        for name in ["default", "other"] {
            fixture.create("", "namespaces", "", value!({"metadata": {"name": name}})).await;
        }
        fixture
    }

    pub(crate) fn target(&self, group: &str, plural: &str, namespace: &str, name: &str) -> Target {
        let resource = pintle_groups::find(group, "v1", plural).expect("a resource");
        self.registry.target(resource, namespace, name).expect("stored")
    }

    pub(crate) async fn create(&self, group: &str, plural: &str, namespace: &str, object: Value) -> String {
        let target = self.target(group, plural, namespace, "");
        let name = object.str_at(&["metadata", "name"]).to_owned();
        let created = self.registry.create(&target, object, &WriteOptions::default()).await;
        created.map(drop).expect("created");
        self.get(&Target { name, ..target }).expect("stored").encoded.uid().to_owned()
    }

    /// A config map in the namespace `default` that these own.
    pub(crate) async fn owned(&self, name: &str, owners: &[(&str, &str)], finalizers: &[&str]) -> String {
        self.owned_in("default", name, owners, finalizers).await
    }

    pub(crate) async fn owned_in(
        &self,
        namespace: &str,
        name: &str,
        owners: &[(&str, &str)],
        finalizers: &[&str],
    ) -> String {
        let reference = |(name, uid): &(&str, &str)| value!({"apiVersion": "v1", "kind": "ConfigMap", "name": (*name), "uid": (*uid), "blockOwnerDeletion": true});
        let owners = Value::List(owners.iter().map(reference).collect());
        let finalizers = Value::List(finalizers.iter().map(|name| Value::from(*name)).collect());
        let object = value!({"metadata": {"name": name, "ownerReferences": owners, "finalizers": finalizers}});
        self.create("", "configmaps", namespace, object).await
    }

    pub(crate) fn map(&self, name: &str) -> Option<Arc<Object>> {
        self.get(&self.target("", "configmaps", "default", name))
    }

    pub(crate) fn get(&self, target: &Target) -> Option<Arc<Object>> {
        target.cache.get(&target.key())
    }

    pub(crate) async fn delete(&self, name: &str, propagation: Propagation) {
        self.delete_with(name, DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() }).await;
    }

    pub(crate) async fn delete_with(&self, name: &str, options: DeleteOptions) {
        let target = self.target("", "configmaps", "default", name);
        self.registry.delete(&target, &options).await.map(drop).expect("deleted");
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.now.fetch_add(seconds, Ordering::SeqCst);
    }

    fn start(&self) -> Controllers {
        Controllers::start(self.registry.clone(), &Settings::default(), None)
    }

    /// Waits until a condition holds; only a failure reaches the deadline.
    async fn until(&self, what: &str, holds: impl Fn() -> bool) {
        let wait = async {
            while !holds() {
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
        };
        tokio::time::timeout(Duration::from_secs(30), wait).await.unwrap_or_else(|_| panic!("still waiting: {what}"));
    }

    async fn gone(&self, names: &[&str]) {
        self.until(&format!("{names:?} gone"), || names.iter().all(|name| self.map(name).is_none())).await;
    }

    /// Gives the controllers time to do something wrong: waits until a new dependent of a missing owner, the last in
    /// the queue, is deleted.
    async fn quiet(&self) {
        self.owned("probe", &[("never", "never")], &[]).await;
        self.gone(&["probe"]).await;
    }
}

/// An owner reference that blocks the owner's deletion.
pub(crate) fn owner(api_version: &str, kind: &str, name: &str, uid: &str) -> Value {
    value!({"apiVersion": api_version, "kind": kind, "name": name, "uid": uid, "blockOwnerDeletion": true})
}

#[tokio::test]
async fn dependents_go_with_their_last_owner() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.owned("a", &[], &[]).await, fixture.owned("b", &[], &[]).await);
    let child = fixture.owned("child", &[("a", &a)], &[]).await;
    fixture.owned("grandchild", &[("child", &child)], &[]).await;
    fixture.owned("shared", &[("a", &a), ("b", &b)], &[]).await;
    let _controllers = fixture.start();
    fixture.quiet().await;
    assert!(fixture.map("child").is_some(), "its owner is there");
    fixture.delete("a", Propagation::Background).await;
    fixture.gone(&["child", "grandchild"]).await;
    let owners = || fixture.map("shared").map_or(0, |object| object.encoded.owners().count());
    fixture.until("the lost owner is forgotten", || owners() == 1).await;
    fixture.delete("b", Propagation::Background).await;
    fixture.gone(&["shared"]).await;
}

#[tokio::test]
async fn a_dry_run_changes_nothing() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("a", &[], &[]).await;
    fixture.owned("child", &[("a", &a)], &[]).await;
    let _controllers = fixture.start();
    let propagation = Some(Propagation::Foreground);
    fixture.delete_with("a", DeleteOptions { dry_run: true, propagation, ..DeleteOptions::default() }).await;
    fixture.quiet().await;
    assert!(fixture.map("a").is_some_and(|object| !object.encoded.terminating) && fixture.map("child").is_some());
}

#[tokio::test]
async fn foreground_deletion_waits_for_dependents() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("a", &[], &[]).await;
    fixture.owned("held", &[("a", &a)], &["example.com/hold"]).await;
    fixture.owned("free", &[("a", &a)], &[]).await;
    let _controllers = fixture.start();
    fixture.delete("a", Propagation::Foreground).await;
    fixture.gone(&["free"]).await;
    fixture.quiet().await;
    assert!(fixture.map("held").is_some_and(|object| object.encoded.terminating));
    assert!(fixture.map("a").is_some(), "a dependent is still there");
    let target = fixture.target("", "configmaps", "default", "held");
    let requests = Requests { index: &ResourceIndex::new(fixture.registry.clone()), who: Who::Account("test") };
    let release = |object: &mut Value| drop(object.remove_at(&["metadata", "finalizers"]));
    requests.change(&target, "", release).await.expect("changed");
    fixture.gone(&["held", "a"]).await;
}

#[tokio::test]
async fn foreground_deletion_does_not_wait_for_dependents_that_let_it_go() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("a", &[], &[]).await;
    fixture.owned("held", &[("a", &a)], &["example.com/hold"]).await;
    let _controllers = fixture.start();
    fixture.delete("a", Propagation::Foreground).await;
    fixture
        .until("the dependent's turn", || fixture.map("held").is_some_and(|object| object.encoded.terminating))
        .await;
    fixture.quiet().await;
    assert!(fixture.map("a").is_some(), "it waits");
    let target = fixture.target("", "configmaps", "default", "held");
    let requests = Requests { index: &ResourceIndex::new(fixture.registry.clone()), who: Who::Account("test") };
    let let_go = |object: &mut Value| {
        let owner = value!({"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": (a.as_str()), "blockOwnerDeletion": false});
        object.set_at(&["metadata", "ownerReferences"], Value::List(vec![owner]));
    };
    requests.change(&target, "", let_go).await.expect("changed");
    fixture.gone(&["a"]).await;
    assert!(fixture.map("held").is_some());
}

#[tokio::test]
async fn circles_are_broken() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("a", &[("b", "to be set")], &[]).await;
    let b = fixture.owned("b", &[("a", &a)], &[]).await;
    let target = fixture.target("", "configmaps", "default", "a");
    let index = ResourceIndex::new(fixture.registry.clone());
    let requests = Requests { index: &index, who: Who::Account("test") };
    let close = |object: &mut Value| {
        let owner = value!({"apiVersion": "v1", "kind": "ConfigMap", "name": "b", "uid": (b.as_str()), "blockOwnerDeletion": true});
        object.set_at(&["metadata", "ownerReferences"], Value::List(vec![owner]));
    };
    requests.change(&target, "", close).await.expect("changed");
    let _controllers = fixture.start();
    fixture.quiet().await;
    assert!(fixture.map("a").is_some() && fixture.map("b").is_some());
    fixture.delete("a", Propagation::Foreground).await;
    fixture.gone(&["a", "b"]).await;
}

#[tokio::test]
async fn orphans_stay_and_forget_their_owner() {
    let fixture = Fixture::new().await;
    let a = fixture.owned("a", &[], &[]).await;
    fixture.owned("child", &[("a", &a)], &[]).await;
    let _controllers = fixture.start();
    fixture.delete("a", Propagation::Orphan).await;
    fixture.gone(&["a"]).await;
    fixture.quiet().await;
    assert_eq!(fixture.map("child").map(|object| object.encoded.owners().count()), Some(0));
}

#[tokio::test]
async fn objects_from_before_the_start_are_handled() {
    let fixture = Fixture::new().await;
    let (a, b) = (fixture.owned("a", &[], &[]).await, fixture.owned("b", &[], &[]).await);
    fixture.owned("child", &[("a", &a)], &[]).await;
    fixture.owned("free", &[("b", &b)], &[]).await;
    fixture.delete("a", Propagation::Background).await;
    fixture.delete("b", Propagation::Orphan).await;
    let _controllers = fixture.start();
    fixture.gone(&["child", "b"]).await;
    assert_eq!(fixture.map("free").map(|object| object.encoded.owners().count()), Some(0));
}

#[tokio::test]
async fn owners_are_where_they_can_be() {
    let fixture = Fixture::new().await;
    let elsewhere = fixture.owned_in("other", "elsewhere", &[], &[]).await;
    let a = fixture.owned("a", &[], &[]).await;
    let _controllers = fixture.start();
    // The owner is in another namespace; the uid is another object's; the kind is unknown.
    fixture.owned("misplaced", &[("elsewhere", &elsewhere)], &[]).await;
    fixture.owned("mistaken", &[("a", "no uid of it")], &[]).await;
    let unknown = value!([{"apiVersion": "example.com/v1", "kind": "Foo", "name": "a", "uid": "u"}]);
    let object = value!({"metadata": {"name": "unknown", "ownerReferences": unknown}});
    fixture.create("", "configmaps", "default", object).await;
    // A namespaced object cannot own a namespace.
    let owner = value!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "a", "uid": (a.as_str())}]);
    let object = value!({"metadata": {"name": "owned", "ownerReferences": owner}});
    fixture.create("", "namespaces", "", object).await;
    fixture.gone(&["misplaced", "mistaken"]).await;
    fixture.quiet().await;
    assert!(fixture.map("unknown").is_some());
    assert!(fixture.get(&fixture.target("", "namespaces", "", "owned")).is_some());
    let events = fixture.target("", "events", "", "");
    let state = events.cache.state();
    let mut messages: Vec<_> = state
        .objects
        .values()
        .map(|object| {
            let event = fixture.registry.decode(&events, object).expect("an event");
            assert_eq!(event.str_at(&["reason"]), "OwnerRefInvalidNamespace");
            (event.str_at(&["involvedObject", "name"]).to_owned(), event.str_at(&["message"]).to_owned())
        })
        .collect();
    messages.sort();
    let text = |name: &str, uid: &str, namespace: &str| {
        format!(
            "ownerRef [v1/ConfigMap, namespace: {namespace}, name: {name}, uid: {uid}] does not exist in namespace \
             \"{namespace}\""
        )
    };
    assert_eq!(
        messages,
        [("misplaced".to_owned(), text("elsewhere", &elsewhere, "default")), ("owned".to_owned(), text("a", &a, "")),]
    );
}

#[tokio::test]
async fn a_namespace_is_emptied_and_goes() {
    let fixture = Fixture::new().await;
    fixture.owned_in("other", "free", &[], &[]).await;
    fixture.owned_in("other", "held", &[], &["example.com/hold"]).await;
    fixture.owned("bystander", &[], &[]).await;
    let namespace = fixture.target("", "namespaces", "", "other");
    fixture.registry.delete(&namespace, &DeleteOptions::default()).await.map(drop).expect("deleted");
    let _controllers = fixture.start();
    let condition = |wanted: &str| {
        let stored = fixture.get(&namespace)?;
        let object = fixture.registry.decode(&namespace, &stored).ok()?;
        let conditions = object.at(&["status", "conditions"])?.as_list()?;
        let found = conditions.iter().find(|condition| condition.str_at(&["type"]) == wanted)?;
        Some((found.str_at(&["status"]).to_owned(), found.str_at(&["message"]).to_owned()))
    };
    let remaining = "Some resources are remaining: configmaps. has 1 resource instances";
    fixture
        .until("the rest is reported", || {
            condition("NamespaceContentRemaining") == Some(("True".to_owned(), remaining.to_owned()))
        })
        .await;
    let finalizers = "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances";
    assert_eq!(condition("NamespaceFinalizersRemaining"), Some(("True".to_owned(), finalizers.to_owned())));
    let held = fixture.target("", "configmaps", "other", "held");
    let index = ResourceIndex::new(fixture.registry.clone());
    let requests = Requests { index: &index, who: Who::Account("test") };
    let release = |object: &mut Value| drop(object.remove_at(&["metadata", "finalizers"]));
    requests.change(&held, "", release).await.expect("changed");
    fixture.until("the namespace is gone", || fixture.get(&namespace).is_none()).await;
    assert!(fixture.map("bystander").is_some());
}

#[tokio::test]
async fn only_what_is_enabled_runs() {
    let fixture = Fixture::new().await;
    let settings = Settings { enabled: vec![Controller::GarbageCollector], ..Settings::default() };
    let _controllers = Controllers::start(fixture.registry.clone(), &settings, None);
    let namespace = fixture.target("", "namespaces", "", "other");
    fixture.registry.delete(&namespace, &DeleteOptions::default()).await.map(drop).expect("deleted");
    fixture.quiet().await;
    assert!(fixture.get(&namespace).is_some());
}

/// Expiry step by step: it receives the state, then expires objects at chosen times.
#[tokio::test]
async fn events_live_their_time_after_their_last_change() {
    let fixture = Fixture::new().await;
    let event = |name: &str| value!({"metadata": {"name": name}, "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"}});
    fixture.create("", "events", "default", event("old")).await;
    fixture.owned("no-event", &[], &[]).await;
    let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
    let expiry = Expiry::new(index.clone(), Some(Duration::from_secs(100)));
    let kinds = index.kinds();
    let listed = kinds.iter().map(|(id, kind)| Listed { id, kind: kind.clone(), state: kind.target.cache.state() });
    expiry.list(&listed.collect::<Vec<_>>());
    let events = fixture.target("", "events", "default", "");
    let after: Revision = events.cache.state().last;
    let mut cursor = events.cache.cursor(after);
    fixture.now.fetch_add(60, Ordering::SeqCst);
    fixture.create("", "events", "default", event("new")).await;
    let kind = index.kinds().iter().find(|(_, kind)| kind.resource.plural == "events").map(|(id, _)| id);
    for change in cursor.take(10).expect("history") {
        // However often it changes, it is looked at once.
        (0..3).for_each(|_| expiry.observe(kind.expect("events are stored"), &change));
    }
    let names =
        || -> Vec<String> { events.cache.state().objects.values().map(|object| object.name().to_owned()).collect() };
    assert_eq!(expiry.expire(1_000_100).await, 0, "a hundred seconds are not over");
    assert_eq!((expiry.expire(1_000_101).await, names()), (1, vec!["new".to_owned()]));
    assert_eq!(expiry.expire(1_000_160).await, 0);
    assert_eq!((expiry.expire(1_000_161).await, names().len()), (1, 0));
}

/// A task that runs in the thread that wakes it.
struct AtOnce(Mutex<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Wake for AtOnce {
    fn wake(self: Arc<Self>) {
        let waker = Waker::from(self.clone());
        let polled = self.0.lock().expect("no panic").as_mut().poll(&mut Context::from_waker(&waker));
        assert!(polled.is_pending());
    }
}

/// Wants all changes of all kinds, and ignores them.
struct Everything;

impl Observer for Everything {
    fn interest(&self, _: KindId) -> Option<WatchFilter> {
        Some(WatchFilter::Everything)
    }

    fn list(&self, _: &[Listed]) {}

    fn observe(&self, _: KindId, _: &Event) {}
}

#[test]
fn a_change_that_is_seen_before_its_commit_is_whole_counts_once_that_is() {
    let cache =
        Cache::new(pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str())));
    let mut writer = cache.writer();
    writer.replayed(Started { current: Revision(1), compacted: Revision(0) });
    let environment = Box::new(Simulated { now: Arc::default(), random: AtomicU64::new(1) });
    let store = Arc::new(MemoryStore::new());
    let registry = Registry::new(cache, store, environment, AdmissionChain::default(), pintle_groups::resources());
    let index = Arc::new(ResourceIndex::new(Arc::new(registry)));
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    let _entered = runtime.enter();
    let run = feed::run(index.clone(), vec![Arc::new(Everything)], Duration::ZERO);
    let feed = Arc::new(AtOnce(Mutex::new(Box::pin(run))));
    Waker::from(feed.clone()).wake();
    // The list runs on another thread, which then polls the feed.
    while index.observed(0) != Revision(1) {
        std::thread::yield_now();
    }
    drop(feed.0.lock());
    // The change wakes the feed, which runs before the cache has published the whole commit.
    let value = encoded_object::encode(&value!({"metadata": {"name": "a", "namespace": "default"}}), &[]);
    let key = "/registry/configmaps/default/a".into();
    writer.publish(&[Record { key, revision: Revision(2), value: Some(value) }], Revision(2));
    assert_eq!(index.observed(0), Revision(2));
}

#[tokio::test(start_paused = true)]
async fn work_goes_on_after_a_panic() {
    let (done, mut seen) = tokio::sync::mpsc::unbounded_channel();
    let rounds = AtomicU64::new(0);
    let working = tokio::spawn(crate::restarted(async move || {
        let round = rounds.fetch_add(1, Ordering::Relaxed);
        done.send(round).expect("listens");
        tokio::task::yield_now().await;
        assert!(round > 2, "as it is meant to");
        std::future::pending::<()>().await;
    }));
    for round in 0..=3 {
        assert_eq!(seen.recv().await, Some(round));
    }
    working.abort();
}
