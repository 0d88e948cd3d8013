//! `FatalSignal`: reports that an essential task has ended, and why.
//! Guarantees that a panic of a thread or task that holds a guard reaches all listeners, current and later ones.
//! Must never report a requested end.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

/// Resolves with the reason when an essential task has ended.
pub type EndedFuture = Pin<Box<dyn Future<Output = Arc<str>> + Send>>;

/// Where an essential task's end is reported. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct FatalSignal(watch::Sender<Option<Arc<str>>>);

impl FatalSignal {
    /// Reports the reason; the first one is kept.
    pub fn report(&self, why: impl Into<Arc<str>>) {
        self.0.send_if_modified(|reason| {
            let is_first = reason.is_none();
            reason.get_or_insert_with(|| why.into());
            is_first
        });
    }

    /// Whether an end was reported.
    pub fn is_reported(&self) -> bool {
        self.0.borrow().is_some()
    }

    /// Waits for the end.
    pub fn ended(&self) -> EndedFuture {
        let mut reason = self.0.subscribe();
        Box::pin(async move {
            let why = reason.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                // No sender is left.
                None => pending().await,
            }
        })
    }

    /// A guard for an essential task; `what` names it.
    pub fn guard(&self, what: &'static str) -> Guard {
        Guard { fatal_signal: self.clone(), what }
    }
}

/// Reports the end if it is dropped by a panic.
#[derive(Debug)]
pub struct Guard {
    fatal_signal: FatalSignal,
    what: &'static str,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.fatal_signal.report(format!("{} has failed", self.what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_panic_is_reported_and_an_orderly_end_is_not() {
        let fatal_signal = FatalSignal::default();
        let (mut before, mut context) = (fatal_signal.ended(), Context::from_waker(Waker::noop()));
        drop(fatal_signal.guard("one"));
        assert!(!fatal_signal.is_reported());
        assert!(before.as_mut().poll(&mut context).is_pending());
        for what in ["two", "three"] {
            let guard = fatal_signal.guard(what);
            let failing = std::thread::spawn(move || {
                let _guard = guard;
                panic!("as it is meant to");
            });
            assert!(failing.join().is_err());
        }
        assert!(fatal_signal.is_reported());
        for mut reason in [before, fatal_signal.ended()] {
            assert_eq!(reason.as_mut().poll(&mut context), Poll::Ready("two has failed".into()));
        }
    }
}
