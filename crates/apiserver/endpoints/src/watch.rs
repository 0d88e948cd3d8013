//! Watches: the initial state if requested, then every change, until the timeout.
//!
//! A watch of a resource that was defined at run time ends when the definition changes: the next one shows what is defined then.
//!
//! A watch follows the history of its resource with a [`Watcher`], which is woken only by relevant events. It is sent shared
//! frames, and costs nothing while it waits.
//!
//! Budget of an event that is delivered alone: no copy and no allocation, one look-up of its frame.

mod frames;

use crate::body::Body;
use crate::context::Context as RequestContext;
use crate::encoding::{Converted, IncludeObject, MediaTypeOptions, batch};
use crate::flow::WatchBytes;
use crate::freshness::wait_for_revision;
use crate::limits::CONVERSION_BATCH_BYTES;
use crate::query::ListQuery;
use bytes::Bytes;
use frames::{Candidate, Chunk, Frames, WatchTarget, WatchedEvent};
use futures_util::future::{BoxFuture, FutureExt};
use futures_util::stream::Stream;
use pintle_cache::objects::end_of;
use pintle_cache::{Object, State, WatchFilter, Watcher};
use pintle_compute::Loop;
use pintle_registry::{Result, Selection, Status, Target};
use pintle_storage::Revision;
use std::collections::VecDeque;
use std::future::Future;
use std::ops::{Bound, ControlFlow};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes of frames sent at a time.
const CHUNK: usize = 64 << 10;
/// Maximum number of events taken from the history at a time, if their frames do not fill a chunk before; fewer if it costs much
/// to match them.
const BATCH: usize = 256;
/// How often events are taken of which none is selected, before the thread is left to others.
const BATCHES: usize = 4;
/// The kind of the beginnings of watches, to those who take the time of requests.
const BEGINNINGS: u64 = 1;
/// How often an idle watch is sent a bookmark.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// The last bookmark is sent this long before the end.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);

/// A running watch. An event finds most of these fields out of the processor's caches, so fields that it does not need are in
/// `ColdState`.
struct Watch {
    frames: Frames,
    /// What it holds of what was asked for with it, and the frames that it joined.
    held: WatchBytes,
    cursor: Watcher,
    bookmarks: bool,
    next_bookmark: Instant,
    deadline: Instant,
    /// Set to the next bookmark or the end.
    timer: Pin<Box<Sleep>>,
    /// It has read from the history: if the history moves past it, it was too slow.
    followed: bool,
    /// There is something to see to before the next event: it begins, fails or has ended.
    unsettled: bool,
    /// Its resource was defined at run time.
    is_custom: bool,
    cold: Box<ColdState>,
}

/// The fields that a watch needs only at its beginning, at its end and for bookmarks.
struct ColdState {
    /// Waits for the requested revision; where the watch begins, if that was reached in time.
    awaited: Option<(Revision, BoxFuture<'static, Option<Beginning>>)>,
    initial: VecDeque<Arc<Object>>,
    /// The bookmark after the initial events has not been sent yet.
    initial_end: bool,
    bookmarked: Revision,
    /// What comes next, while it is converted to the version that is watched.
    converting: Option<(Pending, BoxFuture<'static, Result<Converted>>)>,
    /// What has been converted, until its frames are sent.
    converted: VecDeque<WatchedEvent>,
    failure: Option<Status>,
    ended: bool,
    /// The generation of the table of resources in which the resource was looked up last.
    table: Option<u64>,
    /// The last revision that it shows, since its resource has been redefined.
    redefined_at: Option<Revision>,
    /// When it began, until the initial events are sent.
    listing_since: Option<Instant>,
}

/// The revision and the objects that a watch begins with.
type Beginning = (Revision, VecDeque<Arc<Object>>);

/// What waits for its conversion.
enum Pending {
    /// What may be shown, as far as can be said before.
    Candidates(Vec<Candidate>),
    Shown(Vec<WatchedEvent>),
}

impl Pending {
    fn is_empty(&self) -> bool {
        match self {
            Pending::Candidates(candidates) => candidates.is_empty(),
            Pending::Shown(shown) => shown.is_empty(),
        }
    }

    fn objects(&self) -> Vec<Arc<Object>> {
        match self {
            Pending::Candidates(candidates) => candidates.iter().flat_map(Candidate::objects).cloned().collect(),
            Pending::Shown(shown) => shown.iter().map(|shown| shown.object.clone()).collect(),
        }
    }
}

impl ColdState {
    fn is_settled(&self) -> bool {
        let begins = self.awaited.is_some() || !self.initial.is_empty() || self.initial_end || self.is_converting();
        !begins && self.failure.is_none() && !self.ended
    }

    /// Whether there is something to be sent that has to be converted, or has been.
    fn is_converting(&self) -> bool {
        self.converting.is_some() || !self.converted.is_empty()
    }
}

/// Starts a watch, and gives way to others while it looks for what it begins with.
///
/// # Errors
/// The resourceVersion cannot be read, or the user's watches hold too much memory. Later errors are sent in the stream.
pub async fn start(
    context: &RequestContext,
    target: Target,
    selection: Selection,
    query: &ListQuery,
    wanted: MediaTypeOptions,
    include_object: IncludeObject,
) -> Result<Body> {
    let api = &context.api;
    let held = context.in_flight.hold_watch(held_bytes(context, &target, &selection) as u64)?;
    let asked = match query.list.resource_version.as_str() {
        "" => 0,
        text => pintle_registry::list::parse_version(text).map_err(Status::unexplained)?,
    };
    let current = target.cache.current();
    let state = target.cache.state();
    let current = current.max(state.last);
    let with_state = query.send_initial_events.unwrap_or(asked == 0);
    if with_state {
        target.check_begin(&selection, &state)?;
    }
    let timeout = query.timeout.unwrap_or_else(|| Duration::from_secs(api.default_watch_seconds()));
    let now = Instant::now();
    let start = if with_state || asked == 0 { current } else { Revision(asked) };
    let cursor = target.cache.watch_matching(start, interest(&target, &selection));
    let frames = Frames::new(api.clone(), target, selection, wanted, include_object);
    let awaited = (with_state && asked > current.0).then(|| {
        let beginning = beginning(frames.subject.clone(), Revision(asked)).boxed();
        let user = &context.request.user().name;
        (Revision(asked), pintle_compute::run(&api.flow.turns, user, BEGINNINGS, beginning).boxed())
    });
    let initial = match with_state && awaited.is_none() {
        true => initial(&frames.subject, &state).await,
        false => VecDeque::new(),
    };
    frames.counters.begins_with(initial.len());
    let deadline = now + timeout;
    let cold = ColdState {
        awaited,
        initial,
        initial_end: query.send_initial_events == Some(true) && query.allow_bookmarks,
        bookmarked: start,
        converting: None,
        converted: VecDeque::new(),
        failure: None,
        ended: false,
        table: None,
        redefined_at: None,
        listing_since: (with_state && query.send_initial_events == Some(true)).then_some(now),
    };
    let is_custom = frames.subject.target.resource.custom.is_some();
    let watch = Watch {
        frames,
        held,
        cursor,
        bookmarks: query.allow_bookmarks,
        next_bookmark: next_bookmark(now, deadline),
        deadline,
        timer: Box::pin(sleep_until(deadline)),
        followed: false,
        unsettled: true,
        is_custom,
        cold: Box::new(cold),
    };
    Ok(Body::Watch(Box::pin(watch), None))
}

/// How many bytes a watch holds of what was asked for with it: its selection, which also waits for events by a value of it, its place,
/// and what the context, the audit record and the log line of its request keep until its end.
fn held_bytes(context: &RequestContext, target: &Target, selection: &Selection) -> usize {
    let awaited = selection.single_value().map_or(0, |(_, value)| value.len());
    let is_audited = context.request.audit().is_some();
    // Addresses of proxies take a few times their text.
    let proxies = context.headers.get_all("x-forwarded-for").iter().map(|value| 8 * value.len());
    let proxies = proxies.filter(|_| is_audited).sum::<usize>();
    let agent = context.header(http::header::USER_AGENT).len();
    let place = target.namespace.len() + target.name.len();
    selection.held_bytes() + awaited + place + context.request.held_bytes() + context.query.bytes() + agent + proxies
}

/// The time of the next bookmark; none is sent shortly before the deadline.
fn next_bookmark(now: Instant, deadline: Instant) -> Instant {
    let last = deadline.checked_sub(BOOKMARK_BEFORE_END).filter(|last| *last > now);
    last.map_or(deadline, |last| last.min(now + BOOKMARK_PERIOD))
}

fn scope(target: &Target) -> String {
    match (target.namespace.is_empty(), target.name.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("{}/", target.namespace),
        (true, false) => target.name.clone(),
        (false, false) => format!("{}/{}", target.namespace, target.name),
    }
}

/// The watched objects in their current state.
async fn initial(subject: &WatchTarget, state: &State) -> VecDeque<Arc<Object>> {
    let WatchTarget { target, selection } = subject;
    let from = format!("{}{}", target.storage().prefix, scope(target));
    let (keys, end) = (selection.indexed(state), end_of(&from));
    let entries = state.objects.within(keys.as_ref(), (Bound::Included(&from), Bound::Excluded(&end)));
    let (mut shown, mut steps, cost) = (VecDeque::new(), Loop::default(), selection.cost());
    for entry in entries {
        steps.step(cost).await;
        if selection.may_select(entry) && subject.shows(&entry.object) {
            shown.push_back(entry.object.clone());
        }
    }
    shown
}

/// What a watch begins with once a revision is reached; `None` if that takes too long.
async fn beginning(subject: Arc<WatchTarget>, revision: Revision) -> Option<Beginning> {
    let cache = &subject.target.cache;
    if !wait_for_revision(cache, revision).await {
        return None;
    }
    // The state, loaded after the revision, includes everything up to it.
    let current = cache.current();
    let state = cache.state();
    Some((current.max(state.last), initial(&subject, &state).await))
}

/// The narrowest index that finds every event the watch can need.
fn interest(target: &Target, selection: &Selection) -> WatchFilter {
    let named = (!target.name.is_empty()).then_some(target.name.as_str()).or_else(|| selection.single_name());
    let namespace =
        (!target.namespace.is_empty()).then_some(target.namespace.as_str()).or_else(|| selection.single_namespace());
    match (named, namespace) {
        (Some(name), _) if !target.resource.namespaced => WatchFilter::Key(target.storage().key("", name).into()),
        (Some(name), Some(namespace)) => WatchFilter::Key(target.storage().key(namespace, name).into()),
        _ => match (selection.single_value(), namespace) {
            (Some((field, value)), _) => WatchFilter::Field(field, value.into()),
            (None, Some(namespace)) => WatchFilter::Namespace(namespace.into()),
            (None, None) => WatchFilter::Everything,
        },
    }
}

impl Stream for Watch {
    type Item = Bytes;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Bytes>> {
        let watch = self.get_mut();
        let (mut out, mut gathered) = (Chunk::default(), 0);
        // The frames before have been taken.
        watch.held.joined(0);
        if watch.unsettled {
            if watch.cold.ended {
                return Poll::Ready(None);
            }
            ready!(watch.poll_begin(context, &mut out));
        }
        while out.is_empty() {
            if watch.cold.is_converting() {
                ready!(watch.poll_begin(context, &mut out));
                continue;
            }
            if watch.unsettled && watch.cold.ended {
                return Poll::Ready(None);
            }
            if let Some(status) = watch.unsettled.then(|| watch.cold.failure.take()).flatten() {
                watch.cold.ended = true;
                watch.frames.error(&status, &mut out);
            } else if watch.is_redefined() || !watch.followed || watch.cursor.poll_changed(context).is_ready() {
                if gathered == BATCHES {
                    // Nothing of many events is selected: others come first.
                    context.waker().wake_by_ref();
                    return Poll::Pending;
                }
                gathered += 1;
                watch.gather(&mut out);
                watch.end_if_redefined();
            } else {
                ready!(watch.poll_timer(context));
                let now = Instant::now();
                if now >= watch.deadline {
                    return Poll::Ready(None);
                }
                watch.periodic_bookmark(now, &mut out);
            }
        }
        if out.is_refused {
            watch.cold.ended = true;
            watch.unsettled = true;
            return Poll::Ready(None);
        }
        watch.held.joined(out.joined_bytes());
        Poll::Ready(Some(out.finish()))
    }
}

impl Watch {
    /// Waits for the next bookmark or the end.
    fn poll_timer(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let due = if self.bookmarks { self.next_bookmark.min(self.deadline) } else { self.deadline };
        if self.timer.deadline() != due {
            self.timer.as_mut().reset(due);
        }
        self.timer.as_mut().poll(context)
    }

    /// Whether the resource is defined otherwise than at the beginning. It is looked up when the table of resources has changed.
    fn is_redefined(&mut self) -> bool {
        if !self.is_custom {
            return false;
        }
        let Watch { frames, cold, .. } = self;
        let registry = &frames.api.registry;
        let table = registry.resources.read().generation();
        if cold.redefined_at.is_none() && cold.table.replace(table) != Some(table) {
            let target = &frames.subject.target;
            cold.redefined_at = registry.is_redefined(&target.resource).then(|| target.cache.state().last);
        }
        cold.redefined_at.is_some()
    }

    /// Ends the watch if its resource has been redefined and what happened before has been taken.
    fn end_if_redefined(&mut self) {
        let Watch { cursor, cold, .. } = self;
        let is_last = cold.redefined_at.is_some_and(|last| cursor.revision() >= last);
        if is_last && !cold.is_converting() && cold.failure.is_none() {
            cold.ended = true;
            self.unsettled = true;
        }
    }

    /// Appends more of the initial state, once the requested revision is reached.
    fn poll_begin(&mut self, context: &mut Context<'_>, out: &mut Chunk) -> Poll<()> {
        if let Some((revision, reached)) = &mut self.cold.awaited {
            let (revision, beginning) = (*revision, ready!(reached.as_mut().poll(context)));
            self.cold.awaited = None;
            self.begin(revision, beginning);
        }
        if let Some((_, converted)) = &mut self.cold.converting {
            let converted = ready!(converted.as_mut().poll(context));
            self.converted(converted);
        }
        self.put_converted(out);
        self.put_initial(out);
        self.unsettled = !self.cold.is_settled();
        Poll::Ready(())
    }

    /// Starts with the current state, if the requested revision was reached.
    fn begin(&mut self, revision: Revision, beginning: Option<Beginning>) {
        let WatchTarget { target, selection } = &*self.frames.subject;
        if let Some((from, initial)) = beginning {
            self.cursor = target.cache.watch_matching(from, interest(target, selection));
            self.cold.initial = initial;
        } else {
            let status = Status::too_large_resource_version(revision.0, target.cache.current().0);
            self.cold.failure = Some(status);
        }
    }

    /// Takes what has been converted, or finds out what of it is shown.
    fn converted(&mut self, converted: Result<Converted>) {
        let Watch { frames, cold, .. } = self;
        let Some((pending, _)) = cold.converting.take() else { return };
        match (converted, pending) {
            (Err(status), _) => cold.failure = cold.failure.take().or(Some(status)),
            (Ok(converted), Pending::Candidates(candidates)) => {
                frames.converted = converted;
                let selected = candidates.iter().filter_map(|candidate| frames.shown_of(candidate)).collect();
                frames.converted = Converted::default();
                self.convert(Pending::Shown(selected));
            }
            (Ok(converted), Pending::Shown(shown)) => {
                frames.converted = converted;
                cold.converted = shown.into();
            }
        }
    }

    /// Appends the frames of what has been converted, up to a chunk.
    fn put_converted(&mut self, out: &mut Chunk) {
        let Watch { frames, cold, .. } = self;
        while out.len() < CHUNK
            && !out.is_refused
            && let Some(shown) = cold.converted.pop_front()
        {
            if let Err(status) = frames.put(&shown, out) {
                cold.failure = cold.failure.take().or(Some(status));
                cold.converted.clear();
            }
        }
        if cold.converted.is_empty() {
            frames.converted = Converted::default();
        }
    }

    /// Begins to convert what comes next.
    fn convert(&mut self, pending: Pending) {
        if pending.is_empty() {
            return;
        }
        let (api, target) = (self.frames.api.clone(), self.frames.subject.target.clone());
        let objects = pending.objects();
        let converted = async move { Converted::of_stored(&api.registry, &target, objects.iter()).await };
        self.cold.converting = Some((pending, converted.boxed()));
        self.unsettled = true;
    }

    /// Begins to convert what may be shown next.
    fn convert_candidates(&mut self, candidates: Vec<Candidate>) {
        let pending = match self.frames.subject.selection.needs_shown() {
            true => Pending::Candidates(candidates),
            false => {
                let shown = candidates.iter().filter_map(|candidate| self.frames.shown_of(candidate));
                Pending::Shown(shown.collect())
            }
        };
        self.convert(pending);
    }

    /// Appends what is left of the initial state, up to a chunk, and the bookmark that ends it.
    fn put_initial(&mut self, out: &mut Chunk) {
        if self.frames.waits && !self.cold.is_converting() {
            let initial = &mut self.cold.initial;
            let mut objects = initial.iter();
            let count = objects.next().map_or(0, |first| batch(first, objects.take(BATCH - 1)).len());
            let candidates = initial.drain(..count).map(Candidate::Initial).collect();
            self.convert_candidates(candidates);
        }
        let Watch { frames, cold, held, .. } = self;
        while !frames.waits
            && (out.is_empty() || out.len() < CHUNK && held.may_join())
            && !out.is_refused
            && let Some(object) = cold.initial.pop_front()
        {
            if let Err(status) = frames.initial(&object, out) {
                cold.failure = Some(status);
            }
        }
        if !cold.initial.is_empty() || cold.is_converting() || cold.failure.is_some() {
            return;
        }
        if std::mem::take(&mut cold.initial_end) {
            let since = cold.listing_since.take();
            self.bookmark(self.cursor.revision(), true, out);
            if let Some(since) = since {
                let Target { namespace, name, .. } = &self.frames.subject.target;
                self.frames.counters.listed(!namespace.is_empty(), !name.is_empty(), since.elapsed());
            }
        }
    }

    /// Appends the frames of new events.
    fn gather(&mut self, out: &mut Chunk) {
        let Watch { cursor, frames, held, .. } = self;
        let (mut failure, mut candidates, mut candidate_bytes) = (None, Vec::new(), 0);
        let taken = cursor.visit_until(frames.batch, |event| {
            if frames.waits {
                let candidate = Candidate::Event(event.clone());
                candidate_bytes += candidate.objects().map(|object| object.encoded.json().len()).sum::<usize>();
                candidates.push(candidate);
            } else if let Err(status) = frames.event(event, out) {
                failure = Some(status);
            }
            let has_room = out.is_empty() || out.len() < CHUNK && held.may_join();
            match has_room && candidate_bytes < CONVERSION_BATCH_BYTES {
                true => ControlFlow::Continue(()),
                false => ControlFlow::Break(()),
            }
        });
        if taken.is_err() && (cursor.is_ended() || self.cold.redefined_at.is_some()) {
            // The resource was removed or redefined: the stream ends, as in kube-apiserver.
            self.cold.ended = true;
            self.unsettled = true;
        } else if let Err(expired) = taken {
            if self.followed {
                self.frames.counters.terminated();
            }
            let message = format!("too old resource version: {} ({})", expired.requested.0, expired.oldest.0);
            failure = Some(Status::expired(message));
        }
        if failure.is_some() {
            self.cold.failure = failure;
            self.unsettled = true;
        }
        self.followed = true;
        self.convert_candidates(candidates);
    }

    fn periodic_bookmark(&mut self, now: Instant, out: &mut Chunk) {
        self.next_bookmark = next_bookmark(now, self.deadline);
        // Everything up to the store's revision has been published before it, and gathered by this watch, unless that is too much at
        // a time or has to be converted first.
        let reached = self.frames.subject.target.cache.current();
        self.gather(out);
        if self.cursor.is_behind() || self.cold.is_converting() {
            self.next_bookmark = now;
            return;
        }
        if reached > self.cold.bookmarked {
            self.bookmark(reached.max(self.cursor.revision()), false, out);
        }
    }

    fn bookmark(&mut self, revision: Revision, initial_end: bool, out: &mut Chunk) {
        self.cold.bookmarked = revision;
        self.frames.bookmark(revision, initial_end, out);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_bookmark_comes_before_the_end_or_not_at_all() {
        let now = Instant::now();
        for (length, next) in [(1, 1), (2, 2), (3, 1), (30, 28), (62, 60), (600, 60)] {
            let after = |seconds| now + Duration::from_secs(seconds);
            assert_eq!(next_bookmark(now, after(length)), after(next), "{length}");
        }
    }
}
