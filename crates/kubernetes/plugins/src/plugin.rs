//! `Plugin`: one admission plugin as data: its requests and its functions. Guarantees that the functions are called
//! only for these requests. Must never depend on the name of a plugin.

use crate::request::Request;
use pintle_registry::status::Result;
use pintle_registry::{AdmissionRequest, Operation, Phase};
use pintle_resource::MaybeReady;
use pintle_schema::Value;

type Mutate = fn(&Request<'_>, &mut Value, &mut Vec<String>) -> Result<()>;
type Validate = fn(&Request<'_>, &Value, &mut Vec<String>) -> Result<()>;
type Delete = fn(&Request<'_>, &Value) -> Result<()>;
type Authorize = for<'a> fn(Request<'a>, &'a Value) -> MaybeReady<'a, Result<()>>;

/// An admission plugin.
pub struct Plugin {
    /// The requests that it handles.
    pub requests: &'static [Requests],
    /// Changes the object before it is validated.
    pub mutate: Option<Mutate>,
    /// Validates the object after all changes.
    pub validate: Option<Validate>,
    /// Validates the deletion of a stored object.
    pub delete: Option<Delete>,
    /// Checks additional permissions for the write, after the function of the same phase. It may wait.
    pub authorize: Option<(Phase, Authorize)>,
}

/// Matches every group, resource or subresource.
const ANY: &str = "*";

/// Requests about one resource or subresource, or all of them.
pub struct Requests {
    pub group: &'static str,
    pub resource: &'static str,
    /// "" for the object itself.
    pub subresource: &'static str,
    pub operations: &'static [Operation],
}

impl Requests {
    pub const fn create(group: &'static str, resource: &'static str) -> Self {
        Requests { group, resource, subresource: "", operations: &[Operation::Create] }
    }

    pub const fn update(group: &'static str, resource: &'static str, subresource: &'static str) -> Self {
        Requests { group, resource, subresource, operations: &[Operation::Update] }
    }

    /// Create and update of the object itself.
    pub const fn write(group: &'static str, resource: &'static str) -> Self {
        Requests { group, resource, subresource: "", operations: &[Operation::Create, Operation::Update] }
    }

    /// All requests for a resource and its subresources.
    pub const fn all_of(group: &'static str, resource: &'static str) -> Self {
        const ALL: &[Operation] = &[Operation::Create, Operation::Update, Operation::Delete];
        Requests { group, resource, subresource: ANY, operations: ALL }
    }

    /// All requests.
    pub const fn all() -> Self {
        Requests::all_of(ANY, ANY)
    }

    /// Whether a request is one of these.
    pub fn include(&self, request: &AdmissionRequest<'_>) -> bool {
        let resource = &request.target.resource;
        let is = |own: &str, asked: &str| own == asked || own == ANY;
        self.operations.contains(&request.operation)
            && is(self.group, &resource.group)
            && is(self.resource, &resource.plural)
            && is(self.subresource, request.subresource)
    }
}

impl Plugin {
    /// A plugin for these requests, without functions.
    pub const fn on(requests: &'static [Requests]) -> Self {
        Plugin { requests, mutate: None, validate: None, delete: None, authorize: None }
    }

    /// Adds a mutating function.
    pub const fn mutating(self, mutate: Mutate) -> Self {
        Plugin { mutate: Some(mutate), ..self }
    }

    /// Adds a validating function.
    pub const fn validating(self, validate: Validate) -> Self {
        Plugin { validate: Some(validate), ..self }
    }

    /// Adds a function that validates deletion.
    pub const fn validating_deletion(self, delete: Delete) -> Self {
        Plugin { delete: Some(delete), ..self }
    }

    /// Adds a check of permissions in a phase.
    pub const fn authorizing(self, phase: Phase, authorize: Authorize) -> Self {
        Plugin { authorize: Some((phase, authorize)), ..self }
    }

    /// Whether the plugin handles a request.
    pub fn sees(&self, request: &AdmissionRequest<'_>) -> bool {
        self.requests.iter().any(|rows| rows.include(request))
    }
}
