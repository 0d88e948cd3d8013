//! Deletes objects of kinds with a lifetime when it has passed since their last change. Guarantees that an object lives
//! for its whole lifetime, and that a change restarts it. Must never depend on the store: a store with leases does not
//! need this.
//!
//! Budget: a change costs one queue entry of some tens of bytes; there is one timer.

use crate::feed::{Listed, Observer};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_codec::json;
use pintle_schema::{ApiType, View};
use pintle_storage::{CommitFuture, Revision};
use pintle_types::meta::v1::{ManagedFieldsEntry, ObjectMeta};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;

/// The maximum number of concurrent deletions.
const AT_A_TIME: usize = 256;

pub struct Expiry {
    world: Arc<ResourceIndex>,
    /// A lifetime in seconds that overrides the kind's own; 0 for ever.
    lifetime: Option<i64>,
    line: Mutex<VecDeque<Entry>>,
    /// Notified when the queue is no longer empty.
    filled: Notify,
}

/// A state of an object and when it expires. Lifetimes are equal, so the queue is in order.
struct Entry {
    at_unix: i64,
    place: ObjectKey,
    revision: Revision,
}

impl Expiry {
    pub fn new(world: Arc<ResourceIndex>, lifetime: Option<Duration>) -> Self {
        let lifetime = lifetime.map(|lifetime| i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX));
        Expiry { world, lifetime, line: Mutex::default(), filled: Notify::new() }
    }

    /// Deletes expired objects until the future is dropped.
    pub async fn work(&self) {
        loop {
            let now = self.world.registry.environment.now_unix();
            self.expire(now).await;
            let next = self.line().front().map(|entry| entry.at_unix);
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

    fn line(&self) -> MutexGuard<'_, VecDeque<Entry>> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Removes expired entries from the queue, up to a limit.
    fn due(&self, now_unix: i64) -> Vec<Entry> {
        let mut line = self.line();
        let expired = line.iter().take(AT_A_TIME).take_while(|entry| entry.at_unix <= now_unix).count();
        line.drain(..expired).collect()
    }

    /// Deletes an object, unless it has changed since.
    fn remove(&self, entry: &Entry) -> Option<CommitFuture> {
        let object = self.world.object(&entry.place).filter(|object| object.revision == entry.revision)?;
        Some(self.world.registry.expire(&object))
    }

    fn lifetime(&self, kind: KindId) -> Option<i64> {
        let own = i64::from(self.world.kind(kind)?.resource.ttl_seconds);
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
        let mut entries = Vec::new();
        for Listed { id, state, .. } in listed {
            let Some(lifetime) = self.lifetime(*id) else { continue };
            let objects = state.objects.values();
            entries
                .extend(objects.map(|object| Expiry::entry(*id, object, last_change(object).unwrap_or(0), lifetime)));
        }
        entries.sort_by_key(|entry| entry.at_unix);
        *self.line() = entries.into();
        self.filled.notify_one();
    }

    fn observe(&self, kind: KindId, event: &Event) {
        let Some(lifetime) = self.lifetime(kind).filter(|_| !event.removed) else { return };
        let now = self.world.registry.environment.now_unix();
        self.line().push_back(Expiry::entry(kind, &event.object, now, lifetime));
        self.filled.notify_one();
    }
}
