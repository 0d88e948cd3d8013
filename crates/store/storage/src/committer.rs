//! The writer: checks preconditions, assigns revisions, persists and publishes one batch at a time.
//! Guarantees that nothing is published before it is durable and nothing is acknowledged before it is published.
//! Must never depend on a thread, a queue or an engine: a `Backend` persists, a clock provides the time.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use crate::api::{CommitError, Observer, Record, Revision, Started, Transaction};
use crate::clock::Clock;
use crate::key_index::{self, CompactionBatch, KeyIndex, Position};
use crate::limits;
use crate::retention::{Mark, Retention};

/// An engine's error, for humans.
pub(crate) type BackendError = Arc<dyn Error + Send + Sync>;

/// One step to persist atomically.
#[derive(Debug)]
pub(crate) struct Step<'a> {
    /// The revision before this step. Later revisions in the backend were never acknowledged.
    pub base: Revision,
    /// New log entries in order. An entry's ordinal is its place among the records of its revision.
    pub records: &'a [Record],
    /// Dead log entries to remove, with the compaction revision after their removal.
    pub removal: Option<&'a CompactionBatch>,
    /// The time marks, if they changed.
    pub marks: Option<&'a [Mark]>,
}

/// Why a step was not persisted.
#[derive(Debug)]
pub(crate) enum PersistError {
    /// It is absent, and stays so.
    Refused(BackendError),
    /// It is completely present or absent after the next start. The backend [has ended](Backend::ended).
    Unknown(BackendError),
}

/// What a transaction is to a full disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Claim {
    /// It needs more space than what it replaces.
    Growth,
    /// It needs about as much as what it replaces.
    Update,
    /// It only deletes.
    Deletion,
    /// The store's own steps: those that free space, and a few bytes with each batch.
    Internal,
}

/// Persists steps.
pub(crate) trait Backend: Send + 'static {
    /// Makes room for entries of this size in the next step, unless too little is left for such. After an error nothing is
    /// changed, and no such transaction may be in the next step.
    fn make_room(&mut self, _bytes: u64, _claim: Claim) -> Result<(), BackendError> {
        Ok(())
    }

    /// Whether there is no room for growth. If so, other claims may be tried.
    fn is_full(&self) -> bool {
        false
    }

    /// Writes a step, and syncs it if it contains records (a removal that is lost is repeated).
    fn persist(&mut self, step: &Step<'_>) -> Result<(), PersistError>;

    /// Why it can persist nothing any more.
    fn ended(&self) -> Option<BackendError> {
        None
    }

    /// Does other work, such as freeing space. Returns when it wants to be called again if nothing is written until
    /// then.
    fn tend(&mut self) -> Option<Duration> {
        None
    }
}

/// The backend without a log: publishing is enough.
#[derive(Debug)]
pub(crate) struct NoLog;

impl Backend for NoLog {
    fn persist(&mut self, _: &Step<'_>) -> Result<(), PersistError> {
        Ok(())
    }
}

/// The state after a log's replay.
pub(crate) struct Replayed {
    pub key_index: KeyIndex,
    pub marks: Vec<Mark>,
}

/// The one writer of a store.
pub(crate) struct Committer<B> {
    key_index: KeyIndex,
    retention: Option<Retention>,
    /// Makes history shorter while the disk is full, so that what is deleted gives its space back soon.
    retention_when_full: Option<Retention>,
    backend: B,
    observer: Box<dyn Observer>,
    clock: Arc<dyn Clock>,
    /// The target of compaction.
    target: Revision,
    /// The last step failed: wait before the next access to the disk.
    failed: bool,
    /// When to call the backend's `tend` again.
    tended: Option<Duration>,
}

/// The delay before compaction is retried after a failure.
const RETRY: Duration = Duration::from_secs(1);

/// The longest sleep while waiting for a time, so that a change of the clock is noticed.
const SLEEP_SECONDS_MAX: u64 = 60;

impl<B: Backend> Committer<B> {
    /// Continues from a replayed state. It compacts every `retention_seconds`, up to the revision of that long ago;
    /// with `None` only on request.
    pub fn new(
        backend: B,
        mut observer: Box<dyn Observer>,
        clock: Arc<dyn Clock>,
        retention_seconds: Option<u64>,
        replayed: Replayed,
    ) -> Committer<B> {
        observer.replayed(Started { compacted: replayed.key_index.compacted(), current: replayed.key_index.current() });
        observer.compacted(replayed.key_index.compacted());
        let target = replayed.key_index.compacted();
        let retention = retention_seconds.map(|seconds| Retention::new(seconds, replayed.marks));
        Committer {
            key_index: replayed.key_index,
            retention,
            retention_when_full: None,
            backend,
            observer,
            clock,
            target,
            failed: false,
            tended: None,
        }
    }

    pub fn started(&self) -> Started {
        Started { compacted: self.key_index.compacted(), current: self.key_index.current() }
    }

    /// Executes a batch; the results are in the order of the transactions. Budget: three hash lookups and one
    /// allocation per write, one sync per batch.
    pub fn run(&mut self, transactions: Vec<Transaction>) -> Vec<Result<Revision, CommitError>> {
        // Planned before anything is applied: only durable records may supersede others.
        let marked = self.keep_time();
        let removal = self.key_index.plan_removal(self.target);
        let base = self.key_index.current();
        let mut records = Vec::with_capacity(transactions.len());
        self.key_index.begin();
        let mut answers = self.apply(transactions, &mut records);
        if records.is_empty() {
            if self.backend.is_full() {
                // Requests that are refused must not keep it from freeing space. What fails is repeated.
                let _ = self.compact_step();
            }
            return answers;
        }
        let marks = self.marks(marked);
        let step = Step { base, records: &records, removal: removal.as_ref(), marks: marks.as_deref() };
        let error = match self.backend.persist(&step) {
            Ok(()) => {
                self.failed = false;
                self.key_index.keep();
                if let Some(removal) = &removal {
                    self.key_index.removed(removal);
                    self.observer.compacted(removal.compacted);
                }
                self.observer.publish(&records, self.key_index.current());
                return answers;
            }
            Err(PersistError::Refused(error)) => CommitError::Storage(error),
            Err(PersistError::Unknown(error)) => CommitError::Unknown(error),
        };
        self.failed = true;
        self.key_index.rollback();
        for answer in answers.iter_mut().filter(|answer| answer.is_ok()) {
            *answer = Err(error.clone());
        }
        answers
    }

    /// Applies transactions to the index. On a full disk only those that have room there are applied.
    fn apply(
        &mut self,
        transactions: Vec<Transaction>,
        records: &mut Vec<Record>,
    ) -> Vec<Result<Revision, CommitError>> {
        let Committer { key_index, backend, .. } = self;
        let bytes = transactions.iter().map(key_index::bytes_in_log).sum();
        let Err(error) = backend.make_room(bytes, Claim::Growth) else {
            let apply = |transaction| key_index.apply(transaction, records, None);
            return transactions.into_iter().map(apply).collect();
        };
        let mut used = 0;
        let mut admit = |claim, bytes| match backend.is_full() {
            true => {
                backend.make_room(used + bytes, claim)?;
                used += bytes;
                Ok(())
            }
            false => Err(error.clone()),
        };
        let apply = |transaction| key_index.apply(transaction, records, Some(&mut admit));
        transactions.into_iter().map(apply).collect()
    }

    /// Why nothing can be written any more.
    pub fn ended(&self) -> Option<BackendError> {
        self.backend.ended()
    }

    /// Compacts history up to `revision`. Returns the revision that `compacted` will reach.
    pub fn request_compaction(&mut self, revision: Revision) -> Revision {
        self.target = self.target.max(revision.min(self.key_index.current()));
        self.target
    }

    /// The revision after which history begins.
    pub fn compacted(&self) -> Revision {
        self.key_index.compacted()
    }

    /// Whether a compaction step is pending.
    pub fn wants_compaction(&self) -> bool {
        !self.failed && self.target.min(self.key_index.current()) > self.key_index.compacted()
    }

    /// Executes one bounded compaction step without a batch.
    pub fn compact_step(&mut self) -> Result<(), BackendError> {
        let Some(removal) = self.key_index.plan_removal(self.target) else { return Ok(()) };
        let step = Step { base: self.key_index.current(), records: &[], removal: Some(&removal), marks: None };
        let result = self.backend.persist(&step).map_err(|error| match error {
            PersistError::Refused(error) | PersistError::Unknown(error) => error,
        });
        self.failed = result.is_err();
        if result.is_ok() {
            self.key_index.removed(&removal);
            self.observer.compacted(removal.compacted);
        }
        result
    }

    /// Lets the backend do its pending work. Called after all requests were answered.
    pub fn tend(&mut self) {
        self.tended = self.backend.tend();
    }

    /// Checks the clock while nothing is written: history expires in an idle store too.
    pub fn tick(&mut self) {
        self.failed = false;
        if self.keep_time() {
            let marks = self.marks(true);
            let step = Step { base: self.key_index.current(), records: &[], removal: None, marks: marks.as_deref() };
            self.failed = self.backend.persist(&step).is_err();
        }
    }

    /// When `tick` has to be called if nothing else happens. `None`: never, because no history is retained.
    pub fn sleep(&self) -> Option<Duration> {
        if self.failed {
            return Some(RETRY);
        }
        let has_history = self.key_index.current() > self.key_index.compacted();
        let retention = self.retention.as_ref().filter(|_| has_history).map(|retention| {
            let seconds = retention.next_seconds(self.clock.unix_seconds(), self.key_index.current());
            Duration::from_secs(seconds.clamp(1, SLEEP_SECONDS_MAX))
        });
        retention.into_iter().chain(self.tended).min()
    }

    /// Adds a time mark if it is due and moves the compaction target. Returns whether the marks changed.
    fn keep_time(&mut self) -> bool {
        let Some(retention) = &mut self.retention else { return false };
        let (now, current) = (self.clock.unix_seconds(), self.key_index.current());
        let changed = retention.observe(now, current);
        let expired = retention.expire(now);
        self.target = self.target.max(expired.unwrap_or_default());
        if self.backend.is_full() {
            let short = limits::RETENTION_SECONDS_WHEN_FULL;
            let retention = self.retention_when_full.get_or_insert_with(|| Retention::new(short, Vec::new()));
            retention.observe(now, current);
            self.target = self.target.max(retention.expire(now).unwrap_or_default());
        } else {
            self.retention_when_full = None;
        }
        changed || expired.is_some()
    }

    fn marks(&self, changed: bool) -> Option<Vec<Mark>> {
        self.retention.as_ref().filter(|_| changed).map(Retention::marks)
    }
}

/// Pairs each record with its position in the log.
pub(crate) fn positions(records: &[Record]) -> impl Iterator<Item = (Position, &Record)> {
    let mut last = Revision(0);
    let mut ordinal = 0;
    records.iter().map(move |record| {
        ordinal = if record.revision == last { ordinal + 1 } else { 0 };
        last = record.revision;
        (Position::new(record.revision, ordinal, &record.key, record.value.as_ref()), record)
    })
}

#[cfg(test)]
#[path = "committer_tests.rs"]
mod tests;
