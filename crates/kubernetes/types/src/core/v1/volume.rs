//! Types of `v1`: the volumes of a pod.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, string_type};

use super::{
    AWSElasticBlockStoreVolumeSource, AzureDiskVolumeSource, AzureFilePersistentVolumeSource, AzureFileVolumeSource,
    CephFSPersistentVolumeSource, CephFSVolumeSource, CinderPersistentVolumeSource, CinderVolumeSource,
    ConfigMapVolumeSource, DownwardAPIVolumeSource, FCVolumeSource, FlexPersistentVolumeSource, FlexVolumeSource,
    FlockerVolumeSource, GCEPersistentDiskVolumeSource, GlusterfsPersistentVolumeSource, GlusterfsVolumeSource,
    ISCSIPersistentVolumeSource, ISCSIVolumeSource, LocalObjectReference, PersistentVolumeClaimTemplate,
    PhotonPersistentDiskVolumeSource, PortworxVolumeSource, ProjectedVolumeSource, PullPolicy, QuobyteVolumeSource,
    RBDPersistentVolumeSource, RBDVolumeSource, ScaleIOPersistentVolumeSource, ScaleIOVolumeSource, SecretReference,
    SecretVolumeSource, StorageOSPersistentVolumeSource, StorageOSVolumeSource, VsphereVirtualDiskVolumeSource,
};

/// One storage item declared by a pod, which its containers can then mount by name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(last(subfield(name)(required, format = "dns1123-label")))]
pub struct Volume {
    /// Identifier that volume mounts refer to; a DNS label, unique among the volumes of the pod.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Chooses where a pod volume gets its data; at most one of the members may be set, and none
    /// means an emptyDir.
    #[k8s(inline, proto = 2)]
    pub volume_source: VolumeSource,
}

/// Chooses where a pod volume gets its data; at most one of the members may be set, and none means
/// an emptyDir.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeSource {
    /// Exposes a file or directory of the node's own filesystem to the pod, which is a security
    /// risk for untrusted workloads.
    #[k8s(proto = 1, optional)]
    pub host_path: Option<HostPathVolumeSource>,
    /// Scratch space that starts empty, is shared by the pod's containers and is deleted together
    /// with the pod.
    #[k8s(proto = 2, optional)]
    pub empty_dir: Option<EmptyDirVolumeSource>,
    /// Attaches an existing Google Compute Engine disk. Deprecated: handled by the
    /// pd.csi.storage.gke.io CSI driver.
    #[k8s(proto = 3, optional)]
    pub gce_persistent_disk: Option<GCEPersistentDiskVolumeSource>,
    /// Attaches an existing AWS EBS volume. Deprecated: handled by the ebs.csi.aws.com CSI driver.
    #[k8s(proto = 4, optional)]
    pub aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource>,
    /// Fills the volume with a checkout of a git repository. Deprecated and off by default; clone
    /// into an emptyDir from an init container instead.
    #[k8s(proto = 5, optional)]
    pub git_repo: Option<GitRepoVolumeSource>,
    /// Presents a Secret of the pod's own namespace as files, one per key.
    #[k8s(proto = 6, optional)]
    pub secret: Option<SecretVolumeSource>,
    /// Mounts a directory exported by an NFS server.
    #[k8s(proto = 7, optional)]
    pub nfs: Option<NFSVolumeSource>,
    /// Attaches a disk offered by an iSCSI target and mounts it in the pod.
    #[k8s(proto = 8, optional)]
    pub iscsi: Option<ISCSIVolumeSource>,
    /// Names a GlusterFS volume. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 9, optional)]
    pub glusterfs: Option<GlusterfsVolumeSource>,
    /// Uses the persistent volume that is bound to a claim in the pod's namespace.
    #[k8s(proto = 10, optional)]
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    /// Names a Ceph RADOS block device image. Deprecated: nodes have no built-in support for it any
    /// more.
    #[k8s(proto = 11, optional)]
    pub rbd: Option<RBDVolumeSource>,
    /// Delegates mounting to a FlexVolume executable installed on the node. Deprecated in favour of
    /// CSI drivers.
    #[k8s(proto = 12, optional)]
    pub flex_volume: Option<FlexVolumeSource>,
    /// Attaches an existing OpenStack Cinder volume. Deprecated: handled by the
    /// cinder.csi.openstack.org CSI driver.
    #[k8s(proto = 13, optional)]
    pub cinder: Option<CinderVolumeSource>,
    /// Names a CephFS directory. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 14, optional)]
    pub cephfs: Option<CephFSVolumeSource>,
    /// Names a Flocker dataset. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 15, optional)]
    pub flocker: Option<FlockerVolumeSource>,
    /// Presents selected metadata and resource figures of the pod itself as files.
    #[k8s(proto = 16, name = "downwardAPI", optional)]
    pub downward_api: Option<DownwardAPIVolumeSource>,
    /// Attaches a Fibre Channel logical unit to the node and mounts it in the pod.
    #[k8s(proto = 17, optional)]
    pub fc: Option<FCVolumeSource>,
    /// Mounts an Azure Files share. Deprecated: handled by the file.csi.azure.com CSI driver.
    #[k8s(proto = 18, optional)]
    pub azure_file: Option<AzureFileVolumeSource>,
    /// Presents the keys of a ConfigMap in the pod's namespace as files.
    #[k8s(proto = 19, optional)]
    pub config_map: Option<ConfigMapVolumeSource>,
    /// Attaches an existing vSphere virtual disk. Deprecated: handled by the csi.vsphere.vmware.com
    /// CSI driver.
    #[k8s(proto = 20, optional)]
    pub vsphere_volume: Option<VsphereVirtualDiskVolumeSource>,
    /// Names a Quobyte volume. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 21, optional)]
    pub quobyte: Option<QuobyteVolumeSource>,
    /// Attaches an Azure data disk. Deprecated: handled by the disk.csi.azure.com CSI driver.
    #[k8s(proto = 22, optional)]
    pub azure_disk: Option<AzureDiskVolumeSource>,
    /// Names a Photon Controller disk. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 23)]
    pub photon_persistent_disk: Option<PhotonPersistentDiskVolumeSource>,
    /// Combines several secrets, config maps, tokens and similar sources into a single directory.
    #[k8s(proto = 26)]
    pub projected: Option<ProjectedVolumeSource>,
    /// Attaches an existing Portworx volume. Deprecated: handled by the pxd.portworx.com CSI
    /// driver.
    #[k8s(proto = 24, optional)]
    pub portworx_volume: Option<PortworxVolumeSource>,
    /// Names a ScaleIO volume. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 25, name = "scaleIO", optional)]
    pub scale_io: Option<ScaleIOVolumeSource>,
    /// Names a StorageOS volume. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 27, optional)]
    pub storageos: Option<StorageOSVolumeSource>,
    /// Asks a CSI driver that supports inline volumes to provide storage that lives as long as the
    /// pod.
    #[k8s(proto = 28, optional)]
    pub csi: Option<CSIVolumeSource>,
    /// Creates a claim from a template for this pod alone; the claim and its storage are removed
    /// with the pod.
    #[k8s(proto = 29, optional)]
    pub ephemeral: Option<EphemeralVolumeSource>,
    /// Mounts the contents of a container image or other OCI artifact into the pod, read-only.
    #[k8s(proto = 30, optional, gate = pintle_gates::IMAGE_VOLUME)]
    pub image: Option<ImageVolumeSource>,
}

/// Points a pod volume at a persistent volume claim.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeClaimVolumeSource {
    /// Name of the claim to use; it must live in the same namespace as the pod.
    #[k8s(proto = 1, always, required)]
    pub claim_name: String,
    /// When true, every mount of this volume is read-only; absent means false.
    #[k8s(proto = 2, optional)]
    pub read_only: bool,
}

/// Chooses the storage backend of a persistent volume; exactly one of the members must be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PersistentVolumeSource {
    /// Backs the volume with an existing Google Compute Engine disk. Deprecated: handled by the
    /// pd.csi.storage.gke.io CSI driver.
    #[k8s(proto = 1, optional)]
    pub gce_persistent_disk: Option<GCEPersistentDiskVolumeSource>,
    /// Backs the volume with an existing AWS EBS volume. Deprecated: handled by the ebs.csi.aws.com
    /// CSI driver.
    #[k8s(proto = 2, optional)]
    pub aws_elastic_block_store: Option<AWSElasticBlockStoreVolumeSource>,
    /// Backs the volume with a directory on one node; only meaningful for tests on a single-node
    /// cluster.
    #[k8s(proto = 3, optional)]
    pub host_path: Option<HostPathVolumeSource>,
    /// Backs the volume with GlusterFS. Deprecated: nodes have no built-in support for it any more.
    #[k8s(proto = 4, optional)]
    pub glusterfs: Option<GlusterfsPersistentVolumeSource>,
    /// Backs the volume with a directory exported by an NFS server.
    #[k8s(proto = 5, optional)]
    pub nfs: Option<NFSVolumeSource>,
    /// Backs the volume with a Ceph RADOS block device. Deprecated: nodes have no built-in support
    /// for it any more.
    #[k8s(proto = 6, optional)]
    pub rbd: Option<RBDPersistentVolumeSource>,
    /// Backs the volume with a disk offered by an iSCSI target.
    #[k8s(proto = 7, optional)]
    pub iscsi: Option<ISCSIPersistentVolumeSource>,
    /// Backs the volume with an OpenStack Cinder volume. Deprecated: handled by the
    /// cinder.csi.openstack.org CSI driver.
    #[k8s(proto = 8, optional)]
    pub cinder: Option<CinderPersistentVolumeSource>,
    /// Backs the volume with a CephFS directory. Deprecated: nodes have no built-in support for it
    /// any more.
    #[k8s(proto = 9, optional)]
    pub cephfs: Option<CephFSPersistentVolumeSource>,
    /// Backs the volume with a Fibre Channel logical unit.
    #[k8s(proto = 10, optional)]
    pub fc: Option<FCVolumeSource>,
    /// Backs the volume with a Flocker dataset. Deprecated: nodes have no built-in support for it
    /// any more.
    #[k8s(proto = 11, optional)]
    pub flocker: Option<FlockerVolumeSource>,
    /// Backs the volume with a FlexVolume executable installed on the nodes. Deprecated in favour
    /// of CSI drivers.
    #[k8s(proto = 12, optional)]
    pub flex_volume: Option<FlexPersistentVolumeSource>,
    /// Backs the volume with an Azure Files share. Deprecated: handled by the file.csi.azure.com
    /// CSI driver.
    #[k8s(proto = 13, optional)]
    pub azure_file: Option<AzureFilePersistentVolumeSource>,
    /// Backs the volume with a vSphere virtual disk. Deprecated: handled by the
    /// csi.vsphere.vmware.com CSI driver.
    #[k8s(proto = 14, optional)]
    pub vsphere_volume: Option<VsphereVirtualDiskVolumeSource>,
    /// Backs the volume with Quobyte storage. Deprecated: nodes have no built-in support for it any
    /// more.
    #[k8s(proto = 15, optional)]
    pub quobyte: Option<QuobyteVolumeSource>,
    /// Backs the volume with an Azure data disk. Deprecated: handled by the disk.csi.azure.com CSI
    /// driver.
    #[k8s(proto = 16, optional)]
    pub azure_disk: Option<AzureDiskVolumeSource>,
    /// Backs the volume with a Photon Controller disk. Deprecated: nodes have no built-in support
    /// for it any more.
    #[k8s(proto = 17)]
    pub photon_persistent_disk: Option<PhotonPersistentDiskVolumeSource>,
    /// Backs the volume with a Portworx volume. Deprecated: handled by the pxd.portworx.com CSI
    /// driver.
    #[k8s(proto = 18, optional)]
    pub portworx_volume: Option<PortworxVolumeSource>,
    /// Backs the volume with a ScaleIO volume. Deprecated: nodes have no built-in support for it
    /// any more.
    #[k8s(proto = 19, name = "scaleIO", optional)]
    pub scale_io: Option<ScaleIOPersistentVolumeSource>,
    /// Backs the volume with a disk, partition or directory of one particular node; node affinity
    /// is then mandatory.
    #[k8s(proto = 20, optional)]
    pub local: Option<LocalVolumeSource>,
    /// Backs the volume with a StorageOS volume. Deprecated: nodes have no built-in support for it
    /// any more.
    #[k8s(proto = 21, optional)]
    pub storageos: Option<StorageOSPersistentVolumeSource>,
    /// Backs the volume with storage managed by a CSI driver.
    #[k8s(proto = 22, optional)]
    pub csi: Option<CSIPersistentVolumeSource>,
}

string_type! {
    /// What has to exist at a host path before it is mounted.
    #[closed]
    pub HostPathType {
        /// No check is made.
        UNSET = "",
        /// A directory, created empty with mode 0755 if missing.
        DIRECTORY_OR_CREATE = "DirectoryOrCreate",
        /// An existing directory.
        DIRECTORY = "Directory",
        /// A regular file, created empty with mode 0644 if missing.
        FILE_OR_CREATE = "FileOrCreate",
        /// An existing regular file.
        FILE = "File",
        /// An existing UNIX domain socket.
        SOCKET = "Socket",
        /// An existing character device.
        CHAR_DEV = "CharDevice",
        /// An existing block device.
        BLOCK_DEV = "BlockDevice",
    }
}

/// A file or directory taken directly from the node's filesystem.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(first(subfield(path)(required)))]
pub struct HostPathVolumeSource {
    /// Absolute location on the node; symbolic links are followed.
    #[k8s(proto = 1, always, required, format = "path-no-backsteps")]
    pub path: String,
    /// Check made on the path before mounting, for example Directory or FileOrCreate; the default
    /// empty string means no check.
    #[k8s(proto = 2, optional, default = "", enum)]
    pub r#type: Option<HostPathType>,
}

/// Temporary storage that exists as long as the pod stays on its node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct EmptyDirVolumeSource {
    /// What the directory is kept on: empty for the node's default disk, Memory for tmpfs, or
    /// HugePages.
    #[k8s(proto = 1, optional)]
    pub medium: StorageMedium,
    /// Upper bound for the data stored; a pod that exceeds it is evicted. Absent means no limit of
    /// its own.
    #[k8s(proto = 2, optional)]
    pub size_limit: Option<Quantity>,
}

string_type! {
    /// What an emptyDir volume is kept on.
    pub StorageMedium {
        /// The default storage of the node.
        DEFAULT = "",
        /// A tmpfs in the node's memory.
        MEMORY = "Memory",
        /// Huge pages of the single size the pod requests.
        STORAGE_MEDIUM_HUGE_PAGES = "HugePages",
        /// Prefix for a page size, as in HugePages-2Mi.
        STORAGE_MEDIUM_HUGE_PAGES_PREFIX = "HugePages-",
    }
}

/// A directory filled from a git repository when the pod starts. Deprecated and off by default.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GitRepoVolumeSource {
    /// URL of the git repository to clone.
    #[k8s(proto = 1, always, required)]
    pub repository: String,
    /// Commit to check out; absent means the head of the default branch.
    #[k8s(proto = 2, optional)]
    pub revision: String,
    /// Subdirectory to clone into, without `..`; `.` clones into the volume root, absent uses a
    /// directory named after the repository.
    #[k8s(proto = 3, optional, format = "relative-path")]
    pub directory: String,
}

/// A directory exported by an NFS server; its contents outlive the pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NFSVolumeSource {
    /// Host name or IP address of the NFS server.
    #[k8s(proto = 1, always, required)]
    pub server: String,
    /// Absolute path of the exported directory on the server.
    #[k8s(proto = 2, always, published = required, message(required = "")(neq = ""), format = "absolute-path")]
    pub path: String,
    /// When true, the export is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
}

/// A disk, partition or directory that is physically attached to one node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LocalVolumeSource {
    /// Location on the node of the directory or block device.
    #[k8s(proto = 1, always, required, format = "path-no-backsteps")]
    pub path: String,
    /// Filesystem to use when the path is a block device; absent lets the node detect or choose
    /// one.
    #[k8s(proto = 2, optional)]
    pub fs_type: Option<String>,
}

/// A persistent volume managed by a Container Storage Interface driver.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSIPersistentVolumeSource {
    /// Name of the CSI driver responsible for the volume.
    #[k8s(proto = 1, always, required, max_bytes = 63, format = "csi-driver-name")]
    pub driver: String,
    /// Identifier the driver gave to the volume when it was created; it is sent along with every
    /// later call.
    #[k8s(proto = 2, always, required)]
    pub volume_handle: String,
    /// When true, the volume is published to nodes as read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Filesystem to mount, such as ext4 or xfs; absent leaves the choice to the driver side.
    #[k8s(proto = 4, optional)]
    pub fs_type: String,
    /// Driver-specific properties that were returned when the volume was created and are passed
    /// back on publishing.
    #[k8s(proto = 5, optional)]
    pub volume_attributes: BTreeMap<String, String>,
    /// Secret handed to the driver when the volume is attached to or detached from a node.
    #[k8s(
        proto = 6,
        optional,
        subfield(name)(required, format = "dns1123-subdomain"),
        subfield(namespace)(required, format = "dns1123-label")
    )]
    pub controller_publish_secret_ref: Option<SecretReference>,
    /// Secret handed to the driver when the volume is first prepared on a node.
    #[k8s(proto = 7, optional)]
    pub node_stage_secret_ref: Option<SecretReference>,
    /// Secret handed to the driver when the volume is made available to a pod on a node.
    #[k8s(
        proto = 8,
        optional,
        subfield(name)(required, format = "dns1123-subdomain"),
        subfield(namespace)(required, format = "dns1123-label")
    )]
    pub node_publish_secret_ref: Option<SecretReference>,
    /// Secret handed to the driver when the storage controller expands the volume.
    #[k8s(
        proto = 9,
        optional,
        subfield(name)(required, format = "dns1123-subdomain"),
        subfield(namespace)(required, format = "dns1123-label")
    )]
    pub controller_expand_secret_ref: Option<SecretReference>,
    /// Secret handed to the driver when the volume is expanded on a node.
    #[k8s(
        proto = 10,
        optional,
        subfield(name)(required, format = "dns1123-subdomain"),
        subfield(namespace)(required, format = "dns1123-label")
    )]
    pub node_expand_secret_ref: Option<SecretReference>,
}

/// An inline volume that a Container Storage Interface driver creates for a single pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CSIVolumeSource {
    /// Name of the CSI driver responsible; it must be registered for ephemeral use.
    #[k8s(proto = 1, always, required, max_bytes = 63, format = "csi-driver-name")]
    pub driver: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 2, optional)]
    pub read_only: Option<bool>,
    /// Filesystem to mount, such as ext4 or xfs; absent or empty leaves the choice to the driver.
    #[k8s(proto = 3, optional)]
    pub fs_type: Option<String>,
    /// Driver-specific settings; see the documentation of the driver for supported keys.
    #[k8s(proto = 4, optional)]
    pub volume_attributes: BTreeMap<String, String>,
    /// Secret in the pod's namespace whose entire contents are handed to the driver on mounting and
    /// unmounting.
    #[k8s(proto = 5, optional)]
    pub node_publish_secret_ref: Option<LocalObjectReference>,
}

/// A volume provisioned through a claim that is created for, and owned by, one pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(proto = 2, name = "readOnly"))]
pub struct EphemeralVolumeSource {
    /// Blueprint of the claim, which is named after pod and volume joined by a hyphen; an unrelated
    /// claim of that name blocks the pod.
    #[k8s(proto = 1, required, published = optional)]
    pub volume_claim_template: Option<PersistentVolumeClaimTemplate>,
}

/// A read-only volume with the contents of a container image or other artifact.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ImageVolumeSource {
    /// Image or artifact to mount, written like a container image.
    #[k8s(proto = 1, optional)]
    pub reference: String,
    /// When it is pulled: "Always", "IfNotPresent" or "Never". Defaults to "Always" for the tag
    /// "latest", otherwise to "IfNotPresent".
    #[k8s(proto = 2, required, enum, published = optional)]
    pub pull_policy: PullPolicy,
}
