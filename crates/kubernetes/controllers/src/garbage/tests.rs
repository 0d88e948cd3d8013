//! The work of the collector: look-ups and visited objects are counted. Guarantees that it is linear, and done in slices.
//! Must never measure time.

use super::*;
use crate::feed::{Listed, Observer};
use crate::resource_index::KindId;
use crate::slices::tests::in_slices;
use crate::tests::{Fixture, owner};
use pintle_cache::Event;
use pintle_schema::{Value, value};
use pintle_storage::Revision;

/// A collector that is called step by step.
struct Calls {
    fixture: Fixture,
    collector: GarbageCollector,
    maps: KindId,
    /// The revision up to which it has received changes.
    shown: Revision,
}

impl Calls {
    async fn new() -> Calls {
        let fixture = Fixture::new().await;
        let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
        let maps = index.stored("", "configmaps").expect("stored");
        let shown = fixture.registry.revisions()[0];
        Calls { collector: GarbageCollector::new(index, Duration::ZERO), fixture, maps, shown }
    }

    fn place(&self, name: &str) -> ObjectKey {
        self.collector.index.place(self.maps, "default", name).expect("stored")
    }

    /// The collector receives all objects.
    fn list(&mut self) {
        let index = &self.collector.index;
        let listed = |(id, kind): (KindId, &Arc<crate::resource_index::Kind>)| Listed {
            id,
            kind: kind.clone(),
            state: kind.target.cache.state(),
        };
        self.collector.list(&index.kinds().iter().map(listed).collect::<Vec<_>>());
        self.shown = self.fixture.registry.revisions()[0];
        index.set_observed(&[self.shown]);
    }

    /// The collector receives the changes of config maps since; returns its steps.
    async fn show(&mut self) -> u64 {
        let maps = self.fixture.target("", "configmaps", "default", "");
        let mut cursor = maps.cache.cursor(self.shown);
        let mut steps = 0;
        loop {
            let events: Vec<Arc<Event>> = cursor.take(1000).expect("history");
            for event in &events {
                let followed = self.collector.observe_in_slices(self.maps, event).expect("it follows changes");
                steps += in_slices(&self.collector.work, followed).await.1;
            }
            if events.is_empty() {
                break;
            }
        }
        self.shown = self.fixture.registry.revisions()[0];
        self.collector.index.set_observed(&[self.shown]);
        steps
    }

    async fn check(&self, name: &str) -> (Outcome, u64) {
        in_slices(&self.collector.work, self.collector.check(&self.place(name))).await
    }

    /// The objects that are queued.
    fn queued(&self) -> usize {
        self.collector.queue.read().depth
    }

    async fn empty_queue(&self) {
        while self.queued() > 0 {
            let place = self.collector.queue.next().await;
            self.collector.queue.finish(place, Outcome::Done);
        }
    }
}

#[tokio::test]
async fn a_reference_costs_one_look_up() {
    const OWNERS: usize = 3000;
    let mut calls = Calls::new().await;
    for number in 0..200 {
        calls.fixture.owned(&format!("bystander{number}"), &[], &[]).await;
    }
    let uid = calls.fixture.owned("owner", &[], &[]).await;
    calls.list();
    let mut owners: Vec<Value> =
        (0..OWNERS).map(|number| owner("v1", "ConfigMap", "nope", &format!("u{number}"))).collect();
    owners.push(owner("v1", "ConfigMap", "owner", &uid));
    let object = value!({"metadata": {"name": "child", "ownerReferences": (Value::List(owners))}});
    calls.fixture.create("", "configmaps", "default", object).await;
    let all = OWNERS as u64 + 1;
    assert_eq!(calls.show().await, all, "each owner is recorded");
    assert_eq!(calls.check("child").await, (Outcome::Done, all), "each owner is looked up");
    let count = |calls: &Calls| calls.fixture.map("child").map(|object| object.encoded.owners().count());
    assert_eq!(count(&calls), Some(1));
    assert_eq!(calls.show().await, all + 1, "each edge is removed");
}

#[tokio::test]
async fn dependents_of_a_removed_owner_are_visited_once() {
    const DEPENDENTS: u64 = 600;
    let mut calls = Calls::new().await;
    let uid = calls.fixture.owned("owner", &[], &[]).await;
    for number in 0..DEPENDENTS {
        calls.fixture.owned(&format!("child{number}"), &[("owner", &uid)], &[]).await;
    }
    calls.list();
    calls.fixture.delete("owner", Propagation::Background).await;
    assert_eq!((calls.show().await, calls.queued() as u64), (DEPENDENTS, DEPENDENTS));
}

#[tokio::test]
async fn an_owner_in_foreground_deletion_asks_its_dependents_once() {
    const DEPENDENTS: u64 = 300;
    let mut calls = Calls::new().await;
    let uid = calls.fixture.owned("owner", &[], &[]).await;
    for number in 0..DEPENDENTS {
        calls.fixture.owned(&format!("child{number}"), &[("owner", &uid)], &[]).await;
    }
    calls.fixture.delete("owner", Propagation::Foreground).await;
    calls.list();
    calls.empty_queue().await;
    let (outcome, steps) = calls.check("owner").await;
    assert_eq!((outcome, calls.queued() as u64), (Outcome::Done, DEPENDENTS));
    assert!(steps <= 3 * DEPENDENTS, "{steps} steps");
    calls.empty_queue().await;
    let mut steps = 0;
    for number in 0..DEPENDENTS {
        assert_eq!(calls.queued(), 0, "the owner still waits");
        calls.fixture.delete(&format!("child{number}"), Propagation::Background).await;
        steps += calls.show().await;
    }
    assert!(steps <= 2 * DEPENDENTS, "{steps} steps");
    assert_eq!(calls.queued(), 1, "the owner waits no longer");
    let (outcome, steps) = calls.check("owner").await;
    assert_eq!((outcome, steps, calls.fixture.map("owner").is_none()), (Outcome::Done, 0, true));
}

#[tokio::test]
async fn orphaned_dependents_are_visited_once() {
    const DEPENDENTS: u64 = 300;
    let mut calls = Calls::new().await;
    let uid = calls.fixture.owned("owner", &[], &[]).await;
    for number in 0..DEPENDENTS {
        calls.fixture.owned(&format!("child{number}"), &[("owner", &uid)], &[]).await;
    }
    calls.fixture.delete("owner", Propagation::Orphan).await;
    calls.list();
    let (outcome, steps) = calls.check("owner").await;
    assert_eq!((outcome, calls.fixture.map("owner").is_none()), (Outcome::Done, true));
    assert!(steps <= 2 * DEPENDENTS, "{steps} steps");
}

#[tokio::test]
async fn nothing_is_remembered_of_objects_that_are_gone() {
    let mut calls = Calls::new().await;
    calls.list();
    let before = calls.collector.graph.len();
    for number in 0..50 {
        let name = format!("a{number}");
        let owners = vec![owner("v1", "ConfigMap", "nope", &name), owner("example.com/v1", "Foo", "foo", &name)];
        let object = value!({"metadata": {"name": (name.as_str()), "ownerReferences": (Value::List(owners))}});
        calls.fixture.create("", "configmaps", "default", object).await;
        calls.show().await;
        assert_eq!(calls.check(&name).await.0, Outcome::Done);
        calls.fixture.delete(&name, Propagation::Background).await;
    }
    calls.show().await;
    assert_eq!(calls.collector.graph.len(), before);
    assert!(calls.collector.undecided().is_empty());
}

#[tokio::test]
async fn a_finalizer_is_read_once_for_all_dependents() {
    let mut calls = Calls::new().await;
    let uid = calls.fixture.owned("owner", &[], &["example.com/hold"]).await;
    for number in 0..3 {
        calls.fixture.owned(&format!("child{number}"), &[("owner", &uid)], &[]).await;
    }
    calls.list();
    calls.fixture.delete("owner", Propagation::Background).await;
    let state = calls.fixture.map("owner").expect("held");
    assert!(calls.collector.graph.is_waiting(&uid, state.id, || true), "as if it waited");
    calls.check("child0").await;
    assert!(calls.fixture.map("child0").is_none(), "the collector believes what was read before");
}
