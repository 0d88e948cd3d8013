//! Frames: events encoded in the form that a watcher requested.
//!
//! A frame of a stored object is encoded once and shared by all watchers of that form. Tables are the exception: they contain
//! ages, and their columns are sent once.

use super::BATCH;
use crate::Api;
use crate::encoding::{
    self, Converted, Format, IncludeObject, MediaTypeOptions, ObjectEncoder, ResponseKind, TABLE_END, waits,
};
use crate::metrics::WatchSeries;
use bytes::Bytes;
use pintle_cache::{Event, Object, Variant};
use pintle_codec::json;
use pintle_registry::{Payload, Result, Selection, Status, Target};
use pintle_schema::{Map, Str, Value, canonicalize, value};
use pintle_storage::Revision;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

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

/// The watched resource and its selection.
pub(super) struct WatchTarget {
    pub target: Target,
    pub selection: Selection,
}

/// Encodes the events of one watch.
pub(super) struct Frames {
    pub api: Arc<Api>,
    /// Apart: watchers of everything do not read it.
    pub subject: Arc<WatchTarget>,
    /// How many events are matched at a time.
    pub batch: usize,
    shows_everything: bool,
    wanted: MediaTypeOptions,
    include_object: IncludeObject,
    /// Objects converted in advance for the next frames.
    pub converted: Converted,
    /// The objects need a conversion that may wait.
    pub waits: bool,
    /// Under which each kind of event is kept in this form.
    variants: [Variant; 3],
    columns_sent: bool,
    pub counters: Arc<WatchSeries>,
}

/// The cache key of an event's frame, within its object.
fn variant(target: &Target, wanted: MediaTypeOptions, kind: Kind) -> Variant {
    let mut hasher = DefaultHasher::new();
    let resource = &target.resource;
    (&resource.version, &resource.group, resource.schema.compiled.id(), wanted, kind).hash(&mut hasher);
    Variant(hasher.finish())
}

/// Frames to be sent. A single one is passed on without a copy; several are joined in one buffer.
#[derive(Default)]
pub(super) struct Chunk {
    alone: Bytes,
    gathered: Vec<u8>,
    /// The event does not have the requested form, which ends the stream.
    pub is_refused: bool,
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.alone.len() + self.gathered.len()
    }

    /// The bytes of frames that were joined here, or made for this watch alone.
    pub fn joined_bytes(&self) -> usize {
        self.gathered.len()
    }

    /// Whether there is nothing to be done yet.
    pub fn is_empty(&self) -> bool {
        self.len() == 0 && !self.is_refused
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

    pub fn finish(self) -> Bytes {
        match self.gathered.is_empty() {
            true => self.alone,
            false => self.gathered.into(),
        }
    }
}

/// An event as seen by a watcher.
pub(super) struct WatchedEvent {
    kind: Kind,
    pub object: Arc<Object>,
    /// Its frame is the same for all watchers of this form.
    is_shared: bool,
}

/// What a watcher may be shown.
pub(super) enum Candidate {
    /// An object that is there from the beginning.
    Initial(Arc<Object>),
    Event(Arc<Event>),
}

impl Candidate {
    /// The objects that decide what is shown of it.
    pub fn objects(&self) -> impl Iterator<Item = &Arc<Object>> {
        let (object, previous) = match self {
            Candidate::Initial(object) => (object, None),
            Candidate::Event(event) => (&event.object, event.previous.as_ref()),
        };
        std::iter::once(object).chain(previous)
    }
}

impl WatchedEvent {
    /// An object of the initial state.
    pub fn initial(object: Arc<Object>) -> Self {
        WatchedEvent { kind: Kind::Added, object, is_shared: false }
    }
}

impl WatchTarget {
    /// Whether the watch selects an object.
    pub fn shows(&self, object: &Object) -> bool {
        let WatchTarget { target, selection } = self;
        (target.namespace.is_empty() || object.namespace() == target.namespace)
            && (target.name.is_empty() || object.name() == target.name)
            && selection.matches(object)
    }
}

impl Frames {
    pub fn new(
        api: Arc<Api>,
        target: Target,
        selection: Selection,
        wanted: MediaTypeOptions,
        include_object: IncludeObject,
    ) -> Self {
        let counters = api.metrics.watches.series(&target.resource);
        let variants = [Kind::Added, Kind::Modified, Kind::Deleted].map(|kind| variant(&target, wanted, kind));
        let shows_everything = target.namespace.is_empty() && target.name.is_empty() && selection.is_everything();
        let waits = waits(&target);
        if selection.shard().is_some() {
            counters.shard_begins();
        }
        let batch = (BATCH / selection.cost()).max(1);
        let subject = Arc::new(WatchTarget { target, selection });
        Frames {
            api,
            subject,
            batch,
            shows_everything,
            wanted,
            include_object,
            variants,
            columns_sent: false,
            counters,
            converted: Converted::default(),
            waits,
        }
    }

    /// An event never has the form of a list. A client that requests it gets an error with the first event, as in
    /// kube-apiserver.
    fn refuses(&self, out: &mut Chunk) -> bool {
        out.is_refused |= self.wanted.shape == ResponseKind::PartialList;
        out.is_refused
    }

    fn encoder(&self) -> ObjectEncoder<'_> {
        ObjectEncoder {
            registry: &self.api.registry,
            target: &self.subject.target,
            wanted: self.wanted,
            include_object: self.include_object,
            converted: &self.converted,
        }
    }

    /// Appends the frame of an object of the initial state.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn initial(&mut self, object: &Arc<Object>, out: &mut Chunk) -> Result<()> {
        self.put(&WatchedEvent::initial(object.clone()), out)
    }

    /// What a watcher is shown of a candidate, whose objects have been converted if its selection needs that.
    pub fn shown_of(&self, candidate: &Candidate) -> Option<WatchedEvent> {
        match candidate {
            Candidate::Initial(object) => self.is_selected(object).then(|| WatchedEvent::initial(object.clone())),
            Candidate::Event(event) => self.shown(event),
        }
    }

    /// Whether an object is selected as the version that is watched shows it.
    fn is_selected(&self, object: &Arc<Object>) -> bool {
        let WatchTarget { target, selection } = &*self.subject;
        !selection.needs_shown()
            || self
                .encoder()
                .served(&Payload::Stored(object.clone()))
                .is_ok_and(|shown| selection.matches_shown(&target.resource, &shown))
    }

    /// What a watcher is shown of an event; `None` if it does not concern what is watched.
    fn shown(&self, event: &Event) -> Option<WatchedEvent> {
        let object = &event.object;
        let shows =
            |object: &Arc<Object>| self.shows_everything || self.subject.shows(object) && self.is_selected(object);
        let kind = match (event.previous.as_ref().is_some_and(shows), !event.removed && shows(object)) {
            (false, true) => Kind::Added,
            (true, true) => Kind::Modified,
            (true, false) => Kind::Deleted,
            (false, false) => {
                if self.subject.selection.shard().is_some_and(|shard| !shard.matches(object)) {
                    self.counters.filtered();
                }
                return None;
            }
        };
        match (kind, event.removed, &event.previous) {
            // The object left the selection: the watcher gets its last selected state, with the new
            // revision.
            (Kind::Deleted, false, Some(previous)) => {
                let encoded = previous.encoded.at_revision(event.revision);
                let prefix = self.subject.target.storage().prefix.len();
                let object = Arc::new(Object::new(previous.key.clone(), prefix, event.revision, encoded));
                Some(WatchedEvent { kind, object, is_shared: false })
            }
            _ => {
                Some(WatchedEvent { kind, object: object.clone(), is_shared: self.wanted.shape != ResponseKind::Table })
            }
        }
    }

    /// Appends the frame of an event, if the watch selects it.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn event(&mut self, event: &Event, out: &mut Chunk) -> Result<()> {
        match self.shown(event) {
            Some(shown) => self.put(&shown, out),
            None => Ok(()),
        }
    }

    /// Appends the frame of a selected event.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub fn put(&mut self, shown: &WatchedEvent, out: &mut Chunk) -> Result<()> {
        if self.refuses(out) {
            return Ok(());
        }
        let (kind, object, before) = (shown.kind, &shown.object, out.len());
        if shown.is_shared {
            let derived = &self.api.registry.cache.derived;
            out.push(derived.get_or_insert_with(object.id, self.variants[kind as usize], || {
                let mut frame = Vec::with_capacity(object.encoded.json().len() + 64);
                self.put_frame(kind, object, &mut frame)?;
                Ok(frame.into())
            })?);
        } else {
            self.own_frame(kind, object, out)?;
        }
        self.count(kind.name(), out.len() - before);
        Ok(())
    }

    /// Counts an event by the size of its object: the frame's size without the frame around the object.
    fn count(&self, kind: &str, frame: usize) {
        self.counters.event(object_size(self.wanted.format, kind, frame));
    }

    /// Appends a frame that is not shared with other watches.
    fn own_frame(&mut self, kind: Kind, object: &Arc<Object>, out: &mut Chunk) -> Result<()> {
        self.put_frame(kind, object, out.buffer())?;
        self.columns_sent = true;
        Ok(())
    }

    fn put_frame(&self, kind: Kind, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let encoder = self.encoder();
        match (self.wanted.shape, self.wanted.format) {
            (ResponseKind::Object | ResponseKind::Partial, Format::Cbor) => encoder
                .object(&Payload::Stored(object.clone()))
                .map(|item| pintle_codec::cbor::encode_event(kind.name(), &item, out)),
            (ResponseKind::Object, Format::Protobuf) => encoder.stored_protobuf(object).map(|raw| {
                let resource = &self.subject.target.resource;
                let mut message = Vec::with_capacity(raw.len() + 64);
                pintle_codec::protobuf::encode_envelope(&resource.api_version(), &resource.kind, &raw, &mut message);
                put_protobuf_event(kind.name(), &message, out);
            }),
            (ResponseKind::Object, _) => {
                encoder.stored_json(object).map(|json| put_json_event(kind.name(), &json, out))
            }
            (ResponseKind::Table, _) => self.table_frame(&encoder, kind, object, out),
            (ResponseKind::Partial, Format::Protobuf) => encoder
                .object(&Payload::Stored(object.clone()))
                .map(|message| put_protobuf_event(kind.name(), &message, out)),
            (ResponseKind::Partial, _) => {
                let mut json = Vec::new();
                encoder.put_partial(object, &mut json)?;
                put_json_event(kind.name(), &json, out);
                Ok(())
            }
            // Rejected before.
            (ResponseKind::PartialList, _) => Ok(()),
        }
    }

    fn table_frame(&self, encoder: &ObjectEncoder, kind: Kind, object: &Arc<Object>, out: &mut Vec<u8>) -> Result<()> {
        let row = encoder.stored_row(object)?;
        let mut json = Vec::with_capacity(row.size(object) + 256);
        encoder.put_table_head(version_meta(object.revision), !self.columns_sent, &mut json);
        row.put(object, encoder.now(), &mut json);
        json.extend_from_slice(TABLE_END);
        put_json_event(kind.name(), &json, out);
        Ok(())
    }

    /// Appends a bookmark: everything up to the revision has been sent.
    pub fn bookmark(&mut self, revision: Revision, initial_end: bool, out: &mut Chunk) {
        if self.refuses(out) {
            return;
        }
        let resource = &self.subject.target.resource;
        let (kind, api_version) = match self.wanted.shape {
            ResponseKind::Object | ResponseKind::Table => (resource.kind.to_string(), resource.api_version()),
            _ => ("PartialObjectMetadata".to_owned(), self.wanted.meta_version().to_owned()),
        };
        let mut metadata = value!({"resourceVersion": (revision.0.to_string())});
        if initial_end {
            metadata.set_at(&["annotations", "k8s.io/initial-events-end"], "true");
        }
        let mut object = value!({"kind": kind, "apiVersion": api_version, "metadata": metadata});
        if matches!(self.wanted.shape, ResponseKind::Object | ResponseKind::Table) {
            canonicalize(&resource.schema, &mut object);
        }
        if self.wanted.shape == ResponseKind::Table {
            let include_object = match self.include_object {
                // Clients find the end of the initial events by an annotation of the row's object.
                IncludeObject::None if initial_end => IncludeObject::Metadata,
                asked_for => asked_for,
            };
            let encoder = ObjectEncoder { include_object, ..self.encoder() };
            let rows = encoder.row(&Payload::Value(Box::new(object))).map(|row| vec![row]).unwrap_or_default();
            object = encoder.table(version_meta(revision), !self.columns_sent, rows);
            self.columns_sent = true;
        }
        self.put_value("BOOKMARK", &object, out.buffer());
    }

    /// Appends the error that ends the stream.
    pub fn error(&self, status: &Status, out: &mut Chunk) {
        self.put_value("ERROR", &status.to_value(), out.buffer());
    }

    fn put_value(&self, kind: &str, object: &Value, out: &mut Vec<u8>) {
        let before = out.len();
        match self.wanted.format {
            format @ (Format::Protobuf | Format::Cbor) => {
                let schema = match (kind, self.wanted.shape) {
                    ("ERROR", _) => <pintle_meta::meta::v1::Status as pintle_schema::ApiType>::schema(),
                    (_, ResponseKind::Object) => &self.subject.target.resource.schema,
                    _ => <pintle_meta::meta::v1::PartialObjectMetadata as pintle_schema::ApiType>::schema(),
                };
                let item = encoding::encode(object, schema, MediaTypeOptions { format, ..MediaTypeOptions::JSON });
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
        self.count(kind, out.len() - before);
    }
}

impl Drop for Frames {
    fn drop(&mut self) {
        if self.subject.selection.shard().is_some() {
            self.counters.shard_ends();
        }
    }
}

fn version_meta(revision: Revision) -> Map {
    let mut meta = Map::new();
    meta.push(Str::new_static("resourceVersion"), revision.0.to_string().into());
    meta
}

/// Bytes of an event without its type and its object.
const JSON_EVENT_OVERHEAD: usize = r#"{"type":"","object":}"#.len() + 1;

fn put_json_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(b"{\"type\":\"");
    out.extend_from_slice(kind.as_bytes());
    out.extend_from_slice(b"\",\"object\":");
    out.extend_from_slice(object);
    out.extend_from_slice(b"}\n");
}

/// The size of the object in a frame of this size.
fn object_size(format: Format, kind: &str, frame: usize) -> usize {
    match format {
        Format::Protobuf => {}
        Format::Cbor => {
            let mut empty = Vec::new();
            pintle_codec::cbor::encode_event(kind, &[], &mut empty);
            return frame.saturating_sub(empty.len());
        }
        _ => return frame.saturating_sub(JSON_EVENT_OVERHEAD + kind.len()),
    }
    // Around a message are the frame's length, the type, and two headers.
    let mut size = frame.saturating_sub(4 + 2 + kind.len());
    for _ in 0..2 {
        // A header is a tag and the length of the rest, seven bits a byte.
        let bytes = (1..=5).find(|bytes| size.saturating_sub(1 + bytes) >> (7 * bytes) == 0).unwrap_or(5);
        size = size.saturating_sub(1 + bytes);
    }
    size
}

/// A WatchEvent behind its length in four big-endian bytes.
fn put_protobuf_event(kind: &str, object: &[u8], out: &mut Vec<u8>) {
    let mut raw = Vec::with_capacity(object.len() + 8);
    encoding::put_message(&mut raw, 1, object);
    let mut event = Vec::with_capacity(raw.len() + 24);
    encoding::put_message(&mut event, 1, kind.as_bytes());
    encoding::put_message(&mut event, 2, &raw);
    out.extend_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_be_bytes());
    out.extend_from_slice(&event);
}

#[cfg(test)]
mod tests {
    use super::*;

    type Put = fn(&str, &[u8], &mut Vec<u8>);

    #[test]
    fn the_size_of_an_object_excludes_its_frame() {
        for size in [0, 1, 100, 125, 126, 127, 128, 129, 130, 16_380, 16_383, 16_384, 16_390, 2_097_152, 3_000_000] {
            let object = vec![b'x'; size];
            for kind in ["ADDED", "BOOKMARK"] {
                let frames: [(Format, Put); 3] = [
                    (Format::Json, put_json_event),
                    (Format::Protobuf, put_protobuf_event),
                    (Format::Cbor, pintle_codec::cbor::encode_event),
                ];
                for (format, put) in frames {
                    let mut frame = Vec::new();
                    put(kind, &object, &mut frame);
                    assert_eq!(object_size(format, kind, frame.len()), size, "{format:?} {kind}");
                }
            }
        }
    }
}
