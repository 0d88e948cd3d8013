//! `ResourceCache`: all objects of one resource, now and at every retained revision.
//!
//! The one writer works on its own copy of the state and publishes it whole after each commit; readers take the
//! published pointer and hold no lock that a writer could wait for, or be kept waiting by.
//!
//! Budget: a commit costs two path copies of the map and one of the history; a read costs one pointer load.

use crate::image::Image;
use crate::limits;
use arc_swap::ArcSwap;
use bytes::Bytes;
use imbl::{OrdMap, Vector};
use pintle_storage::{Key, Revision};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use tokio::sync::watch;

/// An object as of one revision.
#[derive(Debug)]
pub struct Object {
    /// Distinguishes this state of this object from every other for as long as the process lives.
    pub id: u64,
    pub key: Key,
    /// The revision of its last change.
    pub revision: Revision,
    pub image: Image,
    prefix: u16,
}

static NEXT_ID: AtomicU64 = AtomicU64::new(1);

impl Object {
    pub fn new(key: Key, prefix_length: usize, revision: Revision, image: Image) -> Self {
        let prefix = u16::try_from(prefix_length.min(key.len())).unwrap_or(0);
        Object { id: NEXT_ID.fetch_add(1, Ordering::Relaxed), key, revision, image, prefix }
    }

    /// The key without the resource's prefix: `namespace/name` or `name`.
    pub fn path(&self) -> &str {
        &self.key[usize::from(self.prefix)..]
    }

    pub fn namespace(&self) -> &str {
        self.path().rsplit_once('/').map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.path().rsplit_once('/').map_or(self.path(), |(_, name)| name)
    }
}

/// What happened to an object at a revision.
#[derive(Debug)]
pub struct Event {
    pub revision: Revision,
    /// The object after the change; when it was removed, its last state as of this revision.
    pub object: Arc<Object>,
    /// The object before the change; `None` when it was created.
    pub previous: Option<Arc<Object>>,
    pub removed: bool,
    frames: [OnceLock<Bytes>; 3],
}

impl Event {
    /// A wire form of the event, made once and shared by all who watch. `slot` is one of `frames` the caller assigns meaning to.
    pub fn frame(&self, slot: usize, make: impl FnOnce() -> Bytes) -> Bytes {
        match self.frames.get(slot) {
            Some(frame) => frame.get_or_init(make).clone(),
            None => make(),
        }
    }
}

/// How much history a resource keeps.
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

/// A published state of a resource: never changes.
#[derive(Clone)]
pub struct State {
    bounds: Bounds,
    /// The revision of the last change of this resource.
    pub last: Revision,
    /// Events after this revision are retained.
    pub compacted: Revision,
    pub objects: OrdMap<Key, Arc<Object>>,
    events: Vector<Arc<Event>>,
    checkpoints: Vector<(Revision, OrdMap<Key, Arc<Object>>)>,
    history_bytes: usize,
}

/// The revision asked for is older than the retained history.
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
            objects: OrdMap::new(),
            events: Vector::new(),
            checkpoints: Vector::new(),
            history_bytes: 0,
        }
    }

    /// The objects as they were at a revision.
    ///
    /// Starts at the nearest later checkpoint and takes back what came between: at most `CHECKPOINT_EVENTS` steps.
    ///
    /// # Errors
    /// The revision is older than the history.
    pub fn at(&self, revision: Revision) -> Result<OrdMap<Key, Arc<Object>>, Expired> {
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
                Some(previous) => objects.insert(previous.key.clone(), previous.clone()),
                None => objects.remove(&event.object.key),
            };
        }
        Ok(objects)
    }

    /// The index of the first event after a revision.
    fn after(&self, revision: Revision) -> usize {
        let (mut low, mut high) = (0, self.events.len());
        while low < high {
            let middle = low + (high - low) / 2;
            match self.events.get(middle) {
                Some(event) if event.revision <= revision => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    fn put(&mut self, object: Arc<Object>, history: bool) {
        let previous = self.objects.insert(object.key.clone(), object.clone());
        self.push(
            history,
            Event { revision: object.revision, object, previous, removed: false, frames: Default::default() },
        );
    }

    fn remove(&mut self, key: &Key, revision: Revision, history: bool) {
        let Some(previous) = self.objects.remove(key) else { return };
        let image = previous.image.at_revision(revision);
        let last = Arc::new(Object::new(key.clone(), previous.prefix.into(), revision, image));
        self.push(
            history,
            Event { revision, object: last, previous: Some(previous), removed: true, frames: Default::default() },
        );
    }

    fn push(&mut self, history: bool, event: Event) {
        self.last = event.revision;
        if !history {
            self.compacted = event.revision;
            return;
        }
        self.history_bytes += weight(&event);
        self.events.push_back(Arc::new(event));
    }

    /// Drops the events up to a revision. Those of one revision go together: half a transaction is no history.
    fn forget(&mut self, revision: Revision) {
        self.compacted = self.compacted.max(revision);
        while self.events.front().is_some_and(|event| event.revision <= revision) {
            if let Some(oldest) = self.events.pop_front() {
                self.history_bytes -= weight(&oldest);
            }
        }
    }

    /// After all events of a commit: remembers the map from time to time and forgets what is beyond the bounds.
    fn settle(&mut self) {
        let due = self.checkpoints.back().map_or(0, |(at, _)| self.after(*at) as u64) + self.bounds.checkpoint_events;
        if self.events.len() as u64 >= due {
            self.checkpoints.push_back((self.last, self.objects.clone()));
        }
        while self.events.len() > self.bounds.events || self.history_bytes > self.bounds.bytes {
            let Some(oldest) = self.events.front().map(|event| event.revision) else { break };
            self.forget(oldest);
        }
        while self.checkpoints.front().is_some_and(|(at, _)| *at <= self.compacted) {
            self.checkpoints.pop_front();
        }
    }
}

/// What an event keeps alive that the current objects do not.
fn weight(event: &Event) -> usize {
    let removed = if event.removed { event.object.image.size() } else { 0 };
    removed + event.previous.as_ref().map_or(0, |previous| previous.image.size()) + 128
}

/// All objects of one resource. One writer, any number of readers.
pub struct ResourceCache {
    /// `/registry/...`, ending in a slash.
    pub prefix: Box<str>,
    state: ArcSwap<State>,
    changed: watch::Sender<Revision>,
}

impl ResourceCache {
    pub fn new(prefix: &str) -> Self {
        ResourceCache {
            prefix: prefix.into(),
            state: ArcSwap::from_pointee(State::new(Bounds::default())),
            changed: watch::Sender::new(Revision(0)),
        }
    }

    /// The newest published state.
    pub fn state(&self) -> Arc<State> {
        self.state.load_full()
    }

    /// The newest state of the object with this storage key.
    pub fn get(&self, key: &str) -> Option<Arc<Object>> {
        self.state.load().objects.get(key).cloned()
    }

    /// A cursor over the events after a revision.
    pub fn cursor(self: &Arc<Self>, after: Revision) -> Cursor {
        Cursor { changed: self.changed.subscribe(), cache: self.clone(), after }
    }

    pub(crate) fn publish(&self, state: State) {
        let last = state.last;
        self.state.store(Arc::new(state));
        self.changed.send_replace(last);
    }
}

/// The writer's side of a resource: its working copy.
pub(crate) struct Writer {
    pub cache: Arc<ResourceCache>,
    state: State,
    dirty: bool,
}

impl Writer {
    pub fn new(cache: Arc<ResourceCache>) -> Self {
        Self::with_bounds(cache, Bounds::default())
    }

    pub fn with_bounds(cache: Arc<ResourceCache>, bounds: Bounds) -> Self {
        Writer { cache, state: State::new(bounds), dirty: false }
    }

    /// Takes a change in; `image` is `None` when the object was removed.
    pub fn apply(&mut self, key: &Key, revision: Revision, image: Option<Image>, history: bool) {
        match image {
            Some(image) => {
                self.state.put(Arc::new(Object::new(key.clone(), self.cache.prefix.len(), revision, image)), history)
            }
            None => self.state.remove(key, revision, history),
        }
        self.dirty = true;
    }

    /// Everything up to this revision is base state: watches cannot start before it.
    pub fn set_base(&mut self, compacted: Revision) {
        self.state.compacted = self.state.compacted.max(compacted);
        self.dirty = true;
    }

    pub fn publish(&mut self) {
        if std::mem::take(&mut self.dirty) {
            self.state.settle();
            self.cache.publish(self.state.clone());
        }
    }
}

/// A watcher's place in the history: costs nothing while it waits, and ends when the history has moved past it.
pub struct Cursor {
    cache: Arc<ResourceCache>,
    changed: watch::Receiver<Revision>,
    after: Revision,
}

impl Cursor {
    /// Events after the cursor's place, at most `limit` (and always whole revisions); moves past them.
    ///
    /// # Errors
    /// The history no longer reaches back to the cursor's place.
    pub fn take(&mut self, limit: usize) -> Result<Vec<Arc<Event>>, Expired> {
        self.changed.mark_unchanged();
        let state = self.cache.state.load();
        if self.after < state.compacted {
            return Err(Expired { requested: self.after, oldest: state.compacted });
        }
        let mut events: Vec<Arc<Event>> = Vec::new();
        for index in state.after(self.after)..state.events.len() {
            let Some(event) = state.events.get(index) else { break };
            if events.len() >= limit && events.last().is_some_and(|last| last.revision != event.revision) {
                break;
            }
            events.push(event.clone());
        }
        if let Some(last) = events.last() {
            self.after = last.revision;
        }
        Ok(events)
    }

    /// Where the cursor stands: everything up to here has been taken.
    pub fn revision(&self) -> Revision {
        self.after
    }

    /// Waits until the resource changes after the last `take`.
    pub async fn changed(&mut self) {
        // An error means the cache is gone, and with it the server: the watch ends with its connection.
        if self.changed.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests;
