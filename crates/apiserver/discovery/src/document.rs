//! A discovery document: a value under a schema, and its ETag.
//!
//! The ETag depends on the content alone, so that equal servers return equal ones.

use data_encoding::HEXUPPER;
use pintle_schema::{ApiType, Struct, Value};
use ring::digest::{SHA512, digest};

/// A document that JSON, YAML and protobuf can show.
pub struct Document {
    /// For the protobuf envelope; empty where the document has none.
    pub api_version: &'static str,
    pub kind: &'static str,
    pub schema: &'static Struct,
    /// Canonical: in the order of the schema's fields, nothing in it that JSON would leave out.
    pub value: Value,
}

impl Document {
    pub(crate) fn new<T: ApiType>(api_version: &'static str, kind: &'static str, value: Value) -> Self {
        Document { api_version, kind, schema: T::schema(), value }
    }

    /// The document as JSON.
    pub fn to_json(&self) -> Vec<u8> {
        to_json(&self.value)
    }
}

pub(crate) fn to_json(value: &Value) -> Vec<u8> {
    let mut json = Vec::new();
    pintle_codec::json::encode(value, &mut json);
    json
}

/// The upper-case hexadecimal SHA-512 of a content: in quotes an ETag, without them the hash of an OpenAPI address.
pub fn etag(content: &[u8]) -> String {
    HEXUPPER.encode(digest(&SHA512, content).as_ref())
}
