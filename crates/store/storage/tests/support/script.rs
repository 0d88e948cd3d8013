//! A sequence of transactions with known results: the expected content of a store after any number of them.
//! Guarantees that the expectation is a plain list of records. Must never depend on a store.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{
    Changed, DecryptedValue, EmbeddedOptions, EmbeddedStore, EncryptedStore, Expect, KeyFingerprint, Record, Revision,
    Started, Storage, Store, StoreError, Transaction, TransformError, Transformer, Write,
};

use super::{Random, Seen, Watcher};

pub const DIRECTORY: &str = "/data/store";

/// Transactions, and every record that they make.
pub struct Script {
    pub transactions: Vec<Transaction>,
    pub records: Vec<Record>,
}

impl Script {
    /// Each transaction makes a revision: the first one makes revision 2.
    pub fn new(count: u64, value_bytes: u64, seed: u64) -> Script {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
        let mut live: BTreeMap<u64, ()> = BTreeMap::new();
        let (mut transactions, mut records) = (Vec::new(), Vec::new());
        for number in 0..count {
            let revision = Revision(number + 2);
            let mut keys: Vec<u64> = (0..1 + random.below(3) / 2).map(|_| random.below(24)).collect();
            keys.sort_unstable();
            keys.dedup();
            let mut writes = Vec::new();
            for key in keys {
                let delete = live.contains_key(&key) && random.below(3) == 0;
                let length = random.below(value_bytes) as usize;
                let value = (!delete).then(|| Bytes::from(vec![(number % 251) as u8; length]));
                if delete {
                    live.remove(&key)
                } else {
                    live.insert(key, ())
                };
                let key: Arc<str> = format!("/k/{key}").into();
                records.push(Record { revision, key: key.clone(), value: value.clone() });
                writes.push(Write { key, expect: Expect::Any, value, stored: None, begins_revision: false });
            }
            transactions.push(Transaction::of(writes));
        }
        Script { transactions, records }
    }

    /// The expected replay of a store at `current` with history after `compacted`.
    pub fn expected(&self, compacted: Revision, current: Revision) -> (Vec<Record>, Vec<Record>) {
        let there = self.records.iter().filter(|record| record.revision <= current).cloned();
        let (old, history): (Vec<_>, Vec<_>) = there.partition(|record| record.revision <= compacted);
        let mut base: BTreeMap<_, (usize, Record)> = BTreeMap::new();
        for (place, record) in old.into_iter().enumerate() {
            match record.value {
                Some(_) => base.insert(record.key.clone(), (place, record)),
                None => base.remove(&record.key),
            };
        }
        let mut base: Vec<_> = base.into_values().collect();
        base.sort_by_key(|(place, _)| *place);
        (base.into_iter().map(|(_, record)| record).collect(), history)
    }

    /// The difference between an actual and an expected replay, if any.
    pub fn wrong(&self, seen: &Seen, started: Started) -> Option<String> {
        let (base, history) = self.expected(started.compacted, started.current);
        if seen.base != base {
            return Some(format!("{started:?}: base is {:?}, not {base:?}", seen.base));
        }
        (seen.history != history).then(|| format!("{started:?}: history is {:?}, not {history:?}", seen.history))
    }
}

/// Small segments, no threads but the writer, no delay after a failure.
pub fn options(storage: Arc<dyn Storage>) -> EmbeddedOptions {
    EmbeddedOptions {
        retention: None,
        segment_bytes: 2048,
        retry_after: Duration::ZERO,
        background: false,
        storage,
        ..EmbeddedOptions::default()
    }
}

/// Which store wraps the disk's.
#[derive(Clone, Copy, Debug)]
pub enum Kind {
    Plain,
    Encrypted,
}

impl Kind {
    pub fn store(self, storage: Arc<dyn Storage>) -> Result<Box<dyn Store>, StoreError> {
        let store = EmbeddedStore::open(Path::new(DIRECTORY), options(storage))?;
        Ok(match self {
            Kind::Plain => Box::new(store),
            Kind::Encrypted => Box::new(EncryptedStore::new(Arc::new(store), Arc::new(Masked))),
        })
    }
}

/// A cipher that decrypts a value only under its own key and at its full length.
struct Masked;

impl Masked {
    fn mask(key: &str, bytes: &[u8]) -> Vec<u8> {
        bytes.iter().zip(key.bytes().cycle()).map(|(byte, mask)| byte ^ mask ^ 0xa5).collect()
    }
}

impl Transformer for Masked {
    fn encrypt(&self, key: &str, plain: &Bytes) -> Result<Bytes, TransformError> {
        let length = u32::try_from(plain.len()).map_err(|_| TransformError::new("too long"))?;
        Ok(Masked::mask(key, &[&length.to_be_bytes()[..], plain, key.as_bytes()].concat()).into())
    }

    fn decrypt(&self, key: &str, kept: &Bytes) -> Result<DecryptedValue, TransformError> {
        let bytes = Masked::mask(key, kept);
        let wrong = || TransformError::new(format!("this is no value of {key}"));
        let (length, rest) = bytes.split_first_chunk().ok_or_else(wrong)?;
        let plain = rest.strip_suffix(key.as_bytes()).ok_or_else(wrong)?;
        if plain.len() != u32::from_be_bytes(*length) as usize {
            return Err(wrong());
        }
        Ok(DecryptedValue { plain: Bytes::copy_from_slice(plain), fingerprint: KeyFingerprint(0) })
    }

    fn current(&self, _: &str) -> Option<KeyFingerprint> {
        Some(KeyFingerprint(0))
    }

    fn may_decrypt(&self, _: &str, _: KeyFingerprint) -> bool {
        true
    }

    fn subscribe(&self, _: Changed) {}
}

pub fn open(kind: Kind, storage: Arc<dyn Storage>) -> Result<(Box<dyn Store>, Watcher, Started), StoreError> {
    let store = kind.store(storage)?;
    let watcher = Watcher::default();
    let started = store.start(Box::new(watcher.clone()))?;
    Ok((store, watcher, started))
}

/// Commits a transaction, and sometimes compacts to an earlier revision.
pub fn commit(store: &dyn Store, transaction: &Transaction) -> Result<Revision, String> {
    let revision = store.commit(transaction.clone()).wait().map_err(|error| error.to_string())?;
    if revision.0.is_multiple_of(7) {
        // The result is ignored: a failed compaction is repeated.
        let _ = store.compact(Revision(revision.0.saturating_sub(12))).wait();
    }
    Ok(revision)
}
