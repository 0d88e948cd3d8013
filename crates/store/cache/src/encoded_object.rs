//! A stored object: a header with what reads need without decoding, then its canonical JSON.
//! Guarantees that every length is checked before use, and that every object that fits into memory can be encoded.
//! Must never look at a clock.
//!
//! The `metadata.resourceVersion` in a record's JSON is an empty string, the placeholder. The commit fills in its
//! revision, so that nothing is encoded again.
//!
//! ```text
//! u8      format: 3, or 4 if raw JSON in the object is served in another form than it was written; 128 is added if the object is
//!         stale, 64 if the original follows
//! u32     offset of the placeholder in the JSON, little endian, as are the next four
//! u32 x 2 start and end of metadata
//! u32 x 2 start and end of the member managedFields (0, 0: there is none)
//! text    uid
//! count   labels, each:                  text key, text value
//! count   selectable field values, each: text value   (in the order in which the resource declares them)
//! count   owner references, each:        text uid
//! u8      1 if metadata.deletionTimestamp is set
//! text    the original in JSON, if the format says that it follows
//! ...     JSON until the end
//!
//! text    its length as a count, then UTF-8
//! count   LEB128: seven bits per byte, the lowest first, 128 is added to all but the last
//! ```
//!
//! Formats 1 and 2 are 3 and 4 with counts of two bytes, little endian. They are read, but no longer written.

use bytes::Bytes;
use memchr::memmem;
use pintle_codec::json;
use pintle_schema::{Map, Value};
use pintle_storage::Revision;
use std::borrow::Cow;
use std::ops::Range;

const FORMAT: u8 = 3;
/// Raw JSON in the object is stored as it was written, including whitespace.
const FORMAT_AS_WRITTEN: u8 = 4;
/// The same two with 16-bit counts, which are only read.
const NARROW_FORMAT: u8 = 1;
const NARROW_FORMAT_AS_WRITTEN: u8 = 2;
/// Added to the format of a stale object.
const STALE: u8 = 0x80;
/// Added to the format of an object that is shown otherwise than it is stored.
const HAS_ORIGINAL: u8 = 0x40;
const MARKS: u8 = STALE | HAS_ORIGINAL;

/// Bits of a count in a byte, and the bit that marks a continuation.
const COUNT_BITS: u32 = 7;
const CONTINUES: u8 = 1 << COUNT_BITS;
/// Bytes of the longest count: more than any object needs, few enough for 32-bit offsets.
const COUNT_BYTES_MAX: u32 = 4;

/// The beginnings of the lists that affect deletion. Strings cannot contain them, because their quotes are escaped.
const OWNER_REFERENCES: &[u8] = b"\"ownerReferences\":[";
const FINALIZERS: &[u8] = b"\"finalizers\":[";
const TIES: [&[u8]; 2] = [OWNER_REFERENCES, FINALIZERS];

/// A record that cannot be decoded: damaged, or of a later format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the record is damaged or of an unknown format")]
pub struct CorruptObject;

/// Encodes a canonical object as a record. `fields` are the values of the resource's selectable fields.
///
/// The placeholder replaces the object's resourceVersion, if any.
pub fn encode(object: &Value, fields: &[&str]) -> Bytes {
    encode_as(0, object, fields, None).into()
}

/// The same for a stale object: decoding adds something to what was written, so that a write that changes nothing is
/// still carried out.
pub fn encode_stale(object: &Value, fields: &[&str]) -> Bytes {
    encode_as(STALE, object, fields, None).into()
}

/// The same for an object that is shown otherwise than it is stored, with less or with defaults. It keeps what is stored: another schema
/// may show more of it, or fewer defaults.
pub fn encode_beside(object: &Value, fields: &[&str], original: &Value) -> Bytes {
    encode_as(STALE | HAS_ORIGINAL, object, fields, Some(original)).into()
}

fn encode_as(mark: u8, object: &Value, fields: &[&str], original: Option<&Value>) -> Vec<u8> {
    let mut json = Vec::with_capacity(1024);
    let spans = encode_json(object, &mut json);
    let mut record = Vec::with_capacity(json.len() + 256);
    record.push(mark | if spans.is_as_written { FORMAT_AS_WRITTEN } else { FORMAT });
    for offset in [spans.placeholder, spans.metadata.0, spans.metadata.1, spans.managed.0, spans.managed.1] {
        record.extend_from_slice(&narrow(offset).to_le_bytes());
    }
    let metadata = object.get("metadata");
    put(&mut record, metadata.map_or("", |metadata| metadata.str_at(&["uid"])));
    let labels = metadata.and_then(|metadata| metadata.get("labels")).and_then(Value::as_map);
    put_count(&mut record, labels.map_or(0, Map::len));
    for (key, value) in labels.into_iter().flat_map(Map::iter) {
        put(&mut record, key);
        put(&mut record, value.as_str().unwrap_or(""));
    }
    put_count(&mut record, fields.len());
    fields.iter().for_each(|field| put(&mut record, field));
    let owners = metadata.and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_list).unwrap_or(&[]);
    put_count(&mut record, owners.len());
    owners.iter().for_each(|owner| put(&mut record, owner.str_at(&["uid"])));
    record.push(u8::from(metadata.is_some_and(|metadata| !metadata.str_at(&["deletionTimestamp"]).is_empty())));
    if let Some(original) = original {
        let mut json = Vec::with_capacity(json.len() + 256);
        json::encode(original, &mut json);
        put_count(&mut record, json.len());
        record.extend_from_slice(&json);
    }
    record.extend_from_slice(&json);
    record
}

/// The object of a record as JSON, with an empty resourceVersion and raw JSON as it was written.
///
/// # Errors
/// The record is invalid.
pub fn object(record: &Bytes) -> Result<Bytes, CorruptObject> {
    Head::parse(record).map(|head| record.slice(head.json_at..))
}

/// The object as it is stored, in JSON without its resourceVersion, if the record shows it otherwise.
///
/// # Errors
/// The record is invalid.
pub fn original(record: &Bytes) -> Result<Option<Bytes>, CorruptObject> {
    let original = Head::parse(record)?.original;
    Ok((!original.is_empty()).then(|| record.slice(original)))
}

/// Whether a value is a record of any format, rather than an object in another encoding.
pub fn is_record(value: &[u8]) -> bool {
    let formats = NARROW_FORMAT..=FORMAT_AS_WRITTEN;
    value.first().is_none_or(|first| formats.contains(&(first & !MARKS)))
}

/// Verifies that a record can be decoded, before it is committed.
///
/// # Errors
/// [`EncodedObject::from_record`] would fail.
pub fn check(record: &[u8]) -> Result<(), CorruptObject> {
    Head::parse(record).map(drop)
}

struct Spans {
    is_as_written: bool,
    placeholder: usize,
    metadata: (usize, usize),
    managed: (usize, usize),
}

fn encode_json(object: &Value, out: &mut Vec<u8>) -> Spans {
    let mut spans = Spans { is_as_written: false, placeholder: 0, metadata: (0, 0), managed: (0, 0) };
    let Some(fields) = object.as_map() else {
        json::encode(object, out);
        return spans;
    };
    out.push(b'{');
    let mut first = true;
    for (key, value) in fields.iter() {
        separate(&mut first, out);
        put_key(key, out);
        match (key.as_str(), value) {
            ("metadata", Value::Map(metadata)) => {
                spans.metadata.0 = out.len();
                encode_metadata(metadata, after_placeholder(fields), out, &mut spans);
                spans.metadata.1 = out.len();
            }
            _ => spans.is_as_written |= json::encode_kept(value, out),
        }
    }
    out.push(b'}');
    spans
}

/// The fields of ObjectMeta before resourceVersion in schema order.
const BEFORE_PLACEHOLDER: [&str; 5] = ["name", "generateName", "namespace", "selfLink", "uid"];

/// Whether a field of an object's metadata comes after resourceVersion. Objects of custom kinds have all fields in the order of
/// their names; the first field of others is their kind.
fn after_placeholder(object: &Map) -> fn(&str) -> bool {
    let first = object.iter().find(|(key, _)| matches!(key.as_str(), "kind" | "apiVersion"));
    match first.is_some_and(|(key, _)| *key == "apiVersion") {
        true => |key| key > "resourceVersion",
        false => |key| !BEFORE_PLACEHOLDER.contains(&key),
    }
}

fn encode_metadata(metadata: &Map, is_after: fn(&str) -> bool, out: &mut Vec<u8>, spans: &mut Spans) {
    out.push(b'{');
    let mut first = true;
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
        if spans.placeholder == 0 && is_after(key.as_str()) {
            put_placeholder(&mut first, out, spans);
        }
        let start = if first { out.len() } else { out.len() + 1 };
        separate(&mut first, out);
        put_key(key, out);
        json::encode(value, out);
        if key == "managedFields" {
            spans.managed = (start, out.len());
        }
    }
    if spans.placeholder == 0 {
        put_placeholder(&mut first, out, spans);
    }
    out.push(b'}');
}

fn put_placeholder(first: &mut bool, out: &mut Vec<u8>, spans: &mut Spans) {
    separate(first, out);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    spans.placeholder = out.len();
    out.push(b'"');
}

fn separate(first: &mut bool, out: &mut Vec<u8>) {
    if !std::mem::take(first) {
        out.push(b',');
    }
}

fn put_key(key: &pintle_schema::Str, out: &mut Vec<u8>) {
    json::encode(&Value::String(key.clone()), out);
    out.push(b':');
}

fn put(record: &mut Vec<u8>, text: &str) {
    put_count(record, text.len());
    record.extend_from_slice(text.as_bytes());
}

fn put_count(record: &mut Vec<u8>, mut count: usize) {
    while count >= usize::from(CONTINUES) {
        record.push(count as u8 | CONTINUES);
        count >>= COUNT_BITS;
    }
    record.push(count as u8);
}

/// Stores reject values of nearly this length: see their limits.
fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// An object in the cache: the header's fields and the JSON with its resourceVersion filled in.
#[derive(Debug, PartialEq)]
pub struct EncodedObject {
    /// Labels, fields, owners and uid, as in the record.
    header: Box<[u8]>,
    json: Bytes,
    /// The same with raw JSON as it was written, if that differs.
    as_written: Option<Bytes>,
    /// The object as it is stored, if the JSON shows it otherwise.
    original: Option<Bytes>,
    revision_span: Range<u32>,
    metadata: Range<u32>,
    managed_fields: Range<u32>,
    labels_at: u32,
    fields_at: u32,
    owners_at: u32,
    pub terminating: bool,
    /// Encoding the same object again would give a different result: decoding adds something to what was written.
    pub is_stale: bool,
}

impl EncodedObject {
    /// Decodes a record and fills its placeholder with the revision of the commit.
    ///
    /// # Errors
    /// The record's lengths are inconsistent.
    pub fn from_record(record: &Bytes, revision: Revision) -> Result<Self, CorruptObject> {
        let head = Head::parse(record)?;
        let json = &record[head.json_at..];
        let [placeholder, metadata_start, metadata_end, managed_start, managed_end] = head.offsets;
        let (filled, width) = fill(json, placeholder..placeholder, revision);
        // Raw JSON occurs only after the metadata, so the spans are the same in both.
        let (json, as_written) = match head.is_as_written {
            true => (compact(&filled), Some(filled)),
            false => (filled, None),
        };
        let shift = |at: u32| if at > placeholder { at + width } else { at };
        Ok(EncodedObject {
            header: head.facts.into(),
            json,
            as_written,
            original: (!head.original.is_empty()).then(|| Bytes::copy_from_slice(&record[head.original.clone()])),
            revision_span: placeholder..placeholder + width,
            metadata: shift(metadata_start)..shift(metadata_end),
            managed_fields: shift(managed_start)..shift(managed_end),
            labels_at: head.labels_at,
            fields_at: head.fields_at,
            owners_at: head.owners_at,
            terminating: head.terminating,
            is_stale: head.is_stale,
        })
    }

    /// The same object at another revision: the deleted object in a watch event.
    pub fn at_revision(&self, revision: Revision) -> Self {
        let (json, width) = fill(&self.json, self.revision_span.clone(), revision);
        let (start, end) = (self.revision_span.start, self.revision_span.end);
        let shift = |at: u32| if at >= end && end > 0 { at - (end - start) + width } else { at };
        EncodedObject {
            header: self.header.clone(),
            json,
            as_written: self.as_written.as_ref().map(|text| fill(text, self.revision_span.clone(), revision).0),
            original: self.original.clone(),
            revision_span: start..start + width,
            metadata: shift(self.metadata.start)..shift(self.metadata.end),
            managed_fields: shift(self.managed_fields.start)..shift(self.managed_fields.end),
            ..*self
        }
    }

    /// The object in canonical JSON of its storage version, as in responses.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The same for decoding: raw JSON in it is as it was written.
    pub fn as_written(&self) -> &Bytes {
        self.as_written.as_ref().unwrap_or(&self.json)
    }

    /// The object as it is stored, in JSON without its resourceVersion, if it is shown otherwise.
    pub fn original(&self) -> Option<&Bytes> {
        self.original.as_ref()
    }

    /// The position of the value of `metadata` in the JSON.
    pub fn metadata(&self) -> &[u8] {
        self.json.get(self.metadata.start as usize..self.metadata.end as usize).unwrap_or_default()
    }

    /// The position of the member `"managedFields": [...]` in the JSON; empty if there is none.
    pub fn managed_fields(&self) -> Range<usize> {
        self.managed_fields.start as usize..self.managed_fields.end as usize
    }

    pub fn uid(&self) -> &str {
        self.reader(0).text().unwrap_or("")
    }

    pub fn labels(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut reader = self.reader(self.labels_at);
        let count = reader.count().unwrap_or(0);
        (0..count).map_while(move |_| Some((reader.text().ok()?, reader.text().ok()?)))
    }

    pub fn label(&self, key: &str) -> Option<&str> {
        self.labels().find(|(k, _)| *k == key).map(|(_, value)| value)
    }

    /// The value of the resource's selectable field with this index.
    pub fn field(&self, index: usize) -> Option<&str> {
        let mut reader = self.reader(self.fields_at);
        let count = reader.count().unwrap_or(0);
        (0..count).map_while(move |_| reader.text().ok()).nth(index)
    }

    pub fn owners(&self) -> impl Iterator<Item = &str> {
        let mut reader = self.reader(self.owners_at);
        let count = reader.count().unwrap_or(0);
        (0..count).map_while(move |_| reader.text().ok())
    }

    /// `metadata.ownerReferences` and `metadata.finalizers` in the JSON, each empty if there are none.
    pub fn ties(&self) -> [&[u8]; 2] {
        let start = self.metadata.start as usize;
        let Range { start: managed, end } = self.managed_fields();
        let metadata = self.metadata();
        let parts = match managed.checked_sub(start).zip(end.checked_sub(start)).filter(|_| managed < end) {
            Some((managed, end)) => [metadata.get(..managed), metadata.get(end..)],
            None => [Some(metadata), None],
        };
        TIES.map(|name| parts.into_iter().flatten().find_map(|part| list_member(part, name)).unwrap_or_default())
    }

    /// Whether the object is being deleted and a finalizer retains it, one of the metadata or of a namespace's spec.
    pub fn is_held(&self) -> bool {
        self.terminating && memmem::find(&self.json, FINALIZERS).is_some()
    }

    /// The size of the object in memory in bytes.
    pub fn size(&self) -> usize {
        let others = [&self.as_written, &self.original].into_iter().flatten().map(Bytes::len);
        self.json.len() + others.sum::<usize>() + self.header.len() + size_of::<Self>()
    }

    fn reader(&self, at: u32) -> Reader<'_> {
        Reader { bytes: &self.header, at: at as usize, narrow: false }
    }
}

/// The member with a list that begins with this text, up to the end of the list.
fn list_member<'a>(json: &'a [u8], beginning: &[u8]) -> Option<&'a [u8]> {
    let member = json.get(memmem::find(json, beginning)?..)?;
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for (at, byte) in member.iter().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => in_string = !in_string,
            b'[' if !in_string => depth += 1,
            b']' if !in_string && depth == 1 => return member.get(..=at),
            b']' if !in_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Some(member)
}

/// Replaces a span of the JSON by the revision's digits; returns the new bytes and the number of digits.
fn fill(json: &[u8], span: Range<u32>, revision: Revision) -> (Bytes, u32) {
    let digits = revision.0.to_string();
    let mut filled = Vec::with_capacity(json.len() + digits.len());
    filled.extend_from_slice(&json[..span.start as usize]);
    filled.extend_from_slice(digits.as_bytes());
    filled.extend_from_slice(&json[span.end as usize..]);
    (Bytes::from(filled), narrow(digits.len()))
}

fn compact(json: &[u8]) -> Bytes {
    let mut out = Vec::with_capacity(json.len());
    json::compact(json, &mut out);
    Bytes::from(out)
}

/// A verified record header: it is complete, and the placeholder is present.
struct Head<'a> {
    is_as_written: bool,
    is_stale: bool,
    /// The positions of the placeholder, the start and end of metadata, and the start and end of managedFields.
    offsets: [u32; 5],
    /// Uid, labels, fields and owners, in the current format.
    facts: Cow<'a, [u8]>,
    labels_at: u32,
    fields_at: u32,
    owners_at: u32,
    terminating: bool,
    /// Where the original is, if it follows.
    original: Range<usize>,
    json_at: usize,
}

impl<'a> Head<'a> {
    fn parse(record: &'a [u8]) -> Result<Self, CorruptObject> {
        let mut reader = Reader { bytes: record, at: 0, narrow: false };
        let format = *reader.take(1)?.first().ok_or(CorruptObject)?;
        reader.narrow = matches!(format & !MARKS, NARROW_FORMAT | NARROW_FORMAT_AS_WRITTEN);
        let is_as_written = match format & !MARKS {
            FORMAT | NARROW_FORMAT => false,
            FORMAT_AS_WRITTEN | NARROW_FORMAT_AS_WRITTEN => true,
            _ => return Err(CorruptObject),
        };
        let mut offsets = [0u32; 5];
        for offset in &mut offsets {
            let four = reader.take(4)?;
            *offset = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        }
        let mut facts = RetainedHeader { read: reader.at, widened: reader.narrow.then(Vec::new) };
        facts.text(&mut reader)?;
        let labels_at = facts.place(&reader)?;
        let labels = facts.count(&mut reader)?;
        (0..labels).try_for_each(|_| facts.text(&mut reader).and_then(|()| facts.text(&mut reader)))?;
        let fields_at = facts.place(&reader)?;
        let fields = facts.count(&mut reader)?;
        (0..fields).try_for_each(|_| facts.text(&mut reader))?;
        let owners_at = facts.place(&reader)?;
        let owners = facts.count(&mut reader)?;
        (0..owners).try_for_each(|_| facts.text(&mut reader))?;
        let facts = match facts.widened {
            Some(widened) => Cow::Owned(widened),
            None => Cow::Borrowed(&record[facts.read..reader.at]),
        };
        let terminating = reader.take(1)? == [1];
        let mut original = 0..0;
        if format & HAS_ORIGINAL != 0 {
            let length = reader.count()?;
            original = reader.at..reader.at + reader.take(length)?.len();
        }
        let json_at = reader.at;
        if record[json_at..].get(offsets[0] as usize) != Some(&b'"') {
            return Err(CorruptObject);
        }
        Ok(Head {
            is_as_written,
            is_stale: format & STALE != 0,
            offsets,
            facts,
            labels_at,
            fields_at,
            owners_at,
            terminating,
            original,
            json_at,
        })
    }
}

/// The part of a header that stays in memory: its original position, and its conversion if its counts are of the old
/// form.
struct RetainedHeader {
    read: usize,
    widened: Option<Vec<u8>>,
}

impl RetainedHeader {
    fn text(&mut self, reader: &mut Reader<'_>) -> Result<(), CorruptObject> {
        let text = reader.text()?;
        self.widened.iter_mut().for_each(|widened| put(widened, text));
        Ok(())
    }

    fn count(&mut self, reader: &mut Reader<'_>) -> Result<usize, CorruptObject> {
        let count = reader.count()?;
        self.widened.iter_mut().for_each(|widened| put_count(widened, count));
        Ok(count)
    }

    fn place(&self, reader: &Reader<'_>) -> Result<u32, CorruptObject> {
        let place = self.widened.as_ref().map_or(reader.at - self.read, Vec::len);
        u32::try_from(place).map_err(|_| CorruptObject)
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether counts have 16 bits.
    narrow: bool,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], CorruptObject> {
        let taken = self.bytes.get(self.at..).and_then(|rest| rest.get(..length)).ok_or(CorruptObject)?;
        self.at += length;
        Ok(taken)
    }

    fn count(&mut self) -> Result<usize, CorruptObject> {
        if self.narrow {
            let two = self.take(2)?;
            return Ok(u16::from_le_bytes([two[0], two[1]]).into());
        }
        let mut count = 0;
        for place in 0..COUNT_BYTES_MAX {
            let byte = *self.bytes.get(self.at).ok_or(CorruptObject)?;
            self.at += 1;
            count |= usize::from(byte & !CONTINUES) << (place * COUNT_BITS);
            if byte & CONTINUES == 0 {
                return Ok(count);
            }
        }
        Err(CorruptObject)
    }

    fn text(&mut self) -> Result<&'a str, CorruptObject> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| CorruptObject)
    }
}

#[cfg(test)]
mod tests;
