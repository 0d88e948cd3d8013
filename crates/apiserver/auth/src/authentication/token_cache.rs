//! A cache for a token authenticator that calls others: a key issuer, a webhook, another API server. Guarantees that concurrent
//! requests with one token make one call, that the bytes of all entries are bounded, and that only hashes of tokens are kept.
//! Must never return a result after its configured time.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared, WeakShared};
use http::HeaderMap;
use pintle_metrics::{Counter, Histogram, Layout, exponential};
use pintle_resource::MaybeReady;
use ring::digest::{Context, SHA256};

use super::{AuthenticationError, AuthenticationRequest, Authenticator, Identity};
use crate::kept::{Kept, Key};

/// Bytes of all entries: twice the tokens of a large cluster's clients, at a kilobyte each.
const MAX_BYTES: usize = 32 * 1024 * 1024;

/// With more calls in progress, abandoned ones are removed.
const MANY_CALLS: usize = 64;

type Outcome = Result<Option<Identity>, AuthenticationError>;

/// How long results are kept; 0 disables the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TokenCacheTimes {
    /// Of a user.
    pub success: Duration,
    /// Of no user.
    pub failure: Duration,
}

static LATENCIES: Layout = Layout::seconds(&LATENCY_BOUNDS);
const LATENCY_BOUNDS: [f64; 15] = exponential(0.001, 2.0);

/// Counters of a cache.
#[derive(Debug)]
pub struct TokenCacheStats {
    pub hits: Counter,
    pub misses: Counter,
    /// Calls that succeeded, and that failed.
    pub fetched: Counter,
    pub failed: Counter,
    /// How long the calls took.
    pub durations: Histogram,
}

impl Default for TokenCacheStats {
    fn default() -> Self {
        let durations = Histogram::new(&LATENCIES);
        let [hits, misses, fetched, failed] = Default::default();
        TokenCacheStats { hits, misses, fetched, failed, durations }
    }
}

/// Caches the results of an authenticator by token and audiences. Errors are not cached.
pub struct TokenCache {
    inner: Arc<dyn Authenticator>,
    times: TokenCacheTimes,
    kept: Kept<Entry>,
    calls: Mutex<HashMap<Key, WeakShared<BoxFuture<'static, Outcome>>>>,
    pub stats: TokenCacheStats,
}

#[derive(Clone)]
struct Entry {
    until: SystemTime,
    identity: Option<Identity>,
}

impl TokenCache {
    /// A cache for an authenticator that reads only the token, its audiences and the time.
    pub fn new(inner: Arc<dyn Authenticator>, times: TokenCacheTimes) -> Arc<TokenCache> {
        Arc::new(TokenCache {
            inner,
            times,
            kept: Kept::with_bound(MAX_BYTES),
            calls: Mutex::default(),
            stats: TokenCacheStats::default(),
        })
    }

    /// The number of calls under way.
    pub fn under_way(&self) -> usize {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.values().filter(|call| call.upgrade().is_some()).count()
    }

    fn known(&self, key: &Key, now: SystemTime) -> Option<Option<Identity>> {
        self.kept.get(key).filter(|entry| now < entry.until).map(|entry| entry.identity)
    }

    fn keep(&self, key: Key, outcome: &Outcome, now: SystemTime) {
        let Ok(identity) = outcome else { return };
        let time = if identity.is_some() { self.times.success } else { self.times.failure };
        let Some(until) = now.checked_add(time).filter(|_| !time.is_zero()) else { return };
        let bytes = identity.as_ref().map_or(0, Identity::heap_bytes);
        self.kept.set(key, Entry { until, identity: identity.clone() }, bytes);
    }

    /// The call for a token: the one under way, or a new one.
    fn call(self: &Arc<Self>, key: Key, request: &AuthenticationRequest<'_>) -> Shared<BoxFuture<'static, Outcome>> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get(&key).and_then(WeakShared::upgrade) {
            return call;
        }
        if calls.len() >= MANY_CALLS {
            calls.retain(|_, call| call.upgrade().is_some());
        }
        let token = request.bearer_token.unwrap_or_default().to_vec();
        let (audiences, now) = (request.audiences.to_vec(), request.now);
        let cache = self.clone();
        let call = async move {
            let headers = HeaderMap::new();
            let request = AuthenticationRequest {
                bearer_token: Some(&token),
                audiences: &audiences,
                ..AuthenticationRequest::new(&headers, now)
            };
            let since = std::time::Instant::now();
            let outcome = cache.inner.authenticate(&request).get().await;
            cache.stats.durations.observe_duration(since.elapsed());
            let counter = if outcome.is_ok() { &cache.stats.fetched } else { &cache.stats.failed };
            counter.increment();
            cache.keep(key, &outcome, now + since.elapsed());
            cache.calls.lock().unwrap_or_else(PoisonError::into_inner).remove(&key);
            outcome
        };
        let call = call.boxed().shared();
        calls.extend(call.downgrade().map(|weak| (key, weak)));
        call
    }
}

/// The hash of a token and its audiences, each prefixed with its length, so that no two inputs are equal.
fn key_of(token: &[u8], request: &AuthenticationRequest<'_>) -> Key {
    let mut hash = Context::new(&SHA256);
    for part in std::iter::once(token).chain(request.audiences.iter().map(|audience| audience.as_bytes())) {
        hash.update(&part.len().to_le_bytes());
        hash.update(part);
    }
    let mut key = [0; 32];
    key.copy_from_slice(hash.finish().as_ref());
    key
}

impl Authenticator for Arc<TokenCache> {
    fn authenticate<'a>(&'a self, request: &'a AuthenticationRequest<'a>) -> MaybeReady<'a, Outcome> {
        let Some(token) = request.bearer_token.filter(|token| !token.is_empty()) else {
            return MaybeReady::Ready(Ok(None));
        };
        let key = key_of(token, request);
        if let Some(known) = self.known(&key, request.now) {
            self.stats.hits.increment();
            return MaybeReady::Ready(Ok(known));
        }
        self.stats.misses.increment();
        MaybeReady::Wait(self.call(key, request).boxed())
    }
}

#[cfg(test)]
#[path = "token_cache_tests.rs"]
mod tests;
