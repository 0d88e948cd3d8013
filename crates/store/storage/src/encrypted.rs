//! `EncryptedStore`: encrypts the values that another store keeps. Memory contains plain values, the disk does not.
//! Guarantees that an undecryptable value affects no other: it is reported with its key, can be deleted or
//! overwritten, and is passed on as soon as it can be decrypted.
//! Must never depend on a cipher: the transformer encrypts.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use bytes::Bytes;

use crate::api::{CommitError, Key, Observer, Record, Revision, Started, Store, StoreError, Transaction};
use crate::queue::{CommitFuture, CompactFuture};
use crate::transform::{KeyFingerprint, Transformer, Unreadable, UnreadableReason};

/// A [`Store`] that encrypts the values of another one.
pub struct EncryptedStore {
    inner: Arc<dyn Store>,
    shared: Arc<Shared>,
}

struct Shared {
    transformer: Arc<dyn Transformer>,
    /// Lock order: this lock first.
    observer: Mutex<Option<Box<dyn Observer>>>,
    kept: Mutex<Kept>,
}

/// The known state of the stored bytes.
#[derive(Default)]
struct Kept {
    /// The keys of the encrypted values.
    fingerprints: HashMap<Key, KeyFingerprint>,
    unreadable: HashMap<Key, (Revision, Bytes)>,
}

impl EncryptedStore {
    /// A store that encrypts values with `transformer` and keeps them in `inner`.
    pub fn new(inner: Arc<dyn Store>, transformer: Arc<dyn Transformer>) -> EncryptedStore {
        let shared = Arc::new(Shared {
            transformer: transformer.clone(),
            observer: Mutex::new(None),
            kept: Mutex::new(Kept::default()),
        });
        let again: Weak<Shared> = Arc::downgrade(&shared);
        transformer.subscribe(Box::new(move || {
            let Some(shared) = again.upgrade() else { return Vec::new() };
            shared.try_again();
            shared.orphans()
        }));
        EncryptedStore { inner, shared }
    }

    fn encrypt(&self, mut transaction: Transaction) -> Result<Transaction, CommitError> {
        for write in &mut transaction.writes {
            if let Some(value) = &write.value {
                let ciphertext = self.shared.transformer.encrypt(&write.key, value);
                write.value = Some(ciphertext.map_err(CommitError::Transform)?);
            }
        }
        Ok(transaction)
    }
}

impl Store for EncryptedStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        *lock(&self.shared.observer) = Some(observer);
        let started = self.inner.start(Box::new(DecryptingObserver(self.shared.clone())))?;
        // The missing key may have become available since the value was read.
        self.shared.try_again();
        Ok(started)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        match self.encrypt(transaction) {
            Ok(transaction) => self.inner.commit(transaction),
            Err(error) => CommitFuture::ready(Err(error)),
        }
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.inner.compact(revision)
    }

    fn is_stale(&self, key: &str) -> bool {
        let fingerprint = lock(&self.shared.kept).fingerprints.get(key).copied().unwrap_or(KeyFingerprint::PLAIN);
        self.shared.transformer.current(key).is_some_and(|current| current != fingerprint)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.inner.as_ref())
    }
}

impl fmt::Debug for EncryptedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EncryptedStore")
    }
}

impl Shared {
    /// The record for the observer.
    fn decrypt(&self, record: &Record) -> Result<Record, Unreadable> {
        let Some(ciphertext) = &record.value else {
            let mut kept = lock(&self.kept);
            kept.fingerprints.remove(&record.key);
            kept.unreadable.remove(&record.key);
            return Ok(record.clone());
        };
        let decrypted = self.transformer.decrypt(&record.key, ciphertext);
        let mut kept = lock(&self.kept);
        match decrypted {
            Ok(decrypted) => {
                kept.unreadable.remove(&record.key);
                kept.mark(&record.key, decrypted.fingerprint);
                Ok(Record { value: Some(decrypted.plain), ..record.clone() })
            }
            Err(error) => {
                kept.unreadable.insert(record.key.clone(), (record.revision, ciphertext.clone()));
                let reason = UnreadableReason::Undecryptable(error);
                Err(Unreadable { key: record.key.clone(), revision: record.revision, reason })
            }
        }
    }

    /// The decrypted records, and errors of the others.
    fn decrypt_all(&self, records: &[Record]) -> (Vec<Record>, Vec<Unreadable>) {
        let mut unreadable = Vec::new();
        let readable =
            records.iter().filter_map(|record| self.decrypt(record).map_err(|what| unreadable.push(what)).ok());
        (readable.collect(), unreadable)
    }

    /// Keys of values that could not be decrypted if they were not in memory.
    fn orphans(&self) -> Vec<Key> {
        let known: Vec<_> =
            lock(&self.kept).fingerprints.iter().map(|(key, fingerprint)| (key.clone(), *fingerprint)).collect();
        known
            .into_iter()
            .filter(|(key, fingerprint)| !self.transformer.may_decrypt(key, *fingerprint))
            .map(|(key, _)| key)
            .collect()
    }

    /// Decrypts values that could not be decrypted before. It may wait for a KMS plugin, so no lock is held
    /// meanwhile.
    fn try_again(&self) {
        let waiting: Vec<_> =
            lock(&self.kept).unreadable.iter().map(|(key, (at, bytes))| (key.clone(), *at, bytes.clone())).collect();
        let open = |(key, revision, bytes): (Key, Revision, Bytes)| {
            let decrypted = self.transformer.decrypt(&key, &bytes).ok()?;
            Some((Record { revision, key, value: Some(decrypted.plain) }, decrypted.fingerprint))
        };
        let decrypted: Vec<_> = waiting.into_iter().filter_map(open).collect();
        if decrypted.is_empty() {
            return;
        }
        let mut observer = lock(&self.observer);
        let mut restored = Vec::with_capacity(decrypted.len());
        for (record, fingerprint) in decrypted {
            let mut kept = lock(&self.kept);
            // Unless it was written meanwhile.
            if kept.unreadable.get(&record.key).is_some_and(|(at, _)| *at == record.revision) {
                kept.unreadable.remove(&record.key);
                kept.mark(&record.key, fingerprint);
                restored.push(record);
            }
        }
        if let Some(observer) = observer.as_mut().filter(|_| !restored.is_empty()) {
            observer.restored(restored);
        }
    }
}

impl Kept {
    fn mark(&mut self, key: &Key, fingerprint: KeyFingerprint) {
        match fingerprint {
            KeyFingerprint::PLAIN => self.fingerprints.remove(key),
            fingerprint => self.fingerprints.insert(key.clone(), fingerprint),
        };
    }
}

/// The inner store's observer: decrypts values and passes them on.
struct DecryptingObserver(Arc<Shared>);

impl Observer for DecryptingObserver {
    fn replay(&mut self, record: Record, history: bool) {
        let decrypted = self.0.decrypt(&record);
        if let Some(observer) = lock(&self.0.observer).as_mut() {
            match decrypted {
                Ok(record) => observer.replay(record, history),
                Err(unreadable) => observer.unreadable(unreadable),
            }
        }
    }

    fn replayed(&mut self, started: Started) {
        if let Some(observer) = lock(&self.0.observer).as_mut() {
            observer.replayed(started);
        }
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let (readable, unreadable) = self.0.decrypt_all(records);
        if let Some(observer) = lock(&self.0.observer).as_mut() {
            unreadable.into_iter().for_each(|what| observer.unreadable(what));
            observer.publish(&readable, revision);
        }
    }

    fn replace(&mut self, records: Vec<Record>, revision: Revision) {
        *lock(&self.0.kept) = Kept::default();
        let (readable, unreadable) = self.0.decrypt_all(&records);
        if let Some(observer) = lock(&self.0.observer).as_mut() {
            observer.replace(readable, revision);
            unreadable.into_iter().for_each(|what| observer.unreadable(what));
        }
    }

    fn compacted(&mut self, revision: Revision) {
        if let Some(observer) = lock(&self.0.observer).as_mut() {
            observer.compacted(revision);
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Data under these locks is consistent between any two statements.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
