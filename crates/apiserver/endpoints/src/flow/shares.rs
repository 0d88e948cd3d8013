//! Something of which there is a limited amount, with a share of it for each user.
//! Guarantees that no user holds more than a share, and that what is held is given back when its holder is dropped.
//! Must never wait.

use crate::limits::USERS_PER_LIMIT;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limited amount.
///
/// A user who holds less than a share, while the total is below the limit, may take more, however much: so nothing is too large for
/// everybody, and limits are exceeded by one holder's last part at most.
pub(super) struct SharedLimit {
    limit: u64,
    share: u64,
    /// Changed under the lock, except by [`ShareGuard::exchange`].
    total: AtomicU64,
    by_user: Mutex<HashMap<Str, Arc<AtomicU64>>>,
}

impl SharedLimit {
    pub fn new(limit: u64) -> Arc<SharedLimit> {
        let share = limit.div_ceil(USERS_PER_LIMIT);
        Arc::new(SharedLimit { limit, share, total: AtomicU64::new(0), by_user: Mutex::default() })
    }

    /// Whether a user may take more.
    pub fn may_take(&self, user: &str) -> bool {
        self.has_room(self.users().get(user).map_or(0, |own| own.load(Ordering::Relaxed)))
    }

    /// Whether a user who holds so much may take more.
    fn has_room(&self, own: u64) -> bool {
        self.total.load(Ordering::Relaxed) < self.limit && own < self.share
    }

    /// Takes an amount, or one if it is 0: who holds a part holds something.
    pub fn acquire(self: &Arc<Self>, user: &Str, amount: u64) -> Option<ShareGuard> {
        let amount = amount.max(1);
        let mut users = self.users();
        let own = users.get(user).cloned();
        if !self.has_room(own.as_ref().map_or(0, |own| own.load(Ordering::Relaxed))) {
            return None;
        }
        let own = own.unwrap_or_else(|| users.entry(user.clone()).or_default().clone());
        self.total.fetch_add(amount, Ordering::Relaxed);
        own.fetch_add(amount, Ordering::Relaxed);
        drop(users);
        Some(ShareGuard { shares: Arc::clone(self), user: user.clone(), own, amount })
    }

    /// Whether nobody holds anything.
    #[cfg(test)]
    pub fn is_untouched(&self) -> bool {
        self.users().is_empty() && self.total.load(Ordering::Relaxed) == 0
    }

    fn users(&self) -> MutexGuard<'_, HashMap<Str, Arc<AtomicU64>>> {
        // Nothing that holds the lock can fail half way.
        self.by_user.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that a user holds.
pub(super) struct ShareGuard {
    shares: Arc<SharedLimit>,
    user: Str,
    /// All that the user holds.
    own: Arc<AtomicU64>,
    amount: u64,
}

impl ShareGuard {
    /// Takes more, if there is room.
    pub fn grow(&mut self, amount: u64) -> bool {
        let shares = Arc::clone(&self.shares);
        let _users = shares.users();
        let has_room = self.has_room();
        if has_room {
            self.exchange(0, amount);
        }
        has_room
    }

    /// Whether there is room for more, as far as is known without a lock.
    pub fn has_room(&self) -> bool {
        self.shares.has_room(self.own.load(Ordering::Relaxed))
    }

    /// Gives back a part of it and takes another amount, whether there is room or not. Takes no lock.
    pub fn exchange(&mut self, back: u64, amount: u64) {
        let back = back.min(self.amount);
        for counter in [&self.shares.total, &*self.own] {
            counter.fetch_add(amount, Ordering::Relaxed);
            counter.fetch_sub(back, Ordering::Relaxed);
        }
        self.amount = self.amount - back + amount;
    }
}

impl Drop for ShareGuard {
    fn drop(&mut self) {
        let mut users = self.shares.users();
        self.shares.total.fetch_sub(self.amount, Ordering::Relaxed);
        let before = self.own.fetch_sub(self.amount, Ordering::Relaxed);
        // Other parts of the user's hold something.
        if before == self.amount {
            users.remove(&self.user);
        }
    }
}
