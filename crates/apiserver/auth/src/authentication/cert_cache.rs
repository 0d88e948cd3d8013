//! The results of verifying the certificate of a connection. Guarantees that one is not used for longer than `RECHECK`, than the
//! certificate is valid, or than the authorities are trusted. Must never verify a certificate.

use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use super::authority::Authority;
use super::{AuthenticationError, Identity};

/// The authorities that are trusted together.
pub(super) type Authorities = Arc<Vec<Authority>>;

/// How long a connection uses a result before it verifies the chain again (some 100 µs of CPU).
pub(super) const RECHECK: Duration = Duration::from_secs(10);

/// A connection's cached results of verifying its certificate, one for each set of CAs.
#[derive(Default)]
pub struct CertCache(RwLock<Vec<Verified>>);

/// More sets of authorities than a server has at a time. Results of replaced authorities are dropped first.
const CACHED_RESULTS: usize = 4;

/// The identity of a certificate: none without a common name.
pub(super) type Outcome = Result<Option<Identity>, AuthenticationError>;

/// The result of verifying a certificate.
#[derive(Clone)]
pub(super) struct Verified {
    pub authorities: Authorities,
    pub at: SystemTime,
    pub outcome: Outcome,
    pub expires: Option<SystemTime>,
}

impl CertCache {
    pub(super) fn get(&self, authorities: &Authorities, now: SystemTime) -> Option<Verified> {
        let results = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let verified = results.iter().find(|verified| Arc::ptr_eq(&verified.authorities, authorities))?;
        // A clock that went backwards makes the result worthless too.
        let age = now.duration_since(verified.at).ok()?;
        let has_expired = verified.outcome.is_ok() && verified.expires.is_some_and(|expires| expires < now);
        (age < RECHECK && !has_expired).then(|| verified.clone())
    }

    pub(super) fn put(&self, verified: &Verified) {
        let mut results = self.0.write().unwrap_or_else(PoisonError::into_inner);
        results.retain(|before| !Arc::ptr_eq(&before.authorities, &verified.authorities));
        if results.len() >= CACHED_RESULTS {
            results.remove(0);
        }
        results.push(verified.clone());
    }
}
