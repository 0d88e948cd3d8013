//! `Progress`: how far the resources of one store are published.
//! Guarantees that every resource of the store has been published up to the current revision.
//! Must never be compared with the progress of another store: each counts its own revisions.

use pintle_storage::Revision;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::watch;

/// How far the resources of one store are published.
pub struct Progress {
    /// The position of the store: 0 for the main one, then its partitions.
    number: usize,
    current: AtomicU64,
    changes: watch::Sender<Revision>,
}

impl Progress {
    pub(crate) fn new(number: usize) -> Self {
        Progress { number, current: AtomicU64::new(0), changes: watch::Sender::new(Revision(0)) }
    }

    /// The position of the store: 0 for the main one, then its partitions.
    pub fn number(&self) -> usize {
        self.number
    }

    /// The revision up to which every resource of the store has been published. Load it before a resource's state: the
    /// state then includes everything up to it.
    pub fn current(&self) -> Revision {
        Revision(self.current.load(Ordering::Acquire))
    }

    /// Notifies about `current`.
    pub fn changes(&self) -> watch::Receiver<Revision> {
        self.changes.subscribe()
    }

    /// Waits until every resource of the store has been published up to a revision.
    pub async fn reached(&self, revision: Revision) {
        if self.current() < revision {
            // The sender is in `self`.
            let _ = self.changes().wait_for(|current| *current >= revision).await;
        }
    }

    /// Everything up to this revision has been published.
    pub(crate) fn advance(&self, to: Revision) {
        self.current.store(to.0, Ordering::Release);
        self.changes.send_replace(to);
    }
}
