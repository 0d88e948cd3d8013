//! Tests: what becomes of a creation whose namespace changes while admission decides, and of many interleavings of creations with
//! a deletion. Guarantees that admission waits until the test has changed the namespace. Must never depend on time.
use pintle_schema::gates::{GateSet, NO_GATES};

use crate::testing::{registry_of, wait};
use crate::update::{Change, ManagedFieldsUpdate, SubresourcePart, Update};
use crate::{
    AdmissionPlugin, AdmissionRequest, Admitted, DeleteOptions, Environment, NamespaceCheck, Operation, Phase,
    Registry, Result, Target, WriteOptions, Written,
};
use pintle_resource::MaybeReady;
use pintle_schema::{Value, value};
use pintle_storage::{MemoryStore, Partition, PartitionedStore, Store};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

fn target(registry: &Registry, plural: &str, namespace: &str, name: &str) -> Target {
    registry.target(pintle_groups::find("", "v1", plural).unwrap(), namespace, name).unwrap()
}

async fn create(registry: &Registry, plural: &str, namespace: &str, name: &str) -> Result<Written> {
    let target = target(registry, plural, namespace, "");
    registry.create(&target, value!({"metadata": {"name": name}}), &WriteOptions::default()).await
}

async fn delete(registry: &Registry, plural: &str, namespace: &str, name: &str) -> Result<()> {
    registry.delete(&target(registry, plural, namespace, name), &DeleteOptions::default()).await.map(drop)
}

async fn change(registry: &Registry, target: &Target, subresource: &str, change: &dyn Change) -> Result<Written> {
    let part = SubresourcePart::of(&target.resource, subresource);
    let from_stored = part.is_some();
    let update = Update { change, part, create: true, from_stored, owners: ManagedFieldsUpdate::Compute };
    registry.update(target, &update, &WriteOptions::default()).await
}

/// Labels the namespace `n`.
async fn label(registry: &Registry, value: usize) -> Result<()> {
    let labelled = |stored: Option<&Value>| {
        let mut object = stored.cloned().unwrap_or_default();
        object.set_at(&["metadata", "labels", "l"], value.to_string());
        Ok(object)
    };
    change(registry, &target(registry, "namespaces", "", "n"), "", &labelled).await.map(drop)
}

/// Lets go of the namespace `n`, as the namespace controller does when nothing is left in it.
async fn finalize(registry: &Registry) -> Result<()> {
    let finalized = |stored: Option<&Value>| {
        let mut object = stored.cloned().unwrap_or_default();
        object.remove_at(&["spec", "finalizers"]);
        Ok(object)
    };
    change(registry, &target(registry, "namespaces", "", "n"), "finalize", &finalized).await.map(drop)
}

fn end(registry: &Registry) {
    wait(delete(registry, "namespaces", "", "n")).unwrap();
    wait(finalize(registry)).unwrap();
}

fn is_new_config_map(phase: Phase, request: &AdmissionRequest<'_>) -> bool {
    let plural = &request.target.resource.plural;
    phase == Phase::Validate && request.operation == Operation::Create && plural == "configmaps"
}

/// Gives every object another uid.
#[derive(Default)]
struct Counting(AtomicU64);

impl Environment for Counting {
    fn now_unix(&self) -> i64 {
        1_700_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        let number = self.0.fetch_add(1, Ordering::Relaxed).to_le_bytes();
        buffer.iter_mut().zip(number).for_each(|(byte, random)| *byte = random);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

/// A registry with the namespace `n` and a plugin.
fn with(plugin: impl AdmissionPlugin + 'static, check: NamespaceCheck) -> Registry {
    over(Arc::new(MemoryStore::new()), plugin, check)
}

/// The same over a store.
fn over(store: Arc<dyn Store>, plugin: impl AdmissionPlugin + 'static, check: NamespaceCheck) -> Registry {
    let mut registry = registry_of(store, Box::<Counting>::default());
    registry.admission.namespace_check = check;
    wait(create(&registry, "namespaces", "", "n")).unwrap();
    registry.admission.plugins = vec![Arc::new(plugin)];
    registry
}

/// Lets something happen while it decides for the first time.
struct Meanwhile(fn(&Registry), Arc<AtomicUsize>);

impl AdmissionPlugin for Meanwhile {
    fn name(&self) -> &str {
        "Meanwhile"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        is_new_config_map(phase, request)
    }

    fn validate<'a>(&'a self, request: &'a AdmissionRequest<'a>, _: &'a Value, _: &'a mut Vec<String>) -> Admitted<'a> {
        if self.1.fetch_add(1, Ordering::Relaxed) == 0 {
            (self.0)(request.registry);
        }
        Ok(()).into()
    }
}

const GONE: &str = "namespaces \"n\" not found";
const TERMINATING: &str =
    "configmaps \"c\" is forbidden: unable to create new content in namespace n because it is being terminated";

/// What happens between admission and the commit.
type Event = fn(&Registry);

#[test]
fn a_namespace_is_looked_at_again_when_the_object_is_stored() {
    use NamespaceCheck::{Active, Exists, None};
    // How often admission is asked, or the error.
    type Outcome = std::result::Result<usize, (u16, &'static str)>;
    let replaced: Event = |registry| {
        end(registry);
        wait(create(registry, "namespaces", "", "n")).unwrap();
    };
    let deleted: Event = |registry| wait(delete(registry, "namespaces", "", "n")).unwrap();
    let rows: [(Event, NamespaceCheck, Outcome); 8] = [
        (|_| {}, Active, Ok(1)),
        (|registry| wait(label(registry, 1)).unwrap(), Active, Ok(1)),
        (end, Active, Err((404, GONE))),
        (end, Exists, Err((404, GONE))),
        (end, None, Ok(1)),
        (deleted, Active, Err((403, TERMINATING))),
        (deleted, Exists, Ok(1)),
        (replaced, Active, Ok(2)),
    ];
    for (at, (meanwhile, check, expected)) in rows.into_iter().enumerate() {
        for by_update in [false, true] {
            let asked = Arc::new(AtomicUsize::new(0));
            let registry = with(Meanwhile(meanwhile, asked.clone()), check);
            let object = |_: Option<&Value>| Ok(value!({"metadata": {"name": "c"}}));
            let outcome = match by_update {
                true => wait(change(&registry, &target(&registry, "configmaps", "n", "c"), "", &object)),
                false => wait(create(&registry, "configmaps", "n", "c")),
            };
            let is_stored = target(&registry, "configmaps", "n", "c").get().is_ok();
            assert_eq!(is_stored, expected.is_ok(), "row {at}");
            match (outcome, expected) {
                (Ok(_), Ok(times)) => assert_eq!(asked.load(Ordering::Relaxed), times, "row {at}"),
                (Err(status), Err((code, message))) => {
                    assert_eq!((status.code, &*status.message), (code, message), "row {at}");
                    let causes = status.details.iter().flat_map(|details| &details.causes);
                    let causes: Vec<_> = causes.map(|cause| &*cause.reason).collect();
                    let expected: &[&str] = if code == 403 { &["NamespaceTerminating"] } else { &[] };
                    assert_eq!(causes, expected, "row {at}");
                }
                (outcome, _) => panic!("row {at}: {:?}", outcome.map(drop)),
            }
        }
    }
}

#[test]
fn a_refused_object_without_a_name_has_the_prefix_of_one_in_the_message() {
    let registry = with(Pausing, NamespaceCheck::Active);
    wait(delete(&registry, "namespaces", "", "n")).unwrap();
    let rows = [
        (value!({"name": "c", "generateName": "gen-"}), "c"),
        (value!({"generateName": "gen-"}), "gen-"),
        (value!({}), "Unknown"),
    ];
    for (metadata, expected) in rows {
        let object = value!({"metadata": metadata});
        let target = target(&registry, "configmaps", "n", "");
        let status = wait(registry.create(&target, object, &WriteOptions::default())).map(drop).unwrap_err();
        assert_eq!(status.message, TERMINATING.replace("\"c\"", &format!("\"{expected}\"")));
        assert_eq!(status.details.map(|details| details.name).as_deref(), Some(expected));
    }
}

#[test]
fn an_object_in_another_store_than_its_namespace_is_removed_again() {
    let deleted: Event = |registry| wait(delete(registry, "namespaces", "", "n")).unwrap();
    let rows: [(Event, Option<(u16, &str)>); 3] = [
        (|registry| wait(label(registry, 1)).unwrap(), None),
        (end, Some((404, GONE))),
        (deleted, Some((403, TERMINATING))),
    ];
    for (at, (meanwhile, expected)) in rows.into_iter().enumerate() {
        let apart: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let partition = Partition { prefixes: vec!["/registry/configmaps/".into()], store: apart };
        let store = PartitionedStore::new(Arc::new(MemoryStore::new()), vec![partition]);
        let registry = over(Arc::new(store), Meanwhile(meanwhile, Arc::default()), NamespaceCheck::Active);
        let outcome = wait(create(&registry, "configmaps", "n", "c")).map(drop);
        let refused = outcome.as_ref().err().map(|status| (status.code, &*status.message));
        assert_eq!(refused, expected, "row {at}");
        assert_eq!(content(&registry).is_empty(), expected.is_some(), "row {at}");
    }
}

/// Gives other tasks a chance before it decides, twice.
struct Pausing;

impl AdmissionPlugin for Pausing {
    fn name(&self) -> &str {
        "Pausing"
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        is_new_config_map(phase, request)
    }

    fn validate<'a>(&'a self, _: &'a AdmissionRequest<'a>, _: &'a Value, _: &'a mut Vec<String>) -> Admitted<'a> {
        MaybeReady::wait(async {
            pause().await;
            pause().await;
            Ok(())
        })
    }
}

/// Is pending once.
async fn pause() {
    let mut paused = false;
    std::future::poll_fn(|_| match std::mem::replace(&mut paused, true) {
        true => Poll::Ready(()),
        false => Poll::Pending,
    })
    .await;
}

/// Deletes the namespace, empties it, and lets go of it when it finds it empty, as the namespace controller does.
async fn remove(registry: &Registry) {
    for _ in 0..4 {
        pause().await;
    }
    delete(registry, "namespaces", "", "n").await.unwrap();
    loop {
        let content = content(registry);
        pause().await;
        if content.is_empty() {
            break;
        }
        for name in content {
            delete(registry, "configmaps", "n", &name).await.unwrap();
        }
    }
    finalize(registry).await.unwrap();
}

fn content(registry: &Registry) -> Vec<String> {
    let state = target(registry, "configmaps", "n", "").cache.state();
    state.objects.under("/registry/configmaps/n/").map(|entry| entry.object.name().to_owned()).collect()
}

/// Polls the futures in an order that follows from the seed, until all have ended.
fn interleave<'a>(mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + 'a>>>, seed: u64) {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    while !tasks.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let at = usize::try_from(state >> 33).unwrap_or(0) % tasks.len();
        match tasks[at].as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(()) => drop(tasks.swap_remove(at)),
            Poll::Pending => std::thread::yield_now(),
        }
    }
}

#[test]
fn a_namespace_that_is_gone_is_empty_in_every_interleaving() {
    let stored = Mutex::new(0);
    let mut refused: Vec<String> = Vec::new();
    for seed in 0..60 {
        let registry = with(Pausing, NamespaceCheck::Active);
        let errors = Mutex::new(Vec::new());
        let (registry, stored, errors) = (&registry, &stored, &errors);
        let mut tasks: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = vec![Box::pin(remove(registry))];
        for name in 0..6 {
            tasks.push(Box::pin(async move {
                match create(registry, "configmaps", "n", &format!("c{name}")).await {
                    Ok(_) => *stored.lock().unwrap() += 1,
                    Err(status) => errors.lock().unwrap().push(status.message),
                }
            }));
        }
        // The namespace also changes otherwise, which refuses nothing.
        tasks.push(Box::pin(async move {
            for value in 0..4 {
                let _ = label(registry, value).await;
                pause().await;
            }
        }));
        interleave(tasks, seed);
        assert!(target(registry, "namespaces", "", "n").get().is_err(), "seed {seed}");
        assert_eq!(content(registry), Vec::<String>::new(), "seed {seed}");
        refused.append(&mut errors.lock().unwrap());
    }
    // All outcomes occur.
    assert!(*stored.lock().unwrap() > 0);
    let count = |part: &str| refused.iter().filter(|message| message.contains(part)).count();
    let (gone, terminating) = (count(GONE), count("because it is being terminated"));
    assert!(gone > 0 && terminating > 0 && gone + terminating == refused.len(), "{gone} {terminating} {refused:?}");
}
