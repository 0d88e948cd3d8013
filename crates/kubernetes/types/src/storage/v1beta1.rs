//! Types of `storage.k8s.io/v1beta1`: storage classes, drivers and volume attachments.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time, same_as};

use crate::core::v1::{PersistentVolumeReclaimPolicy, PersistentVolumeSpec, TopologySelectorTerm};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        CSIDriver, CSIDriverList, CSINode, CSINodeList, CSINodeSpec, CSIStorageCapacity, CSIStorageCapacityList,
        FSGroupPolicy, StorageClass, StorageClassList, TokenRequest, VolumeAttachment, VolumeAttachmentList,
        VolumeAttachmentSource, VolumeAttachmentSpec, VolumeAttachmentStatus, VolumeAttributesClass,
        VolumeAttributesClassList, VolumeBindingMode, VolumeError, VolumeLifecycleMode, VolumeNodeResources
    }
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
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub volume_lifecycle_modes: Vec<VolumeLifecycleMode>,
    /// Whether scheduling should respect the capacity the driver publishes.
    #[k8s(proto = 4, optional, default = false)]
    pub storage_capacity: Option<bool>,
    /// When ownership and permissions of a volume follow the pod's fsGroup.
    #[k8s(proto = 5, optional, default = "ReadWriteOnceWithFSType")]
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

/// Facts about one CSI driver on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSINodeDriver {
    /// Name of the driver, as it reports itself.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// What the driver calls this node.
    #[k8s(proto = 2, name = "nodeID", always)]
    pub node_id: String,
    /// Node label keys the driver uses to express topology.
    #[k8s(proto = 3, optional, always, list_type = atomic)]
    pub topology_keys: Vec<String>,
    /// Volume limits of the driver on this node.
    #[k8s(proto = 4, optional)]
    pub allocatable: Option<VolumeNodeResources>,
}
