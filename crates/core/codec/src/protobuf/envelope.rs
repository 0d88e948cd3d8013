//! The envelope of protobuf objects: `k8s\0` and the message `Unknown`.

use super::wire::{Payload, Reader, Wire, broken, put_bytes, put_nested, put_tag, put_varint, wrong_wire};
use crate::error::DecodeError;
use pintle_schema::{Struct, Value};

/// The magic bytes of every encoded object.
pub const MAGIC: &[u8; 4] = b"k8s\0";

/// The content of an envelope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Envelope<'a> {
    pub api_version: &'a str,
    pub kind: &'a str,
    /// The encoded object.
    pub raw: &'a [u8],
    pub content_encoding: &'a str,
    pub content_type: &'a str,
}

/// Appends the envelope around an encoded object.
pub fn encode_envelope(api_version: &str, kind: &str, raw: &[u8], out: &mut Vec<u8>) {
    begin(api_version, kind, out);
    put_bytes(2, raw, out);
    out.extend_from_slice(END);
}

/// Appends an object in its envelope, without an intermediate copy.
pub fn encode_object(api_version: &str, kind: &str, schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    begin(api_version, kind, out);
    put_nested(2, out, |out| super::encode(schema, value, out));
    out.extend_from_slice(END);
}

/// Appends the part of the envelope before an encoded object of the given size; returns the part after it.
pub fn open_envelope(api_version: &str, kind: &str, raw_bytes: usize, out: &mut Vec<u8>) -> &'static [u8] {
    begin(api_version, kind, out);
    put_tag(2, Wire::Bytes, out);
    put_varint(raw_bytes as u64, out);
    END
}

/// Content encoding and content type: both empty, but encoded.
const END: &[u8] = &[3 << 3 | Wire::Bytes as u8, 0, 4 << 3 | Wire::Bytes as u8, 0];

fn begin(api_version: &str, kind: &str, out: &mut Vec<u8>) {
    out.extend_from_slice(MAGIC);
    put_nested(1, out, |out| {
        put_bytes(1, api_version.as_bytes(), out);
        put_bytes(2, kind.as_bytes(), out);
    });
}

/// Decodes an envelope.
///
/// # Errors
/// The magic bytes are missing, nothing follows them, or the message is invalid.
pub fn decode_envelope(bytes: &[u8]) -> Result<Envelope<'_>, DecodeError> {
    if bytes.is_empty() {
        return Err(DecodeError::Syntax("empty data".to_owned()));
    }
    let Some(message) = bytes.strip_prefix(MAGIC) else {
        let text = "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";
        return Err(DecodeError::Syntax(text.to_owned()));
    };
    if message.is_empty() {
        return Err(DecodeError::Syntax("empty body".to_owned()));
    }
    let mut envelope = Envelope::default();
    let mut fields = Reader::new(message);
    while let Some((number, payload)) = fields.next()? {
        match (number, payload) {
            (1, Payload::Bytes(bytes)) => {
                let mut fields = Reader::new(bytes);
                while let Some((number, payload)) = fields.next()? {
                    match (number, payload) {
                        (1, Payload::Bytes(bytes)) => envelope.api_version = text(bytes)?,
                        (2, Payload::Bytes(bytes)) => envelope.kind = text(bytes)?,
                        (1 | 2, _) => return Err(wrong_wire("TypeMeta", &number.to_string())),
                        _ => {}
                    }
                }
            }
            (2, Payload::Bytes(bytes)) => envelope.raw = bytes,
            (3, Payload::Bytes(bytes)) => envelope.content_encoding = text(bytes)?,
            (4, Payload::Bytes(bytes)) => envelope.content_type = text(bytes)?,
            (1..=4, _) => return Err(wrong_wire("Unknown", &number.to_string())),
            _ => {}
        }
    }
    Ok(envelope)
}

fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    std::str::from_utf8(bytes).map_err(|_| broken("invalid UTF-8 in the envelope"))
}
