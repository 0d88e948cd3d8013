//! `Encryption`: the configuration that is in force, which can be replaced while values are sealed and opened.
//! Guarantees that a value is sealed by one configuration or the next, never by half of one.
//! Must never let a reader wait for a replacement.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use arc_swap::ArcSwap;
use bytes::Bytes;
use pintle_storage::{Key, Opened, Seal, TransformError, Transformer};

use crate::chain::Chain;
use crate::figures::{Stats, Teller};
use crate::kms::{self, Pace};
use crate::names::{GroupResource, Names};
use crate::transformers::{Rule, RuleError, Transformers};

/// The [`Transformer`] of a server.
pub struct Encryption {
    names: Names,
    current: ArcSwap<Transformers>,
    pace: Pace,
    listeners: Arc<Listeners>,
    /// What was sealed and opened.
    pub figures: Arc<Stats>,
}

#[derive(Default)]
struct Listeners(Mutex<Vec<pintle_storage::Changed>>);

impl Listeners {
    /// Where values are kept that cannot be opened any more.
    fn tell(&self) -> Vec<Key> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).iter().flat_map(|listener| listener()).collect()
    }

    /// Tells from a thread of its own: whoever notices the change may be the one that listeners wait for.
    fn callback(self: &Arc<Self>) -> kms::Changed {
        let listeners: Weak<Listeners> = Arc::downgrade(self);
        Arc::new(move || {
            if let Some(listeners) = listeners.upgrade() {
                // Without a thread the values stay unreadable until the next change.
                let _ = std::thread::Builder::new().name("unsealing".to_owned()).spawn(move || drop(listeners.tell()));
            }
        })
    }
}

impl Encryption {
    /// Keeps everything plain, and says so of what is not.
    #[must_use]
    pub fn none(names: Names) -> Encryption {
        Encryption {
            names,
            current: ArcSwap::default(),
            pace: Pace::default(),
            listeners: Arc::default(),
            figures: Arc::default(),
        }
    }

    /// Follows rules.
    ///
    /// # Errors
    /// They contradict each other, or a key does not fit its cipher.
    pub fn new(names: Names, rules: &[Rule], pace: Pace) -> Result<Encryption, RuleError> {
        let encryption = Encryption { pace, ..Encryption::none(names) };
        encryption.current.store(Arc::new(encryption.prepare(rules)?));
        Ok(encryption)
    }

    /// Makes other rules ready without following them.
    ///
    /// # Errors
    /// They contradict each other, or a key does not fit its cipher.
    pub fn prepare(&self, rules: &[Rule]) -> Result<Transformers, RuleError> {
        Transformers::new(rules, self.pace, &self.listeners.callback(), &self.figures)
    }

    /// Follows other rules from now on, and tries again what could not be opened. Says of which resources there are
    /// values, and how many, that the rules before could open and these cannot.
    pub fn replace(&self, transformers: Transformers) -> BTreeMap<GroupResource, usize> {
        self.current.store(Arc::new(transformers));
        let mut orphans = BTreeMap::new();
        for resource in self.listeners.tell().iter().filter_map(|key| self.names.of(key)) {
            *orphans.entry(resource).or_default() += 1;
        }
        orphans
    }

    /// Whether key services are in use.
    pub fn uses_kms(&self) -> bool {
        !self.current.load().kms.is_empty()
    }

    /// How the key services are, all together.
    ///
    /// # Errors
    /// At least one is not well; the text says which.
    pub fn health(&self) -> Result<(), String> {
        self.current.load().health()
    }

    /// How many seeds each key service's provider has in plain.
    pub fn seeds(&self) -> Vec<(String, usize)> {
        self.current.load().kms.iter().map(|kms| (kms.name().to_owned(), kms.seeds())).collect()
    }

    fn with<T>(&self, key: &str, act: impl FnOnce(&Chain, Teller<'_>) -> T) -> T {
        let (current, as_they_are) = (self.current.load(), Chain::default());
        // Where nothing is configured nobody need know what it is.
        let resource = if current.is_empty() { None } else { self.names.of(key) };
        let chain = resource.as_ref().and_then(|resource| current.chain(resource)).unwrap_or(&as_they_are);
        act(chain, Teller { figures: &self.figures, resource: &resource.unwrap_or_default() })
    }
}

impl Transformer for Encryption {
    fn seal(&self, key: &str, plain: &Bytes) -> Result<Bytes, TransformError> {
        self.with(key, |chain, teller| chain.seal(&self.names.kept(key), plain, teller))
    }

    fn open(&self, key: &str, kept: &Bytes) -> Result<Opened, TransformError> {
        self.with(key, |chain, teller| chain.open(&self.names.kept(key), kept, teller))
    }

    fn current(&self, key: &str) -> Option<Seal> {
        self.with(key, |chain, _| chain.current())
    }

    fn may_open(&self, key: &str, seal: Seal) -> bool {
        self.with(key, |chain, _| chain.may_open(seal))
    }

    fn subscribe(&self, changed: pintle_storage::Changed) {
        self.listeners.0.lock().unwrap_or_else(PoisonError::into_inner).push(changed);
    }
}
