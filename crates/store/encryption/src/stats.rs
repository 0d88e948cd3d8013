//! `Stats`: counters of encrypted and decrypted values and of calls to key services. Guarantees that it contains no
//! secret and no key name: keys of services are identified by their digest. Must never influence a decision.

use crate::names::GroupResource;
use pintle_metrics::{Counter, Histogram, Keyed, Layout, exponential};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

static TRANSFORMATIONS: Layout = Layout::seconds(&TRANSFORMATION_BOUNDS);
const TRANSFORMATION_BOUNDS: [f64; 25] = exponential(5e-6, 2.0);
static DATA_KEYS: Layout = Layout::seconds(&DATA_KEY_BOUNDS);
const DATA_KEY_BOUNDS: [f64; 14] = exponential(5e-6, 2.0);
static CALLS: Layout = Layout::seconds(&CALL_BOUNDS);
const CALL_BOUNDS: [f64; 20] = exponential(1e-4, 2.0);

/// How many keys of key services are reported, as in kube-apiserver.
const KEYS_TOLD: usize = 10;

/// gRPC's code of success, and the code of a failure before a call.
pub(crate) const OK: &str = "OK";
pub(crate) const NOT_GRPC: &str = "unknown-non-grpc";

/// Encryption or decryption.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    FromStorage,
    ToStorage,
    /// A service reported its current key.
    Status,
}

/// The labels of a transformation: its resource, the prefix of the provider or key, and its outcome.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Transformation {
    pub resource: GroupResource,
    pub direction: Direction,
    pub prefix: String,
    pub code: &'static str,
}

/// Counts the transformations of a resource's values.
#[derive(Clone, Copy)]
pub(crate) struct ResourceCounter<'a> {
    pub stats: &'a Stats,
    pub resource: &'a GroupResource,
}

impl ResourceCounter<'_> {
    pub fn transformed(self, direction: Direction, prefix: &str, since: Instant, code: &'static str) {
        let transformation =
            Transformation { resource: self.resource.clone(), direction, prefix: prefix.to_owned(), code };
        self.stats.transformations.get(&transformation, Counter::new).increment();
        if code == OK {
            let new = || Histogram::new(&TRANSFORMATIONS);
            let durations = self.stats.durations.get(&(direction, transformation.prefix), new);
            durations.observe_duration(since.elapsed());
        }
    }
}

/// A key, and how often it was used.
#[derive(Debug)]
pub struct KeyUse {
    pub direction: Direction,
    pub provider: String,
    pub key_id_hash: String,
    pub uses: Occurrences,
}

impl KeyUse {
    pub(crate) fn used(&self) {
        self.uses.happened();
    }
}

/// How often something happened, and when for the last time.
#[derive(Debug, Default)]
pub struct Occurrences {
    count: Counter,
    last_micros: AtomicU64,
}

impl Occurrences {
    fn happened(&self) {
        self.count.increment();
        self.last_micros.store(now_micros(), Ordering::Relaxed);
    }

    pub fn count(&self) -> u64 {
        self.count.get()
    }

    /// In seconds since 1970.
    pub fn last_seconds(&self) -> f64 {
        self.last_micros.load(Ordering::Relaxed) as f64 / 1e6
    }
}

fn now_micros() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_micros()).unwrap_or(u64::MAX)
}

/// The counters of an encryption.
pub struct Stats {
    pub transformations: Keyed<Transformation, Counter>,
    /// The durations of transformations, by direction and prefix.
    pub durations: Keyed<(Direction, String), Histogram>,
    /// Seeds that had to be decrypted by their service.
    pub cache_misses: Counter,
    /// The durations of making seeds.
    pub data_keys: Histogram,
    pub data_key_failures: Counter,
    /// By provider, method and code.
    pub calls: Keyed<(String, &'static str, &'static str), Histogram>,
    /// Names of keys that cannot be used, by provider and fault.
    pub invalid_key_ids: Keyed<(String, &'static str), Counter>,
    keys: Mutex<VecDeque<Arc<KeyUse>>>,
    reloads: [Occurrences; 2],
    /// The digest of the configuration that is followed.
    config_hash: Mutex<Option<String>>,
}

impl Default for Stats {
    fn default() -> Self {
        Stats {
            transformations: Keyed::default(),
            durations: Keyed::default(),
            cache_misses: Counter::new(),
            data_keys: Histogram::new(&DATA_KEYS),
            data_key_failures: Counter::new(),
            calls: Keyed::default(),
            invalid_key_ids: Keyed::default(),
            keys: Mutex::default(),
            reloads: Default::default(),
            config_hash: Mutex::default(),
        }
    }
}

impl Stats {
    pub(crate) fn called(&self, provider: &str, method: &'static str, took: Duration, code: &'static str) {
        let calls = self.calls.get(&(provider.to_owned(), method, code), || Histogram::new(&CALLS));
        calls.observe_duration(took);
    }

    pub(crate) fn invalid_key_id(&self, provider: &str, fault: &'static str) {
        self.invalid_key_ids.get(&(provider.to_owned(), fault), Counter::new).increment();
    }

    /// The counter of a key's uses. Beyond the maximum number of keys the oldest is dropped.
    pub(crate) fn key(&self, direction: Direction, provider: &str, key_id_hash: String) -> Arc<KeyUse> {
        let mut keys = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let known = keys
            .iter()
            .find(|key| key.direction == direction && key.provider == provider && key.key_id_hash == key_id_hash);
        if let Some(known) = known {
            return known.clone();
        }
        let of_kind = |key: &Arc<KeyUse>| (key.direction == Direction::Status) == (direction == Direction::Status);
        if keys.iter().filter(|key| of_kind(key)).count() >= KEYS_TOLD
            && let Some(at) = keys.iter().position(of_kind)
        {
            keys.remove(at);
        }
        let provider = provider.to_owned();
        let key = Arc::new(KeyUse { direction, provider, key_id_hash, uses: Occurrences::default() });
        keys.push_back(key.clone());
        key
    }

    /// The keys that were used.
    pub fn keys(&self) -> Vec<Arc<KeyUse>> {
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }

    /// Counts a reload: with the digest of the configuration if it was applied.
    pub fn reloaded(&self, config_hash: Option<String>) {
        self.reloads[usize::from(config_hash.is_some())].happened();
        if let Some(hash) = config_hash {
            self.configured(hash);
        }
    }

    /// Sets the digest of the current configuration.
    pub fn configured(&self, config_hash: String) {
        *self.config_hash.lock().unwrap_or_else(PoisonError::into_inner) = Some(config_hash);
    }

    /// The reloads that were applied, or those that failed.
    pub fn reloads(&self, taken_over: bool) -> &Occurrences {
        &self.reloads[usize::from(taken_over)]
    }

    /// The digest of the configuration that is followed.
    pub fn config_hash(&self) -> Option<String> {
        self.config_hash.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_keys_the_last_are_reported() {
        let stats = Stats::default();
        for number in 0..KEYS_TOLD + 2 {
            stats.key(Direction::ToStorage, "kms", format!("sha256:{number}")).used();
        }
        stats.key(Direction::Status, "kms", "sha256:0".to_owned()).used();
        stats.key(Direction::ToStorage, "kms", "sha256:5".to_owned()).used();
        let keys = stats.keys();
        assert_eq!(keys.len(), KEYS_TOLD + 1);
        assert_eq!(keys[0].key_id_hash, "sha256:2");
        assert_eq!(keys.iter().map(|key| key.uses.count()).max(), Some(2));
    }
}
