//! `Writers`: the writers of all resources, and the stored values of resources that are not announced.
//! Guarantees that no such value is lost: it is kept until its resource is announced.
//! Must only be used under the cache's lock.

use crate::DecodeUnannounced;
use crate::Progress;
use crate::encoded_object::{self, EncodedObject};
use crate::resource::{ResourceCache, Writer};
use bytes::Bytes;
use pintle_storage::{Key, Record, Revision, Unreadable, UnreadableReason};
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// A value of a resource that is not announced.
enum Unclaimed {
    /// A record, or a value in the store's own encoding.
    Value(Revision, Bytes),
    Unreadable(Unreadable),
}

pub(crate) struct Writers {
    progress: Arc<Progress>,
    by_prefix: HashMap<Arc<str>, Writer>,
    unclaimed: BTreeMap<Key, Unclaimed>,
    /// The last change of unannounced values, by the first segment of the prefix (`/registry/<segment>/`).
    last_changes: HashMap<Box<str>, Revision>,
    /// States before this revision are not known.
    base: Revision,
}

impl Writers {
    /// The writers of resources that are published together.
    pub fn new(progress: Arc<Progress>) -> Self {
        Writers {
            progress,
            by_prefix: HashMap::new(),
            unclaimed: BTreeMap::new(),
            last_changes: HashMap::new(),
            base: Revision::default(),
        }
    }

    pub fn all(&mut self) -> impl Iterator<Item = &mut Writer> {
        self.by_prefix.values_mut()
    }

    /// The writer of a key: prefixes are `/registry/<one or two segments>/`.
    pub fn of_key(&mut self, key: &str) -> Option<&mut Writer> {
        let found = prefixes_of(key).filter(|prefix| self.by_prefix.contains_key(*prefix)).last()?;
        self.by_prefix.get_mut(found)
    }

    /// The writer of a prefix.
    pub fn of_prefix(&mut self, prefix: &str) -> Option<&mut Writer> {
        self.by_prefix.get_mut(prefix)
    }

    /// Applies a change, or keeps it until its resource is announced.
    pub fn apply(&mut self, record: &Record, history: bool, read: Option<&DecodeUnannounced>) {
        let Some(writer) = self.of_key(&record.key) else { return self.keep(record) };
        if let Err(unreadable) = apply(writer, record, history, read) {
            writer.unreadable(unreadable);
        }
    }

    /// Records a value that cannot be decoded.
    pub fn unreadable(&mut self, unreadable: Unreadable) {
        match self.of_key(&unreadable.key) {
            Some(writer) => writer.unreadable(unreadable),
            None => {
                self.changed(&unreadable.key, unreadable.revision);
                self.unclaimed.insert(unreadable.key.clone(), Unclaimed::Unreadable(unreadable));
            }
        }
    }

    fn keep(&mut self, record: &Record) {
        self.changed(&record.key, record.revision);
        match &record.value {
            Some(value) => self.unclaimed.insert(record.key.clone(), Unclaimed::Value(record.revision, value.clone())),
            None => self.unclaimed.remove(&record.key),
        };
    }

    fn changed(&mut self, key: &str, revision: Revision) {
        let Some(segment) = prefixes_of(key).next() else { return };
        match self.last_changes.get_mut(segment) {
            Some(last) => *last = revision.max(*last),
            None => drop(self.last_changes.insert(segment.into(), revision)),
        }
    }

    /// Makes everything applied so far base state; states before a revision are not known.
    pub fn begin(&mut self, compacted: Revision) {
        self.base = compacted;
        self.all().for_each(|writer| {
            writer.set_base(compacted);
            writer.publish();
        });
    }

    /// Drops everything, before a state that does not follow from this one.
    pub fn reset(&mut self) {
        self.unclaimed.clear();
        self.last_changes.clear();
        self.all().for_each(Writer::reset);
    }

    pub fn publish_all(&mut self, revision: Revision) {
        self.all().for_each(|writer| writer.publish_up_to(revision));
    }

    /// Begins to serve a prefix with the values kept for it, as of a revision or later; returns the existing cache if it is served.
    pub fn announce(
        &mut self,
        prefix: &str,
        indexed: Vec<usize>,
        since: Revision,
        read: Option<&DecodeUnannounced>,
    ) -> Arc<ResourceCache> {
        if let Some(known) = self.by_prefix.get(prefix) {
            return known.cache.clone();
        }
        let cache = Arc::new(ResourceCache::of(self.progress.clone(), prefix, indexed));
        let mut writer = Writer::new(cache.clone());
        for (key, kept) in self.take_unclaimed(prefix) {
            let outcome = match kept {
                Unclaimed::Value(revision, value) => {
                    apply(&mut writer, &Record { key, revision, value: Some(value) }, false, read)
                }
                Unclaimed::Unreadable(unreadable) => Err(unreadable),
            };
            if let Err(unreadable) = outcome {
                writer.unreadable(unreadable);
            }
        }
        let last = prefixes_of(prefix).next().and_then(|segment| self.last_changes.get(segment).copied());
        writer.set_base(self.base.max(last.unwrap_or_default()).max(since));
        writer.publish();
        self.by_prefix.insert(prefix.into(), writer);
        cache
    }

    /// The values kept under a prefix, without those of a longer prefix that is served.
    fn take_unclaimed(&mut self, prefix: &str) -> Vec<(Key, Unclaimed)> {
        let from = (Bound::Included(prefix), Bound::Unbounded);
        let keys = self.unclaimed.range::<str, _>(from).map(|(key, _)| key).take_while(|key| key.starts_with(prefix));
        let keys: Vec<Key> = keys.cloned().collect();
        keys.into_iter().filter_map(|key| self.unclaimed.remove_entry(&key)).collect()
    }

    /// Ends serving a prefix; its objects are kept until a resource is announced for them.
    pub fn withdraw(&mut self, prefix: &str) -> bool {
        let Some(writer) = self.by_prefix.remove(prefix) else { return false };
        let state = writer.cache.state();
        for object in state.objects.values() {
            let value = Unclaimed::Value(object.revision, object.encoded.json().clone());
            self.unclaimed.insert(object.key.clone(), value);
        }
        for (key, unreadable) in &state.unreadable {
            self.unclaimed.insert(key.clone(), Unclaimed::Unreadable(Unreadable::clone(unreadable)));
        }
        // Events up to the last change are not kept, so watches cannot begin before it.
        self.changed(prefix, state.last);
        writer.cache.end();
        true
    }
}

/// The possible prefixes of a key, the shorter first.
fn prefixes_of(key: &str) -> impl Iterator<Item = &str> {
    key.match_indices('/').skip(2).take(2).map(|(at, _)| &key[..=at])
}

/// Applies a change, if its value is an object.
fn apply(
    writer: &mut Writer,
    record: &Record,
    history: bool,
    read: Option<&DecodeUnannounced>,
) -> Result<(), Unreadable> {
    let undecodable = |reason: String| {
        let reason = UnreadableReason::Undecodable(reason.into());
        Unreadable { key: record.key.clone(), revision: record.revision, reason }
    };
    let encoded = match (&record.value, read) {
        (None, _) => None,
        // Read before the resource was announced, when its encoding was unknown.
        (Some(value), Some(read)) if !encoded_object::is_record(value) => {
            let made = read(&record.key, value).map_err(undecodable)?;
            Some(EncodedObject::from_record(&made, record.revision).map_err(|error| undecodable(error.to_string()))?)
        }
        (Some(value), _) => {
            Some(EncodedObject::from_record(value, record.revision).map_err(|error| undecodable(error.to_string()))?)
        }
    };
    writer.apply(&record.key, record.revision, encoded, history);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cache, WatchFilter};
    use pintle_schema::value;
    use pintle_storage::{Observer, Started};

    const PREFIX: &str = "/registry/fun.example.com/frobbers/";

    fn record(name: &str, revision: u64) -> Record {
        let value = encoded_object::encode(&value!({"kind": "Frobber", "metadata": {"name": name}}), &[]);
        Record { revision: Revision(revision), key: format!("{PREFIX}{name}").into(), value: Some(value) }
    }

    fn removal(name: &str, revision: u64) -> Record {
        Record { value: None, ..record(name, revision) }
    }

    fn names(cache: &ResourceCache) -> Vec<(String, u64)> {
        cache.state().objects.values().map(|object| (object.name().to_owned(), object.revision.0)).collect()
    }

    #[test]
    fn keys_find_their_resource_by_the_longest_prefix() {
        let mut writers = Writers::new(Arc::new(Progress::new(0)));
        for prefix in ["/registry/pods/", "/registry/services/specs/", "/registry/services/endpoints/"] {
            writers.announce(prefix, Vec::new(), Revision(0), None);
        }
        let mut found = |key: &str| writers.of_key(key).map(|writer| writer.cache.prefix.to_string());
        assert_eq!(found("/registry/pods/ns/a").as_deref(), Some("/registry/pods/"));
        assert_eq!(found("/registry/services/specs/ns/a").as_deref(), Some("/registry/services/specs/"));
        assert_eq!(found("/registry/services/endpoints/ns/a").as_deref(), Some("/registry/services/endpoints/"));
        assert_eq!(found("/registry/ranges/serviceips"), None);
    }

    #[test]
    fn unclaimed_keys_are_served_once_announced() {
        let cache = Cache::new(["/registry/things/"]);
        let mut writer = cache.writer();
        writer.replay(record("a", 2), false);
        writer.replay(record("b", 3), true);
        writer.replayed(Started { compacted: Revision(1), current: Revision(3) });
        writer.publish(&[record("c", 4), record("a", 4)], Revision(4));
        writer.publish(&[removal("b", 5)], Revision(5));
        assert!(cache.resource(PREFIX).is_none());
        let frobbers = cache.announce(PREFIX, Vec::new());
        let expected = [("a".to_owned(), 4), ("c".to_owned(), 4)];
        assert_eq!(names(&frobbers), expected);
        assert!(frobbers.cursor(Revision(4)).take(10).is_err(), "the removal cannot be shown");
        let mut watch = frobbers.cursor(Revision(5));
        writer.publish(&[record("d", 6)], Revision(6));
        assert_eq!(watch.take(10).map(|events| events.len()), Ok(1));
        assert!(Arc::ptr_eq(&frobbers, &cache.announce(PREFIX, Vec::new())), "once");
    }

    #[test]
    fn objects_of_a_withdrawn_resource_are_kept() {
        let cache = Cache::new([]);
        cache.set_decode_unannounced(Box::new(|_, json| {
            let value =
                pintle_codec::json::parse(json, pintle_codec::Strictness::Ignore).map_err(|error| error.to_string())?;
            Ok(encoded_object::encode(&value.value, &[]))
        }));
        let mut writer = cache.writer();
        writer.replayed(Started { compacted: Revision(1), current: Revision(1) });
        let first = cache.announce(PREFIX, Vec::new());
        writer.publish(&[record("a", 2), record("b", 2)], Revision(2));
        let mut watch = first.watch_matching(Revision(2), WatchFilter::Namespace("".into()));
        assert!(!watch.is_ended());
        assert!(cache.withdraw(PREFIX) && !cache.withdraw(PREFIX));
        assert!(cache.resource(PREFIX).is_none() && watch.is_ended() && watch.take(10).is_err());
        // While a resource is not served, other servers may still write it.
        writer.publish(&[removal("a", 3), record("c", 3)], Revision(3));
        let second = cache.announce(PREFIX, Vec::new());
        assert_eq!(names(&second), [("b".to_owned(), 2), ("c".to_owned(), 3)]);
        assert!(second.cursor(Revision(2)).take(10).is_err(), "what was removed meanwhile cannot be shown");
        let mut watch = second.cursor(Revision(3));
        writer.publish(&[record("b", 4)], Revision(4));
        assert_eq!(watch.take(10).map(|events| events.len()), Ok(1));
    }
}
