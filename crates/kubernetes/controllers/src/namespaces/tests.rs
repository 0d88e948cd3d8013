//! The work of emptying a namespace: visited objects are counted. Guarantees that it is linear, and done in slices. Must
//! never measure time.

use super::*;
use crate::requests::Requests;
use crate::slices::tests::in_slices;
use crate::tests::Fixture;
use pintle_registry::DeleteOptions;
use pintle_registry::options::Propagation;
use pintle_schema::value;

#[tokio::test]
async fn a_namespace_is_not_visited_again_for_each_object() {
    const OBJECTS: u64 = 300;
    let fixture = Fixture::new().await;
    for number in 0..OBJECTS {
        fixture.owned_in("other", &format!("held{number}"), &[], &["example.com/hold"]).await;
    }
    let target = fixture.target("", "namespaces", "", "other");
    fixture.registry.delete(&target, &DeleteOptions::default()).await.map(drop).expect("deleted");
    let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
    let controller = NamespaceController::new(index.clone(), Duration::ZERO, None).expect("stored");
    let listed = |(id, kind): (KindId, &Arc<Kind>)| Listed { id, kind: kind.clone(), state: kind.target.cache.state() };
    controller.list(&index.kinds().iter().map(listed).collect::<Vec<_>>());
    let maps = index.stored("", "configmaps").expect("stored");
    let place = controller.queue.next().await;
    let after = fixture.registry.revisions()[0];
    let (outcome, steps) = in_slices(&controller.work, controller.sync(&place)).await;
    assert_eq!(outcome, Outcome::After(Duration::from_secs(8)));
    assert!(steps <= 20 * OBJECTS, "{steps} steps");
    // All are being deleted, and nothing can be done about them.
    let (outcome, steps) = in_slices(&controller.work, controller.sync(&place)).await;
    assert_eq!((outcome, steps), (Outcome::After(Duration::from_secs(8)), 2 * OBJECTS));
    controller.queue.finish(place, outcome);

    let requests = Requests { index: &index, who: Who::Account("test") };
    let mut cursor = fixture.target("", "configmaps", "other", "").cache.cursor(after);
    for number in 0..OBJECTS {
        assert_eq!(controller.queue.read().depth, 0, "the namespace still waits");
        let held = fixture.target("", "configmaps", "other", &format!("held{number}"));
        let release = |object: &mut Value| drop(object.remove_at(&["metadata", "finalizers"]));
        requests.change(&held, "", release).await.expect("changed");
        for event in cursor.take(1000).expect("history") {
            controller.observe(maps, &event);
        }
    }
    assert_eq!(controller.queue.read().depth, 1, "the last object is gone");
    let place = controller.queue.next().await;
    assert_eq!(in_slices(&controller.work, controller.sync(&place)).await, (Outcome::Done, 0));
    assert!(fixture.get(&target).is_none());
}

#[tokio::test]
async fn what_is_gone_before_the_wait_begins_does_not_delay_the_namespace() {
    let fixture = Fixture::new().await;
    let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
    let controller = NamespaceController::new(index.clone(), Duration::ZERO, None).expect("stored");
    let maps = HashSet::from([index.stored("", "configmaps").expect("stored")]);
    assert!(controller.await_kinds("other", &maps), "there is no config map");
    assert!(!controller.await_kinds("other", &HashSet::new()), "something else is awaited");
    fixture.owned_in("other", "a", &[], &[]).await;
    assert!(!controller.await_kinds("other", &maps));
    let maps_of = fixture.target("", "configmaps", "other", "a");
    let options = DeleteOptions { propagation: Some(Propagation::Background), ..DeleteOptions::default() };
    fixture.registry.delete(&maps_of, &options).await.map(drop).expect("deleted");
    assert!(controller.await_kinds("other", &maps));
}

#[tokio::test]
async fn the_end_of_what_outlived_its_grace_period_ends_the_wait() {
    let fixture = Fixture::new().await;
    let container = value!({"name": "c", "image": "i"});
    let spec =
        value!({"nodeName": "n", "terminationGracePeriodSeconds": 30, "containers": (Value::List(vec![container]))});
    fixture.create("", "pods", "other", value!({"metadata": {"name": "a"}, "spec": spec})).await;
    let target = fixture.target("", "namespaces", "", "other");
    fixture.registry.delete(&target, &DeleteOptions::default()).await.map(drop).expect("deleted");
    let index = Arc::new(ResourceIndex::new(fixture.registry.clone()));
    let controller = NamespaceController::new(index.clone(), Duration::ZERO, None).expect("stored");
    let listed = |(id, kind): (KindId, &Arc<Kind>)| Listed { id, kind: kind.clone(), state: kind.target.cache.state() };
    controller.list(&index.kinds().iter().map(listed).collect::<Vec<_>>());
    // The deletion began long ago.
    fixture.pass(100);
    let place = controller.queue.next().await;
    let outcome = controller.sync(&place).await;
    assert_eq!(outcome, Outcome::Retry, "nobody knows how long it takes");
    controller.queue.finish(place, Outcome::Done);

    let pod = fixture.target("", "pods", "other", "a");
    let mut cursor = pod.cache.cursor(pod.cache.state().last);
    let options = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    fixture.registry.delete(&pod, &options).await.map(drop).expect("deleted");
    let pods = index.stored("", "pods").expect("stored");
    cursor.take(10).expect("history").iter().for_each(|event| controller.observe(pods, event));
    assert_eq!(controller.queue.read().depth, 1);
}
