//! `WatchFilter`: finds the watches that an event concerns, by namespace, key or field value, so that a commit wakes
//! only those.
//! Guarantees that no matching event is missed; a watch may be woken without need (fingerprints may collide).
//! Must never be locked by the writer: the index is a persistent map behind a pointer, which watches replace when
//! they come and go.

use crate::object::Object;
use crate::resource::Event;
use arc_swap::ArcSwap;
use futures_util::task::AtomicWaker;
use imbl::OrdMap;
use pintle_storage::{Key, Revision};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering, fence};
use std::task::{Context, Poll};

/// The events of a resource that a watch needs. It may filter these further itself.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum WatchFilter {
    Everything,
    /// Creations and deletions: creation, removal, the beginning of a deletion and later changes of an object that
    /// finalizers retain, and changes of owners and finalizers.
    Lifecycle,
    Namespace(Box<str>),
    /// One object, by its storage key.
    Key(Key),
    /// The objects whose selectable field with this index has this value, or had it before the event.
    Field(usize, Box<str>),
}

impl WatchFilter {
    pub(crate) fn concerns(&self, event: &Event) -> bool {
        let object = &event.object;
        match self {
            WatchFilter::Everything => true,
            WatchFilter::Lifecycle => is_of_lifecycle(event),
            WatchFilter::Namespace(namespace) => object.namespace() == &**namespace,
            WatchFilter::Key(key) => object.key == *key,
            WatchFilter::Field(index, value) => {
                let has = |object: &Arc<Object>| object.field(*index) == &**value;
                has(object) || event.previous.as_ref().is_some_and(has)
            }
        }
    }

    fn fingerprint(&self) -> u64 {
        match self {
            WatchFilter::Everything => EVERYTHING,
            WatchFilter::Lifecycle => LIFECYCLE,
            WatchFilter::Namespace(namespace) => fingerprint(NAMESPACE, namespace),
            WatchFilter::Key(key) => fingerprint(KEY, key),
            WatchFilter::Field(index, value) if *index < FIELDS => fingerprint(FIELD + index, value),
            WatchFilter::Field(..) => EVERYTHING,
        }
    }
}

fn is_of_lifecycle(event: &Event) -> bool {
    let Some(previous) = &event.previous else { return true };
    let (now, before) = (&event.object.encoded, &previous.encoded);
    event.removed || now.terminating != before.terminating || now.is_held() || now.ties() != before.ties()
}

const EVERYTHING: u64 = 0;
const LIFECYCLE: u64 = 1;
const NAMESPACE: usize = 0;
const KEY: usize = 1;
const FIELD: usize = 2;

/// Fields with an index: as many as a word has bits, and more than any resource has.
const FIELDS: usize = 64;

fn fingerprint(kind: usize, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (kind, text).hash(&mut hasher);
    hasher.finish()
}

/// A watch, as the writer sees it.
#[derive(Debug)]
pub(crate) struct Waiter {
    /// The first revision that may match and that the watch has not taken; 0 if there is none.
    first: AtomicU64,
    /// The last matching revision.
    last: AtomicU64,
    woken: AtomicBool,
    /// The history between the watch's position and the current state has been dropped.
    gap: AtomicBool,
    task: AtomicWaker,
}

impl Waiter {
    /// Whether the watch has lost its place.
    pub fn has_gap(&self) -> bool {
        self.gap.load(Ordering::SeqCst)
    }

    /// Set before the state with the event is published, so that every reader of the state sees it.
    fn note(&self, first: Revision, last: Revision) {
        self.last.fetch_max(last.0, Ordering::SeqCst);
        // A failure means that an earlier revision is set.
        let _ = self.first.compare_exchange(0, first.0, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// The first revision up to and including `seen` that may match. Call it after loading the state.
    pub fn first(&self, seen: Revision) -> Option<Revision> {
        let first = self.first.load(Ordering::SeqCst);
        (first != 0 && first <= seen.0).then_some(Revision(first))
    }

    /// Everything up to and including `seen` has been taken. Called by the watch only.
    pub fn caught_up(&self, seen: Revision) {
        self.first.store(0, Ordering::SeqCst);
        self.look_again(seen);
    }

    /// Events recorded meanwhile saw a first revision that has just been cleared. A later one may have been set
    /// since, so this one must replace it.
    fn look_again(&self, seen: Revision) {
        if self.last.load(Ordering::SeqCst) > seen.0 {
            self.first.store(seen.0 + 1, Ordering::SeqCst);
        }
    }

    fn wake(&self) {
        self.woken.store(true, Ordering::SeqCst);
        self.task.wake();
    }

    /// Ready once for all wakes since the last time. Called by the task of the watch only.
    pub fn poll_woken(&self, context: &mut Context<'_>) -> Poll<()> {
        // A wake before the task is registered is found in the flag; one after it wakes the task.
        self.task.register(context.waker());
        if self.woken.swap(false, Ordering::SeqCst) { Poll::Ready(()) } else { Poll::Pending }
    }
}

type Index = OrdMap<(u64, u64), Arc<Waiter>>;

/// The watches of a resource.
#[derive(Default)]
pub(crate) struct Waiters {
    index: ArcSwap<Index>,
    next: AtomicU64,
    /// For each indexed field, whether a watch has ever used it.
    fields: AtomicU64,
}

impl Waiters {
    /// Adds a watch, which any revision may concern until it has caught up. Returns its ID for `leave`.
    pub fn join(&self, filter: &WatchFilter) -> ((u64, u64), Arc<Waiter>) {
        let any = Revision::EMPTY.0;
        let waiter = Arc::new(Waiter {
            first: any.into(),
            last: any.into(),
            woken: AtomicBool::new(false),
            gap: AtomicBool::new(false),
            task: AtomicWaker::new(),
        });
        let name = (filter.fingerprint(), self.next.fetch_add(1, Ordering::Relaxed));
        if let WatchFilter::Field(index @ 0..FIELDS, _) = filter {
            self.fields.fetch_or(1 << index, Ordering::SeqCst);
        }
        self.index.rcu(|index| index.update(name, waiter.clone()));
        // Either the writer finds the watch after publishing, or the watch loads what was published.
        fence(Ordering::SeqCst);
        (name, waiter)
    }

    pub fn leave(&self, name: (u64, u64)) {
        self.index.rcu(|index| index.without(&name));
    }

    /// How many watches an event of an object would wake, without those of field values; no more than `most` of each kind.
    pub fn concerned(&self, namespace: &str, key: Option<&str>, most: usize) -> usize {
        let index = self.index.load();
        let count = |fingerprint: u64| index.range((fingerprint, 0)..=(fingerprint, u64::MAX)).take(most).count();
        let of_key = key.map_or(0, |key| count(fingerprint(KEY, key)));
        let of_namespace = if namespace.is_empty() { 0 } else { count(fingerprint(NAMESPACE, namespace)) };
        count(EVERYTHING) + of_namespace + of_key
    }

    /// Notifies the watches that these events concern, before and after `publish`, which makes the events visible.
    pub fn announce(&self, events: &[Arc<Event>], publish: impl FnOnce()) {
        let before = self.index.load();
        let mut concerned = self.note(&before, events);
        publish();
        fence(Ordering::SeqCst);
        let now = self.index.load();
        if !Arc::ptr_eq(&before, &now) {
            // Watches that were added in between may have loaded the old state.
            concerned = self.note(&now, events);
        }
        concerned.into_iter().for_each(Waiter::wake);
    }

    /// Notifies all watches that the history before a revision is gone, before and after `publish`.
    pub fn announce_gap(&self, revision: Revision, publish: impl FnOnce()) {
        let notify = |index: &Index| {
            index.iter().for_each(|(_, waiter)| {
                waiter.gap.store(true, Ordering::SeqCst);
                waiter.note(Revision(1), revision);
            });
        };
        notify(&self.index.load());
        publish();
        fence(Ordering::SeqCst);
        let now = self.index.load();
        notify(&now);
        now.iter().for_each(|(_, waiter)| waiter.wake());
    }

    /// Wakes every watch.
    pub fn wake_all(&self) {
        self.index.load().iter().for_each(|(_, waiter)| waiter.wake());
    }

    /// Records the events in the matching watches, and returns these, some more than once.
    fn note<'a>(&self, index: &'a Index, events: &[Arc<Event>]) -> Vec<&'a Waiter> {
        let mut concerned = Vec::new();
        let (Some(first), Some(last), false) = (events.first(), events.last(), index.is_empty()) else {
            return concerned;
        };
        let mut note = |fingerprint: u64, first: &Event, last: &Event| {
            for (_, waiter) in index.range((fingerprint, 0)..=(fingerprint, u64::MAX)) {
                waiter.note(first.revision, last.revision);
                concerned.push(&**waiter);
            }
        };
        note(EVERYTHING, first, last);
        let fields = self.fields.load(Ordering::SeqCst);
        for event in events {
            let object = &event.object;
            if is_of_lifecycle(event) {
                note(LIFECYCLE, event, event);
            }
            note(fingerprint(NAMESPACE, object.namespace()), event, event);
            note(fingerprint(KEY, &object.key), event, event);
            for at in (0..FIELDS).filter(|at| fields & 1 << at != 0) {
                let value = object.field(at);
                let previous = event.previous.as_ref().map(|previous| previous.field(at));
                let previous = previous.filter(|previous| *previous != value);
                for value in previous.into_iter().chain([value]) {
                    note(fingerprint(FIELD + at, value), event, event);
                }
            }
        }
        concerned
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_during_catch_up_are_not_lost() {
        let waiters = Waiters::default();
        let (_, waiter) = waiters.join(&WatchFilter::Everything);
        let note = |revision| waiter.note(Revision(revision), Revision(revision));
        note(10);
        // The watch has taken everything up to 10. A commit of 11 and 12 is recorded around its first step.
        note(11);
        waiter.first.store(0, Ordering::SeqCst);
        note(12);
        waiter.look_again(Revision(10));
        assert_eq!(waiter.first(Revision(12)), Some(Revision(11)));
        waiter.caught_up(Revision(12));
        assert_eq!(waiter.first(Revision(12)), None);
    }
}
