//! `Reinvocation`: whether mutating plugins run a second time for a request. Guarantees that they do only if a plugin requests
//! it in the first round, and never a third time. Costs nothing where no plugin uses it.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The round of a request, and the state that plugins keep between the two.
#[derive(Default)]
pub struct Reinvocation {
    is_reinvocation: AtomicBool,
    wants_second: AtomicBool,
    kept: Mutex<Vec<(&'static str, Box<dyn Any + Send>)>>,
}

impl Reinvocation {
    /// Whether this is the second round.
    pub fn is_reinvocation(&self) -> bool {
        self.is_reinvocation.load(Ordering::Relaxed)
    }

    /// Requests a second round, because a late plugin has changed the object.
    pub fn request_reinvocation(&self) {
        self.wants_second.store(true, Ordering::Relaxed);
    }

    /// Keeps something for the second round, under the plugin's name.
    pub fn keep(&self, plugin: &'static str, kept: impl Any + Send) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((plugin, Box::new(kept)));
    }

    /// Takes the state that a plugin kept.
    pub fn take<T: Any>(&self, plugin: &'static str) -> Option<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(name, kept)| *name == plugin && kept.is::<T>())?;
        kept.swap_remove(at).1.downcast().ok().map(|kept| *kept)
    }

    /// Starts the second round, if one was requested.
    pub(super) fn begin_reinvocation(&self) -> bool {
        let wanted = self.wants_second.load(Ordering::Relaxed);
        self.is_reinvocation.store(wanted, Ordering::Relaxed);
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kept_values_are_taken_once() {
        let rounds = Reinvocation::default();
        assert!(!rounds.begin_reinvocation());
        rounds.keep("a", 1_u8);
        rounds.keep("b", "text");
        rounds.request_reinvocation();
        assert!(rounds.begin_reinvocation() && rounds.is_reinvocation());
        assert_eq!((rounds.take::<u8>("a"), rounds.take::<u8>("a"), rounds.take::<u8>("b")), (Some(1), None, None));
        assert_eq!(rounds.take::<&str>("b"), Some("text"));
    }
}
