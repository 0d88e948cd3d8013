//! Power loss at every operation on the disk. Failures of operations are in `failures.rs`.
//! Guarantees that published writes are present afterwards, that the store continues, and that no revision is used
//! twice.
//! Must never count as published what the observer did not receive.

mod support;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use pintle_storage::{Observer, Record, Revision, Started};
use support::Random;
use support::script::{Kind, Script, commit, open};
use support::sim::Sim;

/// Knows what was published: that is durable, whether it was acknowledged or not.
#[derive(Clone, Default)]
struct Published(Arc<AtomicU64>);

impl Observer for Published {
    fn replay(&mut self, _: Record, _: bool) {}
    fn replayed(&mut self, started: Started) {
        self.0.store(started.current.0, Ordering::SeqCst);
    }
    fn publish(&mut self, _: &[Record], revision: Revision) {
        self.0.store(revision.0, Ordering::SeqCst);
    }
}

/// Opens the store after a crash, writes more, and checks again.
fn survives(kind: Kind, script: &Script, sim: &Sim, published: u64, what: &str) {
    let (store, watcher, started) = match open(kind, Arc::new(sim.clone())) {
        Ok(opened) => opened,
        Err(error) => panic!("{what}: {error}"),
    };
    let current = started.current.0;
    assert!(current >= published, "{what}: {published} was published, the store is at {current}");
    assert!(current <= published + 1, "{what}: the store is at {current} of {published}");
    if let Some(wrong) = script.wrong(&watcher.0.lock().unwrap(), started) {
        panic!("{what}: {wrong}");
    }
    let next = script.transactions.iter().skip(current as usize - 1).take(3);
    for (number, transaction) in next.enumerate() {
        assert_eq!(commit(&*store, transaction), Ok(Revision(current + 1 + number as u64)), "{what}");
    }
    // Power fails again, before anything could be cleaned up.
    let again = sim.disk().crashed(&mut Random(published | 1));
    drop(store);
    for sim in [sim, &again] {
        let (_store, watcher, started) =
            open(kind, Arc::new(sim.clone())).unwrap_or_else(|error| panic!("{what}: {error}"));
        let expected = (current + 3).min(script.transactions.len() as u64 + 1);
        assert_eq!(started.current.0, expected, "{what}: after going on");
        if let Some(wrong) = script.wrong(&watcher.0.lock().unwrap(), started) {
            panic!("{what}, after going on: {wrong}");
        }
    }
}

#[test]
fn power_goes_at_every_operation() {
    cut_at_every_operation(Kind::Plain);
}

#[test]
fn power_goes_at_every_operation_on_encrypted_values() {
    cut_at_every_operation(Kind::Encrypted);
}

fn cut_at_every_operation(kind: Kind) {
    let script = Arc::new(Script::new(240, 120, 3));
    let sim = Sim::new();
    let published = Published::default();
    let cuts = Arc::new(AtomicU64::new(0));
    let failure: Arc<Mutex<Option<String>>> = Arc::default();
    let hook = {
        let (script, published, cuts, failure) = (script.clone(), published.clone(), cuts.clone(), failure.clone());
        move |disk: &support::sim::Disk, operation: u64| {
            for seed in 0..4 {
                let left = disk.crashed(&mut Random((operation * 8 + seed + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15)));
                let published = published.0.load(Ordering::SeqCst);
                let (script, what) = (script.clone(), format!("operation {operation}, seed {seed}"));
                let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                    survives(kind, &script, &left, published.max(1), &what);
                }));
                if let Err(panic) = outcome {
                    let text = panic.downcast_ref::<String>().cloned().unwrap_or_default();
                    failure.lock().unwrap().get_or_insert(text);
                }
                cuts.fetch_add(1, Ordering::Relaxed);
            }
        }
    };
    sim.disk().hook = Some(Box::new(hook));
    // The store is created, filled, closed, opened, and filled again.
    for part in script.transactions.chunks(120) {
        let store = kind.store(Arc::new(sim.clone())).unwrap();
        store.start(Box::new(published.clone())).unwrap();
        for transaction in part {
            commit(&*store, transaction).unwrap();
            if let Some(failure) = failure.lock().unwrap().take() {
                panic!("{failure}");
            }
        }
    }
    sim.disk().hook = None;
    if let Some(failure) = failure.lock().unwrap().take() {
        panic!("{failure}");
    }
    let operations = sim.disk().operations();
    println!("{operations} operations, {} cuts", cuts.load(Ordering::Relaxed));
    assert!(operations > 600, "{operations}");
    assert_eq!(sim.disk().violations, Vec::<String>::new());
}
