//! Spans: what was done, when, for which trace. Data only.

use crate::context::SpanContext;
use std::time::SystemTime;

/// On which side of a call a span is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    Internal,
    Server,
}

/// The value of an attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    Text(String),
    Number(i64),
}

impl From<&str> for Attribute {
    fn from(text: &str) -> Self {
        Attribute::Text(text.to_owned())
    }
}

impl From<String> for Attribute {
    fn from(text: String) -> Self {
        Attribute::Text(text)
    }
}

impl From<i64> for Attribute {
    fn from(number: i64) -> Self {
        Attribute::Number(number)
    }
}

/// Something that happened within a span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub name: String,
    pub time: SystemTime,
    pub attributes: Vec<(&'static str, Attribute)>,
}

/// A part of a request that has ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    pub context: SpanContext,
    /// The span that this one is a part of.
    pub parent: Option<[u8; 8]>,
    /// A span of another trace that caused this one.
    pub link: Option<SpanContext>,
    pub name: String,
    pub kind: SpanKind,
    pub start: SystemTime,
    pub end: SystemTime,
    pub attributes: Vec<(&'static str, Attribute)>,
    pub events: Vec<Event>,
    /// Whether what was done failed through a fault of the server.
    pub is_error: bool,
}
