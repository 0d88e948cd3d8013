//! Wakes that belong together: bells struck during one piece of work ring once, at its end.
//! Guarantees that every bell that was struck rings, also when the work panics, and that one struck outside of any such
//! work rings at once.
//! Must never know who is woken, and never wait.

use std::cell::RefCell;
use std::sync::Arc;

/// What wakes those who wait for it.
pub trait Bell {
    /// Wakes everybody who waits. Called by the thread that struck.
    fn ring(&self);
}

/// The bells that this thread's work has struck so far; none while it does no such work.
type Struck = Option<Vec<Arc<dyn Bell>>>;

thread_local! {
    static STRUCK: RefCell<Struck> = const { RefCell::new(None) };
}

/// Rings a bell, as soon as the work that this thread has gathered is done.
pub fn strike<B: Bell + 'static>(bell: &Arc<B>) {
    let is_held = STRUCK.with_borrow_mut(|struck| {
        let Some(struck) = struck else { return false };
        if !struck.iter().any(|known| std::ptr::addr_eq(Arc::as_ptr(known), Arc::as_ptr(bell))) {
            struck.push(Arc::clone(bell) as Arc<dyn Bell>);
        }
        true
    });
    if !is_held {
        bell.ring();
    }
}

/// Does work of which everybody it wakes may hear when all of it is done. Within other such work it is part of that.
pub fn gathered<R>(work: impl FnOnce() -> R) -> R {
    let _end = STRUCK.with_borrow_mut(|struck| {
        let is_first = struck.is_none();
        is_first.then(|| {
            *struck = Some(Vec::new());
            End
        })
    });
    work()
}

/// Ends the gathering.
struct End;

impl Drop for End {
    fn drop(&mut self) {
        let struck = STRUCK.with_borrow_mut(Option::take);
        struck.into_iter().flatten().for_each(|bell| bell.ring());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[derive(Default)]
    struct Counted(AtomicUsize);

    impl Bell for Counted {
        fn ring(&self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    impl Counted {
        fn rings(&self) -> usize {
            self.0.load(Ordering::SeqCst)
        }
    }

    #[test]
    fn struck_alone_a_bell_rings_at_once() {
        let bell = Arc::new(Counted::default());
        strike(&bell);
        strike(&bell);
        assert_eq!(bell.rings(), 2);
    }

    #[test]
    fn what_is_gathered_rings_once_and_at_the_end() {
        let bells = [Arc::new(Counted::default()), Arc::new(Counted::default())];
        let rings = || bells.each_ref().map(|bell| bell.rings());
        gathered(|| {
            strike(&bells[0]);
            gathered(|| bells.iter().for_each(strike));
            strike(&bells[0]);
            assert_eq!(rings(), [0, 0]);
        });
        assert_eq!(rings(), [1, 1]);
        strike(&bells[1]);
        assert_eq!(rings(), [1, 2]);
    }

    #[test]
    fn work_that_panics_has_rung() {
        let bell = Arc::new(Counted::default());
        let panicked = std::panic::catch_unwind(|| {
            gathered(|| {
                strike(&bell);
                panic!("on the way");
            });
        });
        assert!(panicked.is_err());
        assert_eq!(bell.rings(), 1);
        strike(&bell);
        assert_eq!(bell.rings(), 2, "nothing is gathered any more");
    }
}
