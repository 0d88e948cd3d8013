//! What the writer knows without reading: which revision each live key is at, which log entries are dead, and when.
//! Guarantees that a batch is applied whole or rolled back to exactly what was before.
//! Must never do I/O or read a clock: time comes in as a number, durability is the committer's.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet, VecDeque};

use crate::api::{CommitError, Expect, Key, Record, Revision, Transaction};
use crate::limits;

/// Where a record stands in the log: its revision, and which of its transaction's records it is.
#[derive(Debug, Copy, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub revision: Revision,
    pub ordinal: u32,
}

/// A log entry that nothing needs once the compaction revision has reached `died`.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) struct Dead {
    /// The revision that superseded the entry, or made it if it is a tombstone.
    pub died: Revision,
    pub position: Position,
}

/// Log entries to remove, and the compaction revision once they are gone.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Removal {
    pub entries: Vec<Position>,
    pub compacted: Revision,
}

/// The writer's memory of the store.
#[derive(Debug)]
pub(crate) struct Ledger {
    live: HashMap<Key, Position>,
    /// In the order of `died`. Empty for ever where no log is kept.
    dead: VecDeque<Dead>,
    keeps_log: bool,
    current: Revision,
    compacted: Revision,
    undo: Vec<(Key, Option<Position>)>,
    /// `current` and the length of `dead` when the batch began.
    before: (Revision, usize),
}

impl Ledger {
    /// The ledger of an empty store. `keeps_log` says whether dead entries have to be removed from somewhere.
    pub fn new(keeps_log: bool, compacted: Revision) -> Ledger {
        Ledger {
            live: HashMap::new(),
            dead: VecDeque::new(),
            keeps_log,
            current: compacted,
            compacted,
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

    /// Takes in a log entry at start, in the order of positions. Answers the key to hand on (the ledger's own).
    /// An entry that no correct history contains is refused with what is wrong about it.
    pub fn replay(&mut self, position: Position, key: Key, tombstone: bool) -> Result<Key, &'static str> {
        let history = position.revision > self.compacted;
        let entry = self.live.entry(key);
        let known = matches!(entry, Entry::Occupied(_));
        if !history && (tombstone || known) {
            return Err("a superseded entry is older than the compaction revision");
        }
        let (key, previous) = match (entry, tombstone) {
            (Entry::Vacant(_), true) => return Err("a tombstone deletes a key that does not exist"),
            (Entry::Vacant(place), false) => (place.insert_entry(position).key().clone(), None),
            (Entry::Occupied(known), true) => {
                let (key, previous) = known.remove_entry();
                (key, Some(previous))
            }
            (Entry::Occupied(mut known), false) => (known.key().clone(), Some(known.insert(position))),
        };
        self.current = self.current.max(position.revision);
        self.bury(position, previous, tombstone);
        Ok(key)
    }

    /// Begins a batch: from here on `rollback` returns to this state.
    pub fn begin(&mut self) {
        self.undo.clear();
        self.before = (self.current, self.dead.len());
    }

    /// Ends a batch that has become durable.
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

    /// Checks a transaction's preconditions against all transactions before it and, if they hold, gives it the next
    /// revision and appends its records. A conflict changes nothing.
    pub fn apply(&mut self, transaction: Transaction, records: &mut Vec<Record>) -> Result<Revision, CommitError> {
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
        let revision = self.current.next();
        let mut ordinal = 0;
        for write in transaction.writes {
            let known = self.live.get_key_value(&write.key).map(|(key, at)| (key.clone(), *at));
            let tombstone = write.value.is_none();
            if tombstone && known.is_none() {
                continue; // Deleting what is not there is no change.
            }
            let position = Position { revision, ordinal };
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
            self.bury(position, previous, tombstone);
            records.push(Record { revision, key, value: write.value });
            ordinal += 1;
        }
        if ordinal > 0 {
            self.current = revision;
        }
        Ok(self.current)
    }

    /// Notes what the entry at `position` makes superfluous: the one before it, and itself if it is a tombstone.
    fn bury(&mut self, position: Position, previous: Option<Position>, tombstone: bool) {
        if !self.keeps_log {
            return;
        }
        let died = position.revision;
        self.dead.extend(previous.map(|position| Dead { died, position }));
        if tombstone {
            self.dead.push_back(Dead { died, position });
        }
    }

    /// The next step towards the compaction revision `target`: about `limits::COMPACTION_STEP_ENTRIES` entries, but
    /// always all that died by one transaction, so that every state after the step's revision stays whole. `None`
    /// when the target is reached. Only durable transactions count: call this before the batch's `apply`.
    pub fn plan_removal(&self, target: Revision) -> Option<Removal> {
        let target = target.min(self.current);
        if target <= self.compacted {
            return None;
        }
        let mut entries: Vec<Position> = Vec::new();
        let mut last = self.compacted;
        for dead in self.dead.iter().take_while(|dead| dead.died <= target) {
            if entries.len() >= limits::COMPACTION_STEP_ENTRIES && dead.died > last {
                return Some(Removal { entries, compacted: last });
            }
            entries.push(dead.position);
            last = dead.died;
        }
        Some(Removal { entries, compacted: target })
    }

    /// Takes note that a planned removal is done.
    pub fn removed(&mut self, removal: &Removal) {
        self.dead.drain(..removal.entries.len().min(self.dead.len()));
        self.compacted = removal.compacted;
    }
}

/// Checks a transaction against the bounds that hold whatever the store contains, and tells its size in bytes.
pub(crate) fn check(transaction: &Transaction) -> Result<usize, CommitError> {
    let writes = &transaction.writes;
    if writes.len() > limits::TRANSACTION_WRITES_MAX {
        return Err(too_large("writes in a transaction", writes.len(), limits::TRANSACTION_WRITES_MAX));
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

    fn replay(ledger: &mut Ledger, key: &str, revision: u64, tombstone: bool) -> bool {
        ledger.replay(Position { revision: Revision(revision), ordinal: 0 }, key.into(), tombstone).is_ok()
    }

    #[test]
    fn before_the_compaction_revision_a_key_stands_once_and_is_not_deleted() {
        let mut ledger = Ledger::new(true, Revision(5));
        assert!(replay(&mut ledger, "/a", 3, false) && replay(&mut ledger, "/b", 5, false));
        assert!(!replay(&mut ledger, "/a", 4, false) && !replay(&mut ledger, "/b", 5, true));
        assert!(replay(&mut ledger, "/a", 6, false) && replay(&mut ledger, "/a", 7, true));
        assert!(!replay(&mut ledger, "/a", 8, true), "it does not exist");
    }

    #[test]
    fn nothing_is_compacted_that_is_still_to_come() {
        let mut ledger = Ledger::new(true, Revision(1));
        assert!(replay(&mut ledger, "/a", 2, false) && replay(&mut ledger, "/a", 3, false));
        let entries = vec![Position { revision: Revision(2), ordinal: 0 }];
        assert_eq!(ledger.plan_removal(Revision(9)), Some(Removal { entries, compacted: Revision(3) }));
    }
}
