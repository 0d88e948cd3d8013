//! JSON as kube-apiserver writes and reads it.
//! Guarantees Go's errors: decoding continues after a wrong type, and reports a syntax error anywhere, else the
//! format error that ended decoding, else the first wrong type, else unknown and duplicate fields.

pub(crate) mod any;
mod conform;
pub(crate) mod decode;
pub(crate) mod encode;
pub(crate) mod keys;
mod members;
pub(crate) mod raw;
pub(crate) mod scan;
mod type_meta;

pub(crate) use any::number;
pub(crate) use conform::conform_cbor;
pub use conform::{conform, conform_json, conforming_fields, restore};
pub use members::{Key, Members};
pub(crate) use raw::sorted;
pub use raw::{depth, open, open_spelled, opened};
pub(crate) use scan::{Scanner, Start};
pub use type_meta::{TypeMeta, type_meta};

use crate::error::DecodeError;
use crate::shape::{DecodeErrors, Problems};
use crate::{Decoded, Strictness};
use pintle_schema::{Map, Struct, Value};

/// Appends a value as compact JSON, as Go's encoder writes it. The value should be canonical, because this is a plain
/// walk.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    encode::write(value, encode::Escape::Html, out);
}

/// Encodes an object whose list at `key` is left empty: what comes before its items, and after them. Items are separated by commas.
pub fn encode_around(object: &Map, key: &str) -> [Vec<u8>; 2] {
    let mut parts = [b"{".to_vec(), Vec::new()];
    let mut part = 0;
    for (at, (name, value)) in object.iter().enumerate() {
        if at > 0 {
            parts[part].push(b',');
        }
        encode_str(name, &mut parts[part]);
        parts[part].push(b':');
        if name == key {
            parts[0].push(b'[');
            part = 1;
            parts[1].push(b']');
            continue;
        }
        encode(value, &mut parts[part]);
    }
    parts[part].push(b'}');
    parts
}

/// [`encode`], with raw JSON as it was written: the form of stored objects. Returns whether that differs from the
/// output of [`encode`].
pub fn encode_kept(value: &Value, out: &mut Vec<u8>) -> bool {
    let mut writer = encode::Writer { escape: encode::Escape::Html, keeps_raw: true, differs: false };
    writer.write(value, out);
    writer.differs
}

/// Appends JSON without whitespace and with the escapes of [`encode`]; nothing else is changed.
pub fn compact(text: &[u8], out: &mut Vec<u8>) {
    raw::compact(text, out);
}

/// [`encode`] into a new buffer.
pub fn to_vec(value: &Value) -> Vec<u8> {
    let mut out = Vec::with_capacity(1024);
    encode(value, &mut out);
    out
}

/// [`encode`] into a string.
pub fn to_string(value: &Value) -> String {
    String::from_utf8(to_vec(value)).unwrap_or_default()
}

/// Appends a string as JSON, with quotes.
pub fn encode_str(text: &str, out: &mut Vec<u8>) {
    encode::write_string(text, encode::Escape::Html, out);
}

/// Decodes any JSON without a schema. Objects keep their order; of duplicate keys the last wins and is reported.
///
/// # Errors
/// The input is not JSON or is nested too deeply.
pub fn parse(bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    tree(bytes, strictness, false)
}

/// [`parse`], but numbers whose spelling is not canonical are kept as raw JSON: `1.0` is not `1`.
///
/// # Errors
/// The input is not JSON or is nested too deeply.
pub fn parse_spelled(bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    tree(bytes, strictness, true)
}

fn tree(bytes: &[u8], strictness: Strictness, spelled: bool) -> Result<Decoded, DecodeError> {
    let text = scan::as_text(bytes);
    let mut scanner = scan::Scanner::of(&text, bytes);
    let mut problems = Problems::new(strictness);
    let value = if problems.wanted {
        let mut heard =
            decode::DuplicateKeyHandler { problems: &mut problems, path: String::new(), lengths: Vec::new() };
        match spelled {
            true => any::value(&mut scanner, &mut any::Spelled(heard))?,
            false => any::value(&mut scanner, &mut heard)?,
        }
    } else if spelled {
        any::value(&mut scanner, &mut any::Spelled(any::IgnoreDuplicateKeys))?
    } else {
        any::value(&mut scanner, &mut any::IgnoreDuplicateKeys)?
    };
    scanner.end()?;
    Ok(Decoded { value, problems: problems.list })
}

/// Decodes an object of a schema. Fields that are `null` or empty remain as in Go; canonicalize the value before
/// encoding it.
///
/// # Errors
/// The input is not JSON, or a value does not match the type or format of its field.
pub fn decode(schema: &Struct, bytes: &[u8], strictness: Strictness) -> Result<Decoded, DecodeError> {
    run(schema, bytes, Problems::new(strictness), false, &[])
}

/// Decodes an object that this program encoded: scalars are not checked, and nothing is reported.
///
/// # Errors
/// The input is not JSON or does not match the schema.
pub fn decode_trusted(schema: &Struct, bytes: &[u8]) -> Result<Value, DecodeError> {
    run(schema, bytes, Problems::new(Strictness::Ignore), true, &[]).map(|decoded| decoded.value)
}

/// A field to skip: the struct that declares it, and its name.
pub type Omitted = (&'static Struct, &'static str);

/// Decodes an object that this program encoded, without some fields, which are skipped as if they were absent.
///
/// # Errors
/// The input is not JSON or does not match the schema.
pub fn decode_trusted_without(schema: &Struct, bytes: &[u8], omitted: &[Omitted]) -> Result<Value, DecodeError> {
    run(schema, bytes, Problems::new(Strictness::Ignore), true, omitted).map(|decoded| decoded.value)
}

fn run(
    schema: &Struct,
    bytes: &[u8],
    problems: Problems,
    trusted: bool,
    omitted: &[Omitted],
) -> Result<Decoded, DecodeError> {
    let text = scan::as_text(bytes);
    let scanner = scan::Scanner::of(&text, bytes);
    let mut decoder = decode::Decoder { scanner, trusted, omitted, problems, refusals: DecodeErrors::default() };
    let value = decoder.document(schema)?;
    match decoder.refusals.take() {
        Some(error) => Err(error),
        None => Ok(Decoded { value, problems: decoder.problems.list }),
    }
}
