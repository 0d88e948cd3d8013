//! Compiled patterns that were used before.
//!
//! Holds a bounded number of patterns of bounded size. A pattern takes longer to compile than to match, and most stand
//! in rules that are evaluated often.

use super::Pattern;
use std::collections::HashMap;
use std::sync::{LazyLock, Mutex, PoisonError};

/// Patterns that are kept.
const MAX_PATTERNS: usize = 256;

/// The most bytes and instructions of a pattern that is kept.
pub(super) const MAX_SIZE: usize = 4096;

static CACHE: LazyLock<Mutex<HashMap<String, Pattern>>> = LazyLock::new(Mutex::default);

pub(super) fn get(pattern: &str) -> Option<Pattern> {
    CACHE.lock().unwrap_or_else(PoisonError::into_inner).get(pattern).cloned()
}

/// Keeps a pattern. When there are too many, all others are dropped: those in use come back.
pub(super) fn keep(pattern: &str, compiled: &Pattern) {
    let mut cache = CACHE.lock().unwrap_or_else(PoisonError::into_inner);
    if cache.len() >= MAX_PATTERNS {
        cache.clear();
    }
    cache.insert(pattern.to_owned(), compiled.clone());
}
