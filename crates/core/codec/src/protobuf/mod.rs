//! Kubernetes' protobuf: messages by schema, and the envelope they travel and are stored in.
//!
//! The bytes are those of the reference's generated code: fields by number, plain scalars and structs even when zero,
//! maps sorted.

mod decode;
mod encode;
mod envelope;
mod wire;

pub use envelope::{Envelope, MAGIC, decode_envelope, encode_envelope, encode_object, open_envelope};

use crate::error::DecodeError;
use pintle_schema::{Struct, Value};

/// Appends a canonical value as a message. apiVersion and kind are not in it: they stand in the envelope.
pub fn encode(schema: &Struct, value: &Value, out: &mut Vec<u8>) {
    encode::message(schema, value, out);
}

/// Reads a message. Fields of unknown numbers are passed over. Bring the value into canonical form before it is
/// encoded: fields stand in the order of their numbers.
///
/// # Errors
/// The input is no message of the schema.
pub fn decode(schema: &Struct, bytes: &[u8]) -> Result<Value, DecodeError> {
    decode::message(schema, bytes)
}
