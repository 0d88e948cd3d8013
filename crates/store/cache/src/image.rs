//! The image: an object as bytes, ready to be served, with a header for what reads must know without decoding.
//!
//! A record in the store is a header, then the object's canonical JSON whose `metadata.resourceVersion` is an empty
//! string: the hole that the commit's revision fills, so committing encodes nothing again. Building an image never
//! looks at a clock; reading one never trusts lengths it has not checked.
//!
//! Record, integers little endian:
//!
//! ```text
//! u8  format (1, or 2 when the JSON has raw JSON in it that answers show otherwise; 128 more when it is stale)
//! u32 offset of the hole in the JSON          u32 x 2 metadata    u32 x 2 managedFields (0,0: none)
//! u16 length of uid, uid
//! u16 number of labels, each:                 u16 length, key, u16 length, value
//! u16 number of selectable field values, each: u16 length, value   (in the order the resource declares them)
//! u16 number of owners, each:                 u16 length, uid
//! u8  1 when metadata.deletionTimestamp is set
//! ... JSON until the end
//! ```

use bytes::Bytes;
use memchr::memmem;
use pintle_codec::json;
use pintle_schema::{Map, Value};
use pintle_storage::Revision;
use std::ops::Range;

const FORMAT: u8 = 1;
/// Raw JSON in the object stands as it was written, blanks and all.
const FORMAT_AS_WRITTEN: u8 = 2;
/// Added to the format.
const STALE: u8 = 0x80;

/// How lists begin that tie an object. Nothing within a string looks like this: there a quote is escaped.
const OWNER_REFERENCES: &[u8] = b"\"ownerReferences\":[";
const FINALIZERS: &[u8] = b"\"finalizers\":[";
const TIES: [&[u8]; 2] = [OWNER_REFERENCES, FINALIZERS];

/// A record that is no image: damaged, or of a later format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptImage;

impl std::fmt::Display for CorruptImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the record is damaged or of an unknown format")
    }
}

impl std::error::Error for CorruptImage {}

/// Encodes a canonical object as a record. `fields` are the values of the resource's selectable fields.
///
/// The object's resourceVersion, if any, is replaced by the hole.
pub fn encode(object: &Value, fields: &[&str]) -> Bytes {
    encode_as(0, object, fields).into()
}

/// The same for an object that is read with more in it than was written: a write that changes nothing writes that, too.
pub fn encode_stale(object: &Value, fields: &[&str]) -> Bytes {
    encode_as(STALE, object, fields).into()
}

fn encode_as(mark: u8, object: &Value, fields: &[&str]) -> Vec<u8> {
    let mut json = Vec::with_capacity(1024);
    let spans = encode_json(object, &mut json);
    let mut record = Vec::with_capacity(json.len() + 256);
    record.push(mark | if spans.is_as_written { FORMAT_AS_WRITTEN } else { FORMAT });
    for offset in [spans.hole, spans.metadata.0, spans.metadata.1, spans.managed.0, spans.managed.1] {
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
    record.extend_from_slice(&json);
    record
}

/// The object of a record as JSON, with an empty resourceVersion and raw JSON as it was written.
///
/// # Errors
/// It is no record.
pub fn object(record: &Bytes) -> Result<Bytes, CorruptImage> {
    let mut reader = Reader { bytes: record, at: 0 };
    reader.format()?;
    reader.take(5 * size_of::<u32>())?;
    reader.text()?;
    for texts in [2, 1, 1] {
        let count = reader.count()?;
        (0..count * texts).try_for_each(|_| reader.text().map(drop))?;
    }
    reader.take(1)?;
    Ok(record.slice(reader.at..))
}

struct Spans {
    is_as_written: bool,
    hole: usize,
    metadata: (usize, usize),
    managed: (usize, usize),
}

fn encode_json(object: &Value, out: &mut Vec<u8>) -> Spans {
    let mut spans = Spans { is_as_written: false, hole: 0, metadata: (0, 0), managed: (0, 0) };
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
                encode_metadata(metadata, out, &mut spans);
                spans.metadata.1 = out.len();
            }
            _ => spans.is_as_written |= json::encode_kept(value, out),
        }
    }
    out.push(b'}');
    spans
}

/// The fields of ObjectMeta that stand before resourceVersion in schema order.
const BEFORE_HOLE: [&str; 5] = ["name", "generateName", "namespace", "selfLink", "uid"];

fn encode_metadata(metadata: &Map, out: &mut Vec<u8>, spans: &mut Spans) {
    out.push(b'{');
    let mut first = true;
    for (key, value) in metadata.iter().filter(|(key, _)| *key != "resourceVersion") {
        if spans.hole == 0 && !BEFORE_HOLE.contains(&key.as_str()) {
            put_hole(&mut first, out, spans);
        }
        let start = if first { out.len() } else { out.len() + 1 };
        separate(&mut first, out);
        put_key(key, out);
        json::encode(value, out);
        if key == "managedFields" {
            spans.managed = (start, out.len());
        }
    }
    if spans.hole == 0 {
        put_hole(&mut first, out, spans);
    }
    out.push(b'}');
}

fn put_hole(first: &mut bool, out: &mut Vec<u8>, spans: &mut Spans) {
    separate(first, out);
    out.extend_from_slice(b"\"resourceVersion\":\"");
    spans.hole = out.len();
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
    let length = u16::try_from(text.len()).unwrap_or(u16::MAX);
    record.extend_from_slice(&length.to_le_bytes());
    record.extend_from_slice(&text.as_bytes()[..usize::from(length)]);
}

fn put_count(record: &mut Vec<u8>, count: usize) {
    record.extend_from_slice(&u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes());
}

fn narrow(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// An object as the cache holds it: the header's facts and the JSON with its resourceVersion filled in.
#[derive(Debug, PartialEq)]
pub struct Image {
    /// Labels, fields, owners and uid, as in the record.
    header: Box<[u8]>,
    json: Bytes,
    /// The same with raw JSON as it was written, where that differs.
    as_written: Option<Bytes>,
    revision_span: Range<u32>,
    metadata: Range<u32>,
    managed_fields: Range<u32>,
    labels_at: u16,
    fields_at: u16,
    owners_at: u16,
    pub terminating: bool,
    /// A write of the same object would not be the same: there is more in it now than was written.
    pub is_stale: bool,
}

impl Image {
    /// Reads a record and fills its hole with the revision of the commit.
    ///
    /// # Errors
    /// The record's lengths do not add up.
    pub fn from_record(record: &Bytes, revision: Revision) -> Result<Self, CorruptImage> {
        let mut reader = Reader { bytes: record, at: 0 };
        let (format, is_stale) = reader.format()?;
        let mut offsets = [0u32; 5];
        for offset in &mut offsets {
            let four = reader.take(4)?;
            *offset = u32::from_le_bytes([four[0], four[1], four[2], four[3]]);
        }
        let start = reader.at;
        reader.text()?;
        let labels_at = reader.place(start)?;
        let labels = reader.count()?;
        (0..labels * 2).try_for_each(|_| reader.text().map(drop))?;
        let fields_at = reader.place(start)?;
        let fields = reader.count()?;
        (0..fields).try_for_each(|_| reader.text().map(drop))?;
        let owners_at = reader.place(start)?;
        let owners = reader.count()?;
        (0..owners).try_for_each(|_| reader.text().map(drop))?;
        let header = record[start..reader.at].into();
        let terminating = reader.take(1)? == [1];
        let json = &record[reader.at..];
        let [hole, metadata_start, metadata_end, managed_start, managed_end] = offsets;
        if json.get(hole as usize) != Some(&b'"') {
            return Err(CorruptImage);
        }
        let (filled, width) = fill(json, hole..hole, revision);
        // Nothing raw stands in or before the metadata, so the spans are the same in both.
        let (json, as_written) = match format {
            FORMAT_AS_WRITTEN => (compact(&filled), Some(filled)),
            _ => (filled, None),
        };
        let shift = |at: u32| if at > hole { at + width } else { at };
        Ok(Image {
            header,
            json,
            as_written,
            revision_span: hole..hole + width,
            metadata: shift(metadata_start)..shift(metadata_end),
            managed_fields: shift(managed_start)..shift(managed_end),
            labels_at,
            fields_at,
            owners_at,
            terminating,
            is_stale,
        })
    }

    /// The same object as of another revision: what a watch shows of a deleted object.
    pub fn at_revision(&self, revision: Revision) -> Self {
        let (json, width) = fill(&self.json, self.revision_span.clone(), revision);
        let (start, end) = (self.revision_span.start, self.revision_span.end);
        let shift = |at: u32| if at >= end && end > 0 { at - (end - start) + width } else { at };
        Image {
            header: self.header.clone(),
            json,
            as_written: self.as_written.as_ref().map(|text| fill(text, self.revision_span.clone(), revision).0),
            revision_span: start..start + width,
            metadata: shift(self.metadata.start)..shift(self.metadata.end),
            managed_fields: shift(self.managed_fields.start)..shift(self.managed_fields.end),
            ..*self
        }
    }

    /// The object in canonical JSON of its storage version, as answers show it.
    pub fn json(&self) -> &Bytes {
        &self.json
    }

    /// The same for who decodes it: raw JSON in it is as it was written.
    pub fn as_written(&self) -> &Bytes {
        self.as_written.as_ref().unwrap_or(&self.json)
    }

    /// Where `metadata`'s value stands in the JSON.
    pub fn metadata(&self) -> &[u8] {
        self.json.get(self.metadata.start as usize..self.metadata.end as usize).unwrap_or_default()
    }

    /// Where the member `"managedFields": [...]` stands in the JSON; empty when there is none.
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

    /// `metadata.ownerReferences` and `metadata.finalizers` as they stand in the JSON: what can end the object, and what
    /// can keep it, up to the sign that follows. Empty without either.
    pub fn ties(&self) -> &[u8] {
        let managed = self.managed_fields();
        let metadata = self.metadata();
        // In the order of the schema only `managedFields` comes after them.
        let ties_end = managed.start.checked_sub(self.metadata.start as usize).filter(|_| !managed.is_empty());
        let unmanaged = ties_end.and_then(|end| metadata.get(..end)).unwrap_or(metadata);
        let start = TIES.iter().find_map(|list| memmem::find(unmanaged, list));
        start.and_then(|start| unmanaged.get(start..)).unwrap_or_default()
    }

    /// Whether the object is on its way out and something keeps it: a finalizer, be it the metadata's or a namespace's own.
    pub fn is_held(&self) -> bool {
        self.terminating && memmem::find(&self.json, FINALIZERS).is_some()
    }

    /// Bytes of memory the image holds.
    pub fn size(&self) -> usize {
        self.json.len() + self.as_written.as_ref().map_or(0, Bytes::len) + self.header.len() + size_of::<Self>()
    }

    fn reader(&self, at: u16) -> Reader<'_> {
        Reader { bytes: &self.header, at: at.into() }
    }
}

/// Replaces a span of the JSON by the revision's digits; returns the new bytes and the digits' number.
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

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], CorruptImage> {
        let taken = self.bytes.get(self.at..self.at + length).ok_or(CorruptImage)?;
        self.at += length;
        Ok(taken)
    }

    /// The format, and whether the record is stale.
    fn format(&mut self) -> Result<(u8, bool), CorruptImage> {
        let byte = self.take(1)?.first().ok_or(CorruptImage)?;
        match byte & !STALE {
            format @ (FORMAT | FORMAT_AS_WRITTEN) => Ok((format, byte & STALE != 0)),
            _ => Err(CorruptImage),
        }
    }

    fn count(&mut self) -> Result<usize, CorruptImage> {
        let two = self.take(2)?;
        Ok(u16::from_le_bytes([two[0], two[1]]).into())
    }

    fn text(&mut self) -> Result<&'a str, CorruptImage> {
        let length = self.count()?;
        std::str::from_utf8(self.take(length)?).map_err(|_| CorruptImage)
    }

    fn place(&self, start: usize) -> Result<u16, CorruptImage> {
        u16::try_from(self.at - start).map_err(|_| CorruptImage)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn pod() -> Value {
        value!({"kind": "Pod", "apiVersion": "v1", "metadata": {
            "name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7", "labels": {"app": "web", "tier": "front"},
            "ownerReferences": [{"uid": "o-1"}, {"uid": "o-2"}], "managedFields": [{"manager": "me"}]
        }, "spec": {"nodeName": "n1"}})
    }

    #[test]
    fn ties_are_owners_and_finalizers_and_nothing_that_looks_like_them() {
        let image = |metadata: Value, spec: Value| {
            let object = value!({"kind": "Thing", "apiVersion": "v1", "metadata": metadata, "spec": spec});
            Image::from_record(&encode(&object, &[]), Revision(12345)).expect("an image")
        };
        let ties = |metadata: Value| String::from_utf8(image(metadata, value!({})).ties().to_vec()).expect("JSON");
        let lookalikes = value!({"finalizers": "x", "a": "\"finalizers\":[\"x\"]", "ownerReferences": "[]"});
        assert_eq!(ties(value!({"name": "a", "annotations": (lookalikes.clone())})), "");
        let owners = value!([{"uid": "o-1", "name": "]}\"finalizers\":["}]);
        let both = value!({"name": "a", "annotations": (lookalikes.clone()), "ownerReferences": (owners.clone()), "finalizers": ["f"]});
        let text = r#""ownerReferences":[{"uid":"o-1","name":"]}\"finalizers\":["}],"finalizers":["f"]"#;
        assert_eq!(ties(both.clone()), format!("{text}}}"));
        let mut managed = both;
        managed.set_at(&["managedFields"], value!([{"manager": "me", "fieldsV1": {"f:finalizers": {}}}]));
        assert_eq!(ties(managed), format!("{text},"));
        assert_eq!(ties(value!({"name": "a", "finalizers": ["f"]})), r#""finalizers":["f"]}"#);

        let time = "2026-01-01T00:00:00Z";
        let held = |metadata: Value, spec: Value| image(metadata, spec).is_held();
        assert!(held(value!({"deletionTimestamp": time, "finalizers": ["f"]}), value!({})));
        assert!(held(value!({"deletionTimestamp": time}), value!({"finalizers": ["kubernetes"]})));
        assert!(!held(value!({"deletionTimestamp": time, "annotations": (lookalikes)}), value!({})));
        assert!(!held(value!({"finalizers": ["f"]}), value!({})));
    }

    #[test]
    fn the_hole_takes_any_revision_and_spans_follow() {
        let record = encode(&pod(), &["n1", "Running"]);
        for revision in [Revision(9), Revision(123_456_789)] {
            for image in [
                Image::from_record(&record, revision).expect("whole"),
                Image::from_record(&record, Revision(42)).expect("whole").at_revision(revision),
            ] {
                let mut wanted = pod();
                wanted.set_at(&["metadata", "resourceVersion"], revision.0.to_string());
                let mut json = Vec::new();
                json::encode(&wanted, &mut json);
                assert_eq!(std::str::from_utf8(image.json()), std::str::from_utf8(&json));
                let mut metadata = Vec::new();
                json::encode(wanted.get("metadata").expect("set"), &mut metadata);
                assert_eq!(image.metadata(), metadata);
                assert_eq!(&image.json()[image.managed_fields()], br#""managedFields":[{"manager":"me"}]"#);
            }
        }
    }

    #[test]
    fn the_header_answers_without_decoding() {
        let image = Image::from_record(&encode(&pod(), &["n1", "Running"]), Revision(9)).expect("whole");
        assert_eq!(image.uid(), "u-1");
        assert_eq!(image.labels().collect::<Vec<_>>(), [("app", "web"), ("tier", "front")]);
        assert_eq!((image.label("tier"), image.label("none")), (Some("front"), None));
        assert_eq!((image.field(0), image.field(1), image.field(2)), (Some("n1"), Some("Running"), None));
        assert_eq!(image.owners().collect::<Vec<_>>(), ["o-1", "o-2"]);
        assert!(!image.terminating && !image.is_stale);
        let stale = Image::from_record(&encode_stale(&pod(), &[]), Revision(9)).expect("whole");
        assert!(stale.is_stale && stale.at_revision(Revision(10)).is_stale);
        assert_eq!(stale.json(), image.json());
    }

    #[test]
    fn raw_json_is_kept_as_written_and_shown_compact() {
        let mut revision = pod();
        let text = "{ \"a\": 1.0, \"b\": \"<\" }";
        revision.set_at(&["data"], Value::Raw(text.into()));
        revision.set_at(&["more"], 5);
        let record = encode(&revision, &[]);
        for image in [
            Image::from_record(&record, Revision(12)).expect("whole"),
            Image::from_record(&record, Revision(7)).expect("whole").at_revision(Revision(12)),
        ] {
            let shown = String::from_utf8_lossy(image.json());
            assert!(shown.ends_with(r#","data":{"a":1.0,"b":"\u003c"},"more":5}"#), "{shown}");
            assert_eq!(&image.json()[image.managed_fields()], br#""managedFields":[{"manager":"me"}]"#);
            let written = String::from_utf8_lossy(image.as_written());
            assert!(written.ends_with(&format!(",\"data\":{text},\"more\":5}}")), "{written}");
            assert!([&shown, &written].iter().all(|json| json.contains(r#""resourceVersion":"12""#)));
        }
        revision.set_at(&["data"], Value::Raw(r#"{"a":1.0}"#.into()));
        let image = Image::from_record(&encode(&revision, &[]), Revision(12)).expect("whole");
        assert_eq!((image.as_written.is_none(), image.as_written()), (true, image.json()));
    }

    #[test]
    fn cut_records_are_refused() {
        let record = encode(&pod(), &["n1"]);
        let json_at = record.windows(7).position(|window| window == b"{\"kind\"").expect("the JSON begins");
        for length in 0..=json_at {
            let cut = record.slice(..length);
            if let Ok(image) = Image::from_record(&cut, Revision(1)) {
                panic!("a record cut to {length} bytes was read as {image:?}");
            }
        }
    }
}
