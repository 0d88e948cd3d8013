//! A disk without space: what is refused, what is written nevertheless, and that deletions give the space back.
//! Guarantees that every size of a small disk was tried, so that space runs out in every operation.
//! Must never sleep: the clock of the store is simulated.

mod support;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{
    Clock, CommitError, EmbeddedOptions, EmbeddedStore, Expect, NoSpace, Revision, Store, StoreError, Transaction,
};
use support::model::Model;
use support::script::{DIRECTORY, options};
use support::sim::Sim;
use support::{Random, Watcher};

const SEGMENT_BYTES: u64 = 8 * 1024;
/// Those of an idle log: segments, manifest, head, reserve, and one more while something is replaced.
const OTHER_FILES: usize = 6;

#[derive(Clone, Default)]
struct Seconds(Arc<AtomicU64>);

impl Clock for Seconds {
    fn unix_seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Restart {
    None,
    Kill,
    PowerLoss,
}

struct Run {
    sim: Sim,
    clock: Seconds,
    store: EmbeddedStore,
    model: Model,
    random: Random,
    what: String,
}

impl Run {
    fn open(sim: &Sim, clock: &Seconds) -> Result<(EmbeddedStore, Watcher, Revision), StoreError> {
        let options = EmbeddedOptions {
            segment_bytes: SEGMENT_BYTES,
            retention: Some(Duration::from_secs(3600)),
            clock: Arc::new(clock.clone()),
            ..options(Arc::new(sim.clone()))
        };
        let store = EmbeddedStore::open(Path::new(DIRECTORY), options)?;
        let watcher = Watcher::default();
        let started = store.start(Box::new(watcher.clone()))?;
        Ok((store, watcher, started.current))
    }

    fn restart(&mut self, restart: Restart) {
        let left = match restart {
            Restart::None => return,
            Restart::Kill => self.sim.disk().killed(),
            Restart::PowerLoss => self.sim.disk().crashed(&mut self.random),
        };
        let opened = Run::open(&left, &self.clock);
        let (store, watcher, current) = opened.unwrap_or_else(|error| panic!("{}: does not start: {error}", self.what));
        self.model.check(&watcher, current, &self.what);
        self.store = store;
        self.sim = left;
    }

    /// Writes a value, or deletes a key. Returns whether there was space.
    fn commit(&mut self, key: u64, bytes: Option<usize>) -> bool {
        let value = bytes.map(|bytes| Bytes::from(vec![self.random.next() as u8; bytes]));
        let transaction = Transaction::one(format!("/k/{key:04}").into(), Expect::Any, value);
        match self.store.commit(transaction.clone()).wait() {
            Ok(revision) => {
                self.model.apply(&transaction);
                assert_eq!(revision.0, self.model.current, "{}", self.what);
                true
            }
            Err(CommitError::Storage(error)) if error.is::<NoSpace>() => false,
            Err(error) => panic!("{}: {error}", self.what),
        }
    }

    fn is_full(&self) -> bool {
        self.store.space().expect("it is on a disk").is_full()
    }

    fn files(&self) -> usize {
        self.sim.files().len()
    }

    /// Lets history expire and the store free space.
    fn let_time_pass(&mut self) {
        self.clock.0.fetch_add(11, Ordering::Relaxed);
        // Changes nothing; the writer looks at the clock, and does what is to be done.
        self.commit(9999, None);
    }
}

/// Fills a disk of this size and empties it. `None` if it is too small for the store.
fn filled_and_emptied(capacity: u64, restart: Restart) -> Option<u64> {
    let (sim, clock) = (Sim::new(), Seconds::default());
    sim.disk().capacity = Some(capacity);
    clock.0.store(1000, Ordering::Relaxed);
    let what = format!("{capacity} bytes, {restart:?}");
    let (store, ..) = Run::open(&sim, &clock).ok()?;
    let model = Model { current: 1, ..Model::default() };
    let mut run = Run { sim, clock, store, model, random: Random(capacity | 1), what: what.clone() };

    let mut keys = 0;
    while run.commit(keys, Some(400)) {
        keys += 1;
        // Some are dead.
        if keys % 5 == 0 {
            run.commit(keys - 1, Some(400));
        }
        assert!(keys < 1000, "{what}");
    }
    if keys < 24 {
        return None;
    }
    assert!(run.is_full(), "{what}");
    let before = run.files();
    for _ in 0..20 {
        assert!(!run.commit(keys, Some(400)), "{what}: grows on a full disk");
    }
    // Nothing but the segment that may have been begun.
    assert!(run.files() <= before + 1, "{what}: {} files, {before} before", run.files());
    run.restart(restart);
    run.restart(restart);
    assert!(run.files() <= before + 2, "{what}: {} files, {before} before", run.files());

    // Updates go on for a while, and leave room for deletions.
    assert!(run.commit(0, Some(400)), "{what}: no update");
    let updated = (0..200).filter(|_| run.commit(1, Some(400))).count();
    for key in 3..keys {
        assert!(run.commit(key, None), "{what}: {key} is not deleted, after {updated} updates");
        if key % 16 == 0 {
            run.let_time_pass();
        }
    }
    run.restart(restart);
    for _ in 0..40 {
        run.let_time_pass();
    }
    assert!(!run.is_full(), "{what}: the space does not return");
    for key in 100..100 + keys / 2 {
        // On a disk of a few segments, what is dead in the last one may be needed.
        let written = run.commit(key, Some(400)) || {
            (0..4).for_each(|_| run.let_time_pass());
            run.commit(key, Some(400))
        };
        let files = || run.sim.files().into_iter().map(|(path, bytes)| (path, bytes.len())).collect::<Vec<_>>();
        let free = run.sim.disk().free();
        assert!(written, "{what}: {key} of {keys} is refused, {free} bytes are free, {:?}", files());
    }
    let segments = (capacity / SEGMENT_BYTES) as usize + 1;
    assert!(run.files() <= segments + OTHER_FILES, "{what}: {} files", run.files());
    run.restart(Restart::Kill);
    Some(keys)
}

#[test]
fn a_disk_of_any_size_can_be_emptied() {
    for restart in [Restart::None, Restart::Kill, Restart::PowerLoss] {
        let mut sizes = Vec::new();
        for sectors in 8..180 {
            sizes.extend(filled_and_emptied(sectors * 512, restart).map(|keys| (sectors, keys)));
        }
        println!("{restart:?}: {:?} to {:?}", sizes.first(), sizes.last());
        assert!(sizes.len() > 100, "{sizes:?}");
        assert!(sizes.last().is_some_and(|(_, keys)| *keys > 100), "{sizes:?}");
    }
}

#[test]
fn a_write_is_one_write_of_its_frame_one_of_the_head_and_one_sync() {
    let sim = Sim::new();
    let options = EmbeddedOptions { background: false, storage: Arc::new(sim.clone()), ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(Path::new(DIRECTORY), options).unwrap();
    store.start(Box::new(Watcher::default())).unwrap();
    let commit = |number: u64| {
        let transaction = Transaction::one(format!("/k/{number}").into(), Expect::Any, Some(vec![7; 1000].into()));
        store.commit(transaction).wait().unwrap();
    };
    // Retention marks the time once.
    (0..3).for_each(commit);
    let calls = || sim.disk().calls.clone();
    let before = calls();
    (3..103).for_each(commit);
    let more = calls().into_iter().map(|(name, count)| (name, count - before.get(name).copied().unwrap_or(0)));
    let more: Vec<_> = more.filter(|(_, count)| *count > 0).collect();
    assert_eq!(more, [("sync", 100), ("write", 200)]);
}
