//! Types of `apps/v1`: controller revisions.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, RawExtension};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// An unchangeable snapshot of state that a controller keeps, chiefly to update and roll back
/// DaemonSets and StatefulSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "apps", plural = "controllerrevisions", namespaced))]
pub struct ControllerRevision {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The saved state in a form only the owning controller understands; it cannot be changed after
    /// creation.
    #[k8s(proto = 2)]
    pub data: RawExtension,
    /// Number that orders the snapshots of one owner; higher is newer.
    #[k8s(proto = 3, always, minimum = 0)]
    pub revision: i64,
}

/// A list of ControllerRevisions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ControllerRevisionList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ControllerRevision objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ControllerRevision>,
}
