//! The table of resources after the stored definitions have changed.

use super::Fixture;
use crate::{Controllers, ServedDefinitions, Settings};
use pintle_registry::{DefinitionInstaller, DeleteOptions, Target, WriteOptions};
use pintle_resource::Found;
use pintle_schema::{Value, value};
use pintle_storage::{Expect, Transaction};
use std::sync::Arc;

const GROUP: &str = "example.com";

/// A definition that wants a short name.
fn definition(plural: &str, kind: &str, short: &str) -> Value {
    let names = value!({"plural": plural, "singular": (kind.to_lowercase()), "kind": kind,
        "listKind": (format!("{kind}List")), "shortNames": [short]});
    let schema = value!({"openAPIV3Schema": {"type": "object"}});
    let versions = value!([{"name": "v1", "served": true, "storage": true, "schema": schema}]);
    value!({"metadata": {"name": (format!("{plural}.{GROUP}"))},
        "spec": {"group": GROUP, "scope": "Namespaced", "names": names, "versions": versions}})
}

struct Defining {
    fixture: Fixture,
    served: Arc<ServedDefinitions>,
}

impl Defining {
    async fn new() -> Defining {
        let fixture = Fixture::new().await;
        let served =
            ServedDefinitions::follow(fixture.registry.clone(), Arc::default()).expect("definitions are stored");
        Defining { fixture, served }
    }

    async fn create(&self, plural: &str, kind: &str, short: &str) {
        let definition = definition(plural, kind, short);
        self.fixture.create("apiextensions.k8s.io", "customresourcedefinitions", "", definition).await;
    }

    fn target(&self, plural: &str) -> Target {
        let name = format!("{plural}.{GROUP}");
        self.fixture.target("apiextensions.k8s.io", "customresourcedefinitions", "", &name)
    }

    /// Removes a definition as another server would.
    async fn remove(&self, plural: &str) {
        let removal = Transaction::one(self.target(plural).key().into(), Expect::Any, None);
        self.fixture.registry.store.commit(removal).await.map(drop).expect("removed");
    }

    /// Installs what is stored, and returns which of these are served and how often the table has changed.
    async fn install<const N: usize>(&self, plurals: [&str; N]) -> ([bool; N], u64) {
        let resources = &self.fixture.registry.resources;
        let before = resources.read().generation();
        self.fixture.registry.install_definitions().await;
        assert!(self.served.is_current());
        let table = resources.read();
        let is_served = |plural: &str| matches!(table.find(GROUP, "v1", plural), Found::Resource(_));
        (plurals.map(is_served), table.generation() - before)
    }
}

#[tokio::test]
async fn names_are_given_in_the_order_of_writes_and_again_when_they_are_free() {
    let defining = Defining::new().await;
    let plurals = ["zebras", "gnus", "apes"];
    for (plural, kind) in plurals.iter().zip(["Zebra", "Gnu", "Ape"]) {
        defining.create(plural, kind, "z").await;
    }
    assert!(!defining.served.is_current());
    assert_eq!(defining.install(plurals).await.0, [true, false, false]);
    assert_eq!(defining.install(plurals).await, ([true, false, false], 0), "nothing has changed");
    // A definition of another name does not wait for it.
    defining.create("owls", "Owl", "o").await;
    assert_eq!(defining.install(["zebras", "gnus", "owls"]).await.0, [true, false, true]);
    defining.remove("zebras").await;
    assert_eq!(defining.install(plurals).await.0, [false, true, false], "the next in the order of writes has the name");
    defining.remove("gnus").await;
    defining.remove("apes").await;
    assert_eq!(defining.install(plurals).await.0, [false; 3]);
}

#[tokio::test]
async fn all_changes_are_installed_in_one_step() {
    let defining = Defining::new().await;
    for number in 0..40 {
        defining.create(&format!("p{number}"), &format!("K{number}"), &format!("s{number}")).await;
    }
    let (served, changes) = defining.install(["p0", "p39"]).await;
    // They are added before they are served.
    assert_eq!((served, changes), ([true; 2], 2));
}

#[tokio::test]
async fn a_definition_that_was_replaced_has_its_own_objects() {
    let defining = Defining::new().await;
    defining.create("owls", "Owl", "o").await;
    assert_eq!(defining.install(["owls"]).await.0, [true]);
    let registry = &defining.fixture.registry;
    let of = |registry: &pintle_registry::Registry| {
        let target = registry.target_of([GROUP, "v1", "owls"], "", "").expect("served");
        (target.resource.short_names.clone(), target.cache.clone())
    };
    let (_, before) = of(registry);
    defining.remove("owls").await;
    defining.create("owls", "Owl", "ow").await;
    assert_eq!(defining.install(["owls"]).await.0, [true]);
    let (names, now) = of(registry);
    assert_eq!(names, ["ow"]);
    assert!(!Arc::ptr_eq(&before, &now), "watches of the earlier resource end");
}

/// More than are deleted at a time: those whose finalizers hold them do not keep the others from being deleted.
#[tokio::test]
async fn all_objects_of_a_deleted_definition_are_deleted_although_finalizers_hold_them() {
    let defining = Defining::new().await;
    const COUNT: usize = 250;
    let Defining { fixture, served } = &defining;
    let _controllers = Controllers::start(fixture.registry.clone(), &Settings::default(), Some(served.clone()));
    defining.create("owls", "Owl", "o").await;
    assert_eq!(defining.install(["owls"]).await.0, [true]);
    let target = fixture.registry.target_of([GROUP, "v1", "owls"], "default", "").expect("served");
    for number in 0..COUNT {
        let metadata = value!({"name": (format!("o{number:03}")), "finalizers": ["example.com/held"]});
        let object = value!({"apiVersion": "example.com/v1", "kind": "Owl", "metadata": metadata});
        let created = fixture.registry.create(&target, object, &WriteOptions::default()).await;
        created.map(drop).expect("created");
    }
    let deleted = fixture.registry.delete(&defining.target("owls"), &DeleteOptions::default()).await;
    deleted.map(drop).expect("deleted");
    let all_deleted =
        || target.cache.state().objects.values().filter(|object| object.encoded.terminating).count() == COUNT;
    fixture.until("all objects are being deleted", all_deleted).await;
    assert!(fixture.get(&defining.target("owls")).is_some(), "it waits for its objects");
}
