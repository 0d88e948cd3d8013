//! Owner references that name another object than the one with their UID, or an owner that an object cannot have.
//! Guarantees that such a reference affects the object that has it, and no other. Must never need a socket.

use super::{Fixture, owner};
use crate::requests::{Requests, Who};
use crate::resource_index::ResourceIndex;
use crate::{Controllers, ServedDefinitions, Settings};
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Target};
use pintle_schema::{Value, value};
use pintle_storage::{Expect, Transaction};
use std::sync::Arc;

const HOLD: &str = "example.com/hold";

/// A config map with these owner references.
async fn map_of(fixture: &Fixture, namespace: &str, name: &str, owners: Vec<Value>, finalizers: Value) -> Target {
    let object =
        value!({"metadata": {"name": name, "ownerReferences": (Value::List(owners)), "finalizers": finalizers}});
    fixture.create("", "configmaps", namespace, object).await;
    fixture.target("", "configmaps", namespace, name)
}

async fn delete(fixture: &Fixture, target: &Target, propagation: Propagation) {
    let options = DeleteOptions { propagation: Some(propagation), ..DeleteOptions::default() };
    fixture.registry.delete(target, &options).await.map(drop).expect("deleted");
}

async fn change(fixture: &Fixture, target: &Target, change: impl Fn(&mut Value) + Send + Sync) {
    let requests = Requests { index: &ResourceIndex::new(fixture.registry.clone()), who: Who::Account("test") };
    requests.change(target, "", change).await.expect("changed");
}

#[tokio::test]
async fn an_owner_is_not_gone_because_it_is_not_where_a_reference_says() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("", "secrets", "other", value!({"metadata": {"name": "owner"}})).await;
    let secret = |name: &str| owner("v1", "Secret", name, &uid);
    let first = map_of(&fixture, "other", "first", vec![secret("owner")], value!([])).await;
    let _controllers = fixture.start();
    // Of another kind, name, or namespace.
    map_of(&fixture, "default", "of-kind", vec![owner("v1", "ConfigMap", "nope", &uid)], value!([])).await;
    map_of(&fixture, "other", "of-name", vec![secret("nope")], value!([])).await;
    map_of(&fixture, "default", "of-namespace", vec![secret("owner")], value!([])).await;
    fixture.gone(&["of-kind", "of-namespace"]).await;
    let of_name = fixture.target("", "configmaps", "other", "of-name");
    fixture.until("of another name", || fixture.get(&of_name).is_none()).await;
    let second = map_of(&fixture, "other", "second", vec![secret("owner")], value!([])).await;
    fixture.quiet().await;
    assert!(fixture.get(&second).is_some() && fixture.get(&first).is_some());
    // The true dependents go with their owner.
    delete(&fixture, &fixture.target("", "secrets", "other", "owner"), Propagation::Background).await;
    fixture.until("dependents", || fixture.get(&second).is_none() && fixture.get(&first).is_none()).await;
}

#[tokio::test]
async fn a_reference_that_becomes_false_is_noticed() {
    let fixture = Fixture::new().await;
    let uid = fixture.owned("owner", &[], &[]).await;
    let child = map_of(&fixture, "default", "child", vec![owner("v1", "ConfigMap", "owner", &uid)], value!([])).await;
    let _controllers = fixture.start();
    fixture.quiet().await;
    let falsify = |object: &mut Value| {
        let owners = vec![owner("v1", "ConfigMap", "nope", &uid)];
        object.set_at(&["metadata", "ownerReferences"], Value::List(owners));
    };
    change(&fixture, &child, falsify).await;
    fixture.gone(&["child"]).await;
    assert!(fixture.map("owner").is_some());
}

#[tokio::test]
async fn false_references_from_before_the_start_are_noticed() {
    let fixture = Fixture::new().await;
    let uid = fixture.owned("owner", &[], &[]).await;
    for (name, kind, owned_by) in [("of-name", "ConfigMap", "nope"), ("of-kind", "Secret", "owner")] {
        map_of(&fixture, "default", name, vec![owner("v1", kind, owned_by, &uid)], value!([])).await;
    }
    map_of(&fixture, "default", "child", vec![owner("v1", "ConfigMap", "owner", &uid)], value!([])).await;
    let _controllers = fixture.start();
    fixture.gone(&["of-name", "of-kind"]).await;
    fixture.quiet().await;
    assert!(fixture.map("child").is_some());
}

#[tokio::test]
async fn only_a_false_reference_is_removed() {
    let fixture = Fixture::new().await;
    let uid = fixture.owned("owner", &[], &[]).await;
    let owners = vec![owner("v1", "ConfigMap", "nope", &uid), owner("v1", "ConfigMap", "owner", &uid)];
    let child = map_of(&fixture, "default", "child", owners, value!([])).await;
    let _controllers = fixture.start();
    let count = || fixture.get(&child).map_or(0, |object| object.encoded.owners().count());
    fixture.until("the false reference is removed", || count() == 1).await;
    fixture.quiet().await;
    assert_eq!(count(), 1, "the other names the same uid, where it is");
    fixture.delete("owner", Propagation::Background).await;
    fixture.gone(&["child"]).await;
}

#[tokio::test]
async fn foreground_deletion_does_not_wait_for_false_dependents() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("", "secrets", "other", value!({"metadata": {"name": "owner"}})).await;
    let secret = || owner("v1", "Secret", "owner", &uid);
    let unknown = || owner("example.com/v1", "Foo", "owner", &uid);
    // In another namespace, in none, and of a kind that nobody knows: all stay.
    let held = map_of(&fixture, "default", "held", vec![secret()], value!([HOLD])).await;
    let undecided = map_of(&fixture, "default", "undecided", vec![unknown()], value!([])).await;
    let namespaceless = value!({"metadata": {"name": "role", "ownerReferences": (Value::List(vec![secret()]))}});
    fixture.create("rbac.authorization.k8s.io", "clusterroles", "", namespaceless).await;
    let _controllers = fixture.start();
    fixture.quiet().await;
    let target = fixture.target("", "secrets", "other", "owner");
    delete(&fixture, &target, Propagation::Foreground).await;
    fixture.until("the owner is gone", || fixture.get(&target).is_none()).await;
    let role = fixture.target("rbac.authorization.k8s.io", "clusterroles", "", "role");
    assert!([held, undecided, role].iter().all(|dependent| fixture.get(dependent).is_some()));
}

#[tokio::test]
async fn orphaning_leaves_false_dependents_as_they_are() {
    let fixture = Fixture::new().await;
    let uid = fixture.create("", "secrets", "other", value!({"metadata": {"name": "owner"}})).await;
    let unknown =
        map_of(&fixture, "default", "unknown", vec![owner("example.com/v1", "Foo", "owner", &uid)], value!([])).await;
    let child = map_of(&fixture, "other", "child", vec![owner("v1", "Secret", "owner", &uid)], value!([])).await;
    let _controllers = fixture.start();
    let target = fixture.target("", "secrets", "other", "owner");
    delete(&fixture, &target, Propagation::Orphan).await;
    fixture.until("the owner is gone", || fixture.get(&target).is_none()).await;
    fixture.quiet().await;
    let count = |of: &Target| fixture.get(of).map(|object| object.encoded.owners().count());
    assert_eq!((count(&child), count(&unknown)), (Some(0), Some(1)));
}

#[tokio::test]
async fn a_false_dependent_does_not_break_a_circle() {
    let fixture = Fixture::new().await;
    let top = fixture.owned("top", &[], &[]).await;
    let middle = fixture.owned("middle", &[("top", &top)], &["example.com/hold"]).await;
    fixture.owned("leaf", &[("middle", &middle)], &["example.com/hold"]).await;
    // It says that it depends on the object in the middle, and waits for an object that stays.
    let stranger = fixture.owned_in("other", "stranger", &[("middle", &middle)], &["example.com/hold"]).await;
    fixture.owned_in("other", "kept", &[("stranger", &stranger)], &["example.com/hold"]).await;
    delete(&fixture, &fixture.target("", "configmaps", "other", "stranger"), Propagation::Foreground).await;
    fixture.delete("top", Propagation::Foreground).await;
    let _controllers = fixture.start();
    let is_terminating = |name: &str| fixture.map(name).is_some_and(|object| object.encoded.terminating);
    fixture.until("the leaf's turn", || is_terminating("leaf")).await;
    fixture.quiet().await;
    assert!(fixture.map("top").is_some(), "the object in the middle still blocks it");
}

#[tokio::test]
async fn objects_that_are_not_collected_may_be_owners() {
    let fixture = Fixture::new().await;
    let event =
        value!({"metadata": {"name": "event"}, "involvedObject": {"namespace": "default", "kind": "Pod", "name": "p"}});
    let uid = fixture.create("", "events", "default", event).await;
    map_of(&fixture, "default", "child", vec![owner("events.k8s.io/v1", "Event", "event", &uid)], value!([])).await;
    let _controllers = fixture.start();
    fixture.quiet().await;
    assert!(fixture.map("child").is_some());
    delete(&fixture, &fixture.target("", "events", "default", "event"), Propagation::Background).await;
    fixture.gone(&["child"]).await;
}

#[tokio::test]
async fn an_object_waits_for_the_version_of_its_owner() {
    let fixture = Fixture::new().await;
    let version = |name: &str| {
        value!({"name": name, "served": true, "storage": (name == "v1"),
            "schema": {"openAPIV3Schema": {"type": "object"}}})
    };
    let names = value!({"plural": "foos", "singular": "foo", "kind": "Foo", "listKind": "FooList"});
    let spec = value!({"group": "example.com", "scope": "Namespaced", "names": names, "versions": (Value::List(vec![version("v1")]))});
    let definition = value!({"metadata": {"name": "foos.example.com"}, "spec": spec});
    let definitions = ServedDefinitions::follow(fixture.registry.clone(), Arc::default());
    let _controllers = Controllers::start(fixture.registry.clone(), &Settings::default(), definitions);
    fixture.create("apiextensions.k8s.io", "customresourcedefinitions", "", definition).await;
    for (name, api_version) in [("of-v1", "example.com/v1"), ("of-v2", "example.com/v2")] {
        map_of(&fixture, "default", name, vec![owner(api_version, "Foo", "nope", "u")], value!([])).await;
    }
    fixture.gone(&["of-v1"]).await;
    fixture.quiet().await;
    assert!(fixture.map("of-v2").is_some(), "nobody knows its owner's version");
    let add_version = |object: &mut Value| {
        object.set_at(&["spec", "versions"], Value::List(vec![version("v1"), version("v2")]));
    };
    let definition = fixture.target("apiextensions.k8s.io", "customresourcedefinitions", "", "foos.example.com");
    change(&fixture, &definition, add_version).await;
    fixture.gone(&["of-v2"]).await;
}

/// The kind of the owner is removed and added again, and the owner deleted, before the collector looks: it has no event of the
/// deletion.
#[tokio::test]
async fn an_owner_that_went_while_its_kind_was_replaced_is_missed() {
    let fixture = Fixture::new().await;
    let _controllers = fixture.start();
    let kind = pintle_groups::find("", "v1", "secrets").expect("a resource");
    for round in 0..20 {
        let name = format!("owner-{round}");
        let uid = fixture.create("", "secrets", "default", value!({"metadata": {"name": (name.as_str())}})).await;
        let owned = format!("owned-{round}");
        map_of(&fixture, "default", &owned, vec![owner("v1", "Secret", &name, &uid)], value!([])).await;
        fixture.quiet().await;
        let key = fixture.target("", "secrets", "default", &name).key();
        fixture.registry.uninstall("", "v1", "secrets");
        fixture.registry.install(kind.clone());
        let deletion = fixture.registry.store.commit(Transaction::one(key.into(), Expect::Any, None));
        // This thread is the controllers', too: they run when the owner has gone.
        let deleted = std::thread::spawn(|| tokio::runtime::Runtime::new().map(|runtime| runtime.block_on(deletion)));
        deleted.join().expect("no panic").expect("a runtime").expect("deleted");
        fixture.gone(&[&owned]).await;
    }
}
