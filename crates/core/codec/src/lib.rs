//! How values of the API are written and read: JSON, YAML, CBOR and Kubernetes' protobuf, driven by schemas.
//!
//! Decoding checks and canonicalizes every scalar and drops what a schema does not know, so that what comes out has
//! the shape its schema names. No input may panic, recurse without bound or cost more than it is long.

pub mod cbor;
pub mod error;
mod gotypes;
pub mod json;
pub mod limits;
pub mod protobuf;
mod shape;
pub mod yaml;

pub use error::{DecodeError, StrictProblem};

use pintle_schema::Value;

/// Whether unknown and duplicate fields are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// They are dropped in silence.
    Ignore,
    /// They are dropped and listed.
    Collect,
}

/// A decoded object and what strict decoding has to say about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Decoded {
    pub value: Value,
    /// In the order of the reference; empty unless asked for.
    pub problems: Vec<StrictProblem>,
}
