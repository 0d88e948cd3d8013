//! The keys of service account tokens as they are now: from files that may change, or of a signer outside the server.
//! Guarantees that a set of keys is replaced as a whole.
//! Must never read a file or open a connection: who watches the files or asks the signer replaces the set.

use super::keys::{SigningKey, VerifyingKey};
use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use std::fmt::Debug;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Keys that belong together.
#[derive(Debug)]
pub struct KeySet {
    /// Signs; `None` if another party signs.
    pub(super) signing: Option<SigningKey>,
    /// Verify, the public half of the signing key among them.
    pub(super) verifying: Vec<VerifyingKey>,
}

impl KeySet {
    /// A key that signs, and keys that verify beside it.
    pub fn signing_with(signing: SigningKey, mut verifying: Vec<VerifyingKey>) -> KeySet {
        let own = signing.public();
        if !verifying.iter().any(|key| key.id() == own.id()) {
            verifying.insert(0, own.clone());
        }
        KeySet { signing: Some(signing), verifying }
    }

    /// The keys of a signer outside the server.
    pub fn of_external(verifying: Vec<VerifyingKey>) -> KeySet {
        KeySet { signing: None, verifying }
    }

    /// The keys that verify.
    pub fn verifying(&self) -> &[VerifyingKey] {
        &self.verifying
    }

    /// The keys that a token names, or all for a token that names none.
    pub(super) fn candidates(&self, key_id: &str) -> impl Iterator<Item = &VerifyingKey> {
        self.verifying.iter().filter(move |key| key_id.is_empty() || key.id() == key_id)
    }

    /// Whether a key has this id.
    pub fn has(&self, key_id: &str) -> bool {
        self.verifying.iter().any(|key| key.id() == key_id)
    }
}

/// The current set of keys.
#[derive(Debug)]
pub struct TokenKeys {
    set: ArcSwap<KeySet>,
    /// In seconds since 1970; 0 if it is not known.
    fresh_until: AtomicU64,
}

impl TokenKeys {
    pub fn new(keys: KeySet) -> Arc<TokenKeys> {
        Arc::new(TokenKeys { set: ArcSwap::from_pointee(keys), fresh_until: AtomicU64::new(0) })
    }

    /// The keys of now.
    pub fn current(&self) -> Arc<KeySet> {
        self.set.load_full()
    }

    /// Replaces the keys. Tokens of keys that are gone are refused from now on.
    pub fn replace(&self, keys: KeySet) {
        self.set.store(Arc::new(keys));
    }

    /// Says when the keys are looked at again.
    pub fn set_fresh_until(&self, time: SystemTime) {
        let seconds = time.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
        self.fresh_until.store(seconds, Ordering::Relaxed);
    }

    /// When the keys are looked at again, if that is known.
    pub(super) fn fresh_until(&self) -> Option<SystemTime> {
        let seconds = self.fresh_until.load(Ordering::Relaxed);
        (seconds > 0).then(|| UNIX_EPOCH + Duration::from_secs(seconds))
    }
}

/// Signs tokens outside of the server.
pub trait ExternalSigner: Debug + Send + Sync {
    /// Signs the second part of a token, which is the encoded claims. Returns the whole token.
    ///
    /// # Errors
    /// Why there is none, as kube-apiserver says it.
    fn sign(&self, claims: String) -> BoxFuture<'_, Result<String, String>>;

    /// Fetches the keys, for a token that names a key which is not known.
    fn refresh(&self) -> BoxFuture<'_, ()>;
}
