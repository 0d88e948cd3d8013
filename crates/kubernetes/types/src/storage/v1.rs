//! Types of `storage.k8s.io/v1`: storage classes, drivers and volume attachments.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time, string_type};

use crate::core::v1::{PersistentVolumeReclaimPolicy, PersistentVolumeSpec, TopologySelectorTerm};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Describes a class of storage from which volumes are provisioned on demand.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "storageclasses", short_names("sc"), cluster))]
pub struct StorageClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Driver that creates volumes of this class.
    #[k8s(proto = 2, required, format = "qualified-name-caseless", always)]
    pub provisioner: String,
    /// Driver-specific settings used for creating volumes; immutable.
    #[k8s(proto = 3, optional)]
    pub parameters: BTreeMap<String, String>,
    /// What happens to created volumes once released; Delete when unset.
    #[k8s(proto = 4, optional, default = "Delete")]
    pub reclaim_policy: Option<PersistentVolumeReclaimPolicy>,
    /// Mount options given to created volumes; not checked beforehand.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub mount_options: Vec<String>,
    /// Whether claims of this class may later grow.
    #[k8s(proto = 6, optional)]
    pub allow_volume_expansion: Option<bool>,
    /// When volumes are created and bound; Immediate when unset.
    #[k8s(proto = 7, default = "Immediate", required, enum, published = optional)]
    pub volume_binding_mode: Option<VolumeBindingMode>,
    /// Restricts in which topology segments volumes may be created.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub allowed_topologies: Vec<TopologySelectorTerm>,
}

/// Collection of storage classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The StorageClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<StorageClass>,
}

string_type! {
    /// Moment at which claims get bound to volumes.
    #[closed]
    pub VolumeBindingMode {
        /// Bind as soon as the claim is created.
        IMMEDIATE = "Immediate",
        /// Wait until a pod using the claim is scheduled.
        WAIT_FOR_FIRST_CONSUMER = "WaitForFirstConsumer",
    }
}

/// Intent to attach a volume to a node or detach it again.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "volumeattachments", cluster))]
pub struct VolumeAttachment {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Volume, node and responsible driver.
    #[k8s(proto = 2, published = required, always)]
    pub spec: VolumeAttachmentSpec,
    /// How far the attaching has come.
    #[k8s(proto = 3, optional)]
    pub status: VolumeAttachmentStatus,
}

/// Collection of volume attachments.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeAttachmentList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The VolumeAttachment objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<VolumeAttachment>,
}

/// Which volume goes to which node, by which driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeAttachmentSpec {
    /// Driver that performs the attach, as named by itself.
    #[k8s(proto = 1, required, max_bytes = 63, format = "csi-driver-name", always)]
    pub attacher: String,
    /// Volume to attach.
    #[k8s(proto = 2, always)]
    pub source: VolumeAttachmentSource,
    /// Node the volume is attached to.
    #[k8s(proto = 3, always, format = "dns1123-subdomain")]
    pub node_name: String,
}

/// Volume to attach, either by name or described in place.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeAttachmentSource {
    /// Name of the persistent volume to attach.
    #[k8s(proto = 1, optional)]
    pub persistent_volume_name: Option<String>,
    /// Full volume description for volumes written inline in pods during CSI migration.
    #[k8s(
        proto = 2,
        optional,
        subfield(claim_ref)(forbidden = "may not be specified in the context of inline volumes"),
        subfield(capacity)(forbidden = "may not be specified in the context of inline volumes"),
        subfield(csi)(required = "has to be specified in the context of inline volumes"),
        last(
            subfield(storage_class_name)(forbidden = "may not be specified in the context of inline volumes"),
            subfield(volume_mode)(
                message(forbidden = "may not specify volumeMode other than Filesystem in the context of inline volumes")(
                    enum("Filesystem")
                )
            )
        )
    )]
    pub inline_volume_spec: Option<PersistentVolumeSpec>,
}

/// Progress of attaching or detaching.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeAttachmentStatus {
    /// Whether the volume is attached; set only by the attacher.
    #[k8s(proto = 1, always)]
    pub attached: bool,
    /// Data returned by the attach step and needed for mounting.
    #[k8s(proto = 2, optional)]
    pub attachment_metadata: BTreeMap<String, String>,
    /// Latest failure while attaching.
    #[k8s(proto = 3, optional)]
    pub attach_error: Option<VolumeError>,
    /// Latest failure while detaching.
    #[k8s(proto = 4, optional)]
    pub detach_error: Option<VolumeError>,
}

/// Failure met during a volume operation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeError {
    /// When the failure occurred.
    #[k8s(proto = 1, optional)]
    pub time: Time,
    /// Text of the failure; should hold no secrets.
    #[k8s(proto = 2, optional)]
    pub message: String,
    /// GRPC status code of the failure, if one is known.
    #[k8s(proto = 3, optional, gate = pintle_gates::MUTABLE_CSI_NODE_ALLOCATABLE_COUNT)]
    pub error_code: Option<i32>,
}

/// Tells the cluster about a CSI driver and its abilities; named after the driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "csidrivers", cluster))]
pub struct CSIDriver {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1)]
    pub metadata: ObjectMeta,
    /// Abilities and needs of the driver.
    #[k8s(proto = 2, always)]
    pub spec: CSIDriverSpec,
}

/// Collection of CSI drivers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSIDriverList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CSIDriver objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CSIDriver>,
}

/// How Kubernetes should treat volumes of a CSI driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSIDriverSpec {
    /// Whether volumes have to be attached before mounting; true when unset.
    #[k8s(proto = 1, optional, default = true)]
    pub attach_required: Option<bool>,
    /// Whether the driver wants pod details when mounting; false when unset.
    #[k8s(proto = 2, optional, default = false)]
    pub pod_info_on_mount: Option<bool>,
    /// Volume kinds supported, persistent only when unset.
    #[k8s(proto = 3, optional, list_type = set)]
    pub volume_lifecycle_modes: Vec<VolumeLifecycleMode>,
    /// Whether scheduling should respect the capacity the driver publishes.
    #[k8s(proto = 4, optional, default = false)]
    pub storage_capacity: Option<bool>,
    /// When ownership and permissions of a volume follow the pod's fsGroup.
    #[k8s(proto = 5, optional, default = "ReadWriteOnceWithFSType", enum)]
    pub fs_group_policy: Option<FSGroupPolicy>,
    /// Service account tokens the driver needs while mounting.
    #[k8s(proto = 6, optional, list_type = atomic)]
    pub token_requests: Vec<TokenRequest>,
    /// Whether mounts are repeated regularly to reflect changes.
    #[k8s(proto = 7, optional, default = false)]
    pub requires_republish: Option<bool>,
    /// Whether volumes can be mounted with an SELinux context option.
    #[k8s(proto = 8, optional, gate = pintle_gates::SELINUX_MOUNT_READ_WRITE_ONCE_POD)]
    pub se_linux_mount: Option<bool>,
    /// Seconds between refreshes of attachable volume counts; at least 10, never when unset.
    #[k8s(proto = 9, optional, gate = pintle_gates::MUTABLE_CSI_NODE_ALLOCATABLE_COUNT)]
    pub node_allocatable_update_period_seconds: Option<i64>,
    /// Whether service account tokens arrive through the secrets field of mount requests.
    #[k8s(proto = 10, optional, gate = pintle_gates::CSI_SERVICE_ACCOUNT_TOKEN_SECRETS)]
    pub service_account_token_in_secrets: Option<bool>,
    /// Whether pods using the driver avoid nodes where it is not installed.
    #[k8s(proto = 11, optional, gate = pintle_gates::VOLUME_LIMIT_SCALING)]
    pub prevent_pod_scheduling_if_missing: Option<bool>,
}

string_type! {
    /// When a volume's ownership is adapted to a pod's fsGroup.
    pub FSGroupPolicy {
        /// Only for volumes with a file system type and ReadWriteOnce access.
        READ_WRITE_ONCE_WITH_FS_TYPE = "ReadWriteOnceWithFSType",
        /// Always, whatever file system or access mode is used.
        FILE = "File",
        /// Never; volumes mount unchanged.
        NONE = "None",
    }
}

string_type! {
    /// How volumes of a CSI driver come to exist.
    pub VolumeLifecycleMode {
        /// Managed through persistent volumes and claims.
        PERSISTENT = "Persistent",
        /// Written inline in a pod and gone with it.
        EPHEMERAL = "Ephemeral",
    }
}

/// Service account token a CSI driver asks for.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TokenRequest {
    /// Audience the token is meant for; empty means that of the API server.
    #[k8s(proto = 1, always)]
    pub audience: String,
    /// Seconds the token should stay valid.
    #[k8s(proto = 2, optional)]
    pub expiration_seconds: Option<i64>,
}

/// CSI drivers installed on a node; named after that node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "csinodes", cluster))]
pub struct CSINode {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1)]
    pub metadata: ObjectMeta,
    /// Drivers and their node data.
    #[k8s(proto = 2, always)]
    pub spec: CSINodeSpec,
}

/// Drivers present on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSINodeSpec {
    /// One entry for each installed driver.
    #[k8s(
        proto = 1,
        always,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge",
        patch_merge_key = "name"
    )]
    pub drivers: Vec<CSINodeDriver>,
}

/// Facts about one CSI driver on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSINodeDriver {
    /// Name of the driver, as it reports itself.
    #[k8s(proto = 1, always, required, max_bytes = 63, format = "csi-driver-name")]
    pub name: String,
    /// What the driver calls this node.
    #[k8s(proto = 2, name = "nodeID", always, required)]
    pub node_id: String,
    /// Node label keys the driver uses to express topology.
    #[k8s(proto = 3, optional, always, list_type = atomic)]
    pub topology_keys: Vec<String>,
    /// Volume limits of the driver on this node.
    #[k8s(proto = 4, optional)]
    pub allocatable: Option<VolumeNodeResources>,
}

/// Volume limits on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeNodeResources {
    /// Most distinct volumes usable at once; unlimited when unset.
    #[k8s(proto = 1, optional, minimum = 0)]
    pub count: Option<i32>,
}

/// Collection of CSI node entries.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSINodeList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CSINode objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CSINode>,
}

/// Free space of a storage class in one topology segment, for scheduling.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "csistoragecapacities", namespaced))]
pub struct CSIStorageCapacity {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Chooses the nodes reaching this storage; none when unset.
    #[k8s(proto = 2, optional)]
    pub node_topology: Option<LabelSelector>,
    /// Storage class the figures are for.
    #[k8s(proto = 3, always, format = "dns1123-subdomain")]
    pub storage_class_name: String,
    /// Free space reported by the driver; unknown when unset.
    #[k8s(proto = 4, optional)]
    pub capacity: Option<Quantity>,
    /// Biggest single volume that could be created; unknown when unset.
    #[k8s(proto = 5, optional)]
    pub maximum_volume_size: Option<Quantity>,
}

/// Collection of storage capacity reports.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSIStorageCapacityList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CSIStorageCapacity objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CSIStorageCapacity>,
}

/// Named set of changeable volume properties, such as performance.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "volumeattributesclasses", short_names("vac"), cluster))]
pub struct VolumeAttributesClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// CSI driver understanding the parameters.
    #[k8s(proto = 2, always, required, format = "qualified-name-caseless")]
    pub driver_name: String,
    /// Property values handed to the driver; immutable, up to 512 entries.
    #[k8s(proto = 3)]
    pub parameters: BTreeMap<String, String>,
}

/// Collection of volume attributes classes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeAttributesClassList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The VolumeAttributesClass objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<VolumeAttributesClass>,
}
