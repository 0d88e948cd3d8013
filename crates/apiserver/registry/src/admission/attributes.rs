//! The attributes of an admission request for rules, expressions and reviews. Guarantees that a generated name appears as the
//! name of the request as soon as the object has it: from the validating phase on.

use super::AdmissionRequest;
use crate::metadata;
use pintle_resource::Resource;
use pintle_schema::{Str, Value};

/// The verb of a request that deletes a collection and names no object.
pub(crate) const DELETE_COLLECTION: &str = "deletecollection";

impl<'a> AdmissionRequest<'a> {
    /// The version of the resource that the request names.
    pub fn resource(&self) -> &'a Resource {
        &self.target.resource
    }

    /// Whether the request is about a namespace itself.
    pub fn is_about_namespace(&self) -> bool {
        self.resource().strategy.is_namespace
    }

    /// The namespace in the path. A namespace is in itself, also a new one if it was sent with a name.
    pub fn namespace(&self) -> &'a str {
        match (self.is_about_namespace(), self.target.name.as_str()) {
            (false, _) => &self.target.namespace,
            (true, "") => self.sent_name,
            (true, name) => name,
        }
    }

    /// The name of the object, whatever plugins make of it; empty before a name is generated, and for the objects of a deleted collection.
    pub fn name<'b>(&self, object: Option<&'b Value>) -> &'b str
    where
        'a: 'b,
    {
        if self.options.context.verb == DELETE_COLLECTION {
            return "";
        }
        match (self.target.name.as_str(), self.sent_name, object) {
            ("", "", Some(object)) => metadata::text(object, "name"),
            ("", sent, _) => sent,
            (name, ..) => name,
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
