//! `Taken`: the addresses and node ports that are in use or reserved.
//!
//! The values in use are derived from the stored services and updated with each change. Reservations belong to requests
//! that wait for their commit. Nothing here is stored, so nothing can leak.

use pintle_cache::{Event, Object, ResourceCache, Watcher};
use pintle_registry::Reservation;
use pintle_storage::{Key, Revision};
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// How long a reservation stays if its request was dropped before the outcome of its commit was known. A commit takes
/// milliseconds, so the cache has its result long before.
const IN_DOUBT_SECONDS: i64 = 60;

/// The number of changes that are applied in one batch.
const CHANGES: usize = 256;

/// A value that only one service can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Claim {
    Address(IpAddr),
    NodePort(u16),
}

/// The values in use, and the reservations.
#[derive(Default)]
pub struct Taken(Mutex<State>);

#[derive(Default)]
pub struct State {
    cursor: Option<Watcher>,
    by_object: HashMap<Key, Vec<Claim>>,
    /// The number of objects that have each value. It exceeds one only in data that another program wrote.
    in_use: HashMap<Claim, u32>,
    held: HashMap<Claim, Hold>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// The request is in progress.
    Waiting,
    /// The request is gone; the reservation ends at this second.
    InDoubt(i64),
}

impl Taken {
    /// The state as of the newest published change. Held only between awaits.
    pub fn of(&self, cache: &Arc<ResourceCache>, claims: &dyn Fn(&Object) -> Vec<Claim>) -> MutexGuard<'_, State> {
        let mut state = self.lock();
        state.follow(cache, claims);
        state
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // After a panic a count may be wrong, which a restart repairs.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Whether a stored object has the value or a request has reserved it. `now` is the time in seconds.
    pub fn is_taken(&self, claim: Claim, now: i64) -> bool {
        let held = match self.held.get(&claim) {
            None => false,
            Some(Hold::Waiting) => true,
            Some(Hold::InDoubt(until)) => now < *until,
        };
        held || self.in_use.contains_key(&claim)
    }

    /// Whether a stored object has the value.
    #[cfg(test)]
    fn is_in_use(&self, claim: Claim) -> bool {
        self.in_use.contains_key(&claim)
    }

    /// The values of stored objects.
    pub fn in_use(&self) -> impl Iterator<Item = &Claim> {
        self.in_use.keys()
    }

    /// The values of stored objects with the keys of these objects, in order.
    pub fn claimed(&self) -> Vec<(Claim, Key)> {
        let of = |(key, claims): (&Key, &Vec<Claim>)| claims.iter().map(|it| (*it, key.clone())).collect::<Vec<_>>();
        let mut claimed: Vec<_> = self.by_object.iter().flat_map(of).collect();
        claimed.sort_unstable();
        claimed
    }

    /// Reserves a free value for a request.
    pub fn hold(&mut self, claim: Claim) {
        self.held.insert(claim, Hold::Waiting);
    }

    fn follow(&mut self, cache: &Arc<ResourceCache>, claims: &dyn Fn(&Object) -> Vec<Claim>) {
        let Some(mut cursor) = self.cursor.take() else { return self.start(cache, claims) };
        loop {
            match cursor.take(CHANGES) {
                Ok(events) if events.is_empty() => break,
                Ok(events) => events.iter().for_each(|event| self.apply(event, claims)),
                // The history of changes was too short: all objects are read again.
                Err(_) => return self.start(cache, claims),
            }
        }
        self.cursor = Some(cursor);
    }

    /// Reads every object.
    fn start(&mut self, cache: &Arc<ResourceCache>, claims: &dyn Fn(&Object) -> Vec<Claim>) {
        self.by_object.clear();
        self.in_use.clear();
        let state = cache.state();
        for object in state.objects.values() {
            self.set(&object.key, claims(object));
        }
        self.cursor = Some(cache.cursor(Revision(state.last.0.max(state.compacted.0))));
    }

    fn apply(&mut self, event: &Event, claims: &dyn Fn(&Object) -> Vec<Claim>) {
        let claims = if event.removed { Vec::new() } else { claims(&event.object) };
        self.set(&event.object.key, claims);
    }

    fn set(&mut self, key: &Key, claims: Vec<Claim>) {
        for claim in &claims {
            *self.in_use.entry(*claim).or_default() += 1;
        }
        let old = match claims.is_empty() {
            true => self.by_object.remove(key),
            false => self.by_object.insert(key.clone(), claims),
        };
        for claim in old.into_iter().flatten() {
            if let Some(count) = self.in_use.get_mut(&claim) {
                *count = count.saturating_sub(1);
                if *count == 0 {
                    self.in_use.remove(&claim);
                }
            }
        }
    }
}

/// The reservations of one request; dropping it releases them.
#[derive(Default)]
pub struct Reserved {
    home: Option<Arc<Taken>>,
    claims: Vec<Claim>,
    /// When the reservation began.
    since: i64,
    committing: bool,
}

impl Reserved {
    pub(super) fn new(home: Arc<Taken>, claims: Vec<Claim>, since: i64) -> Self {
        Reserved { home: Some(home), claims, since, committing: false }
    }
}

impl Reservation for Reserved {
    fn committing(&mut self) {
        self.committing = true;
    }

    fn settled(&mut self) {
        self.committing = false;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Some(home) = self.home.take().filter(|_| !self.claims.is_empty()) else { return };
        let mut state = home.lock();
        for claim in self.claims.drain(..) {
            match self.committing {
                true => state.held.insert(claim, Hold::InDoubt(self.since.saturating_add(IN_DOUBT_SECONDS))),
                false => state.held.remove(&claim),
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PORT: Claim = Claim::NodePort(30_000);

    fn held(taken: &Arc<Taken>) -> Reserved {
        taken.lock().hold(PORT);
        Reserved::new(taken.clone(), vec![PORT], 100)
    }

    #[test]
    fn reservations_end_with_their_request() {
        let taken = Arc::new(Taken::default());
        let reserved = held(&taken);
        assert!(taken.lock().is_taken(PORT, 100));
        drop(reserved);
        assert!(!taken.lock().is_taken(PORT, 100));
        let mut reserved = held(&taken);
        reserved.committing();
        reserved.settled();
        drop(reserved);
        assert!(!taken.lock().is_taken(PORT, 100));
    }

    #[test]
    fn reservations_of_undecided_commits_are_kept_for_a_while() {
        let taken = Arc::new(Taken::default());
        let mut reserved = held(&taken);
        reserved.committing();
        drop(reserved);
        assert!(taken.lock().is_taken(PORT, 159));
        assert!(!taken.lock().is_taken(PORT, 160));
    }

    #[test]
    fn claims_are_counted_by_object() {
        let mut state = State::default();
        let (a, b): (Key, Key) = ("a".into(), "b".into());
        state.set(&a, vec![PORT]);
        state.set(&b, vec![PORT]);
        state.set(&a, Vec::new());
        assert!(state.is_in_use(PORT));
        state.set(&b, vec![Claim::NodePort(30_001)]);
        assert!(!state.is_in_use(PORT) && state.is_in_use(Claim::NodePort(30_001)));
        state.set(&b, vec![Claim::NodePort(30_001)]);
        assert!(state.is_in_use(Claim::NodePort(30_001)));
    }
}
