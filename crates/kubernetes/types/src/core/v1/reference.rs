//! Types of `v1`: references to objects, and other small types many kinds use.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Bytes, string_type};

use crate::meta::v1::{ObjectMeta, TypeMeta};

string_type! {
    /// Transport protocol of a port.
    #[closed]
    pub Protocol {
        /// Transmission Control Protocol.
        TCP = "TCP",
        /// User Datagram Protocol.
        UDP = "UDP",
        /// Stream Control Transmission Protocol.
        SCTP = "SCTP",
    }
}

string_type! {
    /// Truth value of a condition.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It cannot be determined whether the condition holds.
        UNKNOWN = "Unknown",
    }
}

/// Assigns a pod to a node; sent by schedulers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "bindings", namespaced))]
pub struct Binding {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Node that the pod is assigned to.
    #[k8s(proto = 2, always)]
    pub target: ObjectReference,
}

/// Conditions the stored object must meet before an operation goes ahead.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Preconditions {
    /// UID the object must have; absent accepts any.
    #[k8s(proto = 1, optional)]
    pub uid: Option<String>,
}

/// Points to an object, or to a part of one, anywhere in the cluster.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ObjectReference {
    /// Kind of the object, such as "Pod".
    #[k8s(proto = 1, optional)]
    pub kind: String,
    /// Namespace of the object; empty for cluster-wide objects.
    #[k8s(proto = 2, optional)]
    pub namespace: String,
    /// Name of the object.
    #[k8s(proto = 3, optional)]
    pub name: String,
    /// UID of the object.
    #[k8s(proto = 4, optional)]
    pub uid: String,
    /// API group and version of the object, as "group/version".
    #[k8s(proto = 5, optional)]
    pub api_version: String,
    /// Revision of the object that is meant, if a particular one.
    #[k8s(proto = 6, optional)]
    pub resource_version: String,
    /// Part of the object that is meant, such as "spec.containers{web}"; empty means the object as
    /// a whole.
    #[k8s(proto = 7, optional)]
    pub field_path: String,
}

/// Points to an object in the same namespace, whose type is known from context.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct LocalObjectReference {
    /// Name of the object.
    #[k8s(proto = 1, optional, default = "", published = default)]
    pub name: String,
}

/// Points to an object of a given kind in the same namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct TypedLocalObjectReference {
    /// API group of the object; absent means the core group.
    #[k8s(proto = 1, optional, always)]
    pub api_group: Option<String>,
    /// Kind of the object.
    #[k8s(proto = 2, always)]
    pub kind: String,
    /// Name of the object.
    #[k8s(proto = 3, always)]
    pub name: String,
}

/// An object reference as a document of its own, for use in annotations.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SerializedReference {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// The reference itself.
    #[k8s(proto = 1, optional)]
    pub reference: ObjectReference,
}

/// Records which numbers or addresses of a range are taken; used inside the server only.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "rangeallocations", cluster))]
pub struct RangeAllocation {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The range covered, such as "10.0.0.0/24" or "30000-32767".
    #[k8s(proto = 2, always)]
    pub range: String,
    /// Bit map of the range, with one bit per taken entry.
    #[k8s(proto = 3, always)]
    pub data: Bytes,
}
