//! `Plugin`: one admission plugin as data: what it sees and what it does.
//! Guarantees that a plugin's functions are called only for requests that its rows name.
//! Must never know a plugin by name.

use crate::request::Request;
use pintle_registry::AdmissionRequest;
use pintle_registry::status::Result;
use pintle_schema::Value;

type Mutate = fn(&Request<'_>, &mut Value, &mut Vec<String>) -> Result<()>;
type Validate = fn(&Request<'_>, &Value, &mut Vec<String>) -> Result<()>;

/// An admission plugin.
pub struct Plugin {
    /// The requests that concern it.
    pub requests: &'static [Requests],
    /// Changes the object before it is validated.
    pub mutate: Option<Mutate>,
    /// Judges the object after all changes.
    pub validate: Option<Validate>,
}

/// Writes of one resource or subresource.
pub struct Requests {
    pub group: &'static str,
    pub resource: &'static str,
    /// "" for the object itself.
    pub subresource: &'static str,
    pub operations: Operations,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operations {
    Create,
    Update,
    Both,
}

impl Requests {
    pub const fn create(group: &'static str, resource: &'static str) -> Self {
        Requests { group, resource, subresource: "", operations: Operations::Create }
    }

    pub const fn update(group: &'static str, resource: &'static str, subresource: &'static str) -> Self {
        Requests { group, resource, subresource, operations: Operations::Update }
    }

    /// Create and update of the object itself.
    pub const fn write(group: &'static str, resource: &'static str) -> Self {
        Requests { group, resource, subresource: "", operations: Operations::Both }
    }

    /// Whether a write is one of these.
    pub fn is_for(&self, request: &AdmissionRequest<'_>) -> bool {
        let resource = request.target.resource;
        let operation = match self.operations {
            Operations::Create => request.old.is_none(),
            Operations::Update => request.old.is_some(),
            Operations::Both => true,
        };
        operation
            && (self.group, self.resource) == (resource.group, resource.plural)
            && self.subresource == request.subresource
    }
}

impl Plugin {
    /// Whether a request concerns this plugin.
    pub fn sees(&self, request: &AdmissionRequest<'_>) -> bool {
        self.requests.iter().any(|rows| rows.is_for(request))
    }
}
