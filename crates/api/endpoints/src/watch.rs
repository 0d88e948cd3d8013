//! Watches: the initial state if it is wanted, then every change as it happens, until time is over.
//!
//! A watcher is a cursor into the resource's history, woken by what may concern it. Frames of stored objects are made
//! once and shared by everybody who watches in that form; a watcher that waits costs nothing.
//!
//! Budget of an event that is delivered alone: no copy, one look-up of its frame.

use crate::Api;
use crate::body::Body;
use crate::negotiation::{Format, Shape, Wanted};
use crate::query::ListQuery;
use crate::represent::{self, IncludeObject, Presenter};
use bytes::Bytes;
use futures_util::future::{Either, select};
use futures_util::stream;
use pintle_cache::index::objects_within;
use pintle_cache::{Cursor, Event, Interest, Object, State, Variant};
use pintle_codec::json;
use pintle_kinds::resource::Resource;
use pintle_registry::{Payload, Result, Selection, Status, Target};
use pintle_schema::{Map, Str, Value, canonicalize, value};
use pintle_storage::Revision;
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// Bytes of frames sent at a time.
const CHUNK: usize = 64 << 10;
/// Events taken from the history at a time.
const BATCH: usize = 256;
/// How often a quiet watch is told how far the server is.
const BOOKMARK_PERIOD: Duration = Duration::from_secs(60);
/// A last bookmark comes this long before the end.
const BOOKMARK_BEFORE_END: Duration = Duration::from_secs(2);
/// How long a streaming list waits for a revision of the future.
const FRESHNESS_WAIT: Duration = Duration::from_secs(3);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Added = 0,
    Modified = 1,
    Deleted = 2,
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Kind::Added => "ADDED",
            Kind::Modified => "MODIFIED",
            Kind::Deleted => "DELETED",
        }
    }
}

/// A running watch.
struct Watch {
    api: Arc<Api>,
    target: Target,
    selection: Selection,
    wanted: Wanted,
    include_object: IncludeObject,
    /// Under which each kind of event is kept in this form.
    frame_variants: [Variant; 3],
    cursor: Cursor,
    initial: VecDeque<Arc<Object>>,
    /// The bookmark that ends the initial events is still to come.
    initial_end: bool,
    bookmarks: bool,
    bookmarked: Revision,
    next_bookmark: Instant,
    deadline: Instant,
    /// Rings at the next bookmark or the end; kept, as setting a timer for each event would cost more than the event.
    alarm: Pin<Box<Sleep>>,
    columns_sent: bool,
    failure: Option<Status>,
    wait_for: Option<Revision>,
    ended: bool,
    /// It has taken from the history: if that moves past it, it was too slow.
    followed: bool,
    /// When it began, until the initial events are sent.
    listing_since: Option<Instant>,
    counters: Arc<crate::metrics::WatchSeries>,
}

/// Starts a watch.
///
/// # Errors
/// The resourceVersion cannot be read. What is wrong later is told in the stream.
pub fn start(
    api: &Arc<Api>,
    target: Target,
    selection: Selection,
    query: &ListQuery,
    wanted: Wanted,
    include_object: IncludeObject,
) -> Result<Body> {
    let asked = match query.list.resource_version.as_str() {
        "" => 0,
        text => pintle_registry::list::parse_version(text).map_err(Status::unexplained)?,
    };
    let current = api.registry.revision();
    let state = target.cache.state();
    let current = current.max(state.last);
    let with_state = query.send_initial_events.unwrap_or(asked == 0);
    let seconds = query.timeout_seconds.filter(|seconds| *seconds > 0).unwrap_or_else(|| api.default_watch_seconds());
    let now = Instant::now();
    let start = if with_state || asked == 0 { current } else { Revision(asked) };
    let wait_for = (with_state && asked > current.0).then_some(Revision(asked));
    let initial = match with_state && wait_for.is_none() {
        true => initial(&target, &selection, &state),
        false => VecDeque::new(),
    };
    let counters = api.metrics.watches.series(target.resource);
    counters.begins_with(initial.len());
    let deadline = now + Duration::from_secs(seconds);
    let watch = Watch {
        cursor: target.cache.cursor_of(start, interest(&target, &selection)),
        initial,
        frame_variants: [Kind::Added, Kind::Modified, Kind::Deleted].map(|kind| frame_variant(&target, wanted, kind)),
        initial_end: with_state && query.allow_bookmarks,
        bookmarks: query.allow_bookmarks,
        bookmarked: start,
        next_bookmark: (now + BOOKMARK_PERIOD)
            .min(deadline.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(deadline).max(now)),
        deadline,
        alarm: Box::pin(sleep_until(deadline)),
        columns_sent: false,
        failure: None,
        wait_for,
        ended: false,
        followed: false,
        listing_since: (with_state && query.send_initial_events == Some(true)).then_some(now),
        counters,
        api: api.clone(),
        target,
        selection,
        wanted,
        include_object,
    };
    let frames = stream::unfold(Box::new(watch), |mut watch| async move {
        let chunk = watch.next().await?;
        Some((chunk, watch))
    });
    Ok(Body::Watch(Box::pin(frames)))
}

fn scope(target: &Target) -> String {
    match (target.namespace.is_empty(), target.name.is_empty()) {
        (true, true) => String::new(),
        (false, true) => format!("{}/", target.namespace),
        (true, false) => target.name.clone(),
        (false, false) => format!("{}/{}", target.namespace, target.name),
    }
}

fn in_scope(target: &Target, object: &Object) -> bool {
    (target.namespace.is_empty() || object.namespace() == target.namespace)
        && (target.name.is_empty() || object.name() == target.name)
}

/// What a watch is about, as it is now.
fn initial(target: &Target, selection: &Selection, state: &State) -> VecDeque<Arc<Object>> {
    let from = format!("{}{}", target.storage.prefix, scope(target));
    objects_within(&state.objects, selection.indexed(state).as_ref(), (Bound::Included(&from), Bound::Unbounded))
        .take_while(|object| object.key.starts_with(&from))
        .filter(|object| in_scope(target, object) && selection.matches(object))
        .cloned()
        .collect()
}

/// The narrowest index that finds every event the watch can need.
fn interest(target: &Target, selection: &Selection) -> Interest {
    let named = (!target.name.is_empty()).then_some(target.name.as_str()).or_else(|| selection.single_name());
    let namespace =
        (!target.namespace.is_empty()).then_some(target.namespace.as_str()).or_else(|| selection.single_namespace());
    match (named, namespace) {
        (Some(name), _) if !target.resource.namespaced => Interest::Key(Resource::key(target.storage, "", name).into()),
        (Some(name), Some(namespace)) => Interest::Key(Resource::key(target.storage, namespace, name).into()),
        _ => match (selection.single_value(), namespace) {
            (Some((field, value)), _) => Interest::Field(field, value.into()),
            (None, Some(namespace)) => Interest::Namespace(namespace.into()),
            (None, None) => Interest::Everything,
        },
    }
}

/// What an event's frame is kept under, beside the object it is of.
fn frame_variant(target: &Target, wanted: Wanted, kind: Kind) -> Variant {
    let mut hasher = DefaultHasher::new();
    (target.resource.api_version(), target.resource.kind, wanted, kind).hash(&mut hasher);
    Variant(hasher.finish() as u32)
}

/// Frames on their way out. One alone is handed on as it is; several are gathered in one buffer.
#[derive(Default)]
struct Chunk {
    alone: Bytes,
    gathered: Vec<u8>,
}

impl Chunk {
    fn len(&self) -> usize {
        self.alone.len() + self.gathered.len()
    }

    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn push(&mut self, frame: Bytes) {
        match self.is_empty() {
            true => self.alone = frame,
            false => self.buffer().extend_from_slice(&frame),
        }
    }

    /// Where frames are appended to that are made here.
    fn buffer(&mut self) -> &mut Vec<u8> {
        self.gathered.extend_from_slice(&std::mem::take(&mut self.alone));
        &mut self.gathered
    }

    fn finish(self) -> Bytes {
        match self.gathered.is_empty() {
            true => self.alone,
            false => self.gathered.into(),
        }
    }
}

impl Watch {
    /// The next bytes of the stream; `None` at its end.
    async fn next(&mut self) -> Option<Bytes> {
        let mut out = Chunk::default();
        if self.ended {
            return None;
        }
        if let Some(revision) = self.wait_for.take()
            && let Err(status) = self.wait(revision).await
        {
            self.failure = Some(status);
        }
        while let Some(object) = self.initial.pop_front() {
            let before = out.len();
            self.frame(Kind::Added, &object, &mut out);
            self.counters.event(out.len() - before);
            if out.len() >= CHUNK {
                return Some(out.finish());
            }
        }
        if std::mem::take(&mut self.initial_end) && self.failure.is_none() {
            self.bookmark(self.cursor.revision(), true, &mut out);
            if let Some(since) = self.listing_since.take() {
                self.counters.listed(!self.target.namespace.is_empty(), !self.target.name.is_empty(), since.elapsed());
            }
        }
        loop {
            if let Some(status) = self.failure.take() {
                self.ended = true;
                self.error(&status, &mut out);
                return Some(out.finish());
            }
            self.gather(&mut out);
            if !out.is_empty() {
                return Some(out.finish());
            }
            if self.failure.is_some() {
                continue;
            }
            let alarm = if self.bookmarks { self.next_bookmark.min(self.deadline) } else { self.deadline };
            if self.alarm.deadline() != alarm {
                self.alarm.as_mut().reset(alarm);
            }
            if let Either::Left(_) = select(pin!(self.cursor.changed()), self.alarm.as_mut()).await {
                continue;
            }
            let now = Instant::now();
            if now >= self.deadline {
                return None;
            }
            self.periodic_bookmark(now, &mut out);
            if !out.is_empty() {
                return Some(out.finish());
            }
        }
    }

    /// Appends the frames of what has happened since.
    fn gather(&mut self, out: &mut Chunk) {
        match self.cursor.take(BATCH) {
            Ok(events) => {
                self.followed = true;
                events.iter().for_each(|event| self.event(event, out));
            }
            Err(expired) => {
                if self.followed {
                    self.counters.terminated();
                }
                let message = format!("too old resource version: {} ({})", expired.requested.0, expired.oldest.0);
                self.failure = Some(Status::expired(message));
            }
        }
    }

    async fn wait(&mut self, revision: Revision) -> Result<()> {
        let mut progress = self.api.registry.cache.progress();
        let reached = progress.wait_for(|current| *current >= revision);
        if tokio::time::timeout(FRESHNESS_WAIT, reached).await.is_ok() {
            let state = self.target.cache.state();
            let from = self.api.registry.revision().max(state.last);
            self.cursor = self.target.cache.cursor_of(from, interest(&self.target, &self.selection));
            self.initial = initial(&self.target, &self.selection, &state);
            return Ok(());
        }
        Err(Status::too_large_resource_version(revision.0, self.api.registry.revision().0))
    }

    fn event(&mut self, event: &Arc<Event>, out: &mut Chunk) {
        let object = &event.object;
        if !in_scope(&self.target, object) {
            return;
        }
        let was = event.previous.as_ref().is_some_and(|previous| self.selection.matches(previous));
        let is = !event.removed && self.selection.matches(object);
        let kind = match (was, is) {
            (false, true) => Kind::Added,
            (true, true) => Kind::Modified,
            (true, false) => Kind::Deleted,
            (false, false) => return,
        };
        let before = out.len();
        match (kind, event.removed, &event.previous) {
            // It left the selection: the watcher sees what it last saw, as of now.
            (Kind::Deleted, false, Some(previous)) => {
                let image = previous.image.at_revision(event.revision);
                let last = Object::new(previous.key.clone(), self.target.storage.prefix.len(), event.revision, image);
                self.frame(kind, &Arc::new(last), out);
            }
            _ => self.shared_frame(kind, object, out),
        }
        self.counters.event(out.len() - before);
    }

    /// Appends an event's frame. But for tables, whose cells tell the time, everybody who watches in this form is sent
    /// the same one.
    fn shared_frame(&mut self, kind: Kind, object: &Arc<Object>, out: &mut Chunk) {
        if self.wanted.shape == Shape::Table {
            return self.frame(kind, object, out);
        }
        let api = self.api.clone();
        let frame = api.registry.cache.derived.get_or_make(object.id, self.frame_variants[kind as usize], || {
            let mut frame = Vec::with_capacity(object.image.json().len() + 64);
            self.put_frame(kind, object, &mut frame)?;
            Ok(frame.into())
        });
        match frame {
            Ok(frame) => out.push(frame),
            Err(status) => self.failure = Some(status),
        }
    }

    fn frame(&mut self, kind: Kind, object: &Arc<Object>, out: &mut Chunk) {
        if let Err(status) = self.put_frame(kind, object, out.buffer()) {
            self.failure = Some(status);
        }
    }

    fn put_frame(&mut self, kind: Kind, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let api = self.api.clone();
        let presenter = Presenter {
            registry: &api.registry,
            target: &self.target,
            wanted: self.wanted,
            include_object: self.include_object,
        };
        let result = match (self.wanted.shape, self.wanted.format) {
            (Shape::Object | Shape::Partial | Shape::PartialList, Format::Cbor) => presenter
                .object(&Payload::Stored(object.clone()))
                .map(|item| pintle_codec::cbor::encode_event(kind.name(), &item, out)),
            (Shape::Object, Format::Protobuf) => presenter.stored_protobuf(object).map(|raw| {
                let resource = self.target.resource;
                let mut message = Vec::with_capacity(raw.len() + 64);
                pintle_codec::protobuf::encode_envelope(&resource.api_version(), resource.kind, &raw, &mut message);
                put_protobuf_event(kind.name(), &message, out);
            }),
            (Shape::Object, _) => presenter.stored_json(object).map(|json| put_json_event(kind.name(), &json, out)),
            (Shape::Table, _) => self.table_frame(&presenter, kind, object, out),
            (Shape::Partial | Shape::PartialList, Format::Json) if self.wanted.beta => {
                self.partial_json(&presenter, kind, object, out)
            }
            (Shape::Partial | Shape::PartialList, Format::Protobuf) => {
                self.partial_protobuf(&presenter, kind, object, out)
            }
            (Shape::Partial | Shape::PartialList, _) => {
                let mut json = Vec::new();
                presenter.put_partial(object, &mut json);
                put_json_event(kind.name(), &json, out);
                Ok(())
            }
        };
        if self.wanted.shape == Shape::Table {
            self.columns_sent = true;
        }
        result
    }

    fn table_frame(&self, presenter: &Presenter, kind: Kind, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let value = self.api.registry.decode(&self.target, object)?;
        let mut meta = Map::new();
        meta.push(Str::new_static("resourceVersion"), object.revision.0.to_string().into());
        let table = presenter.table(meta, !self.columns_sent, vec![presenter.row(&value)?]);
        let mut json = Vec::new();
        json::encode(&table, &mut json);
        put_json_event(kind.name(), &json, out);
        Ok(())
    }

    fn partial_protobuf(
        &self,
        presenter: &Presenter,
        kind: Kind,
        object: &Arc<Object>,
        out: &mut Vec<u8>,
    ) -> Result<()> {
        let message = presenter.object(&Payload::Stored(object.clone()))?;
        put_protobuf_event(kind.name(), &message, out);
        Ok(())
    }

    fn partial_json(&self, presenter: &Presenter, kind: Kind, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let value = presenter.partial(&self.api.registry.decode(&self.target, object)?);
        let mut json = Vec::new();
        json::encode(&value, &mut json);
        put_json_event(kind.name(), &json, out);
        Ok(())
    }

    fn periodic_bookmark(&mut self, now: Instant, out: &mut Chunk) {
        let last = self.deadline.checked_sub(BOOKMARK_BEFORE_END).unwrap_or(self.deadline);
        self.next_bookmark = if now >= last { self.deadline } else { (now + BOOKMARK_PERIOD).min(last) };
        // Everything up to the store's revision has been published before it, and gathered by this watch.
        let reached = self.api.registry.revision();
        self.gather(out);
        if reached > self.bookmarked {
            self.bookmark(reached.max(self.cursor.revision()), false, out);
        }
    }

    fn bookmark(&mut self, revision: Revision, initial_end: bool, out: &mut Chunk) {
        self.bookmarked = revision;
        let resource = self.target.resource;
        let (kind, api_version) = match self.wanted.shape {
            Shape::Object | Shape::Table => (resource.kind.to_owned(), resource.api_version()),
            _ => ("PartialObjectMetadata".to_owned(), self.wanted.meta_version().to_owned()),
        };
        let mut metadata = value!({"resourceVersion": (revision.0.to_string())});
        if initial_end {
            metadata.set_at(&["annotations", "k8s.io/initial-events-end"], "true");
        }
        let mut object = value!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if matches!(self.wanted.shape, Shape::Object | Shape::Table) {
            canonicalize((resource.schema)(), &mut object);
        }
        if self.wanted.shape == Shape::Table {
            object = self.table_bookmark(&object, revision);
        }
        self.put_value("BOOKMARK", &object, out.buffer());
    }

    fn table_bookmark(&mut self, object: &Value, revision: Revision) -> Value {
        let api = self.api.clone();
        let presenter = Presenter {
            registry: &api.registry,
            target: &self.target,
            wanted: self.wanted,
            include_object: self.include_object,
        };
        let mut meta = Map::new();
        meta.push(Str::new_static("resourceVersion"), revision.0.to_string().into());
        let rows = presenter.row(object).map(|row| vec![row]).unwrap_or_default();
        let table = presenter.table(meta, !self.columns_sent, rows);
        self.columns_sent = true;
        table
    }

    fn error(&mut self, status: &Status, out: &mut Chunk) {
        self.put_value("ERROR", &status.to_value(), out.buffer());
    }

    fn put_value(&self, kind: &str, object: &Value, out: &mut Vec<u8>) {
        let before = out.len();
        match self.wanted.format {
            format @ (Format::Protobuf | Format::Cbor) => {
                let schema = match (kind, self.wanted.shape) {
                    ("ERROR", _) => <pintle_types::meta::v1::Status as pintle_schema::ApiType>::schema(),
                    (_, Shape::Object) => (self.target.resource.schema)(),
                    _ => <pintle_types::meta::v1::PartialObjectMetadata as pintle_schema::ApiType>::schema(),
                };
                let item = represent::encode(object, schema, Wanted { format, ..Wanted::JSON });
                match format {
                    Format::Cbor => pintle_codec::cbor::encode_event(kind, &item, out),
                    _ => put_protobuf_event(kind, &item, out),
                }
            }
            _ => {
                let mut json = Vec::new();
                json::encode(object, &mut json);
                put_json_event(kind, &json, out);
            }
        }
        self.counters.event(out.len() - before);
    }
}

fn put_json_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

/// A WatchEvent behind its length in four big-endian bytes.
fn put_protobuf_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    let mut raw = Vec::with_capacity(object.len() + 8);
    represent::put_message(&mut raw, 1, object);
    let mut event = Vec::with_capacity(raw.len() + 24);
    represent::put_message(&mut event, 1, kind.as_bytes());
    represent::put_message(&mut event, 2, &raw);
    out.extend_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&event);
}
