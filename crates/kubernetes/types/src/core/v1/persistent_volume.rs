//! Types of `v1`: persistent volumes and the claims to them.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Time, string_type};

use super::{
    ConditionStatus, NodeSelector, ObjectReference, PersistentVolumeSource, ResourceList, TypedLocalObjectReference,
};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// A cluster-wide piece of storage whose life does not depend on the pods that use it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "persistentvolumes", short_names("pv"), cluster))]
pub struct PersistentVolume {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Describes the storage and how claims may use it.
    #[k8s(proto = 2, optional)]
    pub spec: PersistentVolumeSpec,
    /// Reports where the volume stands in its life cycle; written by the system.
    #[k8s(proto = 3, optional)]
    pub status: PersistentVolumeStatus,
}

/// Properties of a persistent volume: its backend, size, access rules and the claim it belongs to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeSpec {
    /// Amount of storage the volume offers, given under the resource name `storage`.
    #[k8s(proto = 1, optional)]
    pub capacity: ResourceList,
    /// Chooses the storage backend of a persistent volume; exactly one of the members must be set.
    #[k8s(inline, proto = 2)]
    pub persistent_volume_source: PersistentVolumeSource,
    /// All ways in which this volume can be mounted; a claim binds only if the modes it requests
    /// are among them.
    #[k8s(
        proto = 3,
        list_type = atomic,
        required,
        published = optional
    )]
    pub access_modes: Vec<PersistentVolumeAccessMode>,
    /// Claim this volume is bound to or reserved for. Absent while the volume may be taken by any
    /// matching claim.
    #[k8s(proto = 4, optional, struct_type = granular)]
    pub claim_ref: Option<ObjectReference>,
    /// What happens to the storage once its claim is deleted. Defaults to Retain; dynamically
    /// provisioned volumes take it from their storage class.
    #[k8s(proto = 5, optional)]
    pub persistent_volume_reclaim_policy: PersistentVolumeReclaimPolicy,
    /// Storage class this volume belongs to; empty means that it belongs to none and only binds to
    /// claims that ask for none.
    #[k8s(proto = 6, optional, format = "dns1123-subdomain")]
    pub storage_class_name: String,
    /// Extra options handed to the mount command, such as `ro` or `soft`. They are not checked
    /// here; a wrong one makes mounting fail.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub mount_options: Vec<String>,
    /// Whether the volume is handed out with a filesystem or as a raw block device; defaults to
    /// Filesystem.
    #[k8s(proto = 8, optional, enum)]
    pub volume_mode: Option<PersistentVolumeMode>,
    /// Restricts the nodes from which the volume is reachable; pods using it are scheduled only
    /// there. Absent means any node.
    #[k8s(proto = 9, optional)]
    pub node_affinity: Option<VolumeNodeAffinity>,
    /// Name of the VolumeAttributesClass whose parameters the volume currently has; absent means
    /// none was applied.
    #[k8s(proto = 10, optional, gate = pintle_gates::VOLUME_ATTRIBUTES_CLASS)]
    pub volume_attributes_class_name: Option<String>,
}

/// Limits which nodes can reach a volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeNodeAffinity {
    /// Node selector that a node has to satisfy before the volume can be used on it.
    #[k8s(proto = 1, required = "must specify required node constraints", published = optional)]
    pub required: Option<NodeSelector>,
}

string_type! {
    /// Fate of a persistent volume after its claim is gone.
    #[closed]
    pub PersistentVolumeReclaimPolicy {
        /// Wipe the contents and offer the volume again; deprecated.
        RECYCLE = "Recycle",
        /// Delete the volume together with the storage behind it.
        DELETE = "Delete",
        /// Keep volume and data until an administrator deals with them.
        RETAIN = "Retain",
    }
}

string_type! {
    /// Form in which a volume is given to containers.
    #[closed]
    pub PersistentVolumeMode {
        /// A raw block device without filesystem.
        BLOCK = "Block",
        /// A mounted directory, formatted first if necessary.
        FILESYSTEM = "Filesystem",
    }
}

/// Observed life-cycle state of a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeStatus {
    /// Current life-cycle stage: Pending, Available, Bound, Released or Failed.
    #[k8s(proto = 1, optional, default = "Pending")]
    pub phase: PersistentVolumePhase,
    /// Readable explanation of why the volume is in its present phase.
    #[k8s(proto = 2, optional)]
    pub message: String,
    /// Short CamelCase code for the cause of a failure.
    #[k8s(proto = 3, optional)]
    pub reason: String,
    /// Moment at which the phase last changed; set by the server.
    #[k8s(proto = 4, optional)]
    pub last_phase_transition_time: Option<Time>,
}

/// Several persistent volumes, as returned by a list request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PersistentVolume objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PersistentVolume>,
}

/// A namespaced request for storage that the system satisfies by binding a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "persistentvolumeclaims", short_names("pvc"), namespaced))]
pub struct PersistentVolumeClaim {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Describes the storage being asked for.
    #[k8s(proto = 2, optional)]
    pub spec: PersistentVolumeClaimSpec,
    /// Reports the binding and the properties of the storage obtained; written by the system.
    #[k8s(proto = 3, optional)]
    pub status: PersistentVolumeClaimStatus,
}

/// Several persistent volume claims, as returned by a list request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeClaimList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PersistentVolumeClaim objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PersistentVolumeClaim>,
}

/// What a claim asks of the storage it is to be bound to.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(access_modes)(required = "at least 1 access mode is required"))]
pub struct PersistentVolumeClaimSpec {
    /// Ways in which the volume has to be mountable; at least one is needed.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub access_modes: Vec<PersistentVolumeAccessMode>,
    /// Label query narrowing the existing volumes that may be bound; dynamic provisioning usually
    /// refuses claims that use it.
    #[k8s(proto = 4, optional)]
    pub selector: Option<LabelSelector>,
    /// Minimum size wanted, as a request for `storage`; it can be raised later if the storage class
    /// permits expansion.
    #[k8s(proto = 2, optional)]
    pub resources: VolumeResourceRequirements,
    /// Name of the persistent volume backing this claim; set it beforehand to ask for a specific
    /// volume.
    #[k8s(proto = 3, optional)]
    pub volume_name: String,
    /// Storage class to provision from. Absent means the cluster's default class; an empty string
    /// means volumes without a class only.
    #[k8s(proto = 5, optional, unless(storage_class_name = "")(format = "dns1123-subdomain"))]
    pub storage_class_name: Option<String>,
    /// Whether a filesystem or a raw block device is wanted; defaults to Filesystem.
    #[k8s(proto = 6, optional, default = "Filesystem", enum)]
    pub volume_mode: Option<PersistentVolumeMode>,
    /// Object of this namespace to prefill the volume from: a VolumeSnapshot, another claim, or a
    /// custom populator object. Kept equal to dataSourceRef where possible.
    #[k8s(proto = 7, optional)]
    pub data_source: Option<TypedLocalObjectReference>,
    /// Object to prefill the volume from, of any non-core kind or another claim. A namespace may be
    /// given if cross-namespace sources are enabled.
    #[k8s(proto = 8, optional)]
    pub data_source_ref: Option<TypedObjectReference>,
    /// VolumeAttributesClass whose parameters the volume should get. It may be changed after
    /// creation; absent or empty means none is applied.
    #[k8s(
        proto = 9,
        optional,
        gate = pintle_gates::VOLUME_ATTRIBUTES_CLASS,
        if_enabled(pintle_gates::VOLUME_ATTRIBUTES_CLASS)(
            unless(volume_attributes_class_name = "")(format = "dns1123-subdomain")
        )
    )]
    pub volume_attributes_class_name: Option<String>,
}

/// Names an object by API group, kind and name, optionally in another namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypedObjectReference {
    /// API group of the object; absent or empty means the core group.
    #[k8s(proto = 1, optional, always)]
    pub api_group: Option<String>,
    /// Kind of the object referred to.
    #[k8s(proto = 2, always)]
    pub kind: String,
    /// Name of the object referred to.
    #[k8s(proto = 3, always)]
    pub name: String,
    /// Namespace of the object; absent means the local one. Another namespace needs a
    /// ReferenceGrant there that allows it.
    #[k8s(proto = 4, optional)]
    pub namespace: Option<String>,
}

string_type! {
    /// Aspect of a claim that a condition reports on.
    pub PersistentVolumeClaimConditionType {
        /// An expansion of the volume has been started.
        RESIZING = "Resizing",
        /// The volume has grown and the node still has to grow the filesystem.
        FILE_SYSTEM_RESIZE_PENDING = "FileSystemResizePending",
        /// Expanding failed in the storage controller.
        CONTROLLER_RESIZE_ERROR = "ControllerResizeError",
        /// Expanding failed on the node.
        NODE_RESIZE_ERROR = "NodeResizeError",
        /// Applying the volume attributes class failed.
        MODIFY_VOLUME_ERROR = "ModifyVolumeError",
        /// A volume attributes class is being applied.
        MODIFYING_VOLUME = "ModifyingVolume",
        /// No pod is using the claim at present.
        UNUSED = "Unused",
    }
}

string_type! {
    /// Progress of resizing one resource of a claim.
    #[closed]
    pub ClaimResourceStatus {
        /// The storage controller is expanding the volume.
        CONTROLLER_RESIZE_IN_PROGRESS = "ControllerResizeInProgress",
        /// The storage controller cannot provide the requested size.
        CONTROLLER_RESIZE_INFEASIBLE = "ControllerResizeInfeasible",
        /// The controller is done and the node has to continue.
        NODE_RESIZE_PENDING = "NodeResizePending",
        /// The node is expanding the volume.
        NODE_RESIZE_IN_PROGRESS = "NodeResizeInProgress",
        /// The node cannot bring the volume to the requested size.
        NODE_RESIZE_INFEASIBLE = "NodeResizeInfeasible",
    }
}

string_type! {
    /// Progress of applying a volume attributes class to a claim's volume.
    #[closed]
    pub PersistentVolumeClaimModifyVolumeStatus {
        /// A precondition, such as the class itself, is still missing.
        PENDING = "Pending",
        /// The driver is changing the volume.
        IN_PROGRESS = "InProgress",
        /// The driver rejected the parameters; choose another class.
        INFEASIBLE = "Infeasible",
    }
}

/// State of an ongoing change of a volume's attributes class.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ModifyVolumeStatus {
    /// Name of the VolumeAttributesClass the volume is being switched to.
    #[k8s(proto = 1)]
    pub target_volume_attributes_class_name: String,
    /// How far the change has got: Pending, InProgress or Infeasible.
    #[k8s(proto = 2, always)]
    pub status: PersistentVolumeClaimModifyVolumeStatus,
}

/// One observation about the state of a claim, such as an ongoing resize.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeClaimCondition {
    /// Aspect reported on, for example Resizing; at most one condition exists per type.
    #[k8s(proto = 1, always)]
    pub r#type: PersistentVolumeClaimConditionType,
    /// Whether the condition holds: True, False or Unknown.
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// Most recent time at which the condition was checked.
    #[k8s(proto = 3, optional)]
    pub last_probe_time: Time,
    /// Time at which the status last switched to its present value.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// CamelCase code saying what caused the last switch of the status.
    #[k8s(proto = 5, optional)]
    pub reason: String,
    /// Readable details about the last switch of the status.
    #[k8s(proto = 6, optional)]
    pub message: String,
}

/// Observed state of a claim and of the volume bound to it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 6, name = "resizeStatus"))]
pub struct PersistentVolumeClaimStatus {
    /// Binding state: Pending, Bound or Lost.
    #[k8s(proto = 1, optional, default = "Pending")]
    pub phase: PersistentVolumeClaimPhase,
    /// Access modes that the bound volume really offers.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub access_modes: Vec<PersistentVolumeAccessMode>,
    /// Size of the bound volume as it is now, under the resource name `storage`.
    #[k8s(proto = 3, optional)]
    pub capacity: ResourceList,
    /// Observations about the claim, mostly on resizing and modifying the volume.
    #[k8s(
        proto = 4,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<PersistentVolumeClaimCondition>,
    /// Size set aside for the claim, which can exceed the actual capacity while an expansion is
    /// running; quota counts the larger figure.
    #[k8s(proto = 5, optional)]
    pub allocated_resources: ResourceList,
    /// Resize progress per resource name; an entry is absent when no resize of that resource is
    /// going on.
    #[k8s(proto = 7, optional, map_type = granular)]
    pub allocated_resource_statuses: BTreeMap<String, ClaimResourceStatus>,
    /// Name of the VolumeAttributesClass in effect on the volume; absent means none was applied.
    #[k8s(proto = 8, optional, gate = pintle_gates::VOLUME_ATTRIBUTES_CLASS)]
    pub current_volume_attributes_class_name: Option<String>,
    /// State of a running change of the attributes class; absent when no change is in progress.
    #[k8s(proto = 9, optional, gate = pintle_gates::VOLUME_ATTRIBUTES_CLASS)]
    pub modify_volume_status: Option<ModifyVolumeStatus>,
}

string_type! {
    /// Way in which a volume may be mounted with respect to nodes and writing.
    #[closed]
    pub PersistentVolumeAccessMode {
        /// Read-write from a single node.
        READ_WRITE_ONCE = "ReadWriteOnce",
        /// Read-only from any number of nodes.
        READ_ONLY_MANY = "ReadOnlyMany",
        /// Read-write from any number of nodes.
        READ_WRITE_MANY = "ReadWriteMany",
        /// Read-write from one pod in the whole cluster.
        READ_WRITE_ONCE_POD = "ReadWriteOncePod",
    }
}

string_type! {
    /// Life-cycle stage of a persistent volume.
    #[closed]
    pub PersistentVolumePhase {
        /// Not ready to be bound yet.
        PENDING = "Pending",
        /// Free and waiting for a claim.
        AVAILABLE = "Available",
        /// In use by a claim.
        BOUND = "Bound",
        /// Its claim is deleted but the volume has not been reclaimed.
        RELEASED = "Released",
        /// Reclaiming the volume after its release did not work.
        FAILED = "Failed",
    }
}

string_type! {
    /// Binding state of a claim.
    #[closed]
    pub PersistentVolumeClaimPhase {
        /// No volume is bound so far.
        PENDING = "Pending",
        /// A volume is bound.
        BOUND = "Bound",
        /// The volume it was bound to has disappeared, and its data with it.
        LOST = "Lost",
    }
}

/// Blueprint from which the claim of an ephemeral volume is created.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeClaimTemplate {
    /// Labels and annotations copied to the claim; other metadata is refused.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Specification copied unchanged into the claim.
    #[k8s(proto = 2, always)]
    pub spec: PersistentVolumeClaimSpec,
}

/// Storage sizes wanted for a volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 3, name = "claims"))]
pub struct VolumeResourceRequirements {
    /// Largest size acceptable, under the resource name `storage`; absent means no upper bound.
    #[k8s(proto = 1, optional)]
    pub limits: ResourceList,
    /// Smallest size acceptable, under the resource name `storage`; it may not exceed the limit.
    #[k8s(proto = 2, optional)]
    pub requests: ResourceList,
}
