//! Distributed traces: the W3C trace context of a request, which requests are sampled, and their spans.
//! Guarantees that a request costs one look at an option where nothing is traced, and that a collector that does not take
//! spans delays nobody: spans without room are dropped, and counted. Must never send anything: who has a connection does.

mod context;
mod current;
mod span;
mod tracer;

pub use context::{SpanContext, TRACE_PARENT, TRACE_STATE};
pub use current::{Current, current, propagate, within};
pub use span::{Attribute, Event, Span, SpanKind};
pub use tracer::{Decision, Tracer};
