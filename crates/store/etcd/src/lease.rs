//! Leases for keys of a limited lifetime, shared by many keys. Guarantees that a key lives at least as long as requested, and
//! only a little longer. Must never renew a lease: keys expire.

use crate::client::{Client, method};
use crate::limits;
use crate::wire::{LeaseGrantRequest, LeaseGrantResponse};
use pintle_grpc::Status;
use std::time::Duration;
use tokio::sync::Mutex;
use tokio::time::Instant;

pub struct Leases {
    last: Mutex<Option<Lease>>,
    /// How many seconds longer than its keys a lease may live at most.
    spare_max: i64,
}

struct Lease {
    id: i64,
    expires: Instant,
    keys: usize,
}

impl Lease {
    /// Whether a key may have it: neither too short nor too long for its lifetime.
    fn suits(&self, now: Instant, lifetime: i64, spare: i64) -> bool {
        let lives = |seconds: i64| now + Duration::from_secs(seconds.unsigned_abs());
        self.keys < limits::LEASE_KEYS && lives(lifetime) < self.expires && lives(lifetime + spare) > self.expires
    }
}

impl Leases {
    pub fn new(reuse_seconds: u32) -> Self {
        Leases { last: Mutex::new(None), spare_max: reuse_seconds.into() }
    }

    /// How many seconds longer than a key's lifetime its lease may be.
    fn spare(&self, lifetime: i64) -> i64 {
        ((lifetime as f64 * limits::LEASE_REUSE_SHARE) as i64).min(self.spare_max)
    }

    /// A lease for a key with this lifetime in seconds.
    ///
    /// # Errors
    /// The cluster grants none.
    pub async fn lease(&self, client: &Client, lifetime: u32) -> Result<i64, Status> {
        let lifetime = i64::from(lifetime);
        let spare = self.spare(lifetime);
        let mut last = self.last.lock().await;
        if let Some(lease) = last.as_mut().filter(|lease| lease.suits(Instant::now(), lifetime, spare)) {
            lease.keys += 1;
            return Ok(lease.id);
        }
        if let Some(left) = last.as_ref() {
            client.stats.lease_keys.observe(left.keys as f64);
        }
        let began = Instant::now();
        let request = LeaseGrantRequest { ttl: lifetime + spare };
        // Seldom, and it would take room in every commit.
        let granted: LeaseGrantResponse = Box::pin(client.call(method::LEASE_GRANT, &request)).await?;
        let expires = began + Duration::from_secs(granted.ttl.unsigned_abs());
        *last = Some(Lease { id: granted.id, expires, keys: 1 });
        Ok(granted.id)
    }

    /// The cluster does not know the lease any more.
    pub async fn forget(&self) {
        *self.last.lock().await = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lease_is_shared_as_long_as_it_is_neither_too_short_nor_too_long() {
        let now = Instant::now();
        let lease = |seconds: u64, keys| Lease { id: 1, expires: now + Duration::from_secs(seconds), keys };
        assert!(lease(3_630, 1).suits(now, 3_600, 60));
        assert!(!lease(3_600, 1).suits(now, 3_600, 60), "too short");
        assert!(!lease(3_660, 1).suits(now, 3_600, 60), "too long");
        assert!(!lease(3_630, limits::LEASE_KEYS).suits(now, 3_600, 60), "too many keys");
        let leases = Leases::new(60);
        assert_eq!([3_600, 15, 100].map(|lifetime| leases.spare(lifetime)), [60, 0, 5]);
        assert_eq!(Leases::new(3).spare(3_600), 3);
    }
}
