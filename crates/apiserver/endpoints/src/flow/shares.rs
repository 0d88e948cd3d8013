//! Something of which there is a limited amount, with a share of it for each user.
//! Guarantees that no user holds more than a share, and that what is held is given back when its holder is dropped.
//! Must never wait.

use crate::limits::USERS_PER_LIMIT;
use pintle_schema::Str;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A limited amount.
///
/// A user who holds less than a share, while the total is below the limit, may take more, however much: so nothing is too large for
/// everybody, and limits are exceeded by one holder's last part at most.
pub(super) struct SharedLimit {
    limit: u64,
    share: u64,
    held: Mutex<Usage>,
}

#[derive(Default)]
pub(super) struct Usage {
    total: u64,
    by_user: HashMap<Str, u64>,
}

impl SharedLimit {
    pub fn new(limit: u64) -> Arc<SharedLimit> {
        Arc::new(SharedLimit { limit, share: limit.div_ceil(USERS_PER_LIMIT), held: Mutex::default() })
    }

    /// Whether a user may take more.
    pub fn may_take(&self, user: &str) -> bool {
        self.has_room(&self.usage(), user)
    }

    fn has_room(&self, held: &Usage, user: &str) -> bool {
        held.total < self.limit && held.by_user.get(user).is_none_or(|own| *own < self.share)
    }

    pub fn acquire(self: &Arc<Self>, user: &Str, amount: u64) -> Option<ShareGuard> {
        let mut usage = self.usage();
        if !self.has_room(&usage, user) {
            return None;
        }
        usage.total += amount;
        *usage.by_user.entry(user.clone()).or_default() += amount;
        Some(ShareGuard { shares: Arc::clone(self), user: user.clone(), amount })
    }

    /// Whether nobody holds anything.
    #[cfg(test)]
    pub fn is_untouched(&self) -> bool {
        let usage = self.usage();
        usage.total == 0 && usage.by_user.is_empty()
    }

    fn usage(&self) -> MutexGuard<'_, Usage> {
        // Nothing that holds the lock can fail half way.
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A part that a user holds.
pub(super) struct ShareGuard {
    shares: Arc<SharedLimit>,
    user: Str,
    amount: u64,
}

impl ShareGuard {
    /// Takes more, if there is room.
    pub fn grow(&mut self, amount: u64) -> bool {
        let mut usage = self.shares.usage();
        let has_room = self.shares.has_room(&usage, &self.user);
        if has_room {
            usage.total += amount;
            *usage.by_user.entry(self.user.clone()).or_default() += amount;
            self.amount += amount;
        }
        has_room
    }
}

impl Drop for ShareGuard {
    fn drop(&mut self) {
        let mut usage = self.shares.usage();
        usage.total -= self.amount;
        if let Some(own) = usage.by_user.get_mut(&self.user) {
            *own -= self.amount;
            if *own == 0 {
                usage.by_user.remove(&self.user);
            }
        }
    }
}
