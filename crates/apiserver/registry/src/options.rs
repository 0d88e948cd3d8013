//! The options of requests, read from the query or the body and validated.
//!
//! Reading is the endpoints' work; here is only what the registry needs to know.

use crate::{Phase, RequestContext, Target};
use pintle_schema::Value;
use std::sync::Arc;

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// Who comes to own what is written.
    pub field_manager: String,
    /// What of it the client sent.
    pub sent: SentOptions,
    /// As what admission sees the write.
    pub admission: Admission,
    /// The request that asks for it.
    pub context: Arc<RequestContext>,
}

/// As what admission sees a write.
#[derive(Clone, Copy, Debug, Default)]
pub enum Admission {
    /// As a write of the object.
    #[default]
    Asked,
    /// It has been asked about the request already, as another object.
    Done,
    /// As a write of what a subresource shows of the object.
    Shown(ShownAs),
}

/// What a subresource with a kind of its own shows of an object of the storage version.
#[derive(Clone, Copy, Debug)]
pub struct ShownAs {
    pub subresource: &'static str,
    /// What is shown in a phase.
    pub show: fn(&Target, &Value, Phase) -> Value,
    /// Takes over what admission has changed.
    pub take_over: fn(&Target, &Value, &mut Value),
    /// Removes what is there only to be shown to admission that changes objects.
    pub settle: fn(&mut Value),
}

/// Options of a write that say what the client sent, for those who are shown them.
#[derive(Clone, Copy, Debug, Default)]
pub struct SentOptions {
    /// Whether the client named the field manager.
    pub field_manager: bool,
    /// `Ignore`, `Warn` or `Strict`; empty if the client did not say.
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
    /// Whether admission has been asked about the request already, as another object.
    pub is_admitted: bool,
    /// The request that asks for it.
    pub context: Arc<RequestContext>,
}
