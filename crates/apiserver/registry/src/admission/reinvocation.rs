//! `Rounds`: the first and the second time that plugins change the object of a request.
//! Guarantees that there is a second round only if a plugin asks for one in the first, and never a third.
//! Must never cost anything where no plugin keeps or asks for something.

use std::any::Any;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// The rounds of a request, and what plugins keep from the first for the second.
#[derive(Default)]
pub struct Rounds {
    is_second: AtomicBool,
    wants_second: AtomicBool,
    kept: Mutex<Vec<(&'static str, Box<dyn Any + Send>)>>,
}

impl Rounds {
    /// Whether plugins are asked once more.
    pub fn is_second(&self) -> bool {
        self.is_second.load(Ordering::Relaxed)
    }

    /// Has all plugins asked once more, since a plugin that came late has changed the object.
    pub fn request_second(&self) {
        self.wants_second.store(true, Ordering::Relaxed);
    }

    /// Keeps something for the second round, under the plugin's name.
    pub fn keep(&self, plugin: &'static str, kept: impl Any + Send) {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).push((plugin, Box::new(kept)));
    }

    /// What a plugin has kept.
    pub fn take<T: Any>(&self, plugin: &'static str) -> Option<T> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let at = kept.iter().position(|(name, kept)| *name == plugin && kept.is::<T>())?;
        kept.swap_remove(at).1.downcast().ok().map(|kept| *kept)
    }

    /// Begins the second round, if one was asked for.
    pub(super) fn begin_second(&self) -> bool {
        let wanted = self.wants_second.load(Ordering::Relaxed);
        self.is_second.store(wanted, Ordering::Relaxed);
        wanted
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_once() {
        let rounds = Rounds::default();
        assert!(!rounds.begin_second());
        rounds.keep("a", 1_u8);
        rounds.keep("b", "text");
        rounds.request_second();
        assert!(rounds.begin_second() && rounds.is_second());
        assert_eq!((rounds.take::<u8>("a"), rounds.take::<u8>("a"), rounds.take::<u8>("b")), (Some(1), None, None));
        assert_eq!(rounds.take::<&str>("b"), Some("text"));
    }
}
