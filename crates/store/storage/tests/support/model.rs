//! What a store has to contain after transactions that were acknowledged, refused, or not answered.
//! Guarantees that it is a plain map. Must never depend on a store.

use std::collections::BTreeMap;

use bytes::Bytes;
use pintle_storage::{Key, Revision, Transaction};

use super::Watcher;

/// The values by key, with the revisions that wrote them.
pub type State = BTreeMap<Key, (Revision, Bytes)>;

#[derive(Default, Clone)]
pub struct Model {
    pub state: State,
    pub current: u64,
    /// A transaction that was not answered.
    pub pending: Option<Transaction>,
}

impl Model {
    pub fn apply(&mut self, transaction: &Transaction) {
        let revision = Revision(self.current + 1);
        for write in &transaction.writes {
            let change = match &write.value {
                Some(value) => {
                    self.state.insert(write.key.clone(), (revision, value.clone()));
                    true
                }
                None => self.state.remove(&write.key).is_some(),
            };
            self.current = if change { revision.0 } else { self.current };
        }
    }

    /// Compares what a store has replayed with what it may have, and decides about the pending transaction.
    pub fn check(&mut self, watcher: &Watcher, current: Revision, what: &str) {
        let seen = watcher.0.lock().unwrap();
        let mut found = State::new();
        for record in seen.base.iter().chain(&seen.history) {
            match &record.value {
                Some(value) => found.insert(record.key.clone(), (record.revision, value.clone())),
                None => found.remove(&record.key),
            };
        }
        let found = (found, current.0);
        if let Some(pending) = self.pending.take() {
            let mut with = self.clone();
            with.apply(&pending);
            if found == (with.state.clone(), with.current) {
                *self = with;
                return;
            }
        }
        assert!(found.1 == self.current, "{what}: revision {} instead of {}", found.1, self.current);
        assert!(found.0 == self.state, "{what}: {:?} instead of {:?}", found.0, self.state);
    }
}
