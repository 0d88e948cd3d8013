//! `Transformer`: what stands between a value and the bytes that are kept of it, which is where encryption at rest sits.
//! Guarantees nothing by itself; the contract is written here, so that every store seals the same way.
//! Must never know a cipher or a configuration.

use std::error::Error;
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::api::Key;

/// Which key sealed a value, as far as it can be told from the bytes: equal seals, equal key. Never leaves the process.
#[derive(Debug, Copy, Clone, PartialEq, Eq, Hash)]
pub struct Seal(pub u64);

impl Seal {
    /// No key: the value is kept as it is.
    pub const PLAIN: Seal = Seal(0);
}

/// A value that was read back.
#[derive(Debug, Clone)]
pub struct Opened {
    /// The value.
    pub plain: Bytes,
    /// What it had been sealed with.
    pub seal: Seal,
}

/// Why a value could not be sealed or opened. The text is shown to clients: it names no secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TransformError(Arc<str>);

impl TransformError {
    /// An error with this text.
    pub fn new(text: impl Into<Arc<str>>) -> TransformError {
        TransformError(text.into())
    }
}

impl fmt::Display for TransformError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for TransformError {}

/// Opens what did not open before. The answer is where values are kept that did open and would not any more: they are
/// readable only as long as they are in memory.
pub type Changed = Box<dyn Fn() -> Vec<Key> + Send + Sync>;

/// Turns values into the bytes that are kept, and back. The key under which a value is kept is authenticated with it,
/// by the ciphers that can: bytes that were moved to another key do not open.
pub trait Transformer: Send + Sync + 'static {
    /// The bytes to keep of a value.
    ///
    /// # Errors
    /// The key to write with is not to be had.
    fn seal(&self, key: &str, plain: &Bytes) -> Result<Bytes, TransformError>;

    /// The value of which these bytes are kept. May wait for a key service, no longer than its timeout.
    ///
    /// # Errors
    /// No key that is known opens them.
    fn open(&self, key: &str, kept: &Bytes) -> Result<Opened, TransformError>;

    /// What `seal` would seal with now; `None` if it could not.
    fn current(&self, key: &str) -> Option<Seal>;

    /// Whether what was sealed so may still open: not once its key is gone.
    fn may_open(&self, key: &str, seal: Seal) -> bool;

    /// Calls back, from a thread that may wait, whenever what did not open may open now, and the other way round.
    fn subscribe(&self, changed: Changed);
}

/// A value that is kept and cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unreadable {
    /// Where it is kept.
    pub key: Key,
    /// The revision of its last change.
    pub revision: crate::api::Revision,
    /// Why.
    pub reason: UnreadableReason,
}

/// Why a value cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UnreadableReason {
    /// No key that is known opens it.
    Sealed(TransformError),
    /// It opens, and is no object.
    Undecodable(Arc<str>),
}

impl fmt::Display for UnreadableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            UnreadableReason::Sealed(error) => error.fmt(f),
            UnreadableReason::Undecodable(text) => f.write_str(text),
        }
    }
}
