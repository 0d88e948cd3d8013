//! The one-way switch from running to draining to aborted that a server and its connections share. Guarantees that the phase
//! only moves forward and that late waiters see it at once. Must never be used to cancel a write that may already be durable:
//! draining lets requests finish.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::sync::watch;

/// The phase of a shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    /// Requests are accepted.
    Running,
    /// No new connection; requests in flight finish, long-running ones end.
    Draining,
    /// Whatever is still open is dropped.
    Aborted,
}

/// A handle on a server's shutdown. Cheap to clone; all clones are the same switch.
#[derive(Clone, Debug)]
pub struct Shutdown {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    phase: watch::Sender<Phase>,
    /// Read for every sent event.
    triggered: AtomicBool,
}

impl Shutdown {
    /// A shutdown signal that has not been sent.
    pub fn new() -> Shutdown {
        let shared = Shared { phase: watch::Sender::new(Phase::Running), triggered: AtomicBool::new(false) };
        Shutdown { shared: Arc::new(shared) }
    }

    /// Starts the shutdown: long-running responses end, everything else finishes. Later calls change nothing.
    pub fn trigger(&self) {
        self.advance(Phase::Draining);
    }

    /// Whether the shutdown has begun.
    pub fn is_triggered(&self) -> bool {
        self.shared.triggered.load(Ordering::Acquire)
    }

    /// Completes when the shutdown has begun.
    pub async fn triggered(&self) {
        self.reached(Phase::Draining).await;
    }

    /// Drops everything that is open, without waiting for it to finish.
    pub fn abort(&self) {
        self.advance(Phase::Aborted);
    }

    pub(crate) fn subscribe(&self) -> watch::Receiver<Phase> {
        self.shared.phase.subscribe()
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        let mut receiver = self.shared.phase.subscribe();
        // The sender lives in `self`, so waiting cannot fail.
        let _ = receiver.wait_for(|current| *current >= phase).await;
    }

    fn advance(&self, phase: Phase) {
        self.shared.triggered.store(true, Ordering::Release);
        self.shared.phase.send_if_modified(|current| {
            let moves = *current < phase;
            if moves {
                *current = phase;
            }
            moves
        });
    }
}

impl Default for Shutdown {
    fn default() -> Self {
        Shutdown::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn phase_only_moves_forward() {
        let shutdown = Shutdown::new();
        assert!(!shutdown.is_triggered());
        shutdown.abort();
        shutdown.trigger();
        assert_eq!(*shutdown.subscribe().borrow(), Phase::Aborted);
        shutdown.triggered().await;
    }
}
