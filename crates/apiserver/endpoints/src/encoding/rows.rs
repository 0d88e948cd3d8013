//! Table rows: the row of a stored object is built once per version of the object and shared by all readers.
//!
//! Only ages differ between responses. A cached row leaves them open; they are filled in when it is sent.

use super::document::IncludeObject;
use super::object::ObjectEncoder;
use super::partial::{MetadataForm, put_partial};
use bytes::Bytes;
use memchr::memmem;
use pintle_cache::{Object, Variant};
use pintle_codec::json;
use pintle_registry::{Payload, Result};
use pintle_resource::{Now, OPEN_AGE, Printer};
use pintle_schema::Value;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// Rows among the other encodings of an object. What is printed of a built-in kind is always the storage version, so there is one.
const ROW: Variant = Variant(u32::from_be_bytes(*b"rows") as u64);

/// A row of a stored object.
pub(crate) struct Row {
    /// Its cells, and its conditions if it has any, as members of a JSON object.
    members: Bytes,
    /// Whether ages are left open in them.
    open: bool,
    shown: Shown,
}

/// The object column of a row.
enum Shown {
    Nothing,
    /// Its metadata, copied from the stored bytes.
    Metadata(MetadataForm),
    Json(Bytes),
}

impl ObjectEncoder<'_> {
    /// The row of a stored object.
    ///
    /// # Errors
    /// The stored object cannot be decoded.
    pub(crate) fn stored_row(&self, object: &Arc<Object>) -> Result<Row> {
        let is_custom = self.target.resource.custom.is_some();
        let printed = |now| {
            let value = match is_custom {
                true => self.printed(&Payload::Stored(object.clone()))?,
                false => self.registry.decode_printed(self.target, object, &self.printer().unprinted())?,
            };
            Ok(members(self.printer(), &value, now))
        };
        let variant = if is_custom { self.row_variant() } else { ROW };
        let kept = self.registry.cache.derived.get_or_insert_with(object.id, variant, || {
            // The placeholder of an age occurs in the object's own text: the row cannot be cached.
            match memmem::find(object.encoded.json(), &open_age()) {
                None => printed(Now::Open),
                Some(_) => Ok(Bytes::new()),
            }
        })?;
        let open = !kept.is_empty();
        let members = if open { kept } else { printed(self.now())? };
        let shown = match self.include_object {
            IncludeObject::None => Shown::Nothing,
            IncludeObject::Metadata if self.converted.has(object) => {
                Shown::Json(json::to_vec(&self.partial_of(object)?).into())
            }
            IncludeObject::Metadata => Shown::Metadata(self.metadata_form()),
            IncludeObject::Object => Shown::Json(self.stored_json(object)?),
        };
        Ok(Row { members, open, shown })
    }
}

impl ObjectEncoder<'_> {
    /// The rows of a version of a kind that was defined at run time, whose columns are its own.
    fn row_variant(&self) -> Variant {
        let resource = &self.target.resource;
        let mut hasher = DefaultHasher::new();
        (&resource.version, resource.schema.compiled.id(), "rows").hash(&mut hasher);
        Variant(hasher.finish())
    }
}

/// The members of an object's row but the object itself.
fn members(printer: &dyn Printer, object: &Value, now: Now) -> Bytes {
    let mut members = b"\"cells\":".to_vec();
    json::encode(&Value::List(printer.cells(object, &now)), &mut members);
    let conditions = printer.conditions(object).unwrap_or_default();
    if !conditions.is_empty() {
        members.extend_from_slice(b",\"conditions\":");
        json::encode(&Value::List(conditions), &mut members);
    }
    members.into()
}

impl Row {
    /// About how many bytes it will have.
    pub(crate) fn size(&self, object: &Object) -> usize {
        let shown = match &self.shown {
            Shown::Nothing => 4,
            Shown::Metadata(_) => object.encoded.metadata().len() + 80,
            Shown::Json(json) => json.len(),
        };
        self.members.len() + shown + 16
    }

    /// Appends the row of an object with its current ages.
    pub(crate) fn put(&self, object: &Object, now: Now, out: &mut Vec<u8>) {
        out.push(b'{');
        match self.open {
            true => put_closed(&self.members, now, out),
            false => out.extend_from_slice(&self.members),
        }
        out.extend_from_slice(b",\"object\":");
        match &self.shown {
            Shown::Nothing => out.extend_from_slice(b"null"),
            Shown::Metadata(form) => put_partial(object, *form, out),
            Shown::Json(json) => out.extend_from_slice(json),
        }
        out.push(b'}');
    }
}

/// Appends JSON with the ages put in that were left open in it.
fn put_closed(open: &[u8], now: Now, out: &mut Vec<u8>) {
    let mark = open_age();
    let finder = memmem::Finder::new(&mark);
    let split = |text: &[u8]| finder.find(text).map(|at| (at, at + mark.len()));
    let mut rest = open;
    while let Some((start, end)) = split(rest) {
        out.extend_from_slice(&rest[..start]);
        rest = &rest[end..];
        let (start, end) = split(rest).unwrap_or((rest.len(), rest.len()));
        let seconds = std::str::from_utf8(&rest[..start]).ok().and_then(|seconds| seconds.parse().ok());
        rest = &rest[end..];
        // Within a text already, so without the quotes.
        let quote = out.len();
        json::encode_str(&now.since(seconds.unwrap_or_default()), out);
        out.remove(quote);
        out.pop();
    }
    out.extend_from_slice(rest);
}

fn open_age() -> [u8; OPEN_AGE.len_utf8()] {
    let mut bytes = [0; OPEN_AGE.len_utf8()];
    OPEN_AGE.encode_utf8(&mut bytes);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_filled_into_cached_rows() {
        let cell = |seconds| format!("{} ago", Now::Open.since(seconds));
        for seconds in [-5, 0, 100, 900, 1200] {
            let cells = |age: String| json::to_vec(&Value::List(vec!["a<b".into(), age.into(), "é".into()]));
            let mut closed = Vec::new();
            put_closed(&cells(format!("{}, {}", cell(seconds), cell(1))), Now::At(1000), &mut closed);
            let wanted = cells(format!("{} ago, {} ago", Now::At(1000).since(seconds), Now::At(1000).since(1)));
            assert_eq!(String::from_utf8_lossy(&closed), String::from_utf8_lossy(&wanted));
        }
    }

    #[test]
    fn text_like_an_open_age_is_kept() {
        for text in ["\u{fdd0}", "\u{fdd0}x\u{fdd0}", "\u{fdd0}1\u{fdd0}\u{fdd0}"] {
            put_closed(text.as_bytes(), Now::At(0), &mut Vec::new());
        }
    }
}
