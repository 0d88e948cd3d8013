//! Types of `v1`: volumes that cloud providers offer.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use super::{LocalObjectReference, SecretReference};

/// An OpenStack Cinder volume mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CinderVolumeSource {
    /// Identifier of the volume in Cinder.
    #[k8s(proto = 1, name = "volumeID", always, required)]
    pub volume_id: String,
    /// Filesystem on the volume, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Secret in the pod's namespace with the parameters for connecting to OpenStack.
    #[k8s(proto = 4, optional, subfield(name)(required))]
    pub secret_ref: Option<LocalObjectReference>,
}

/// An OpenStack Cinder volume backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CinderPersistentVolumeSource {
    /// Identifier of the volume in Cinder.
    #[k8s(proto = 1, name = "volumeID", always, required)]
    pub volume_id: String,
    /// Filesystem on the volume, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Secret, given by name and namespace, with the parameters for connecting to OpenStack.
    #[k8s(proto = 4, optional, subfield(name)(required), subfield(namespace)(required))]
    pub secret_ref: Option<SecretReference>,
}

/// A Google Compute Engine persistent disk, which must exist in the project and zone of the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GCEPersistentDiskVolumeSource {
    /// Name of the disk in Compute Engine.
    #[k8s(proto = 1, always, required)]
    pub pd_name: String,
    /// Filesystem on the disk, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// Number of the partition to mount; 0 or absent mounts the whole disk.
    #[k8s(proto = 3, optional, format = "disk-partition")]
    pub partition: i32,
    /// When true, the disk is attached and mounted read-only; absent means false. A disk shared by
    /// several nodes must be read-only.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
}

/// An AWS EBS volume, which must exist in the availability zone of the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AWSElasticBlockStoreVolumeSource {
    /// Identifier of the EBS volume in AWS.
    #[k8s(proto = 1, name = "volumeID", always, required)]
    pub volume_id: String,
    /// Filesystem on the volume, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// Number of the partition to mount; 0 or absent mounts the whole volume.
    #[k8s(proto = 3, optional, format = "disk-partition")]
    pub partition: i32,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
}

/// An Azure Files share mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AzureFileVolumeSource {
    /// Name of the Secret that holds the storage account name and key.
    #[k8s(proto = 1, always, required)]
    pub secret_name: String,
    /// Name of the share.
    #[k8s(proto = 2, always, required)]
    pub share_name: String,
    /// When true, the share is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
}

/// An Azure Files share backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AzureFilePersistentVolumeSource {
    /// Name of the Secret that holds the storage account name and key.
    #[k8s(proto = 1, always, required)]
    pub secret_name: String,
    /// Name of the share.
    #[k8s(proto = 2, always, required)]
    pub share_name: String,
    /// When true, the share is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Namespace of the Secret; absent means the namespace of the bound claim.
    #[k8s(proto = 4, optional, always, first(message(required = "")(neq = "")))]
    pub secret_namespace: Option<String>,
}

/// A vSphere virtual disk (VMDK).
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VsphereVirtualDiskVolumeSource {
    /// Path of the VMDK file, including its datastore.
    #[k8s(proto = 1, always, required)]
    pub volume_path: String,
    /// Filesystem on the disk, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// Name of the storage policy (SPBM) that applies to the disk.
    #[k8s(proto = 3, optional)]
    pub storage_policy_name: String,
    /// Identifier of the storage policy (SPBM) that belongs to the policy name.
    #[k8s(proto = 4, name = "storagePolicyID", optional)]
    pub storage_policy_id: String,
}

/// A disk managed by Photon Controller.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PhotonPersistentDiskVolumeSource {
    /// Identifier of the disk in Photon Controller.
    #[k8s(proto = 1, name = "pdID", always, required)]
    pub pd_id: String,
    /// Filesystem on the disk, such as ext4 or xfs; an empty value means ext4.
    #[k8s(proto = 2)]
    pub fs_type: String,
}

string_type! {
    /// Host caching applied to an Azure data disk.
    #[closed]
    pub AzureDataDiskCachingMode {
        /// No caching on the host.
        NONE = "None",
        /// Only reads are cached.
        READ_ONLY = "ReadOnly",
        /// Reads and writes are cached.
        READ_WRITE = "ReadWrite",
    }
}

string_type! {
    /// How an Azure data disk is stored.
    #[closed]
    pub AzureDataDiskKind {
        /// A blob in a storage account that holds several disks.
        SHARED = "Shared",
        /// A blob in a storage account of its own.
        DEDICATED = "Dedicated",
        /// A managed disk.
        MANAGED = "Managed",
    }
}

/// An Azure data disk attached to the node and mounted in the pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AzureDiskVolumeSource {
    /// Name of the disk in the storage account or resource group.
    #[k8s(proto = 1, always, required)]
    pub disk_name: String,
    /// Full URI of the blob or resource of the disk.
    #[k8s(proto = 2, name = "diskURI", always, required)]
    pub disk_uri: String,
    /// Host caching to use: None, ReadOnly or ReadWrite; defaults to ReadWrite.
    #[k8s(proto = 3, optional, default = "ReadWrite", published = default, enum)]
    pub caching_mode: Option<AzureDataDiskCachingMode>,
    /// Filesystem on the disk, such as xfs or ntfs; defaults to ext4.
    #[k8s(proto = 4, optional, default = "ext4", published = default)]
    pub fs_type: Option<String>,
    /// When true, the disk is mounted read-only; defaults to false.
    #[k8s(proto = 5, optional, default = false, published = default)]
    pub read_only: Option<bool>,
    /// How the disk is stored: Shared, Dedicated or Managed; defaults to Shared.
    #[k8s(proto = 6, default = "Shared", published = default, enum)]
    pub kind: Option<AzureDataDiskKind>,
}
