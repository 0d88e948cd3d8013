//! The options of requests, after they are read from the query or a body and judged.
//!
//! Reading is the endpoints' work; here is only what the registry needs to know.

/// Who asks: for strategies that write down the author, and for what only some may do.
#[derive(Clone, Debug, Default)]
pub struct Requester {
    pub name: String,
    pub uid: String,
    pub groups: Vec<String>,
    pub extra: Vec<(String, Vec<String>)>,
    /// The verb of the request, for rights that it needs besides; empty for the server's own.
    pub verb: &'static str,
    /// What the client calls itself: the name of a field manager that gives none.
    pub agent: String,
}

impl Requester {
    /// The server itself, to which nothing is forbidden.
    pub fn server() -> Self {
        let groups = ["system:authenticated", "system:masters"].map(str::to_owned);
        Requester { name: "system:apiserver".to_owned(), groups: groups.into(), ..Requester::default() }
    }
}

/// Options of create, update and patch.
#[derive(Clone, Debug, Default)]
pub struct WriteOptions {
    pub dry_run: bool,
    /// Who comes to own what is written.
    pub field_manager: String,
    pub requester: Requester,
}

impl WriteOptions {
    /// A write of the server itself, under this field manager.
    pub fn of_server(field_manager: &str) -> Self {
        WriteOptions { dry_run: false, field_manager: field_manager.to_owned(), requester: Requester::server() }
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
    pub requester: Requester,
}
