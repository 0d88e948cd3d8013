//! `ResourceCache`: all objects of one resource, now and at every retained revision.
//! Guarantees that readers never wait for the writer: it changes its own copy of the state and publishes it after
//! each commit, and readers load the published pointer.
//! Must never exceed the budget: a commit costs two path copies of the map and a slot of the history, and two path
//! copies of the index if a value changed; a read costs one pointer load.

use crate::Progress;
use crate::encoded_object::EncodedObject;
use crate::history::History;
use crate::index::Index;
use crate::limits;
use crate::object::Object;
use crate::objects::{Keys, Objects};
use crate::stats::{Listed, Stats};
use crate::watch_filter::{Waiter, Waiters, WatchFilter};
use arc_swap::ArcSwap;
use bytes::Bytes;
use imbl::{OrdMap, Vector};
use pintle_storage::{Key, Revision, Unreadable, UnreadableReason};
use std::future::poll_fn;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

/// A change of an object at a revision.
#[derive(Debug)]
pub struct Event {
    pub revision: Revision,
    /// The object after the change; if it was deleted, its last state at this revision.
    pub object: Arc<Object>,
    /// The object before the change; `None` when it was created.
    pub previous: Option<Arc<Object>>,
    pub removed: bool,
}

/// The bounds of a resource's history.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub events: usize,
    pub bytes: usize,
    pub checkpoint_events: u64,
}

impl Default for Bounds {
    fn default() -> Self {
        Bounds {
            events: limits::HISTORY_EVENTS,
            bytes: limits::HISTORY_BYTES,
            checkpoint_events: limits::CHECKPOINT_EVENTS,
        }
    }
}

/// A published state of a resource; immutable.
#[derive(Clone)]
pub struct State {
    bounds: Bounds,
    /// The revision of the last change of this resource.
    pub last: Revision,
    /// Events after this revision are retained.
    pub compacted: Revision,
    /// States before this revision cannot be read, even if no event since was dropped: the store was compacted up to
    /// it.
    oldest: Revision,
    pub objects: Objects,
    /// Stored values of this resource that cannot be decoded.
    pub unreadable: OrdMap<Key, Arc<Unreadable>>,
    /// Built from `objects` as soon as they are complete.
    index: Index,
    events: History,
    checkpoints: Vector<(Revision, Objects)>,
    history_bytes: usize,
    /// The size of `objects` in bytes.
    pub object_bytes: usize,
}

/// The requested revision is older than the retained history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Expired {
    pub requested: Revision,
    pub oldest: Revision,
}

impl State {
    fn new(bounds: Bounds) -> Self {
        State {
            bounds,
            last: Revision(0),
            compacted: Revision(0),
            oldest: Revision(0),
            objects: Objects::default(),
            unreadable: OrdMap::new(),
            index: Index::default(),
            events: History::default(),
            checkpoints: Vector::new(),
            history_bytes: 0,
            object_bytes: 0,
        }
    }

    /// The objects at a revision.
    ///
    /// Starts at the nearest later checkpoint and undoes the events in between: at most `CHECKPOINT_EVENTS` steps.
    ///
    /// # Errors
    /// The revision is older than the history.
    pub fn at(&self, revision: Revision) -> Result<Objects, Expired> {
        if revision < self.oldest {
            return Err(Expired { requested: revision, oldest: self.oldest });
        }
        if revision >= self.last {
            return Ok(self.objects.clone());
        }
        if revision < self.compacted {
            return Err(Expired { requested: revision, oldest: self.compacted });
        }
        let later = self.checkpoints.iter().find(|(at, _)| *at >= revision);
        let (from, mut objects) = match later {
            Some((at, objects)) => (*at, objects.clone()),
            None => (self.last, self.objects.clone()),
        };
        let end = self.after(from);
        for index in (self.after(revision)..end).rev() {
            let Some(event) = self.events.get(index) else { break };
            match &event.previous {
                Some(previous) => objects.insert(previous.clone()),
                None => objects.remove(&event.object.key),
            };
        }
        Ok(objects)
    }

    /// The keys of the objects whose selectable field with this index has this value, now. `None` if there is no such
    /// index.
    pub fn keys_with(&self, field: usize, value: &str) -> Option<Keys> {
        self.index.keys(field, value)
    }

    /// The index of the first event after a revision, searched from the end, because it is usually near it.
    fn after(&self, revision: Revision) -> usize {
        let is_after = |index: usize| self.events.get(index).is_some_and(|event| event.revision > revision);
        let (mut low, mut high, mut step) = (self.events.len(), self.events.len(), 1);
        while low > 0 && is_after(low - 1) {
            high = low - 1;
            low = high.saturating_sub(step);
            step *= 2;
        }
        while low < high {
            let middle = low + (high - low) / 2;
            if is_after(middle) { high = middle } else { low = middle + 1 }
        }
        low
    }

    fn new_events(&self, after: Revision) -> impl Iterator<Item = &Arc<Event>> {
        (self.after(after)..self.events.len()).map_while(|index| self.events.get(index))
    }

    fn put(&mut self, object: Arc<Object>, history: bool) {
        let previous = self.insert(&object);
        self.push(history, Event { revision: object.revision, object, previous, removed: false });
    }

    fn insert(&mut self, object: &Arc<Object>) -> Option<Arc<Object>> {
        self.unreadable.remove(&object.key);
        let previous = self.objects.insert(object.clone());
        self.object_bytes += object.encoded.size();
        self.object_bytes -= previous.as_ref().map_or(0, |previous| previous.encoded.size());
        self.index.change(&object.key, previous.as_deref(), Some(object));
        previous
    }

    fn take(&mut self, key: &Key) -> Option<Arc<Object>> {
        self.unreadable.remove(key);
        let previous = self.objects.remove(key)?;
        self.object_bytes -= previous.encoded.size();
        self.index.change(key, Some(&previous), None);
        Some(previous)
    }

    fn remove(&mut self, key: &Key, revision: Revision, history: bool) {
        let Some(previous) = self.take(key) else { return };
        let encoded = previous.encoded.at_revision(revision);
        let last = Arc::new(Object::new(key.clone(), previous.prefix.into(), revision, encoded));
        self.push(history, Event { revision, object: last, previous: Some(previous), removed: true });
    }

    fn push(&mut self, history: bool, event: Event) {
        // A store provides objects without history in key order.
        self.last = self.last.max(event.revision);
        if !history {
            self.compacted = self.compacted.max(event.revision);
            return;
        }
        self.history_bytes += weight(&event);
        self.events.push_back(Arc::new(event));
    }

    /// Drops the events up to a revision. Events of one revision are dropped together, because half a transaction is
    /// not a valid history.
    fn forget(&mut self, revision: Revision) {
        self.compacted = self.compacted.max(revision);
        while self.events.front().is_some_and(|event| event.revision <= revision) {
            if let Some(oldest) = self.events.pop_front() {
                self.history_bytes -= weight(&oldest);
            }
        }
    }

    /// Drops what the store has compacted. Watches of a resource that has not changed since may continue from before.
    fn compact(&mut self, revision: Revision) {
        self.oldest = self.oldest.max(revision);
        let last = self.after(revision).checked_sub(1).and_then(|last| self.events.get(last));
        if let Some(last) = last.map(|last| last.revision) {
            self.forget(last);
        }
        self.drop_checkpoints();
    }

    /// Drops events beyond the bounds, up to a revision.
    fn trim(&mut self, last: Revision) {
        while self.events.len() > self.bounds.events || self.history_bytes > self.bounds.bytes {
            let oldest = self.events.front().map(|event| event.revision);
            let Some(oldest) = oldest.filter(|oldest| *oldest <= last) else { break };
            self.forget(oldest);
        }
    }

    /// After all events of a commit: adds a checkpoint from time to time and drops events beyond the bounds.
    fn settle(&mut self) {
        let due = self.checkpoints.back().map_or(0, |(at, _)| self.after(*at) as u64) + self.bounds.checkpoint_events;
        if self.events.len() as u64 >= due {
            self.checkpoints.push_back((self.last, self.objects.clone()));
        }
        self.trim(self.last);
        self.drop_checkpoints();
    }

    /// Drops checkpoints that no retained state needs.
    fn drop_checkpoints(&mut self) {
        let unread = self.compacted.max(self.oldest);
        while self.checkpoints.front().is_some_and(|(at, _)| *at <= unread) {
            self.checkpoints.pop_front();
        }
    }
}

/// The memory that an event keeps alive besides the current objects.
fn weight(event: &Event) -> usize {
    let removed = if event.removed { event.object.encoded.size() } else { 0 };
    removed + event.previous.as_ref().map_or(0, |previous| previous.encoded.size()) + 128
}

/// All objects of one resource. One writer, any number of readers.
pub struct ResourceCache {
    /// `/registry/...`, ending in a slash.
    pub prefix: Box<str>,
    /// How far the resources of the store are published.
    pub progress: Arc<Progress>,
    /// The selectable fields with an index.
    indexed: Arc<[usize]>,
    state: ArcSwap<State>,
    waiters: Waiters,
    stats: Stats,
    /// The resource is no longer served.
    ended: AtomicBool,
}

impl ResourceCache {
    /// A cache for the objects under a prefix, with an index by each of these selectable fields.
    pub fn new(prefix: &str, indexed: impl Into<Arc<[usize]>>) -> Self {
        ResourceCache::of(Arc::new(Progress::new(0)), prefix, indexed)
    }

    /// The same for objects of the store with this progress.
    pub(crate) fn of(progress: Arc<Progress>, prefix: &str, indexed: impl Into<Arc<[usize]>>) -> Self {
        let indexed = indexed.into();
        ResourceCache {
            prefix: prefix.into(),
            progress,
            stats: Stats::new(indexed.len()),
            indexed,
            state: ArcSwap::from_pointee(State::new(Bounds::default())),
            waiters: Waiters::default(),
            ended: AtomicBool::new(false),
        }
    }

    /// Ends all watches after the existing events: the resource is no longer served.
    pub(crate) fn end(&self) {
        self.ended.store(true, Ordering::SeqCst);
        self.waiters.wake_all();
    }

    /// Wakes all watches, so that they look whether their resource is still defined as it was.
    pub fn wake_watches(&self) {
        self.waiters.wake_all();
    }

    /// The statistics of this cache.
    pub fn stats(&self) -> &Stats {
        &self.stats
    }

    /// Counts a list: the index that was used, and the numbers of objects examined and returned.
    pub fn listed(&self, index: Option<usize>, fetched: usize, returned: usize) {
        let place = index.and_then(|field| self.indexed.iter().position(|indexed| *indexed == field));
        self.stats.listed(place, fetched, returned);
    }

    /// The lists so far, by index.
    pub fn lists(&self) -> impl Iterator<Item = Listed> {
        self.stats.lists().map(|(place, lists, fetched)| {
            let index = place.and_then(|place| self.indexed.get(place).copied());
            Listed { index, lists, fetched }
        })
    }

    /// The revision up to which every resource of the store has been published. Load it before the state: the state then
    /// includes everything up to it.
    pub fn current(&self) -> Revision {
        self.progress.current()
    }

    /// The current state.
    pub fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// The current object with this storage key.
    pub fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.state.load().objects.get(key).cloned()
    }

    /// About how many watches a change of an object would wake: those of its namespace and key, and of the whole resource. No more
    /// than `most` of each are counted.
    pub fn watches_of(&self, namespace: &str, key: Option<&str>, most: usize) -> usize {
        self.waiters.concerned(namespace, key, most)
    }

    /// A cursor over the events after a revision.
    pub fn cursor(self: &Arc<Self>, after: Revision) -> Watcher {
        self.watch_matching(after, WatchFilter::Everything)
    }

    /// A cursor over the events after a revision that match a filter.
    pub fn watch_matching(self: &Arc<Self>, after: Revision, filter: WatchFilter) -> Watcher {
        let (name, waiter) = self.waiters.join(&filter);
        Watcher { cache: self.clone(), filter, name, waiter, after, behind: true }
    }
}

/// The writer's working copy of a resource.
pub(crate) struct Writer {
    pub cache: Arc<ResourceCache>,
    state: State,
    /// The last published revision.
    published: Revision,
    dirty: bool,
    /// The next state does not follow from the last one by events.
    gap: bool,
}

impl Writer {
    pub fn new(cache: Arc<ResourceCache>) -> Self {
        Self::with_bounds(cache, Bounds::default())
    }

    pub fn with_bounds(cache: Arc<ResourceCache>, bounds: Bounds) -> Self {
        Writer { cache, state: State::new(bounds), published: Revision(0), dirty: false, gap: false }
    }

    /// Applies a change; `encoded` is `None` if the object was deleted.
    pub fn apply(&mut self, key: &Key, revision: Revision, encoded: Option<EncodedObject>, history: bool) {
        match encoded {
            Some(encoded) => {
                self.state.put(Arc::new(Object::new(key.clone(), self.cache.prefix.len(), revision, encoded)), history)
            }
            None => {
                // The deleted object is unknown, so there is no event.
                self.gap |= self.state.unreadable.contains_key(key);
                self.state.remove(key, revision, history);
            }
        }
        self.dirty = true;
    }

    /// Replaces the records of objects that are read otherwise, at their revisions. Returns whether there are any.
    pub fn reread(&mut self, read: &dyn Fn(&Object) -> Option<Bytes>) -> bool {
        let anew = self.state.objects.values().filter_map(|object| {
            let encoded = EncodedObject::from_record(&read(object)?, object.revision).ok()?;
            Some(Arc::new(Object::new(object.key.clone(), object.prefix.into(), object.revision, encoded)))
        });
        let anew: Vec<_> = anew.collect();
        anew.iter().for_each(|object| drop(self.state.insert(object)));
        !anew.is_empty()
    }

    /// The following changes are existing state, not events.
    pub fn begin_gap(&mut self) {
        self.gap = true;
    }

    /// During a replay, events that will be beyond the bounds at its end are dropped at once.
    pub fn trim(&mut self) {
        // More records of the last revision may follow.
        self.state.trim(Revision(self.state.last.0.saturating_sub(1)));
    }

    /// Makes everything up to this revision base state: watches cannot start before it, and it causes no events.
    /// Builds the index now.
    pub fn set_base(&mut self, compacted: Revision) {
        self.state.index = Index::of(&self.cache.indexed, &self.state.objects);
        self.state.compacted = self.state.compacted.max(compacted);
        self.published = self.state.last;
        (self.dirty, self.gap) = (true, false);
    }

    /// Drops history up to a revision, once the applied changes have been published.
    pub fn compact(&mut self, revision: Revision) {
        self.state.compact(revision);
        self.cache.waiters.announce(&[], || self.cache.state.store(Arc::new(self.state.clone())));
    }

    /// Records a value that cannot be decoded.
    pub fn unreadable(&mut self, unreadable: Unreadable) {
        if matches!(unreadable.reason, UnreadableReason::Undecodable(_)) {
            self.cache.stats.undecodable.increment();
        }
        self.state.take(&unreadable.key);
        self.state.unreadable.insert(unreadable.key.clone(), Arc::new(unreadable));
        self.gap = true;
    }

    /// Drops everything, before a state that does not follow from this one.
    pub fn reset(&mut self) {
        self.state = State::new(self.state.bounds);
    }

    /// Publishes the changes since `reset`, or without history, as the state at a revision before which nothing
    /// is known: every watch has lost its place.
    pub fn replace(&mut self, revision: Revision) {
        self.state.last = self.state.last.max(revision);
        self.state.forget(revision);
        self.set_base(revision);
        self.dirty = false;
        self.cache.waiters.announce_gap(revision, || self.cache.state.store(Arc::new(self.state.clone())));
    }

    /// Publishes the applied changes up to a revision.
    pub fn publish_up_to(&mut self, revision: Revision) {
        if self.gap { self.replace(revision) } else { self.publish() }
    }

    pub fn publish(&mut self) {
        if !std::mem::take(&mut self.dirty) {
            return;
        }
        let new: Vec<_> = self.state.new_events(self.published).cloned().collect();
        self.state.settle();
        self.published = self.state.last;
        self.cache.stats.received(new.len());
        self.cache.waiters.announce(&new, || self.cache.state.store(Arc::new(self.state.clone())));
    }
}

/// The position of a watch in the history. It costs nothing while no event matches, and fails when a matching event
/// has been dropped.
pub struct Watcher {
    cache: Arc<ResourceCache>,
    filter: WatchFilter,
    name: (u64, u64),
    waiter: Arc<Waiter>,
    after: Revision,
    /// The last `take` did not reach the end.
    behind: bool,
}

impl Watcher {
    /// Whether the resource is no longer served: `take` fails after the last event.
    pub fn is_ended(&self) -> bool {
        self.cache.ended.load(Ordering::Acquire)
    }

    /// Fails after the last event.
    fn check_end(&self, state: &State) -> Result<(), Expired> {
        match self.is_ended() {
            true => Err(Expired { requested: self.after, oldest: state.last }),
            false => Ok(()),
        }
    }

    /// Takes at most `limit` events after the position that match (always whole revisions), and moves past them.
    ///
    /// # Errors
    /// The first event that may match has been dropped.
    pub fn take(&mut self, limit: usize) -> Result<Vec<Arc<Event>>, Expired> {
        let mut events = Vec::new();
        self.visit(limit, |event| events.push(event.clone()))?;
        Ok(events)
    }

    /// The same by reference, which avoids counting references to events that many watches share.
    ///
    /// # Errors
    /// As `take`.
    pub fn visit(&mut self, limit: usize, mut visitor: impl FnMut(&Arc<Event>)) -> Result<(), Expired> {
        self.visit_until(limit, |event| {
            visitor(event);
            ControlFlow::Continue(())
        })
    }

    /// The same until the visitor breaks, or rather until the end of the revision in which it does: the other events of the revision
    /// are visited too.
    ///
    /// # Errors
    /// As `take`.
    pub fn visit_until(
        &mut self,
        limit: usize,
        mut visitor: impl FnMut(&Arc<Event>) -> ControlFlow<()>,
    ) -> Result<(), Expired> {
        let state = self.cache.state.load();
        self.behind = false;
        if self.waiter.has_gap() {
            return Err(Expired { requested: self.after, oldest: state.compacted });
        }
        let seen = state.last.max(Revision::EMPTY);
        let Some(first) = self.waiter.first(seen) else {
            self.after = self.after.max(state.last);
            return self.check_end(&state);
        };
        // No event between the position and the first one matches.
        let from = self.after.max(Revision(first.0 - 1));
        if from < state.compacted {
            return Err(Expired { requested: from, oldest: state.compacted });
        }
        let (mut visited, mut last, mut has_enough) = (0, None, false);
        for event in state.new_events(from) {
            if (has_enough || visited >= limit) && last.is_some_and(|last| last != event.revision) {
                self.behind = true;
                break;
            }
            if self.filter.concerns(event) {
                has_enough |= visitor(event).is_break();
                visited += 1;
                last = Some(event.revision);
            }
        }
        match last {
            Some(last) if self.behind => self.after = last,
            _ => {
                self.after = self.after.max(state.last);
                self.waiter.caught_up(seen);
            }
        }
        if visited == 0 { self.check_end(&state) } else { Ok(()) }
    }

    /// Whether there may be more events to take already.
    pub fn is_behind(&self) -> bool {
        self.behind
    }

    /// How far the resources of the watched store are published.
    pub fn progress(&self) -> &Progress {
        &self.cache.progress
    }

    /// The position: all matching events up to here have been taken.
    pub fn revision(&self) -> Revision {
        self.after
    }

    /// Waits until there may be events to take.
    pub async fn changed(&mut self) {
        poll_fn(|context| self.poll_changed(context)).await;
    }

    /// Ready when there may be events to take; otherwise registers the task to be woken.
    pub fn poll_changed(&mut self, context: &mut Context<'_>) -> Poll<()> {
        // Checked after the waker is set, so that an end is not missed.
        match self.waiter.poll_woken(context) {
            Poll::Pending if !self.behind && !self.is_ended() => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.cache.waiters.leave(self.name);
    }
}

#[cfg(test)]
mod tests;
