//! Metrics that are found by a key. Guarantees that a look-up takes a shared lock only, and that their number is
//! bounded. Must never drop a metric: those that others hold go on counting.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};

/// The most keys of [`Keyed`]. Names of webhooks, policies and definitions come and go, and a user who may write these
/// could make any number of series; a large cluster has some hundreds. With names of 253 characters, this many
/// histograms take about 10 MB.
pub const SERIES_MAX: usize = 10_000;

/// Metrics by key: looked up under a shared lock, inserted under an exclusive one. When there are too many keys, what
/// is observed for new ones is not shown.
pub struct Keyed<K, V> {
    series: RwLock<HashMap<K, Arc<V>>>,
    /// For all keys that there is no room for.
    rest: OnceLock<Arc<V>>,
}

impl<K, V> Default for Keyed<K, V> {
    fn default() -> Self {
        Keyed { series: RwLock::new(HashMap::new()), rest: OnceLock::new() }
    }
}

impl<K: Hash + Ord + Clone, V> Keyed<K, V> {
    /// The metric of a key, inserted if it is new and there is room.
    pub fn get<Q>(&self, key: &Q, make: impl FnOnce() -> V) -> Arc<V>
    where
        K: Borrow<Q>,
        Q: Hash + Eq + ToOwned<Owned = K> + ?Sized,
    {
        if let Some(found) = self.series.read().unwrap_or_else(PoisonError::into_inner).get(key) {
            return found.clone();
        }
        let mut series = self.series.write().unwrap_or_else(PoisonError::into_inner);
        if series.len() >= SERIES_MAX && !series.contains_key(key) {
            return self.rest.get_or_init(|| Arc::new(make())).clone();
        }
        series.entry(key.to_owned()).or_insert_with(|| Arc::new(make())).clone()
    }

    /// All metrics in key order.
    pub fn sorted(&self) -> Vec<(K, Arc<V>)> {
        let series = self.series.read().unwrap_or_else(PoisonError::into_inner);
        let mut all: Vec<_> = series.iter().map(|(key, value)| (key.clone(), value.clone())).collect();
        all.sort_by(|(a, _), (b, _)| a.cmp(b));
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    #[test]
    fn a_key_has_one_series() {
        let keyed: Keyed<&str, AtomicU64> = Keyed::default();
        keyed.get(&"b", AtomicU64::default).fetch_add(1, Ordering::Relaxed);
        keyed.get(&"a", AtomicU64::default);
        keyed.get(&"b", || panic!("it is there")).fetch_add(1, Ordering::Relaxed);
        let found: Vec<_> = keyed.sorted().iter().map(|(key, count)| (*key, count.load(Ordering::Relaxed))).collect();
        assert_eq!(found, [("a", 0), ("b", 2)]);
    }

    #[test]
    fn keys_beyond_the_bound_share_a_metric_that_is_not_shown() {
        let keyed: Keyed<usize, AtomicU64> = Keyed::default();
        for key in 0..SERIES_MAX + 1000 {
            keyed.get(&key, AtomicU64::default).fetch_add(1, Ordering::Relaxed);
        }
        keyed.get(&0, AtomicU64::default).fetch_add(1, Ordering::Relaxed);
        let found = keyed.sorted();
        assert_eq!((found.len(), found[0].1.load(Ordering::Relaxed)), (SERIES_MAX, 2));
        assert!(Arc::ptr_eq(
            &keyed.get(&SERIES_MAX, AtomicU64::default),
            &keyed.get(&(SERIES_MAX + 1), AtomicU64::default)
        ));
    }
}
