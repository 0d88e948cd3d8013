//! The attributes of an admission request for rules, expressions and reviews, with names as the client sent them. Guarantees
//! that a generated name does not appear as the name of the request.

use super::AdmissionRequest;
use crate::metadata;
use pintle_resource::Resource;
use pintle_schema::{Str, Value};

/// Characters that are added to a prefix to make a name.
const GENERATED_CHARS: usize = 5;

/// The verb of a request that deletes a collection and names no object.
const DELETE_COLLECTION: &str = "deletecollection";

impl<'a> AdmissionRequest<'a> {
    /// The version of the resource that the request names.
    pub fn resource(&self) -> &'a Resource {
        &self.target.resource
    }

    /// Whether the request is about a namespace itself.
    pub fn is_about_namespace(&self) -> bool {
        self.resource().strategy.is_namespace
    }

    /// The namespace in the path. That of a namespace that is not being created is its own name.
    pub fn namespace(&self) -> &'a str {
        match self.is_about_namespace() {
            true => &self.target.name,
            false => &self.target.namespace,
        }
    }

    /// The name of the object; empty if the name is generated, and for the objects of a deleted collection.
    pub fn name<'b>(&self, object: Option<&'b Value>) -> &'b str
    where
        'a: 'b,
    {
        if self.options.context.verb == DELETE_COLLECTION {
            return "";
        }
        match (self.target.name.as_str(), object) {
            ("", Some(object)) if !has_generated_name(object) => metadata::text(object, "name"),
            (name, _) => name,
        }
    }

    /// The name in a rejection.
    pub fn refused_name<'b>(&self, object: Option<&'b Value>) -> &'b str
    where
        'a: 'b,
    {
        match (self.name(object), object) {
            ("", Some(object)) if !metadata::text(object, "generateName").is_empty() => {
                metadata::text(object, "generateName")
            }
            ("", _) => "Unknown",
            (name, _) => name,
        }
    }
}

/// Whether the server generated the name of a new object from its prefix.
pub fn has_generated_name(object: &Value) -> bool {
    let (name, prefix) = (metadata::text(object, "name"), metadata::text(object, "generateName"));
    !prefix.is_empty() && name.len() == prefix.len() + GENERATED_CHARS && name.starts_with(prefix)
}

/// The group, version and kind of the body of a resource or subresource ("" for the object itself).
pub fn kind_of<'a>(resource: &'a Resource, subresource: &str) -> [&'a str; 3] {
    let own = (&resource.group, &resource.version);
    let found = resource.subresource(subresource);
    let kind = found.map_or(&resource.kind, |subresource| &subresource.kind);
    let (group, version): (&Str, &Str) = match found.and_then(|subresource| subresource.group_version.as_ref()) {
        Some((group, version)) => (group, version),
        None => own,
    };
    [group, version, kind]
}
