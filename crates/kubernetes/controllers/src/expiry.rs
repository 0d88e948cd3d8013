//! Deletes objects of kinds with a lifetime when it has passed since their last change. Guarantees that an object lives
//! for its whole lifetime, and that a change restarts it. Must never depend on the store: a store with leases does not
//! need this.
//!
//! Budget: an object has one queue entry of some tens of bytes, however often it changes; there is one timer.

use crate::feed::{Listed, Observer};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_codec::json;
use pintle_schema::{ApiType, View};
use pintle_storage::{CommitFuture, Revision};
use pintle_types::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The maximum number of concurrent deletions.
const AT_A_TIME: usize = 256;

pub struct Expiry {
    index: Arc<ResourceIndex>,
    /// A lifetime in seconds that overrides the kind's own; 0 for ever.
    lifetime: Option<i64>,
    line: Mutex<Line>,
    /// Notified when the queue is no longer empty.
    filled: Notify,
}

/// The last known states of objects, in the order in which they expire.
#[derive(Default)]
struct Line {
    due: BTreeMap<(i64, ObjectKey), Revision>,
    /// When each object expires.
    times: HashMap<ObjectKey, i64>,
}

impl Line {
    /// Takes the place of the object's state before.
    fn set(&mut self, entry: Entry) {
        let Entry { at_unix, place, revision } = entry;
        self.remove(&place);
        self.due.insert((at_unix, place.clone()), revision);
        self.times.insert(place, at_unix);
    }

    fn remove(&mut self, place: &ObjectKey) {
        if let Some(at_unix) = self.times.remove(place) {
            self.due.remove(&(at_unix, place.clone()));
        }
    }

    /// When the first object expires.
    fn first(&self) -> Option<i64> {
        self.due.first_key_value().map(|((at_unix, _), _)| *at_unix)
    }

    fn take_first(&mut self) -> Option<Entry> {
        let ((at_unix, place), revision) = self.due.pop_first()?;
        self.times.remove(&place);
        Some(Entry { at_unix, place, revision })
    }
}

/// A state of an object and when it expires.
struct Entry {
    at_unix: i64,
    place: ObjectKey,
    revision: Revision,
}

impl Expiry {
    pub fn new(index: Arc<ResourceIndex>, lifetime: Option<Duration>) -> Self {
        let lifetime = lifetime.map(|lifetime| i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
        Expiry { index, lifetime, line: Mutex::default(), filled: Notify::new() }
    }

    /// Deletes expired objects until the future is dropped.
    pub async fn work(&self) {
        loop {
            let now = self.index.registry.environment.now_unix();
            self.expire(now).await;
            let next = self.line().first();
            match next {
                None => self.filled.notified().await,
                Some(at) if at <= now => {}
                Some(at) => {
                    let seconds = u64::try_from(at.saturating_sub(now)).unwrap_or(0).max(1);
                    tokio::time::sleep(Duration::from_secs(seconds)).await;
                }
            }
        }
    }

    /// Deletes objects that have expired by now, up to a limit; returns the number of entries.
    pub(crate) async fn expire(&self, now_unix: i64) -> usize {
        let due = self.due(now_unix);
        let removals: Vec<_> = due.iter().filter_map(|entry| self.remove(entry)).collect();
        for removal in removals {
            // An object that changed meanwhile has a later entry; a failed store rejects all writes.
            let _ = removal.await;
        }
        due.len()
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes expired entries from the queue, up to a limit.
    fn due(&self, now_unix: i64) -> Vec<Entry> {
        let mut line = self.line();
        let mut due = Vec::new();
        while due.len() < AT_A_TIME && line.first().is_some_and(|at_unix| at_unix <= now_unix) {
            due.extend(line.take_first());
        }
        due
    }

    /// Deletes an object, unless it has changed since.
    fn remove(&self, entry: &Entry) -> Option<CommitFuture> {
        let object = self.index.object(&entry.place).filter(|object| object.revision == entry.revision)?;
        Some(self.index.registry.expire(&object))
    }

    fn lifetime(&self, kind: KindId) -> Option<i64> {
        let own = i64::from(self.index.kind(kind)?.resource.ttl_seconds);
        Some(self.lifetime.unwrap_or(own)).filter(|lifetime| own > 0 && *lifetime > 0)
    }

    fn entry(kind: KindId, object: &Object, changed_unix: i64, lifetime: i64) -> Entry {
        // The clock has whole seconds: one more, so that the lifetime is complete.
        let at_unix = changed_unix.saturating_add(lifetime).saturating_add(1);
        Entry { at_unix, place: ObjectKey { kind, key: object.key.clone() }, revision: object.revision }
    }
}

/// When an object was last written, from its metadata; seconds since 1970.
fn last_change(object: &Object) -> Option<i64> {
    let metadata = json::decode_trusted(ObjectMeta::schema(), object.encoded.metadata()).ok()?;
    let metadata = View::<ObjectMeta>::new(&metadata);
    let created = metadata.field(ObjectMeta::CREATION_TIMESTAMP).get().seconds;
    let written = metadata.field(ObjectMeta::MANAGED_FIELDS).iter();
    let written = written.filter_map(|entry| entry.field(ManagedFieldsEntry::TIME).get());
    written.map(|time| time.seconds).chain([created]).max()
}

impl Observer for Expiry {
    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        self.lifetime(kind).map(|_| WatchFilter::Everything)
    }

    fn list(&self, listed: &[Listed]) {
        let mut line = Line::default();
        for Listed { id, state, .. } in listed {
            let Some(lifetime) = self.lifetime(*id) else { continue };
            let objects = state.objects.values();
            objects.for_each(|object| {
                line.set(Expiry::entry(*id, object, last_change(object).unwrap_or(0), lifetime));
            });
        }
        *self.line() = line;
        self.filled.notify_one();
    }

    fn observe(&self, kind: KindId, event: &Event) {
        let Some(lifetime) = self.lifetime(kind) else { return };
        if event.removed {
            return self.line().remove(&ObjectKey { kind, key: event.object.key.clone() });
        }
        let now = self.index.registry.environment.now_unix();
        self.line().set(Expiry::entry(kind, &event.object, now, lifetime));
        self.filled.notify_one();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(name: &str, at_unix: i64, revision: u64) -> Entry {
        let place = ObjectKey { kind: KindId::default(), key: name.into() };
        Entry { at_unix, place, revision: Revision(revision) }
    }

    #[test]
    fn an_object_has_one_entry_however_often_it_changes() {
        let mut line = Line::default();
        for revision in 0..1_000 {
            line.set(entry("a", 100 + i64::try_from(revision / 10).unwrap_or(0), revision));
            line.set(entry("b", 50, revision));
        }
        line.set(entry("c", 120, 7));
        assert_eq!((line.due.len(), line.times.len()), (3, 3));
        line.remove(&entry("b", 0, 0).place);
        assert_eq!((line.due.len(), line.times.len(), line.first()), (2, 2, Some(120)));
        let taken: Vec<_> = std::iter::from_fn(|| line.take_first())
            .map(|entry| (entry.place.key.to_string(), entry.at_unix, entry.revision.0))
            .collect();
        assert_eq!(taken, [("c".to_owned(), 120, 7), ("a".to_owned(), 199, 999)]);
        assert!(line.due.is_empty() && line.times.is_empty());
    }
}
