//! The writer's index: the revision of each live key, and which log entries are dead since when.
//! Guarantees that a batch is applied completely or rolled back to the exact state before.
//! Must never do I/O or read a clock: time is a parameter, durability is the committer's.

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;
use xxhash_rust::xxh3::xxh3_64;

use crate::api::{CommitError, Expect, Key, Record, Revision, Transaction, Write};
use crate::committer::{BackendError, Claim};
use crate::limits;

/// The size of a log entry besides its key and value, in bytes.
pub(crate) const ENTRY_HEADER_BYTES: usize = 16;

/// The position of a record in the log: its revision, its ordinal within the transaction, and its size in the log.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub revision: Revision,
    pub ordinal: u32,
    pub bytes: u32,
}

impl Position {
    /// The position of an entry with this key and value.
    pub fn new(revision: Revision, ordinal: u32, key: &str, value: Option<&Bytes>) -> Position {
        // Keys and values are limited far below 4 GiB.
        let bytes = (ENTRY_HEADER_BYTES + key.len() + value.map_or(0, Bytes::len)) as u32;
        Position { revision, ordinal, bytes }
    }
}

/// A log entry that is not needed after the compaction revision has reached `died`.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) struct Dead {
    /// The revision that superseded the entry, or made it if it is a tombstone.
    pub died: Revision,
    pub position: Position,
    pub key: KeyHash,
}

/// A hash that distinguishes dead entries of different keys with high probability, and whether it is a tombstone.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub(crate) struct KeyHash(u32);

impl KeyHash {
    pub fn new(key: &str, tombstone: bool) -> KeyHash {
        let hash = xxh3_64(key.as_bytes()) as u32;
        KeyHash(if tombstone { hash | 1 } else { hash & !1 })
    }

    pub fn is_tombstone(self) -> bool {
        self.0 & 1 == 1
    }

    /// The hash of a value with the same key.
    pub fn of_value(self) -> KeyHash {
        KeyHash(self.0 & !1)
    }
}

/// Log entries to remove, and the compaction revision after that.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct CompactionBatch {
    pub entries: Vec<Dead>,
    pub compacted: Revision,
}

/// The writer's in-memory state of the store.
#[derive(Debug)]
pub(crate) struct KeyIndex {
    live: HashMap<Key, Position>,
    /// In the order of `died`. Always empty without a log.
    dead: VecDeque<Dead>,
    keeps_log: bool,
    current: Revision,
    compacted: Revision,
    /// The last revision at which the replay found a tombstone of a key without a value.
    unfounded: Revision,
    undo: Vec<(Key, Option<Position>)>,
    /// `current` and the length of `dead` at the beginning of the batch.
    before: (Revision, usize),
}

impl KeyIndex {
    /// The index of an empty store. `keeps_log` says whether dead entries have to be removed from a log.
    pub fn new(keeps_log: bool, compacted: Revision) -> KeyIndex {
        KeyIndex {
            live: HashMap::new(),
            dead: VecDeque::new(),
            keeps_log,
            current: compacted,
            compacted,
            unfounded: Revision(0),
            undo: Vec::new(),
            before: (compacted, 0),
        }
    }

    pub fn current(&self) -> Revision {
        self.current
    }

    pub fn compacted(&self) -> Revision {
        self.compacted
    }

    /// Adds a log entry at start, in the order of positions; the compaction revision is not known yet.
    pub fn replay(&mut self, position: Position, key: &str, tombstone: bool) {
        self.current = self.current.max(position.revision);
        let previous = match (self.live.get_mut(key), tombstone) {
            (Some(known), false) => Some(std::mem::replace(known, position)),
            (Some(_), true) => self.live.remove(key),
            (None, false) => self.live.insert(key.into(), position),
            (None, true) => {
                self.unfounded = self.unfounded.max(position.revision);
                None
            }
        };
        self.add_dead(position, previous, key, tombstone);
    }

    /// Completes the replay: history begins after `compacted`. Returns the dead entries that may still be in the log.
    /// Rejects a log that no correct history produces.
    pub fn settle(&mut self, compacted: Revision) -> Result<Vec<Dead>, String> {
        if self.unfounded > compacted {
            return Err(format!("revision {} deletes a key that does not exist", self.unfounded));
        }
        self.compacted = compacted;
        self.current = self.current.max(compacted);
        let dead = self.dead.partition_point(|dead| dead.died <= compacted);
        Ok(self.dead.drain(..dead).collect())
    }

    /// The shared allocation of this key, or a new one.
    pub fn key(&self, key: &str) -> Key {
        self.live.get_key_value(key).map_or_else(|| key.into(), |(known, _)| known.clone())
    }

    /// Begins a batch, to which `rollback` returns.
    pub fn begin(&mut self) {
        self.undo.clear();
        self.before = (self.current, self.dead.len());
    }

    /// Completes a batch that has become durable.
    pub fn keep(&mut self) {
        self.undo.clear();
    }

    /// Undoes every `apply` since `begin`.
    pub fn rollback(&mut self) {
        for (key, position) in self.undo.drain(..).rev() {
            match position {
                Some(position) => self.live.insert(key, position),
                None => self.live.remove(&key),
            };
        }
        self.current = self.before.0;
        self.dead.truncate(self.before.1);
    }

    /// Checks a transaction's preconditions against all earlier transactions and, if they hold, assigns the next
    /// revision, or several, and appends its records. A conflict changes nothing, nor does a refusal of `admit`, which is
    /// asked on a full disk. Returns the last revision.
    pub fn apply(
        &mut self,
        transaction: Transaction,
        records: &mut Vec<Record>,
        admit: Option<&mut dyn FnMut(Claim, u64) -> Result<(), BackendError>>,
    ) -> Result<Revision, CommitError> {
        for (index, write) in transaction.writes.iter().enumerate() {
            let actual = self.live.get(&write.key).map(|position| position.revision);
            let holds = match write.expect {
                Expect::Any => true,
                Expect::Absent => actual.is_none(),
                Expect::At(revision) => actual == Some(revision),
            };
            if !holds {
                return Err(CommitError::Conflict { index, key: write.key.clone(), actual });
            }
        }
        for condition in &transaction.conditions {
            let actual = self.live.get(&condition.key).map(|position| position.revision);
            if actual != Some(condition.at) {
                return Err(CommitError::ConditionFailed { key: condition.key.clone(), actual });
            }
        }
        if let Some(admit) = admit {
            admit(self.claim(&transaction), bytes_in_log(&transaction)).map_err(CommitError::Storage)?;
        }
        let mut revision = self.current.next();
        let mut ordinal = 0;
        for write in transaction.writes {
            if write.begins_revision && ordinal > 0 {
                self.current = revision;
                (revision, ordinal) = (revision.next(), 0);
            }
            let known = self.live.get_key_value(&write.key).map(|(key, at)| (key.clone(), *at));
            let tombstone = write.value.is_none();
            if tombstone && known.is_none() {
                continue; // Deleting what is not there is no change.
            }
            let position = Position::new(revision, ordinal, &write.key, write.value.as_ref());
            let (key, previous) = match known {
                Some((key, at)) => (key, Some(at)),
                None => (write.key, None),
            };
            self.undo.push((key.clone(), previous));
            if tombstone {
                self.live.remove(&key);
            } else {
                self.live.insert(key.clone(), position);
            }
            self.add_dead(position, previous, &key, tombstone);
            records.push(Record { revision, key, value: write.value });
            ordinal += 1;
        }
        if ordinal > 0 {
            self.current = revision;
        }
        Ok(self.current)
    }

    /// What a transaction is to a full disk.
    fn claim(&self, transaction: &Transaction) -> Claim {
        let (mut new, mut old) = (0, 0);
        for write in &transaction.writes {
            if let Some(known) = self.live.get(&write.key) {
                old += u64::from(known.bytes) + limits::GROWTH_WHEN_FULL;
            }
            if write.value.is_some() {
                new += bytes_of(write);
            }
        }
        match new {
            0 => Claim::Deletion,
            new if new <= old => Claim::Update,
            _ => Claim::Growth,
        }
    }

    /// Records what the entry at `position` supersedes: the previous entry, and itself if it is a tombstone.
    fn add_dead(&mut self, position: Position, previous: Option<Position>, key: &str, tombstone: bool) {
        if !self.keeps_log {
            return;
        }
        let died = position.revision;
        self.dead.extend(previous.map(|position| Dead { died, position, key: KeyHash::new(key, false) }));
        if tombstone {
            self.dead.push_back(Dead { died, position, key: KeyHash::new(key, true) });
        }
    }

    /// The next step towards the compaction revision `target`: about `limits::COMPACTION_STEP_ENTRIES` entries, but
    /// always all that died by one transaction, so that every state after the step's revision is complete. `None`
    /// when the target is reached. Only durable transactions count: call this before the batch's `apply`.
    pub fn plan_removal(&self, target: Revision) -> Option<CompactionBatch> {
        let target = target.min(self.current);
        if target <= self.compacted {
            return None;
        }
        let mut entries: Vec<Dead> = Vec::new();
        let mut last = self.compacted;
        for dead in self.dead.iter().take_while(|dead| dead.died <= target) {
            if entries.len() >= limits::COMPACTION_STEP_ENTRIES && dead.died > last {
                return Some(CompactionBatch { entries, compacted: last });
            }
            entries.push(*dead);
            last = dead.died;
        }
        Some(CompactionBatch { entries, compacted: target })
    }

    /// Records that a planned removal is done.
    pub fn removed(&mut self, removal: &CompactionBatch) {
        self.dead.drain(..removal.entries.len().min(self.dead.len()));
        self.compacted = removal.compacted;
    }
}

/// The size of a write's entry in the log.
fn bytes_of(write: &Write) -> u64 {
    (ENTRY_HEADER_BYTES + write.key.len() + write.value.as_ref().map_or(0, Bytes::len)) as u64
}

/// The size of a transaction's entries in the log.
pub(crate) fn bytes_in_log(transaction: &Transaction) -> u64 {
    transaction.writes.iter().map(bytes_of).sum()
}

/// Checks a transaction against the bounds that do not depend on the content of the store, and returns its size in
/// bytes.
pub(crate) fn check(transaction: &Transaction) -> Result<usize, CommitError> {
    let writes = &transaction.writes;
    if writes.len() > limits::TRANSACTION_WRITES_MAX {
        return Err(too_large("writes in a transaction", writes.len(), limits::TRANSACTION_WRITES_MAX));
    }
    if transaction.conditions.len() > limits::TRANSACTION_WRITES_MAX {
        return Err(too_large(
            "conditions of a transaction",
            transaction.conditions.len(),
            limits::TRANSACTION_WRITES_MAX,
        ));
    }
    let mut bytes = 0;
    for write in writes {
        let value = write.value.as_ref().map_or(0, bytes::Bytes::len);
        if write.key.is_empty() {
            return Err(CommitError::Invalid("a key is empty".to_owned()));
        }
        if write.key.len() > limits::KEY_BYTES_MAX {
            return Err(too_large("bytes of a key", write.key.len(), limits::KEY_BYTES_MAX));
        }
        if value > limits::VALUE_BYTES_MAX {
            return Err(too_large("bytes of a value", value, limits::VALUE_BYTES_MAX));
        }
        bytes += write.key.len() + value;
    }
    if bytes > limits::TRANSACTION_BYTES_MAX {
        return Err(too_large("bytes of a transaction", bytes, limits::TRANSACTION_BYTES_MAX));
    }
    if writes.len() > 1 {
        let mut seen = HashSet::with_capacity(writes.len());
        if let Some(twice) = writes.iter().find(|write| !seen.insert(&*write.key)) {
            return Err(CommitError::Invalid(format!("key {} occurs twice", twice.key)));
        }
    }
    Ok(bytes)
}

fn too_large(what: &str, actual: usize, limit: usize) -> CommitError {
    CommitError::Invalid(format!("{actual} {what}, at most {limit} are allowed"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(revision: u64) -> Position {
        Position { revision: Revision(revision), ordinal: 0, bytes: 20 }
    }

    fn dead(key: &str, position: u64, died: u64) -> Dead {
        let key = KeyHash::new(key, position == died);
        Dead { died: Revision(died), position: at(position), key }
    }

    #[test]
    fn after_the_compaction_revision_no_key_is_deleted_that_does_not_exist() {
        let mut key_index = KeyIndex::new(true, Revision(0));
        // The entry that revision 3 deletes was already removed from the log.
        key_index.replay(at(3), "/gone", true);
        key_index.replay(at(4), "/a", false);
        key_index.replay(at(5), "/a", false);
        key_index.replay(at(7), "/a", true);
        let known = vec![dead("/gone", 3, 3), dead("/a", 4, 5)];
        assert_eq!(key_index.settle(Revision(5)), Ok(known));
        let rest = vec![dead("/a", 5, 7), dead("/a", 7, 7)];
        assert_eq!(
            key_index.plan_removal(Revision(7)),
            Some(CompactionBatch { entries: rest, compacted: Revision(7) })
        );
        key_index.replay(at(8), "/a", true);
        assert_eq!(key_index.settle(Revision(7)), Err("revision 8 deletes a key that does not exist".to_owned()));
    }

    #[test]
    fn future_revisions_are_not_compacted() {
        let mut key_index = KeyIndex::new(true, Revision(1));
        key_index.replay(at(2), "/a", false);
        key_index.replay(at(3), "/a", false);
        assert_eq!(key_index.settle(Revision(1)), Ok(Vec::new()));
        let entries = vec![dead("/a", 2, 3)];
        assert_eq!(key_index.plan_removal(Revision(9)), Some(CompactionBatch { entries, compacted: Revision(3) }));
    }
}
