//! The keys of an issuer, fetched on demand. Guarantees that at most one fetch is in progress and shared by all waiters, and
//! that known keys verify without a fetch, so that an issuer that is down does not affect tokens of known keys. Must never keep
//! a key that the issuer's latest document does not have.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Shared};
use http::HeaderMap;
use http::header::{CACHE_CONTROL, EXPIRES};
use pintle_metrics::Counter;

use crate::fetch::Fetch;
use crate::jose::{CompactToken, Jwk};

/// Keys that expire within this time are fetched again for a token that none of them verifies.
const EXPIRY_MARGIN: Duration = Duration::from_secs(30);

/// Keys kept of one issuer at most. Issuers have a handful.
const MAX_KEYS: usize = 1024;

type Outcome = Result<Arc<[Jwk]>, String>;

/// The keys of an issuer.
pub(crate) struct RemoteKeys {
    url: String,
    fetch: Arc<dyn Fetch>,
    state: Mutex<State>,
    /// Fetches that gave keys, and that failed.
    pub fetched: Counter,
    pub failed: Counter,
}

#[derive(Default)]
struct State {
    keys: Arc<[Jwk]>,
    /// When the keys expire, according to the issuer.
    fresh_until: Option<SystemTime>,
    under_way: Option<Shared<BoxFuture<'static, Outcome>>>,
}

impl RemoteKeys {
    /// The keys that are found at a URL.
    pub fn new(url: String, fetch: Arc<dyn Fetch>) -> Arc<RemoteKeys> {
        let (state, fetched, failed) = (Mutex::default(), Counter::new(), Counter::new());
        Arc::new(RemoteKeys { url, fetch, state, fetched, failed })
    }

    /// Verifies the signature of a token, with the known keys or, if none of them signed it, with the issuer's current
    /// ones.
    ///
    /// # Errors
    /// No key signed it, or the keys cannot be fetched.
    pub async fn verify(self: &Arc<Self>, token: &CompactToken<'_>, now: SystemTime) -> Result<(), String> {
        let is_signed = |keys: &[Jwk]| {
            let named = &token.header.key_id;
            let mut candidates = keys.iter().filter(|key| named.is_empty() || key.id == *named);
            candidates.any(|key| token.is_signed_by(key))
        };
        let refused = || "failed to verify id token signature".to_owned();
        let under_way = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            if is_signed(&state.keys) {
                return Ok(());
            }
            if state.fresh_until.is_some_and(|end| now + EXPIRY_MARGIN <= end) {
                return Err(refused());
            }
            // A separate task, which completes even if all waiters are dropped.
            let start = || {
                let task = tokio::spawn(self.clone().refresh());
                async move { task.await.unwrap_or_else(|error| Err(error.to_string())) }.boxed().shared()
            };
            state.under_way.get_or_insert_with(start).clone()
        };
        let keys = under_way.await.map_err(|error| format!("fetching keys {error}"))?;
        if is_signed(&keys) { Ok(()) } else { Err(refused()) }
    }

    /// Fetches the keys and keeps them.
    async fn refresh(self: Arc<Self>) -> Outcome {
        let outcome = self.get().await;
        let counter = if outcome.is_ok() { &self.fetched } else { &self.failed };
        counter.increment();
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.under_way = None;
        let (keys, fresh_until) = outcome?;
        (state.keys, state.fresh_until) = (keys.clone(), fresh_until);
        Ok(keys)
    }

    async fn get(&self) -> Result<(Arc<[Jwk]>, Option<SystemTime>), String> {
        let document =
            self.fetch.get(&self.url, None).await.map_err(|error| format!("oidc: get keys failed {error}"))?;
        if document.code != 200 {
            return Err(format!("oidc: get keys failed: {}", document.failure()));
        }
        let mut keys = Jwk::of_set(&document.body).map_err(|error| {
            let body = String::from_utf8_lossy(&document.body);
            format!("oidc: failed to decode keys: {} {body}", document.not_json(&error))
        })?;
        keys.truncate(MAX_KEYS);
        Ok((keys.into(), fresh_until(&document.headers, SystemTime::now())))
    }
}

/// When a document expires, according to its headers.
fn fresh_until(headers: &HeaderMap, now: SystemTime) -> Option<SystemTime> {
    let control = headers.get(CACHE_CONTROL).and_then(|value| value.to_str().ok()).unwrap_or("");
    let mut max_age = None;
    for directive in control.split(',') {
        let (name, value) = directive.split_once('=').unwrap_or((directive, ""));
        match name.trim().to_ascii_lowercase().as_str() {
            "no-store" | "no-cache" => return None,
            "max-age" => max_age = value.trim().trim_matches('"').parse().ok().map(Duration::from_secs),
            _ => {}
        }
    }
    if max_age.is_some() {
        return max_age.and_then(|age| now.checked_add(age));
    }
    let expires = headers.get(EXPIRES).and_then(|value| value.to_str().ok())?;
    httpdate_seconds(expires).and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)))
}

/// Seconds since 1970 of a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn httpdate_seconds(text: &str) -> Option<u64> {
    let (_, date) = text.split_once(", ")?;
    let mut parts = date.split(' ');
    let (day, month, year, time) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    const MONTHS: [&str; 12] = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = MONTHS.iter().position(|name| *name == month)? + 1;
    let parsed = pintle_schema::Time::parse(&format!("{year}-{month:02}-{day:0>2}T{time}Z")).ok()?;
    u64::try_from(parsed.seconds).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn how_long_keys_are_fresh() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_000);
        let rows = [
            ("", "", None),
            ("public, max-age=60", "", Some(784_111_060)),
            ("max-age=60, no-store", "", None),
            ("max-age=soon", "Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("", "Sun, 06 Nov 1994 08:49:37 GMT", Some(784_111_777)),
            ("", "soon", None),
        ];
        for (control, expires, end) in rows {
            let mut headers = HeaderMap::new();
            headers.insert(CACHE_CONTROL, control.parse().expect("a header"));
            headers.insert(EXPIRES, expires.parse().expect("a header"));
            let end = end.map(|seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
            assert_eq!(fresh_until(&headers, now), end, "{control} {expires}");
        }
    }
}
