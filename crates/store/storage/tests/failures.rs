//! Every operation on the disk fails, without effect, in part or although it took place; then the store goes on, the
//! process is killed, or the power fails.
//! Guarantees that what was acknowledged is there, what was refused never is, and what was not answered is there
//! completely or not at all.
//! Must never count as refused what was not answered.

mod support;

use std::io::ErrorKind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;
use pintle_storage::{CommitError, Expect, Revision, Store, Transaction, Write};
use support::Random;
use support::model::Model;
use support::script::{Kind, open};
use support::sim::{Fault, Sim};

/// The transaction of an attempt: no other writes the same values.
fn transaction(attempt: u64, random: &mut Random) -> Transaction {
    let write = |key: u64, random: &mut Random| {
        let value = (random.below(4) > 0).then(|| {
            let mut value = attempt.to_be_bytes().to_vec();
            value.resize(8 + random.below(100) as usize, attempt as u8);
            Bytes::from(value)
        });
        Write { key: format!("/k/{key}").into(), expect: Expect::Any, value, stored: None, begins_revision: false }
    };
    let first = random.below(6);
    let second = (random.below(3) == 0).then_some(first + 6);
    Transaction::of([first].into_iter().chain(second).map(|key| write(key, random)).collect())
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Then {
    GoesOn,
    IsKilled,
    LosesPower,
}

/// Attempts to write, and what they came to.
#[derive(Default)]
struct Counts {
    refused: AtomicUsize,
    unanswered: AtomicUsize,
}

struct Run<'a> {
    sim: Sim,
    store: Option<Box<dyn Store>>,
    model: Model,
    random: Random,
    what: String,
    counts: &'a Counts,
}

impl Run<'_> {
    /// The store, opened if it is not open. While the disk fails it may not open, which must change nothing.
    fn store(&mut self) -> &dyn Store {
        for attempt in 0.. {
            if self.store.is_some() {
                break;
            }
            match open(Kind::Plain, Arc::new(self.sim.clone())) {
                Ok((store, watcher, started)) => {
                    self.model.current = self.model.current.max(1);
                    self.model.check(&watcher, started.current, &self.what);
                    self.store = Some(store);
                }
                Err(error) => {
                    assert!(self.sim.disk().fault.is_some(), "{}: does not open: {error}", self.what);
                    if attempt > 6 {
                        self.sim.disk().fault = None;
                    }
                }
            }
        }
        self.store.as_deref().unwrap()
    }

    /// The process ends, which says nothing to the store.
    fn restart(&mut self, power: bool) {
        let left = match power {
            true => self.sim.disk().crashed(&mut self.random),
            false => self.sim.disk().killed(),
        };
        let old = std::mem::replace(&mut self.sim, left);
        self.store = None;
        assert_eq!(old.disk().violations, Vec::<String>::new(), "{}", self.what);
    }

    fn commit(&mut self, attempt: u64) -> bool {
        let transaction = transaction(attempt, &mut self.random);
        let (what, outcome) = (self.what.clone(), self.store().commit(transaction.clone()).wait());
        match outcome {
            Ok(revision) => {
                self.model.apply(&transaction);
                assert_eq!(revision.0, self.model.current, "{what}, attempt {attempt}");
                if revision.0.is_multiple_of(7) {
                    // The result is ignored: a failed compaction is repeated.
                    let _ = self.store().compact(Revision(revision.0.saturating_sub(6))).wait();
                }
                true
            }
            Err(CommitError::Storage(_)) => {
                self.counts.refused.fetch_add(1, Ordering::Relaxed);
                false
            }
            // The store was ended by a compaction.
            Err(CommitError::Closed) => {
                self.restart(false);
                false
            }
            Err(_) => {
                self.counts.unanswered.fetch_add(1, Ordering::Relaxed);
                self.model.pending = Some(transaction);
                self.restart(false);
                false
            }
        }
    }
}

const ATTEMPTS: u64 = 30;

/// Returns how many operations there were.
fn run(fault: Option<Fault>, then: Then, counts: &Counts) -> u64 {
    let sim = Sim::new();
    sim.disk().fault = fault;
    let what = format!("{fault:?}, then it {then:?}");
    let mut run = Run { sim, store: None, model: Model::default(), random: Random(77), what, counts };
    let mut failures = 0;
    let mut operations = 0;
    for attempt in 0..ATTEMPTS {
        failures += u32::from(!run.commit(attempt));
        operations = operations.max(run.sim.disk().operations());
        match (failures, then) {
            (0, _) | (_, Then::GoesOn) => {}
            (1, Then::IsKilled) => run.restart(false),
            (1, Then::LosesPower) => run.restart(true),
            _ => {}
        }
        // The disk works again.
        if failures == 3 {
            run.sim.disk().fault = None;
        }
    }
    for power in [false, true, false] {
        run.restart(power);
        run.store();
        assert!(run.commit(ATTEMPTS + u64::from(power)), "{}: does not go on", run.what);
    }
    operations
}

#[test]
fn what_was_refused_never_appears() {
    let counts = Counts::default();
    let operations = run(None, Then::GoesOn, &counts);
    assert_eq!((counts.refused.load(Ordering::Relaxed), counts.unanswered.load(Ordering::Relaxed)), (0, 0));
    let mut rows = Vec::new();
    for first in 0..operations {
        for (eighths, kind) in
            [0, 4, 7, 8].into_iter().flat_map(|it| [(it, ErrorKind::StorageFull), (it, ErrorKind::Other)])
        {
            for count in [1, u64::MAX].into_iter().filter(|count| *count == 1 || eighths == 7) {
                for then in [Then::GoesOn, Then::IsKilled, Then::LosesPower] {
                    rows.push((Fault { first, count, eighths, kind }, then));
                }
            }
        }
    }
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((fault, then)) = rows.get(next.fetch_add(1, Ordering::Relaxed)) {
                    run(Some(*fault), *then, &counts);
                }
            });
        }
    });
    println!(
        "{operations} operations, {} runs: {:?} refused, {:?} not answered",
        rows.len(),
        counts.refused,
        counts.unanswered
    );
    assert!(counts.refused.into_inner() > operations as usize);
}
