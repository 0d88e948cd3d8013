//! The attributes of a request that authorizers decide by.

use crate::UserInfo;
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::LabelSelector;

/// The label selector of a request. Unparsed, since most authorizers do not use it.
#[derive(Clone, Copy, Debug)]
pub enum Labels<'a> {
    /// As the request has it; text that is no selector narrows nothing.
    Text(&'a str),
    Parsed(&'a LabelSelector),
}

/// The attributes of a request. Empty text means absence.
#[derive(Clone, Copy, Debug)]
pub struct Attributes<'a> {
    /// The user of the request.
    pub user: &'a UserInfo,
    /// The verb of the API (`get`, `list`, `deletecollection`, ...), or the method in lower case for a path.
    pub verb: &'a str,
    /// Whether this is about a resource; otherwise only `path` counts.
    pub is_resource: bool,
    /// The API group of the resource, empty for the core group.
    pub api_group: &'a str,
    /// The version in the request, which no authorizer uses.
    pub api_version: &'a str,
    /// The resource, in plural.
    pub resource: &'a str,
    /// The subresource.
    pub subresource: &'a str,
    /// The namespace; empty for resources of the cluster and for requests across namespaces.
    pub namespace: &'a str,
    /// The object's name.
    pub name: &'a str,
    /// Restricts the objects of a collection.
    pub field_selector: Option<&'a FieldSelector>,
    /// The same, by labels.
    pub label_selector: Option<Labels<'a>>,
    /// The path of a request that is not about a resource.
    pub path: &'a str,
}

impl<'a> Attributes<'a> {
    /// A request for a path that is not about a resource.
    pub fn non_resource(user: &'a UserInfo, verb: &'a str, path: &'a str) -> Attributes<'a> {
        Attributes { path, is_resource: false, ..Attributes::resource(user, verb, "", "") }
    }

    /// A request for a resource across the cluster; set the other fields as needed.
    pub fn resource(user: &'a UserInfo, verb: &'a str, api_group: &'a str, resource: &'a str) -> Attributes<'a> {
        Attributes {
            user,
            verb,
            is_resource: true,
            api_group,
            api_version: "",
            resource,
            subresource: "",
            namespace: "",
            name: "",
            field_selector: None,
            label_selector: None,
            path: "",
        }
    }
}
