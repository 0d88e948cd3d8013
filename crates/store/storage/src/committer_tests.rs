//! Tests of the writer on an in-memory disk: failures, exact compaction, retention on a simulated clock.
//! Guarantees repeatability: no file, no thread, no real time.
//! Must never test what only a real engine can show.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;

use super::*;
use crate::api::{Expect, Key, Write};
use crate::limits;

/// The content of the disk, shared with the test.
#[derive(Debug, Default)]
struct Disk {
    log: BTreeMap<Position, (Key, Option<Bytes>)>,
    compacted: Revision,
    marks: Vec<Mark>,
    fails: bool,
    largest_removal: usize,
    synced_steps: usize,
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<Disk>>);

impl Backend for Fake {
    fn persist(&mut self, step: &Step<'_>) -> Result<(), PersistError> {
        let mut disk = self.0.lock().unwrap();
        if disk.fails {
            return Err(PersistError::Refused(Arc::new(std::io::Error::other("no space left"))));
        }
        disk.synced_steps += usize::from(!step.records.is_empty());
        for (position, record) in positions(step.records) {
            disk.log.insert(position, (record.key.clone(), record.value.clone()));
        }
        if let Some(removal) = step.removal {
            disk.largest_removal = disk.largest_removal.max(removal.entries.len());
            for dead in &removal.entries {
                assert!(disk.log.remove(&dead.position).is_some(), "removed twice: {dead:?}");
            }
            assert!(removal.compacted >= disk.compacted);
            disk.compacted = removal.compacted;
        }
        if let Some(marks) = step.marks {
            disk.marks = marks.to_vec();
        }
        Ok(())
    }
}

#[derive(Clone, Default)]
struct Seconds(Arc<AtomicU64>);

impl Clock for Seconds {
    fn unix_seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Default)]
struct Published {
    records: Arc<Mutex<Vec<Record>>>,
    compacted: Arc<Mutex<Vec<Revision>>>,
}

impl Observer for Published {
    fn replay(&mut self, _: Record, _: bool) {}

    fn publish(&mut self, records: &[Record], revision: Revision) {
        assert_eq!(records.last().map(|record| record.revision), Some(revision));
        self.records.lock().unwrap().extend_from_slice(records);
    }

    fn compacted(&mut self, revision: Revision) {
        self.compacted.lock().unwrap().push(revision);
    }
}

struct Bench {
    committer: Committer<Fake>,
    disk: Fake,
    clock: Seconds,
    published: Published,
}

impl Bench {
    fn new(retention_seconds: Option<u64>) -> Bench {
        Bench::on(Fake::default(), Seconds::default(), retention_seconds)
    }

    /// Starts from the content of the disk.
    fn on(disk: Fake, clock: Seconds, retention_seconds: Option<u64>) -> Bench {
        let published = Published::default();
        let (key_index, marks) = {
            let disk = disk.0.lock().unwrap();
            let mut key_index = KeyIndex::new(true, Revision(0));
            for (position, (key, value)) in &disk.log {
                key_index.replay(*position, key, value.is_none());
            }
            assert_eq!(key_index.settle(disk.compacted.max(Revision::EMPTY)), Ok(Vec::new()));
            (key_index, disk.marks.clone())
        };
        let replayed = Replayed { key_index, marks };
        let observer = Box::new(published.clone());
        let committer = Committer::new(disk.clone(), observer, Arc::new(clock.clone()), retention_seconds, replayed);
        Bench { committer, disk, clock, published }
    }

    fn put(&mut self, key: &str) -> Result<Revision, CommitError> {
        self.run(vec![Transaction::one(Arc::from(key), Expect::Any, Some(Bytes::from_static(b"v")))]).remove(0)
    }

    fn run(&mut self, transactions: Vec<Transaction>) -> Vec<Result<Revision, CommitError>> {
        self.committer.run(transactions)
    }

    fn set_time(&self, seconds: u64) {
        self.clock.0.store(seconds, Ordering::Relaxed);
    }

    fn set_failing(&self, fails: bool) {
        self.disk.0.lock().unwrap().fails = fails;
    }

    fn compact_all(&mut self) {
        while self.committer.wants_compaction() {
            self.committer.compact_step().unwrap();
        }
    }
}

#[test]
fn a_failed_write_is_answered_and_leaves_no_trace() {
    let mut bench = Bench::new(None);
    assert_eq!(bench.put("/a").unwrap(), Revision(2));
    bench.set_failing(true);
    let absent = |key: &str| Transaction::one(Arc::from(key), Expect::Absent, Some(Bytes::new()));
    let delete = Transaction::one(Arc::from("/a"), Expect::Any, None);
    let again = Transaction::one(Arc::from("/b"), Expect::Any, Some(Bytes::new()));
    let answers = bench.run(vec![absent("/b"), absent("/a"), again, delete]);
    assert!(matches!(answers[0], Err(CommitError::Storage(_))), "{answers:?}");
    assert!(matches!(answers[1], Err(CommitError::Conflict { .. })), "{answers:?}");
    assert!(matches!(answers[3], Err(CommitError::Storage(_))), "{answers:?}");
    assert_eq!(bench.published.records.lock().unwrap().len(), 1, "nothing was published");

    bench.set_failing(false);
    let answers = bench.run(vec![absent("/b"), absent("/a")]);
    assert_eq!(answers[0].as_ref().unwrap(), &Revision(3), "the revision was not used up");
    assert!(matches!(answers[1], Err(CommitError::Conflict { actual: Some(Revision(2)), .. })), "{answers:?}");
    // The records that the failed delete would have superseded are still needed.
    bench.put("/c").unwrap();
    bench.committer.request_compaction(Revision(4));
    bench.compact_all();
    assert_eq!(bench.disk.0.lock().unwrap().log.len(), 3);
}

#[test]
fn a_batch_is_one_sync() {
    let mut bench = Bench::new(None);
    let batch = (0..100).map(|i| Transaction::one(format!("/{i}").into(), Expect::Absent, Some(Bytes::new())));
    let answers = bench.run(batch.collect());
    assert_eq!(answers.last().unwrap().as_ref().unwrap(), &Revision(101));
    assert_eq!(bench.disk.0.lock().unwrap().synced_steps, 1);
    // Conflicts and writes that change nothing do not access the disk.
    bench.run(vec![
        Transaction::one(Arc::from("/1"), Expect::Absent, Some(Bytes::new())),
        Transaction::one(Arc::from("/none"), Expect::Any, None),
    ]);
    assert_eq!(bench.disk.0.lock().unwrap().synced_steps, 1);
}

#[test]
fn compaction_steps_are_bounded_and_leave_what_each_later_state_needs() {
    let mut bench = Bench::new(None);
    let mut history = Vec::new();
    for round in 0..40_u64 {
        for object in 0..60_u64 {
            let value = ((round + object) % 7 != 0).then(|| Bytes::from(format!("{round}")));
            bench.run(vec![Transaction::one(format!("/{object}").into(), Expect::Any, value)]);
        }
    }
    history.extend(bench.published.records.lock().unwrap().iter().cloned());
    let state_at = |records: &mut dyn Iterator<Item = Record>, revision: Revision| {
        let mut state = BTreeMap::new();
        for record in records.filter(|record| record.revision <= revision) {
            match record.value {
                Some(value) => state.insert(record.key.clone(), (record.revision, value)),
                None => state.remove(&record.key),
            };
        }
        state
    };
    let current = bench.committer.started().current;
    bench.committer.request_compaction(Revision(current.0 - 10));
    while bench.committer.wants_compaction() {
        bench.committer.compact_step().unwrap();
        let disk = bench.disk.0.lock().unwrap();
        let kept: Vec<Record> = disk
            .log
            .iter()
            .map(|(at, (key, value))| Record { revision: at.revision, key: key.clone(), value: value.clone() })
            .collect();
        for revision in [disk.compacted, Revision(disk.compacted.0 + 1), Revision(current.0 - 3), current] {
            let (kept, all) = (kept.iter().cloned(), history.iter().cloned());
            assert_eq!(state_at(&mut { kept }, revision), state_at(&mut { all }, revision), "at {revision}");
        }
        let old = kept.iter().filter(|record| record.revision <= disk.compacted);
        assert_eq!(old.count(), state_at(&mut history.iter().cloned(), disk.compacted).len(), "nothing dead is left");
    }
    assert_eq!(bench.committer.compacted(), Revision(current.0 - 10));
    let largest = bench.disk.0.lock().unwrap().largest_removal;
    assert!((limits::COMPACTION_STEP_ENTRIES..limits::COMPACTION_STEP_ENTRIES + 2).contains(&largest), "{largest}");
}

#[test]
fn a_compaction_that_fails_is_done_again() {
    let mut bench = Bench::new(None);
    for _ in 0..10 {
        bench.put("/a").unwrap();
    }
    bench.committer.request_compaction(Revision(11));
    bench.set_failing(true);
    assert!(bench.committer.compact_step().is_err());
    assert!(!bench.committer.wants_compaction(), "not at once");
    assert_eq!(bench.committer.sleep(), Some(RETRY));
    bench.set_failing(false);
    bench.committer.tick();
    bench.compact_all();
    assert_eq!(bench.disk.0.lock().unwrap().log.len(), 1);
}

#[test]
fn history_expires_by_time_also_when_idle_and_over_a_restart() {
    let mut bench = Bench::new(Some(300));
    bench.set_time(1000);
    for _ in 0..3 {
        bench.put("/a").unwrap(); // 2, 3, 4; the mark is from before the first
    }
    bench.set_time(1100);
    bench.put("/a").unwrap(); // 5
    let slept = bench.committer.sleep().unwrap().as_secs();
    assert!(slept <= 60, "{slept}");
    bench.set_time(1300);
    bench.committer.tick(); // Marks revision 5.

    let (disk, clock) = (bench.disk.clone(), bench.clock.clone());
    let mut bench = Bench::on(disk, clock, Some(300));
    bench.set_time(1599);
    bench.committer.tick();
    bench.compact_all();
    assert!(bench.committer.compacted() < Revision(4), "nothing that was current at 1300 has gone");
    bench.set_time(1600);
    bench.committer.tick();
    bench.compact_all();
    assert_eq!(bench.committer.compacted(), Revision(5));
    assert_eq!(bench.disk.0.lock().unwrap().log.len(), 1);
    assert_eq!(bench.committer.sleep(), None, "nothing is left to wait for");
}

#[test]
fn earlier_revisions_expire_also_where_nothing_was_superseded() {
    let mut bench = Bench::new(Some(300));
    assert_eq!(bench.committer.sleep(), None, "an empty store has no history");
    bench.put("/a").unwrap(); // 2
    bench.put("/b").unwrap(); // 3
    let mut woken = 0;
    while let Some(sleep) = bench.committer.sleep() {
        bench.set_time(bench.committer.clock.unix_seconds() + sleep.as_secs());
        bench.committer.tick();
        bench.compact_all();
        woken += 1;
    }
    assert_eq!(bench.committer.compacted(), Revision(3));
    assert!(woken <= 600 / 60 + 4, "{woken}");
    let reported = bench.published.compacted.lock().unwrap().clone();
    assert_eq!((reported.first(), reported.last()), (Some(&Revision(1)), Some(&Revision(3))));
}

#[test]
fn observers_are_told_the_compacted_revision() {
    let mut bench = Bench::new(None);
    for _ in 0..10 {
        bench.put("/a").unwrap();
    }
    bench.committer.request_compaction(Revision(6));
    bench.compact_all();
    bench.committer.request_compaction(Revision(9));
    bench.put("/a").unwrap();
    let reported = bench.published.compacted.lock().unwrap().clone();
    assert_eq!(reported, [1, 6, 9].map(Revision));
    let (disk, clock) = (bench.disk.clone(), bench.clock.clone());
    let again = Bench::on(disk, clock, None);
    assert_eq!(*again.published.compacted.lock().unwrap(), [Revision(9)]);
}

#[test]
fn a_transaction_may_make_several_revisions() {
    let mut bench = Bench::new(None);
    let put = |key: &str, begins_revision| Write {
        begins_revision,
        ..Write::put(Arc::from(key), Expect::Absent, Bytes::from_static(b"v"))
    };
    // The first write has no revision before it to follow, and what changes nothing has none of its own.
    let nothing = Write { begins_revision: true, ..Write::delete(Arc::from("/no"), Expect::Any) };
    let writes = vec![put("/q", true), put("/a", true), put("/b", false), nothing, put("/c", true)];
    let answers = bench.committer.run(vec![Transaction::of(writes)]);
    assert!(matches!(answers.as_slice(), [Ok(Revision(4))]), "{answers:?}");
    let found: Vec<(String, u64)> = {
        let disk = bench.disk.0.lock().unwrap();
        disk.log.iter().map(|(at, (key, _))| (key.to_string(), at.revision.0)).collect()
    };
    assert_eq!(found, [("/q", 2), ("/a", 3), ("/b", 3), ("/c", 4)].map(|(key, at)| (key.to_owned(), at)));
    // All or nothing, whichever write it is.
    let writes = vec![put("/d", true), put("/e", true), put("/c", true)];
    let answers = bench.committer.run(vec![Transaction::of(writes)]);
    assert!(matches!(answers.as_slice(), [Err(CommitError::Conflict { index: 2, .. })]), "{answers:?}");
    assert_eq!(bench.committer.started().current, Revision(4));
}
