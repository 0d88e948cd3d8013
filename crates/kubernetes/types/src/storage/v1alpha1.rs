//! Types of `storage.k8s.io/v1alpha1`: storage classes, drivers and volume attachments.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time};

use crate::core::v1::PersistentVolumeSpec;
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Intent to attach a volume to a node or detach it again.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
    #[k8s(proto = 1, published = required, always)]
    pub attacher: String,
    /// Volume to attach.
    #[k8s(proto = 2, always)]
    pub source: VolumeAttachmentSource,
    /// Node the volume is attached to.
    #[k8s(proto = 3, always)]
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
    #[k8s(proto = 3, optional, gate = "MutableCSINodeAllocatableCount")]
    pub error_code: Option<i32>,
}

/// Free space of a storage class in one topology segment, for scheduling.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
    #[k8s(proto = 3, always)]
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
pub struct VolumeAttributesClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// CSI driver understanding the parameters.
    #[k8s(proto = 2, always)]
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
