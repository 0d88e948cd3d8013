//! The options of requests, parsed from the query or the body and validated.
//!
//! The endpoints parse them; this module has what the registry needs.

use crate::{Phase, RequestContext, Result, Target};
use pintle_schema::Value;
use std::sync::Arc;

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// The manager that comes to own the written fields.
    pub field_manager: String,
    /// The options that the client sent.
    pub sent: SentOptions,
    /// How admission sees the write.
    pub admission: AdmissionMode,
    /// The context of the request.
    pub context: Arc<RequestContext>,
}

/// How admission sees a write.
#[derive(Clone, Debug, Default)]
pub enum AdmissionMode {
    /// As a write of the object.
    #[default]
    Object,
    /// Admission has already run on the request's own object.
    Skip,
    /// As a write of a subresource's object.
    Subresource(SubresourceView),
}

/// The object of a subresource with a kind of its own, derived from an object of the storage version.
#[derive(Clone, Debug)]
pub struct SubresourceView {
    pub subresource: &'static str,
    /// The subresource's object as the client sent it, which admission that changes objects sees; `None` if it follows from the
    /// object.
    pub sent: Option<Arc<Value>>,
    /// The subresource's object in a phase: the one that was sent, or the one that follows from the object.
    pub show: fn(&Target, &Value, Option<&Value>, Phase) -> Value,
    /// Applies the changes of admission to the object, if they are valid.
    pub take_over: fn(&Target, &Value, &mut Value) -> Result<()>,
    /// Removes what is there only to be shown to admission that changes objects.
    pub settle: fn(&mut Value),
}

/// The options that the client sent, as shown to webhooks and expressions.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentOptions {
    /// Whether the client named the field manager.
    pub field_manager: bool,
    /// `Ignore`, `Warn` or `Strict`; empty if not sent.
    pub field_validation: &'static str,
}

impl WriteOptions {
    /// A write of the server itself, under this field manager.
    pub fn of_server(field_manager: &str) -> Self {
        WriteOptions {
            field_manager: field_manager.to_owned(),
            context: RequestContext::of_server(),
            ..WriteOptions::default()
        }
    }
}

/// What happens to dependents of a deleted object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Propagation {
    Orphan,
    Background,
    Foreground,
}

/// Options of delete.
#[derive(Clone, Debug, Default)]
pub struct DeleteOptions {
    pub dry_run: bool,
    pub grace_period_seconds: Option<i64>,
    pub propagation: Option<Propagation>,
    pub orphan_dependents: Option<bool>,
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    /// The object is to go although it cannot be read.
    pub ignore_read_error: bool,
    /// Whether admission has already run on the request's own object.
    pub is_admitted: bool,
    /// The context of the request.
    pub context: Arc<RequestContext>,
}
