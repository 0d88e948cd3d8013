//! Kubernetes protobuf: messages by schema, and the envelope in which they are sent and stored.
//! Guarantees the bytes of kube-apiserver's generated code: fields by number, plain scalars and structs even if zero,
//! maps sorted.

mod decode;
mod encode;
mod envelope;
mod wire;

pub use envelope::{Envelope, MAGIC, decode_envelope, encode_envelope, encode_object, open_envelope};

use crate::error::DecodeError;
use pintle_schema::{Struct, Value};

/// Appends a canonical value as a message, without apiVersion and kind, which are in the envelope.
pub fn encode(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    encode::message(schema, value, out);
}

/// Decodes a message. Fields with unknown numbers are skipped. Canonicalize the value before encoding it: its fields
/// are in the order of their numbers.
///
/// # Errors
/// The input is not a message of the schema.
pub fn decode(schema: &Struct, bytes: &[u8]) -> Result<Value, DecodeError> {
    decode::message(schema, bytes)
}

/// Decodes the message of a list of objects: its `metadata` and its `items`, as every list of Kubernetes numbers them.
///
/// # Errors
/// The input is not such a message.
pub fn decode_list(metadata: &Struct, item: &Struct, bytes: &[u8]) -> Result<Value, DecodeError> {
    decode::list(metadata, item, bytes)
}
