//! `TranscodingStore`: a store whose stored values have another encoding than the written ones.
//! Guarantees that values written by this process are published as they were written, without decoding.
//! Must never know an encoding: the `ValueCodec` does.

#[cfg(doc)]
use crate::api::Write;
use crate::api::{CommitError, Key, Observer, Record, Revision, Started, Store, StoreError, Transaction};
use crate::queue::{CommitFuture, CompactFuture};
use crate::transform::{Unreadable, UnreadableReason};
use bytes::Bytes;
use std::any::Any;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Why a value cannot be transcoded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ValueCodecError {
    /// No known resource is stored under the key.
    #[error("no resource is stored there")]
    NoResource,
    /// The value cannot be decoded or encoded as an object of its resource.
    #[error("{0}")]
    Invalid(String),
}

/// Converts between written and stored values. A writer that has both may [pass the stored one](Write::stored).
pub trait ValueCodec: Any + Send + Sync + 'static {
    /// Encodes a value for storage.
    ///
    /// # Errors
    /// The value was not made by this process.
    fn encode_stored(&self, key: &str, value: &Bytes) -> Result<Bytes, ValueCodecError>;

    /// Decodes a stored value of any writer.
    ///
    /// # Errors
    /// It cannot be decoded.
    fn decode_stored(&self, key: &str, stored: &Bytes) -> Result<Bytes, ValueCodecError>;

    /// Whether values under the key may be decoded otherwise by now than when they were encoded.
    fn may_change(&self, key: &str) -> bool {
        let _ = key;
        false
    }
}

/// A [`Store`] that transcodes the values of another one.
pub struct TranscodingStore {
    inner: Arc<dyn Store>,
    form: Arc<dyn ValueCodec>,
    written: Arc<Written>,
}

impl TranscodingStore {
    /// `inner` keeps the stored encoding of values written here.
    pub fn new(inner: Arc<dyn Store>, form: Arc<dyn ValueCodec>) -> TranscodingStore {
        TranscodingStore { inner, form, written: Arc::default() }
    }

    fn transcode(&self, transaction: &mut Transaction) -> Result<WritesInProgress, CommitError> {
        let mut in_progress = WritesInProgress(self.written.clone(), Vec::with_capacity(transaction.writes.len()));
        for write in &mut transaction.writes {
            let Some(value) = &write.value else { continue };
            let stored = match write.stored.take() {
                None => self.form.encode_stored(&write.key, value),
                Some(stored) => {
                    #[cfg(debug_assertions)]
                    if !self.form.may_change(&write.key) {
                        let decoded = self.form.decode_stored(&write.key, &stored);
                        assert_eq!(decoded.as_ref(), Ok(value), "{}", write.key);
                    }
                    Ok(stored)
                }
            };
            let stored = stored.map_err(|error| CommitError::Invalid(format!("{}: {error}", write.key)))?;
            self.written.expect(&write.key, &stored, value);
            in_progress.1.push(write.key.clone());
            write.value = Some(stored);
        }
        Ok(in_progress)
    }
}

/// Writes in progress of this process, in both encodings.
#[derive(Default)]
struct Written(Mutex<HashMap<Key, Vec<(Bytes, Bytes)>>>);

impl Written {
    fn map(&self) -> MutexGuard<'_, HashMap<Key, Vec<(Bytes, Bytes)>>> {
        // An extra entry costs one decoding, nothing else.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn expect(&self, key: &Key, stored: &Bytes, used: &Bytes) {
        self.map().entry(key.clone()).or_default().push((stored.clone(), used.clone()));
    }

    fn find(&self, key: &str, stored: &Bytes) -> Option<Bytes> {
        let map = self.map();
        map.get(key)?.iter().find(|(bytes, _)| bytes == stored).map(|(_, used)| used.clone())
    }

    /// Removes one write of a key.
    fn in_progress(&self, key: &Key) {
        let mut map = self.map();
        if let Some(entries) = map.get_mut(key) {
            if entries.len() > 1 {
                entries.remove(0);
            } else {
                map.remove(key);
            }
        }
    }
}

/// Removes writes when they complete, even if their futures were dropped.
struct WritesInProgress(Arc<Written>, Vec<Key>);

impl Drop for WritesInProgress {
    fn drop(&mut self) {
        self.1.iter().for_each(|key| self.0.in_progress(key));
    }
}

impl Store for TranscodingStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let reader = Reader { form: self.form.clone(), written: self.written.clone() };
        let observer = TranscodingObserver { observer, reader, replayed: Vec::new() };
        self.inner.start(Box::new(observer))
    }

    fn commit(&self, mut transaction: Transaction) -> CommitFuture {
        let in_progress = match self.transcode(&mut transaction) {
            Ok(in_progress) => in_progress,
            Err(error) => return CommitFuture::ready(Err(error)),
        };
        let commit = self.inner.commit(transaction);
        CommitFuture::pending(async move {
            let answer = commit.await;
            drop(in_progress);
            answer
        })
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.inner.compact(revision)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.inner.as_ref())
    }

    fn value_codec(&self) -> Option<&dyn ValueCodec> {
        Some(self.form.as_ref())
    }
}

impl fmt::Debug for TranscodingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TranscodingStore")
    }
}

/// Decodes stored records.
struct Reader {
    form: Arc<dyn ValueCodec>,
    written: Arc<Written>,
}

/// Fewer records than this are decoded on the calling thread.
const SHARE: usize = 256;

/// A record in the written encoding.
type Read = Result<Record, Unreadable>;

impl Reader {
    fn read(&self, mut record: Record) -> Read {
        let Some(stored) = &record.value else { return Ok(record) };
        let value = match self.written.find(&record.key, stored) {
            Some(value) => value,
            None => match self.form.decode_stored(&record.key, stored) {
                Ok(value) => value,
                // The cache keeps it as stored until its resource is announced.
                Err(ValueCodecError::NoResource) => return Ok(record),
                Err(ValueCodecError::Invalid(reason)) => {
                    let reason = UnreadableReason::Undecodable(reason.into());
                    return Err(Unreadable { key: record.key.clone(), revision: record.revision, reason });
                }
            },
        };
        record.value = Some(value);
        Ok(record)
    }

    fn read_share(&self, records: &[Record]) -> Vec<Read> {
        records.iter().cloned().map(|record| self.read(record)).collect()
    }

    /// Decodes many records on all processors, in order.
    fn read_all(&self, records: &[Record]) -> Vec<Read> {
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let shares: Vec<_> = records.chunks(records.len().div_ceil(processors).max(SHARE)).collect();
        let Some((first, others)) = shares.split_first() else { return Vec::new() };
        std::thread::scope(|scope| {
            let threads: Vec<_> = others.iter().map(|share| scope.spawn(|| self.read_share(share))).collect();
            let mut read = self.read_share(first);
            for (share, thread) in others.iter().zip(threads) {
                // A share whose thread panicked is decoded again, so that the panic is this thread's.
                read.extend(thread.join().unwrap_or_else(|_| self.read_share(share)));
            }
            read
        })
    }
}

/// The observer before the user's observer.
struct TranscodingObserver {
    observer: Box<dyn Observer>,
    reader: Reader,
    /// Of the replay, collected to be decoded in parallel.
    replayed: Vec<(Record, bool)>,
}

impl TranscodingObserver {
    /// The decoded records, in order, and the errors of the others.
    fn split(read: impl IntoIterator<Item = Read>) -> (Vec<Record>, Vec<Unreadable>) {
        let (mut readable, mut unreadable) = (Vec::new(), Vec::new());
        for outcome in read {
            match outcome {
                Ok(record) => readable.push(record),
                Err(what) => unreadable.push(what),
            }
        }
        (readable, unreadable)
    }
}

impl Observer for TranscodingObserver {
    fn replay(&mut self, record: Record, history: bool) {
        self.replayed.push((record, history));
    }

    fn replayed(&mut self, started: Started) {
        let (records, history): (Vec<_>, Vec<_>) = std::mem::take(&mut self.replayed).into_iter().unzip();
        for (outcome, history) in self.reader.read_all(&records).into_iter().zip(history) {
            match outcome {
                Ok(record) => self.observer.replay(record, history),
                Err(unreadable) => self.observer.unreadable(unreadable),
            }
        }
        self.observer.replayed(started);
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let (readable, unreadable) = Self::split(records.iter().cloned().map(|record| self.reader.read(record)));
        unreadable.into_iter().for_each(|what| self.observer.unreadable(what));
        self.observer.publish(&readable, revision);
    }

    fn replace(&mut self, records: Vec<Record>, revision: Revision) {
        let (readable, unreadable) = Self::split(self.reader.read_all(&records));
        self.observer.replace(readable, revision);
        unreadable.into_iter().for_each(|what| self.observer.unreadable(what));
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        self.observer.unreadable(unreadable);
    }

    fn restored(&mut self, records: Vec<Record>) {
        let (readable, unreadable) = Self::split(records.into_iter().map(|record| self.reader.read(record)));
        unreadable.into_iter().for_each(|what| self.observer.unreadable(what));
        self.observer.restored(readable);
    }

    fn compacted(&mut self, revision: Revision) {
        self.observer.compacted(revision);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Expect, Write};
    use crate::memory::MemoryStore;
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The test codec reverses values.
    #[derive(Default)]
    struct Backwards(AtomicUsize);

    fn turned(value: &Bytes) -> Bytes {
        value.iter().rev().copied().collect()
    }

    impl ValueCodec for Backwards {
        fn encode_stored(&self, _: &str, value: &Bytes) -> Result<Bytes, ValueCodecError> {
            if value.is_empty() { Err(ValueCodecError::Invalid("nothing".to_owned())) } else { Ok(turned(value)) }
        }

        fn decode_stored(&self, _: &str, stored: &Bytes) -> Result<Bytes, ValueCodecError> {
            self.0.fetch_add(1, Ordering::Relaxed);
            Ok(turned(stored))
        }
    }

    #[derive(Clone, Default)]
    struct Seen(Arc<Mutex<Vec<Record>>>);

    impl Observer for Seen {
        fn replay(&mut self, record: Record, _: bool) {
            self.0.lock().unwrap().push(record);
        }

        fn publish(&mut self, records: &[Record], _: Revision) {
            self.0.lock().unwrap().extend_from_slice(records);
        }
    }

    #[test]
    fn own_writes_are_published_without_decoding() {
        let (seen, form) = (Seen::default(), Arc::new(Backwards::default()));
        let store = TranscodingStore::new(Arc::new(MemoryStore::new()), form.clone());
        store.start(Box::new(seen.clone())).unwrap();
        let put = |value: &'static str| {
            Transaction::one("/a".into(), Expect::Any, Some(Bytes::from_static(value.as_bytes())))
        };
        for value in ["one", "two"] {
            assert!(store.commit(put(value)).wait().is_ok());
        }
        let values: Vec<_> = seen.0.lock().unwrap().iter().map(|record| record.value.clone().unwrap()).collect();
        assert_eq!(values, ["one", "two"]);
        // This store publishes before `commit` returns, while both encodings are available.
        assert_eq!(form.0.load(Ordering::Relaxed), 0);
        assert!(store.written.map().is_empty());
        let outcome = store.commit(put("")).wait();
        assert!(matches!(outcome, Err(CommitError::Invalid(why)) if why == "/a: nothing"));
        assert!(store.written.map().is_empty());
    }

    #[test]
    fn writes_of_others_are_decoded() {
        let (seen, inner) = (Seen::default(), Arc::new(MemoryStore::new()));
        let store = TranscodingStore::new(inner.clone(), Arc::new(Backwards::default()));
        store.start(Box::new(seen.clone())).unwrap();
        let put = |store: &dyn Store, value: &'static [u8]| {
            let write = Write::put("/a".into(), Expect::Any, Bytes::from_static(value));
            store.commit(Transaction::of(vec![write])).wait().unwrap();
            seen.0.lock().unwrap().pop().unwrap().value
        };
        assert_eq!(put(inner.as_ref(), b"eno").as_deref(), Some(&b"one"[..]));
        assert_eq!(put(&store, b"two").as_deref(), Some(&b"two"[..]));
    }
}
