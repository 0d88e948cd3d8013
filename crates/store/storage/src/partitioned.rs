//! `PartitionedStore`: keeps some keys in other stores, each of which counts revisions of its own.
//! Guarantees that a transaction takes place in one store: one whose keys are in several is refused.
//! Must never compare revisions of different stores.

use std::fmt;
use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use crate::api::{CommitError, Observer, Revision, Started, Store, StoreError, Transaction};
use crate::fatal_signal::EndedFuture;
use crate::queue::{CommitFuture, CompactFuture};

/// Keys that are kept in a store of their own.
pub struct Partition {
    /// Each `/registry/.../`.
    pub prefixes: Vec<Box<str>>,
    pub store: Arc<dyn Store>,
}

impl Partition {
    /// Whether a key is in its store.
    pub fn holds(&self, key: &str) -> bool {
        self.prefixes.iter().any(|prefix| key.starts_with(&**prefix))
    }
}

/// A [`Store`] of which some keys are in other stores. All of them have the same encoding and the same abilities.
pub struct PartitionedStore {
    main: Arc<dyn Store>,
    partitions: Vec<Partition>,
}

impl PartitionedStore {
    /// A store that keeps in `main` what belongs to no partition.
    pub fn new(main: Arc<dyn Store>, partitions: Vec<Partition>) -> PartitionedStore {
        PartitionedStore { main, partitions }
    }

    /// The position of the partition with a key; `None` if the key is in the main store.
    fn place(&self, key: &str) -> Option<usize> {
        self.partitions.iter().position(|partition| partition.holds(key))
    }

    fn at(&self, place: Option<usize>) -> &dyn Store {
        place.and_then(|place| self.partitions.get(place)).map_or(&*self.main, |partition| &*partition.store)
    }

    fn all(&self) -> impl Iterator<Item = &dyn Store> {
        [&*self.main].into_iter().chain(self.partitions.iter().map(|partition| &*partition.store))
    }
}

impl Store for PartitionedStore {
    /// Starts the main store. Each of the [partitions](Store::partitions) is started with an observer of its own, because
    /// its revisions are not those of the main store.
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.main.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        let Transaction { writes, conditions } = &transaction;
        let keys = writes.iter().map(|write| &write.key).chain(conditions.iter().map(|condition| &condition.key));
        let mut places = keys.map(|key| self.place(key));
        let place = places.next().flatten();
        if places.any(|other| other != place) {
            let why = "its keys are in different stores, which have no common transaction".to_owned();
            return CommitFuture::ready(Err(CommitError::Invalid(why)));
        }
        self.at(place).commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.main.compact(revision)
    }

    fn is_stale(&self, key: &str) -> bool {
        self.at(self.place(key)).is_stale(key)
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&*self.main)
    }

    fn partitions(&self) -> &[Partition] {
        &self.partitions
    }

    fn close(&self) {
        self.all().for_each(Store::close);
    }

    fn ended(&self) -> EndedFuture {
        let mut ends: Vec<EndedFuture> = self.all().map(Store::ended).collect();
        Box::pin(poll_fn(move |context| {
            let ready = ends.iter_mut().find_map(|end| match end.as_mut().poll(context) {
                Poll::Ready(why) => Some(why),
                Poll::Pending => None,
            });
            ready.map_or(Poll::Pending, Poll::Ready)
        }))
    }

    fn catch_up(&self, key: &str) -> Option<CommitFuture> {
        self.at(self.place(key)).catch_up(key)
    }
}

impl fmt::Debug for PartitionedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PartitionedStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Expect, Key, MemoryStore, Record, Write};
    use bytes::Bytes;

    struct Nobody;

    impl Observer for Nobody {
        fn replay(&mut self, _: Record, _: bool) {}
        fn publish(&mut self, _: &[Record], _: Revision) {}
    }

    #[test]
    fn keys_go_to_their_store_and_no_transaction_spans_two() {
        let events: Arc<dyn Store> = Arc::new(MemoryStore::new());
        let partition = Partition { prefixes: vec!["/registry/events/".into()], store: events };
        let store = PartitionedStore::new(Arc::new(MemoryStore::new()), vec![partition]);
        store.start(Box::new(Nobody)).expect("starts");
        store.partitions()[0].store.start(Box::new(Nobody)).expect("starts");
        let put = |key: &str| Write::put(Key::from(key), Expect::Absent, Bytes::from_static(b"x"));
        let commit = |keys: &[&str]| store.commit(Transaction::of(keys.iter().map(|key| put(key)).collect())).wait();
        // Each counts its own revisions.
        for (keys, revision) in [
            (&["/registry/pods/a/b", "/registry/pods/a/c"][..], 2),
            (&["/registry/events/a/b"], 2),
            (&["/registry/events/a/c"], 3),
            (&["/registry/eventsources/a"], 3),
        ] {
            assert_eq!(commit(keys).ok(), Some(Revision(revision)), "{keys:?}");
        }
        let spanning = commit(&["/registry/events/a/d", "/registry/pods/a/d"]);
        assert!(matches!(spanning, Err(CommitError::Invalid(_))), "{spanning:?}");
        assert_eq!(commit(&["/registry/events/a/d"]).ok(), Some(Revision(4)), "nothing of it was written");
        store.close();
        assert!(matches!(commit(&["/registry/events/a/e"]), Err(CommitError::Closed)));
    }
}
