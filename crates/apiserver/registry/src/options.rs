//! The options of requests, after they are read from the query or a body and judged.
//!
//! Reading is the endpoints' work; here is only what the registry needs to know.

use crate::RequestContext;
use std::sync::Arc;

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// Who comes to own what is written.
    pub field_manager: String,
    /// The request that asks for it.
    pub context: Arc<RequestContext>,
}

impl WriteOptions {
    /// A write of the server itself, under this field manager.
    pub fn of_server(field_manager: &str) -> Self {
        WriteOptions { dry_run: false, field_manager: field_manager.to_owned(), context: RequestContext::of_server() }
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
    /// The request that asks for it.
    pub context: Arc<RequestContext>,
}
