//! `Encryption`: the current configuration, which can be replaced while values are encrypted and decrypted. Guarantees
//! that a value is encrypted by one configuration, never by parts of two. Must never make a reader wait for a
//! replacement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use pintle_storage::{DecryptedValue, Key, KeyFingerprint, TransformError, Transformer};

use crate::chain::Chain;
use crate::kms::{self, Pace};
use crate::names::{GroupResource, Names};
use crate::stats::{ResourceCounter, Stats};
use crate::transformers::{Rule, RuleError, Transformers};

/// The [`Transformer`] of a server.
pub struct Encryption {
    names: Names,
    current: ArcSwap<Transformers>,
    pace: Pace,
    listeners: Arc<Listeners>,
    /// The metrics.
    pub stats: Arc<Stats>,
}

#[derive(Default)]
struct Listeners(Mutex<Vec<pintle_storage::Changed>>);

impl Listeners {
    /// Notifies the listeners; returns the keys of values that cannot be decrypted any more.
    fn notify(&self) -> Vec<Key> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(|listener| listener()).collect()
    }

    /// Notifies from a separate thread: the listeners may wait for the thread that notices the change.
    fn callback(self: &Arc<Self>) -> kms::Changed {
        let listeners: Weak<Listeners> = Arc::downgrade(self);
        Arc::new(move || {
            if let Some(listeners) = listeners.upgrade() {
                // Without a thread the values stay unreadable until the next change.
                let _ =
                    std::thread::Builder::new().name("unsealing".to_owned()).spawn(move || drop(listeners.notify()));
            }
        })
    }
}

impl Encryption {
    /// Stores everything in plain, and reports an error for encrypted values.
    #[must_use]
    pub fn none(names: Names) -> Encryption {
        Encryption {
            names,
            current: ArcSwap::default(),
            pace: Pace::default(),
            listeners: Arc::default(),
            stats: Arc::default(),
        }
    }

    /// Applies rules.
    ///
    /// # Errors
    /// They contradict each other, or a key does not fit its cipher.
    pub fn new(names: Names, rules: &[Rule], pace: Pace) -> Result<Encryption, RuleError> {
        let encryption = Encryption { pace, ..Encryption::none(names) };
        encryption.current.store(Arc::new(encryption.prepare(rules)?));
        Ok(encryption)
    }

    /// Initializes other rules without applying them.
    ///
    /// # Errors
    /// They contradict each other, or a key does not fit its cipher.
    pub fn prepare(&self, rules: &[Rule]) -> Result<Transformers, RuleError> {
        Transformers::new(rules, self.pace, &self.listeners.callback(), &self.stats)
    }

    /// Applies other rules, and tries to decrypt values again that could not be decrypted. Returns, by resource, how
    /// many values the former rules could decrypt and these cannot.
    pub fn replace(&self, transformers: Transformers) -> BTreeMap<GroupResource, usize> {
        self.current.store(Arc::new(transformers));
        let mut orphans = BTreeMap::new();
        for resource in self.listeners.notify().iter().filter_map(|key| self.names.of(key)) {
            *orphans.entry(resource).or_default() += 1;
        }
        orphans
    }

    /// Whether key services are in use.
    pub fn uses_kms(&self) -> bool {
        !self.current.load().kms.is_empty()
    }

    /// The health of all key services.
    ///
    /// # Errors
    /// At least one is unhealthy; the text names it.
    pub fn health(&self) -> Result<(), String> {
        self.current.load().health()
    }

    /// How many decrypted seeds each key service's provider has.
    pub fn seeds(&self) -> Vec<(String, usize)> {
        self.current.load().kms.iter().map(|kms| (kms.name().to_owned(), kms.seeds())).collect()
    }

    fn with<T>(&self, key: &str, act: impl FnOnce(&Chain, ResourceCounter<'_>) -> T) -> T {
        let (current, as_they_are) = (self.current.load(), Chain::default());
        // Without a configuration the resource is not looked up.
        let resource = if current.is_empty() { None } else { self.names.of(key) };
        let chain = resource.as_ref().and_then(|resource| current.chain(resource)).unwrap_or(&as_they_are);
        act(chain, ResourceCounter { stats: &self.stats, resource: &resource.unwrap_or_default() })
    }
}

impl Transformer for Encryption {
    fn encrypt(&self, key: &str, plain: &Bytes) -> Result<Bytes, TransformError> {
        self.with(key, |chain, counter| chain.encrypt(&self.names.kept(key), plain, counter))
    }

    fn decrypt(&self, key: &str, kept: &Bytes) -> Result<DecryptedValue, TransformError> {
        self.with(key, |chain, counter| chain.decrypt(&self.names.kept(key), kept, counter))
    }

    fn current(&self, key: &str) -> Option<KeyFingerprint> {
        self.with(key, |chain, _| chain.current())
    }

    fn may_decrypt(&self, key: &str, fingerprint: KeyFingerprint) -> bool {
        self.with(key, |chain, _| chain.may_decrypt(fingerprint))
    }

    fn subscribe(&self, changed: pintle_storage::Changed) {
        self.listeners.0.lock().unwrap_or_else(PoisonError::into_inner).push(changed);
    }
}
