//! Every object of every resource as bytes in memory, at every revision of the retained history.
//! Guarantees that a committed change is published before the commit is acknowledged; all reads of the server come
//! from here.
//! Must never decode an object, and never read a clock.

pub mod derived;
pub mod encoded_object;
mod history;
pub mod index;
pub mod limits;
mod object;
pub mod objects;
mod progress;
mod replay;
pub mod resource;
mod stats;
mod watch_filter;
mod writers;

pub use derived::{Derived, Variant};
pub use encoded_object::EncodedObject;
pub use object::Object;
pub use progress::Progress;
pub use resource::{Event, Expired, ResourceCache, State, Watcher};
pub use stats::{Listed, Stats};
pub use watch_filter::WatchFilter;

use arc_swap::{ArcSwap, Guard};
use bytes::Bytes;
use pintle_storage::{Observer, Partition, Record, Revision, Started, Unreadable};
use replay::{Replay, StoredRecord};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use writers::Writers;

type ByPrefix = imbl::HashMap<Arc<str>, Arc<ResourceCache>>;

/// Converts a value that was stored before its resource was announced, with its key, to a record.
pub type DecodeUnannounced = dyn Fn(&str, &Bytes) -> Result<Bytes, String> + Send + Sync;

/// The caches of all resources, and the revision that those of each store have reached together.
pub struct Cache {
    by_prefix: ArcSwap<ByPrefix>,
    main: Part,
    /// Of the store's partitions.
    others: Vec<Part>,
    decode_unannounced: OnceLock<Box<DecodeUnannounced>>,
    pub derived: Derived,
}

/// What comes from one store.
struct Part {
    /// Of the resources; empty for the main store, which has all others.
    prefixes: Vec<Box<str>>,
    progress: Arc<Progress>,
    /// Locked by the store's writer while it applies changes, and to announce a resource; never by readers.
    writers: Mutex<Writers>,
}

impl Part {
    fn new(number: usize, prefixes: Vec<Box<str>>) -> Self {
        let progress = Arc::new(Progress::new(number));
        Part { prefixes, writers: Mutex::new(Writers::new(progress.clone())), progress }
    }

    fn writers(&self) -> MutexGuard<'_, Writers> {
        self.writers.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Cache {
    /// A cache for the resources stored under these prefixes (each `/registry/.../`).
    pub fn new<'a>(prefixes: impl IntoIterator<Item = &'a str>) -> Arc<Self> {
        Self::indexed(prefixes.into_iter().map(|prefix| (prefix, Vec::new())))
    }

    /// The same, with an index by each of the named selectable fields.
    pub fn indexed<'a>(resources: impl IntoIterator<Item = (&'a str, Vec<usize>)>) -> Arc<Self> {
        Self::partitioned(resources, &[])
    }

    /// The same for a store with partitions.
    pub fn partitioned<'a>(
        resources: impl IntoIterator<Item = (&'a str, Vec<usize>)>,
        partitions: &[Partition],
    ) -> Arc<Self> {
        let others = (1..).zip(partitions).map(|(number, partition)| Part::new(number, partition.prefixes.clone()));
        let cache = Cache {
            by_prefix: ArcSwap::default(),
            main: Part::new(0, Vec::new()),
            others: others.collect(),
            decode_unannounced: OnceLock::new(),
            derived: Derived::default(),
        };
        for (prefix, indexed) in resources {
            cache.announce(prefix, indexed);
        }
        Arc::new(cache)
    }

    /// Sets how values that were stored before their resource was announced are converted to records. Called once.
    pub fn set_decode_unannounced(&self, read: Box<DecodeUnannounced>) {
        // A second one would be the same: a cache has one registry.
        let _ = self.decode_unannounced.set(read);
    }

    /// The part with this number: the main one if there is none.
    fn part(&self, number: usize) -> &Part {
        number.checked_sub(1).and_then(|other| self.others.get(other)).unwrap_or(&self.main)
    }

    fn part_of(&self, prefix: &str) -> &Part {
        let holds = |part: &&Part| part.prefixes.iter().any(|own| **own == *prefix);
        self.others.iter().find(holds).unwrap_or(&self.main)
    }

    fn decode_unannounced(&self) -> Option<&DecodeUnannounced> {
        self.decode_unannounced.get().map(Box::as_ref)
    }

    /// Begins to serve a prefix (`/registry/.../`), with an index by each of these selectable fields. Existing
    /// objects are included; watches can begin after their last change. No effect if the prefix is served.
    pub fn announce(&self, prefix: &str, indexed: Vec<usize>) -> Arc<ResourceCache> {
        self.announce_since(prefix, indexed, Revision(0))
    }

    /// The same for a resource that there was not before a revision: no watch begins earlier.
    pub fn announce_since(&self, prefix: &str, indexed: Vec<usize>, since: Revision) -> Arc<ResourceCache> {
        let mut writers = self.part_of(prefix).writers();
        let cache = writers.announce(prefix, indexed, since, self.decode_unannounced());
        self.publish_prefixes(|by_prefix| drop(by_prefix.insert(prefix.into(), cache.clone())));
        cache
    }

    /// Ends serving a prefix: its watches end, and its objects are kept until a resource is announced for them.
    pub fn withdraw(&self, prefix: &str) -> bool {
        let mut writers = self.part_of(prefix).writers();
        self.publish_prefixes(|by_prefix| drop(by_prefix.remove(prefix)));
        writers.withdraw(prefix)
    }

    /// Replaces the records of objects that are read otherwise than they were, without a change in the store. Watches lose their
    /// place if there are any, or if they are to be interrupted.
    pub fn reread(&self, prefix: &str, interrupt: bool, read: &dyn Fn(&Object) -> Option<Bytes>) {
        let part = self.part_of(prefix);
        let mut writers = part.writers();
        if let Some(writer) = writers.of_prefix(prefix)
            && (writer.reread(read) || interrupt)
        {
            writer.begin_gap();
            writer.publish_up_to(part.progress.current());
        }
    }

    /// Called with the writers of the part locked. Those of other parts may call it at the same time.
    fn publish_prefixes(&self, change: impl Fn(&mut ByPrefix)) {
        self.by_prefix.rcu(|before| {
            let mut by_prefix = ByPrefix::clone(before);
            change(&mut by_prefix);
            by_prefix
        });
    }

    pub fn resource(&self, prefix: &str) -> Option<Arc<ResourceCache>> {
        self.by_prefix.load().get(prefix).cloned()
    }

    /// The current caches, in no order.
    pub fn resources(&self) -> Vec<Arc<ResourceCache>> {
        let by_prefix: Guard<_> = self.by_prefix.load();
        by_prefix.values().cloned().collect()
    }

    /// The revision up to which every resource of the main store has been published. That of any one resource is
    /// [`ResourceCache::current`].
    pub fn current(&self) -> Revision {
        self.main.progress.current()
    }

    /// How far the resources are published, by store: the main one, then its partitions.
    pub fn progress(&self) -> impl Iterator<Item = &Arc<Progress>> {
        [&self.main].into_iter().chain(&self.others).map(|part| &part.progress)
    }

    /// The store's observer that writes to this cache. Create one, for `Store::start`.
    pub fn writer(self: &Arc<Self>) -> CacheWriter {
        self.writer_of(0)
    }

    /// The same for the store with this number: that of its [`Progress`].
    pub fn writer_of(self: &Arc<Self>, number: usize) -> CacheWriter {
        CacheWriter { cache: self.clone(), number, replay: None, replayed: false }
    }
}

/// The only writer of the resources of a store, called by the store.
pub struct CacheWriter {
    cache: Arc<Cache>,
    number: usize,
    replay: Option<Replay>,
    /// Whether there is a state that readers may see.
    replayed: bool,
}

impl CacheWriter {
    fn part(&self) -> &Part {
        self.cache.part(self.number)
    }

    /// Applies the replayed records, from the first one on.
    fn replay_of(&mut self) -> &mut Replay {
        let (cache, number) = (&self.cache, self.number);
        self.replay.get_or_insert_with(|| Replay::begin(cache.clone(), number))
    }
}

impl Observer for CacheWriter {
    fn replay(&mut self, record: Record, history: bool) {
        self.replay_of().push(StoredRecord::Record(record, history));
    }

    fn replayed(&mut self, started: Started) {
        if let Some(replay) = self.replay.take() {
            replay.finish();
        }
        self.part().writers().begin(started.compacted);
        self.replayed = true;
        self.part().progress.advance(started.current);
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let mut writers = self.part().writers();
        for record in records {
            writers.apply(record, true, self.cache.decode_unannounced());
        }
        for record in records {
            // Only these resources have something to publish.
            if let Some(writer) = writers.of_key(&record.key) {
                writer.publish_up_to(revision);
            }
        }
        self.part().progress.advance(revision);
    }

    fn replace(&mut self, records: Vec<Record>, revision: Revision) {
        if revision < self.part().progress.current() {
            // No client may begin a watch at the new state where the old one ended.
            self.part().progress.advance(revision);
        }
        let mut writers = self.part().writers();
        writers.reset();
        for record in &records {
            writers.apply(record, false, self.cache.decode_unannounced());
        }
        writers.all().for_each(|writer| writer.replace(revision));
        self.part().progress.advance(revision);
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        if !self.replayed {
            return self.replay_of().push(StoredRecord::Unreadable(unreadable));
        }
        let mut writers = self.part().writers();
        writers.unreadable(unreadable);
        writers.publish_all(self.part().progress.current());
    }

    fn restored(&mut self, records: Vec<Record>) {
        let mut writers = self.part().writers();
        for record in records {
            if let Some(writer) = writers.of_key(&record.key) {
                writer.begin_gap();
            }
            writers.apply(&record, false, self.cache.decode_unannounced());
        }
        writers.publish_all(self.part().progress.current());
    }

    fn compacted(&mut self, revision: Revision) {
        self.part().writers().all().for_each(|writer| writer.compact(revision));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;
    use pintle_storage::{Expect, MemoryStore, Store, Transaction, UnreadableReason};

    #[test]
    fn a_commit_is_visible_before_it_is_answered() {
        let cache = Cache::new(["/registry/things/"]);
        let store = MemoryStore::new();
        store.start(Box::new(cache.writer())).expect("starts once");
        let record =
            encoded_object::encode(&value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}}), &[]);
        for round in 0..10 {
            let key: Arc<str> = format!("/registry/things/a{round}").into();
            let revision = store
                .commit(Transaction::one(key.clone(), Expect::Absent, Some(record.clone())))
                .wait()
                .expect("committed");
            assert!(cache.current() >= revision);
            let stored =
                cache.resource("/registry/things/").and_then(|resource| resource.get(&key)).expect("published");
            assert_eq!(stored.revision, revision);
        }
    }

    #[test]
    fn compacted_revisions_cannot_be_read() {
        let cache = Cache::new(["/registry/things/", "/registry/others/"]);
        let [things, others] =
            ["/registry/things/", "/registry/others/"].map(|prefix| cache.resource(prefix).expect("declared"));
        let mut writer = cache.writer();
        writer.replayed(Started { compacted: Revision(1), current: Revision(1) });
        let record = |revision: u64| Record {
            revision: Revision(revision),
            key: "/registry/things/a".into(),
            value: Some(encoded_object::encode(&value!({"kind": "Thing", "metadata": {"name": "a"}}), &[])),
        };
        let (mut quiet, mut slow) = (others.cursor(Revision(1)), things.cursor(Revision(1)));
        for revision in 2..=2_000 {
            writer.publish(&[record(revision)], Revision(revision));
        }
        let readable = |cache: &ResourceCache, revision: u64| cache.state().at(Revision(revision)).is_ok();
        assert!(readable(&things, 1) && readable(&others, 1));
        writer.compacted(Revision(1_500));
        for (revision, is_readable) in [(1, false), (1_499, false), (1_500, true), (1_501, true), (2_000, true)] {
            assert_eq!(readable(&things, revision), is_readable, "{revision}");
            assert_eq!(readable(&others, revision), is_readable, "{revision} of what never changed");
        }
        let at = |revision: u64| things.state().at(Revision(revision)).expect("readable");
        let seen = |revision: u64| at(revision).get("/registry/things/a").map(|object| object.revision.0);
        assert_eq!([1_500, 1_777, 1_999].map(seen), [Some(1_500), Some(1_777), Some(1_999)]);
        // Watches continue from the revision up to which nothing was dropped.
        assert_eq!(slow.take(10).map(|_| ()).map_err(|expired| expired.oldest), Err(Revision(1_500)));
        assert_eq!(things.cursor(Revision(1_500)).take(1_000).map(|events| events.len()), Ok(500));
        assert!(quiet.take(10).is_ok() && others.cursor(Revision(3)).take(10).is_ok());
        writer.compacted(Revision(2_000));
        assert!(!readable(&things, 1_999) && readable(&things, 2_000));
        assert!(things.cursor(Revision(2_000)).take(10).is_ok());
        // An earlier revision restores nothing.
        writer.compacted(Revision(1_700));
        assert!(!readable(&things, 1_999) && readable(&things, 2_000));
    }

    #[test]
    fn a_gap_shows_the_new_state_and_ends_watches() {
        let cache = Cache::new(["/registry/things/"]);
        let things = cache.resource("/registry/things/").expect("a resource");
        let mut writer = cache.writer();
        let record = |name: &str, revision| Record {
            revision: Revision(revision),
            key: format!("/registry/things/{name}").into(),
            value: Some(encoded_object::encode(&value!({"kind": "Thing", "metadata": {"name": name}}), &[])),
        };
        // A shared store provides its objects in the order of keys.
        writer.replay(record("a", 7), false);
        writer.replay(record("b", 3), false);
        writer.replayed(Started { compacted: Revision(9), current: Revision(9) });
        assert_eq!((things.state().last, things.state().compacted), (Revision(7), Revision(9)));
        let (mut followed, mut idle) = (things.cursor(Revision(9)), things.cursor(Revision(9)));
        writer.publish(&[record("a", 10)], Revision(10));
        assert_eq!(followed.take(10).map(|events| events.len()), Ok(1));
        writer.replace(vec![record("c", 15), record("a", 12)], Revision(20));
        assert_eq!(cache.current(), Revision(20));
        let keys: Vec<_> = things.state().objects.keys().map(ToString::to_string).collect();
        assert_eq!(keys, ["/registry/things/a", "/registry/things/c"]);
        for cursor in [&mut followed, &mut idle] {
            assert_eq!(cursor.take(10).map(|_| ()).map_err(|expired| expired.oldest), Err(Revision(20)));
        }
        let mut after = things.cursor(Revision(20));
        writer.publish(&[record("d", 21)], Revision(21));
        assert_eq!(after.take(10).map(|events| events.len()), Ok(1));
        assert!(things.state().at(Revision(19)).is_err() && things.state().at(Revision(20)).is_ok());
        // The store was restored to an earlier state.
        writer.replace(vec![record("a", 12)], Revision(15));
        assert_eq!(
            (cache.current(), *cache.progress().next().expect("the main one").changes().borrow()),
            (Revision(15), Revision(15))
        );
        assert!(after.take(10).is_err() && things.get("/registry/things/d").is_none());
        let mut again = things.cursor(Revision(15));
        writer.publish(&[record("e", 16)], Revision(16));
        assert_eq!((again.take(10).map(|events| events.len()), cache.current()), (Ok(1), Revision(16)));
    }

    #[test]
    fn unreadable_objects_are_listed_and_return_with_a_gap() {
        let cache = Cache::new(["/registry/things/", "/registry/others/"]);
        let mut writer = cache.writer();
        let things = cache.resource("/registry/things/").expect("declared");
        let others = cache.resource("/registry/others/").expect("declared");
        let encoded =
            encoded_object::encode(&value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}}), &[]);
        let record = |revision, value| Record { revision: Revision(revision), key: "/registry/things/a".into(), value };
        let sealed = UnreadableReason::Undecryptable(pintle_storage::TransformError::new("no key"));
        let key = || Arc::from("/registry/things/a");
        writer.unreadable(Unreadable { key: key(), revision: Revision(2), reason: sealed });
        writer.replayed(Started { compacted: Revision(5), current: Revision(5) });
        assert!(things.get("/registry/things/a").is_none());
        assert_eq!(things.state().unreadable["/registry/things/a"].revision, Revision(2));
        let (mut concerned, mut unconcerned) = (things.cursor(Revision(5)), others.cursor(Revision(5)));
        assert!(concerned.take(10).is_ok());
        writer.restored(vec![record(2, Some(encoded.clone()))]);
        assert_eq!(things.get("/registry/things/a").expect("readable").revision, Revision(2));
        assert!(things.state().unreadable.is_empty());
        assert!(concerned.take(10).is_err() && unconcerned.take(10).is_ok());
        let mut anew = things.cursor(Revision(5));
        writer.publish(&[record(6, Some(Bytes::from_static(b"damaged")))], Revision(6));
        assert!(things.get("/registry/things/a").is_none(), "what was there is gone");
        assert!(anew.take(10).is_err());
        let reason = &things.state().unreadable["/registry/things/a"].reason;
        assert!(matches!(reason, UnreadableReason::Undecodable(_)), "{reason}");
        let mut later = things.cursor(Revision(6));
        writer.publish(&[record(7, Some(encoded))], Revision(7));
        assert!(things.state().unreadable.is_empty());
        assert_eq!(later.take(10).expect("no gap").len(), 1);
        writer.publish(&[record(8, Some(Bytes::new()))], Revision(8));
        let mut last = things.cursor(Revision(8));
        assert!(last.take(10).expect("no gap").is_empty());
        writer.publish(&[record(9, None)], Revision(9));
        assert!(last.take(10).is_err(), "what it was that went cannot be shown");
        assert!(things.state().objects.is_empty() && things.state().unreadable.is_empty());
    }
}
