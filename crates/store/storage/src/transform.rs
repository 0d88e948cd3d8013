//! `Transformer`: encrypts values for a store and decrypts them, for encryption at rest.
//! Guarantees nothing by itself; it defines the contract, so that every store encrypts in the same way.
//! Must never depend on a cipher or a configuration.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::api::Key;

/// Identifies the key that encrypted a value, as far as the bytes show it: equal fingerprints mean the same key. Never
/// leaves the process.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub struct KeyFingerprint(pub u64);

impl KeyFingerprint {
    /// No key: the value is stored as it is.
    pub const PLAIN: KeyFingerprint = KeyFingerprint(0);
}

/// A decrypted value.
#[derive(Debug, Clone)]
pub struct DecryptedValue {
    /// The value.
    pub plain: Bytes,
    /// The key that encrypted it.
    pub fingerprint: KeyFingerprint,
}

/// Why a value could not be encrypted or decrypted. The text is shown to clients and contains no secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct TransformError(Arc<str>);

impl TransformError {
    /// An error with this text.
    pub fn new(text: impl Into<Arc<str>>) -> TransformError {
        TransformError(text.into())
    }
}

/// Decrypts values that could not be decrypted before. Returns the keys of values that could be decrypted once and
/// cannot be any more: they are readable only while they are in memory.
pub type Changed = Box<dyn Fn() -> Vec<Key> + Send + Sync>;

/// Encrypts values for storage and decrypts them. Ciphers that support it authenticate the store key with the value,
/// so that bytes that are moved to another key cannot be decrypted.
pub trait Transformer: Send + Sync + 'static {
    /// Encrypts a value.
    ///
    /// # Errors
    /// The encryption key is not available.
    fn encrypt(&self, key: &str, plain: &Bytes) -> Result<Bytes, TransformError>;

    /// Decrypts stored bytes. May wait for a KMS plugin, at most for its timeout.
    ///
    /// # Errors
    /// No known key decrypts them.
    fn decrypt(&self, key: &str, kept: &Bytes) -> Result<DecryptedValue, TransformError>;

    /// The key that `encrypt` would use now; `None` if it could not encrypt.
    fn current(&self, key: &str) -> Option<KeyFingerprint>;

    /// Whether values of this key may still be decryptable: not after the key was removed.
    fn may_decrypt(&self, key: &str, fingerprint: KeyFingerprint) -> bool;

    /// Calls back, on a thread that may wait, whenever values may have become decryptable or undecryptable.
    fn subscribe(&self, changed: Changed);
}

/// A stored value that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Its key.
    pub key: Key,
    /// The revision of its last change.
    pub revision: crate::api::Revision,
    /// The reason.
    pub reason: UnreadableReason,
}

/// Why a value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableReason {
    /// No known key decrypts it.
    Undecryptable(TransformError),
    /// It was decrypted, but is not a valid object.
    Undecodable(Arc<str>),
}

impl fmt::Display for UnreadableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnreadableReason::Undecryptable(error) => error.fmt(f),
            UnreadableReason::Undecodable(text) => f.write_str(text),
        }
    }
}
