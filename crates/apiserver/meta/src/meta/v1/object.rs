//! Types of `meta.k8s.io/v1`: the metadata of objects and lists.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use crate::gates;
use std::collections::BTreeMap;

use pintle_schema::{ApiType, FieldsV1, RawExtension, Time, string_type};

/// Names a resource type by its API group and plural name, leaving the version open.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupResource {
    /// API group of the resource; empty means the core group.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// Plural, lowercase name of the resource, such as "pods".
    #[k8s(proto = 2, always)]
    pub resource: String,
}

/// Names a resource type exactly, by API group, version and plural name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupVersionResource {
    /// API group of the resource; empty means the core group.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// API version within the group, such as "v1".
    #[k8s(proto = 2, always)]
    pub version: String,
    /// Plural, lowercase name of the resource, such as "deployments".
    #[k8s(proto = 3, always)]
    pub resource: String,
}

/// Names a kind by its API group, leaving the version open.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupKind {
    /// API group the kind belongs to; empty means the core group.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// Name of the kind in CamelCase, such as "Pod".
    #[k8s(proto = 2, always)]
    pub kind: String,
}

/// Names a kind exactly, by API group, version and kind name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupVersionKind {
    /// API group the kind belongs to; empty means the core group.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// API version within the group, such as "v1".
    #[k8s(proto = 2, always)]
    pub version: String,
    /// Name of the kind in CamelCase, such as "Deployment".
    #[k8s(proto = 3, always)]
    pub kind: String,
}

/// Names one version of an API group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupVersion {
    /// Name of the API group; empty means the core group.
    #[k8s(proto = 1, always)]
    pub group: String,
    /// Name of the version within the group, such as "v1beta1".
    #[k8s(proto = 2, always)]
    pub version: String,
}

/// The two fields that tell which API type a JSON or YAML document holds.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypeMeta {
    /// The kind of object in this document, such as "Pod". It cannot be changed and may be left out
    /// when the request URL already implies it.
    #[k8s(proto = 1, optional)]
    pub kind: String,
    /// APIVersion defines the API group and version this document is written in, as "group/version", or just
    /// "v1" for the core group. The server rejects versions it does not know.
    #[k8s(proto = 2, optional)]
    pub api_version: String,
}

/// Metadata that accompanies every list returned by the server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ListMeta {
    /// Obsolete link to the list itself; the server no longer fills it in.
    #[k8s(proto = 1, optional)]
    pub self_link: String,
    /// Marks the state of the store this list was read at; pass it to a watch to continue from
    /// exactly that point. Treat it as an opaque string.
    #[k8s(proto = 2, optional)]
    pub resource_version: String,
    /// Token for fetching the next page of a limited list; empty means this was the last page.
    /// Tokens expire after a few minutes.
    #[k8s(proto = 3)]
    pub r#continue: String,
    /// Number of items that follow after this page, possibly an estimate. It is absent when unknown
    /// or when a selector is used.
    #[k8s(proto = 4, optional)]
    pub remaining_item_count: Option<i64>,
    /// Tells which shard of the collection this list holds; absent when the list covers the whole
    /// collection.
    #[k8s(proto = 5, optional, gate = gates::SHARDED_LIST_AND_WATCH)]
    pub shard_info: Option<ShardInfo>,
}

/// Describes the part of a collection that a sharded list or watch returned.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ShardInfo {
    /// The shard selector the server applied, as it was given in the request.
    #[k8s(proto = 1, published = required, always)]
    pub selector: String,
}

/// Metadata every stored object carries, such as its name, labels and lifecycle timestamps.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 15, name = "clusterName"))]
pub struct ObjectMeta {
    /// Name of the object, unique per resource type within its namespace. It must be chosen at
    /// creation, unless generateName is used, and is fixed afterwards.
    #[k8s(proto = 1, optional)]
    pub name: String,
    /// Prefix from which the server makes a unique name by appending random characters. It is used
    /// only on creation and only when name is empty.
    #[k8s(proto = 2, optional)]
    pub generate_name: String,
    /// Namespace the object lives in; empty for cluster-wide objects. It is fixed after creation,
    /// and an empty value in a namespaced request means the namespace in the URL.
    #[k8s(proto = 3, optional)]
    pub namespace: String,
    /// Obsolete link to the object itself; the server no longer fills it in.
    #[k8s(proto = 4, optional)]
    pub self_link: String,
    /// Identifier assigned by the server at creation that is never used again, even for a later
    /// object of the same name.
    #[k8s(proto = 5, optional)]
    pub uid: String,
    /// Opaque marker of this revision of the object, set by the server. Sending it back with an
    /// update makes the update fail if the object has changed since.
    #[k8s(proto = 6, optional)]
    pub resource_version: String,
    /// Counter the server raises whenever the desired state changes; controllers report the value
    /// they have acted upon.
    #[k8s(proto = 7, optional)]
    pub generation: i64,
    /// CreationTimestamp is a timestamp in UTC: the moment at which the server created the object.
    #[k8s(proto = 8, optional, omitzero)]
    pub creation_timestamp: Time,
    /// Moment after which the object is expected to be gone, set by the server once deletion is
    /// requested. The object remains until its finalizers are removed; absent means no deletion is
    /// pending.
    #[k8s(proto = 9, optional)]
    pub deletion_timestamp: Option<Time>,
    /// Seconds the object is given to shut down before removal. It is set together with
    /// deletionTimestamp and can only be shortened.
    #[k8s(proto = 10, optional)]
    pub deletion_grace_period_seconds: Option<i64>,
    /// Short key-value pairs that identify and group objects; selectors match against them.
    #[k8s(proto = 11, optional)]
    pub labels: BTreeMap<String, String>,
    /// Free-form key-value pairs for tools and users. They cannot be used in selectors and may hold
    /// larger values than labels.
    #[k8s(proto = 12, optional)]
    pub annotations: BTreeMap<String, String>,
    /// Objects this one depends on; the garbage collector removes it once every listed owner is
    /// gone. At most one entry may be marked as the controller.
    #[k8s(
        proto = 13,
        optional,
        list_type = map,
        list_map_keys("uid"),
        patch_strategy = "merge",
        patch_merge_key = "uid"
    )]
    pub owner_references: Vec<OwnerReference>,
    /// Names of cleanup tasks that must finish before the object is really removed. The responsible
    /// component deletes its entry when done; entries may be processed in any order.
    #[k8s(proto = 14, optional, list_type = set, patch_strategy = "merge")]
    pub finalizers: Vec<String>,
    /// Bookkeeping of which manager set which fields, kept by the server mainly for server-side
    /// apply. Users rarely need to touch it.
    #[k8s(proto = 17, optional, list_type = atomic)]
    pub managed_fields: Vec<ManagedFieldsEntry>,
}

/// Points from a dependent object to its owner, which must be in the same namespace or
/// cluster-wide.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct OwnerReference {
    /// API group and version of the owner, as "group/version".
    #[k8s(proto = 5, always)]
    pub api_version: String,
    /// Kind of the owner, such as "ReplicaSet".
    #[k8s(proto = 1, always)]
    pub kind: String,
    /// Name of the owner.
    #[k8s(proto = 3, always)]
    pub name: String,
    /// UID of the owner, so that a recreated object of the same name does not count as the owner.
    #[k8s(proto = 4, always)]
    pub uid: String,
    /// True when this owner is the one controller that manages the object.
    #[k8s(proto = 6, optional)]
    pub controller: Option<bool>,
    /// When true, an owner deleted in the foreground stays until this dependent is gone. Setting it
    /// requires permission to change the owner's finalizers.
    #[k8s(proto = 7, optional)]
    pub block_owner_deletion: Option<bool>,
}

/// A list of objects that may be of different kinds.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct List {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<RawExtension>,
}

/// Records the fields that one manager set through one kind of operation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 5, name = "fields"))]
pub struct ManagedFieldsEntry {
    /// Name of the manager, as given by the client or derived from its user agent.
    #[k8s(proto = 1)]
    pub manager: String,
    /// How the fields were set: "Apply" or "Update".
    #[k8s(proto = 2)]
    pub operation: ManagedFieldsOperationType,
    /// API version in which the recorded field paths are written.
    #[k8s(proto = 3)]
    pub api_version: String,
    /// When this entry was added, or last gained, changed or gave up fields.
    #[k8s(proto = 4, optional)]
    pub time: Option<Time>,
    /// Format of the recorded fields; "FieldsV1" is the only one.
    #[k8s(proto = 6)]
    pub fields_type: String,
    /// The owned fields, as a tree of their names.
    #[k8s(proto = 7, optional)]
    pub fields_v1: Option<FieldsV1>,
    /// Subresource the change went through, such as "status"; empty for the main resource.
    #[k8s(proto = 8)]
    pub subresource: String,
}

string_type! {
    /// The operation by which a manager came to own fields.
    pub ManagedFieldsOperationType {
        /// Set by server-side apply.
        APPLY = "Apply",
        /// Set by create, update or another kind of patch.
        UPDATE = "Update",
    }
}

string_type! {
    /// Whether a condition holds.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It cannot be decided whether the condition holds.
        UNKNOWN = "Unknown",
    }
}

/// One observed aspect of the state of an object.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Condition {
    /// Name of the aspect in CamelCase, unique among the conditions of the object; it may carry a
    /// domain prefix.
    #[k8s(proto = 1, published = required, always)]
    pub r#type: String,
    /// Whether the aspect holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, published = required, always)]
    pub status: ConditionStatus,
    /// Generation of the object this condition was worked out for; a value below
    /// metadata.generation means it is out of date.
    #[k8s(proto = 3, optional)]
    pub observed_generation: i64,
    /// When the status last changed from one value to another.
    #[k8s(proto = 4, published = required, always)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the present status in CamelCase; must not be empty.
    #[k8s(proto = 5, published = required, always)]
    pub reason: String,
    /// Explanation for people to read; may be empty.
    #[k8s(proto = 6, published = required, always)]
    pub message: String,
}

/// One event of a watch stream.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WatchEvent {
    /// What happened: "ADDED", "MODIFIED", "DELETED", "BOOKMARK" or "ERROR".
    #[k8s(proto = 1, always)]
    pub r#type: String,
    /// The object after the change, or its last state when deleted. Bookmarks carry only a
    /// resourceVersion, errors usually a Status.
    #[k8s(proto = 2, always)]
    pub object: RawExtension,
}
