//! `Ending`: reports that an essential task has ended, and why.
//! Guarantees that a panic of a thread or task that holds a guard reaches all listeners, current and later ones.
//! Must never report a requested end.

use std::future::{Future, pending};
use std::pin::Pin;
use std::sync::Arc;

use tokio::sync::watch;

/// Resolves with the reason when an essential task has ended.
pub type Ended = Pin<Box<dyn Future<Output = Arc<str>> + Send>>;

/// The place where an end is reported. Clones share it.
#[derive(Debug, Clone, Default)]
pub struct Ending(watch::Sender<Option<Arc<str>>>);

impl Ending {
    /// Reports the reason; the first one is kept.
    pub fn tell(&self, why: impl Into<Arc<str>>) {
        self.0.send_if_modified(|told| {
            let is_first = told.is_none();
            told.get_or_insert_with(|| why.into());
            is_first
        });
    }

    /// Waits for the end.
    pub fn ended(&self) -> Ended {
        let mut told = self.0.subscribe();
        Box::pin(async move {
            let why = told.wait_for(Option::is_some).await.ok().and_then(|why| why.clone());
            match why {
                Some(why) => why,
                // No sender is left.
                None => pending().await,
            }
        })
    }

    /// A guard for an essential task; `what` names it.
    pub fn guard(&self, what: &'static str) -> Guard {
        Guard { ending: self.clone(), what }
    }
}

/// Reports the end if it is dropped by a panic.
#[derive(Debug)]
pub struct Guard {
    ending: Ending,
    what: &'static str,
}

impl Drop for Guard {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.ending.tell(format!("{} has failed", self.what));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::task::{Context, Poll, Waker};

    #[test]
    fn a_panic_is_told_and_an_orderly_end_is_not() {
        let ending = Ending::default();
        let (mut before, mut context) = (ending.ended(), Context::from_waker(Waker::noop()));
        drop(ending.guard("one"));
        assert!(before.as_mut().poll(&mut context).is_pending());
        for what in ["two", "three"] {
            let guard = ending.guard(what);
            let failing = std::thread::spawn(move || {
                let _guard = guard;
                panic!("as it is meant to");
            });
            assert!(failing.join().is_err());
        }
        for mut told in [before, ending.ended()] {
            assert_eq!(told.as_mut().poll(&mut context), Poll::Ready("two has failed".into()));
        }
    }
}
