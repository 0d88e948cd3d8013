//! Types of `abac.authorization.kubernetes.io/v0`: lines of an attribute-based authorization file.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use crate::meta::v1::TypeMeta;

/// One line of an attribute-based authorization file, in the oldest format.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Policy {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// User the line applies to; `*` for everyone.
    #[k8s(optional)]
    pub user: String,
    /// Group the line applies to; `*` for everyone.
    #[k8s(optional)]
    pub group: String,
    /// Whether only reading is permitted.
    #[k8s(optional)]
    pub readonly: bool,
    /// Resource covered; `*` for all.
    #[k8s(optional)]
    pub resource: String,
    /// Namespace covered; `*` for all.
    #[k8s(optional)]
    pub namespace: String,
}
