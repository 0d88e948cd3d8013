//! Types of `v1`: volumes reached over storage networks.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::ApiType;

use super::{LocalObjectReference, ObjectReference};

/// A GlusterFS volume mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GlusterfsVolumeSource {
    /// Name of the Endpoints object listing the Gluster servers.
    #[k8s(proto = 1, always, required)]
    pub endpoints: String,
    /// Name of the Gluster volume to mount.
    #[k8s(proto = 2, always, required)]
    pub path: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
}

/// A GlusterFS volume backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GlusterfsPersistentVolumeSource {
    /// Name of the Endpoints object listing the Gluster servers.
    #[k8s(proto = 1, always, required)]
    pub endpoints: String,
    /// Name of the Gluster volume to mount.
    #[k8s(proto = 2, always, required)]
    pub path: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// Namespace of the Endpoints object; absent means the namespace of the bound claim.
    #[k8s(
        proto = 4,
        optional,
        first(message(invalid = "if the endpointnamespace is set, it must be a valid namespace name")(neq = "")),
        format = "dns1123-label"
    )]
    pub endpoints_namespace: Option<String>,
}

/// A Ceph RADOS block device image mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RBDVolumeSource {
    /// Addresses of the Ceph monitors; at least one is needed.
    #[k8s(proto = 1, always, list_type = atomic, required)]
    pub monitors: Vec<String>,
    /// Name of the RADOS image.
    #[k8s(proto = 2, always, required)]
    pub image: String,
    /// Filesystem on the image, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 3, optional)]
    pub fs_type: String,
    /// Ceph pool that holds the image; defaults to rbd.
    #[k8s(proto = 4, optional, default = "rbd", published = default)]
    pub pool: String,
    /// Ceph user to log in as; defaults to admin.
    #[k8s(proto = 5, optional, default = "admin", published = default)]
    pub user: String,
    /// Path on the node of the key ring for that user; defaults to /etc/ceph/keyring.
    #[k8s(proto = 6, optional, default = "/etc/ceph/keyring", published = default)]
    pub keyring: String,
    /// Secret in the pod's namespace with the Ceph key; it takes precedence over the key ring.
    #[k8s(proto = 7, optional)]
    pub secret_ref: Option<LocalObjectReference>,
    /// When true, the image is mounted read-only; absent means false.
    #[k8s(proto = 8, optional)]
    pub read_only: bool,
}

/// A Ceph RADOS block device image backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RBDPersistentVolumeSource {
    /// Addresses of the Ceph monitors; at least one is needed.
    #[k8s(proto = 1, always, list_type = atomic, required)]
    pub monitors: Vec<String>,
    /// Name of the RADOS image.
    #[k8s(proto = 2, always, required)]
    pub image: String,
    /// Filesystem on the image, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 3, optional)]
    pub fs_type: String,
    /// Ceph pool that holds the image; defaults to rbd.
    #[k8s(proto = 4, optional, default = "rbd", published = default)]
    pub pool: String,
    /// Ceph user to log in as; defaults to admin.
    #[k8s(proto = 5, optional, default = "admin", published = default)]
    pub user: String,
    /// Path on the node of the key ring for that user; defaults to /etc/ceph/keyring.
    #[k8s(proto = 6, optional, default = "/etc/ceph/keyring", published = default)]
    pub keyring: String,
    /// Secret with the Ceph key, given by name and namespace; it takes precedence over the key
    /// ring.
    #[k8s(proto = 7, optional)]
    pub secret_ref: Option<SecretReference>,
    /// When true, the image is mounted read-only; absent means false.
    #[k8s(proto = 8, optional)]
    pub read_only: bool,
}

/// A CephFS directory mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CephFSVolumeSource {
    /// Addresses of the Ceph monitors; at least one is needed.
    #[k8s(proto = 1, always, list_type = atomic, required)]
    pub monitors: Vec<String>,
    /// Directory within CephFS to mount as the root of the volume; absent means `/`.
    #[k8s(proto = 2, optional)]
    pub path: String,
    /// Ceph user to log in as; absent means admin.
    #[k8s(proto = 3, optional)]
    pub user: String,
    /// Path on the node of the file with the user's key; absent means /etc/ceph/user.secret.
    #[k8s(proto = 4, optional)]
    pub secret_file: String,
    /// Secret in the pod's namespace with the Ceph key; it takes precedence over the key file.
    #[k8s(proto = 5, optional)]
    pub secret_ref: Option<LocalObjectReference>,
    /// When true, the directory is mounted read-only; absent means false.
    #[k8s(proto = 6, optional)]
    pub read_only: bool,
}

/// Names a Secret in any namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct SecretReference {
    /// Name of the Secret within its namespace.
    #[k8s(proto = 1, optional)]
    pub name: String,
    /// Namespace in which the Secret is found.
    #[k8s(proto = 2, optional)]
    pub namespace: String,
}

/// A CephFS directory backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CephFSPersistentVolumeSource {
    /// Addresses of the Ceph monitors; at least one is needed.
    #[k8s(proto = 1, always, list_type = atomic, required)]
    pub monitors: Vec<String>,
    /// Directory within CephFS to mount as the root of the volume; absent means `/`.
    #[k8s(proto = 2, optional)]
    pub path: String,
    /// Ceph user to log in as; absent means admin.
    #[k8s(proto = 3, optional)]
    pub user: String,
    /// Path on the node of the file with the user's key; absent means /etc/ceph/user.secret.
    #[k8s(proto = 4, optional)]
    pub secret_file: String,
    /// Secret with the Ceph key, given by name and namespace; it takes precedence over the key
    /// file.
    #[k8s(proto = 5, optional)]
    pub secret_ref: Option<SecretReference>,
    /// When true, the directory is mounted read-only; absent means false.
    #[k8s(proto = 6, optional)]
    pub read_only: bool,
}

/// A Flocker dataset mounted by the Flocker agent; exactly one of name and UUID is given.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    message(detail = "one of datasetName and datasetUUID is required")(at_least_one("datasetName", "datasetUUID")),
    message(invalid = "datasetName and datasetUUID can not be specified simultaneously", value = "resource")(
        at_most_one("datasetName", "datasetUUID")
    )
)]
pub struct FlockerVolumeSource {
    /// Name of the dataset, as stored in its metadata; deprecated in favour of datasetUUID.
    #[k8s(proto = 1, optional, message(invalid = "must not contain '/'")(pattern = "[^/]*"))]
    pub dataset_name: String,
    /// Unique identifier of the dataset.
    #[k8s(proto = 2, name = "datasetUUID", optional)]
    pub dataset_uuid: String,
}

/// A Quobyte volume, mounted with the access rights of a given user and group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct QuobyteVolumeSource {
    /// Quobyte registry servers as host:port, separated by commas.
    #[k8s(proto = 1, always, required = "must be a host:port pair or multiple pairs separated by commas")]
    pub registry: String,
    /// Name of an existing Quobyte volume.
    #[k8s(proto = 2, always, required)]
    pub volume: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
    /// User on whose behalf files are accessed; absent means the service account user.
    #[k8s(proto = 4, optional)]
    pub user: String,
    /// Group on whose behalf files are accessed; absent means no group.
    #[k8s(proto = 5, optional)]
    pub group: String,
    /// Quobyte tenant that owns the volume; filled in by the provisioner for dynamic volumes.
    #[k8s(
        proto = 6,
        optional,
        when_set(registry)(
            message(required = "must be a UUID and may not exceed a length of 64 characters")(max_bytes = 64)
        )
    )]
    pub tenant: String,
}

/// A persistent volume mounted by a FlexVolume executable on the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlexPersistentVolumeSource {
    /// Name of the FlexVolume driver, usually in the form vendor/driver.
    #[k8s(proto = 1, always, required)]
    pub driver: String,
    /// Filesystem to mount, such as ext4 or xfs; absent leaves the choice to the driver.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// Secret, given by name and namespace, whose contents are passed to the driver; absent if the
    /// driver needs none.
    #[k8s(proto = 3, optional)]
    pub secret_ref: Option<SecretReference>,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
    /// Additional key-value settings passed to the driver unchanged.
    #[k8s(proto = 5, optional, each_entry_key(format = "unreserved-option"))]
    pub options: BTreeMap<String, String>,
}

/// A pod volume mounted by a FlexVolume executable on the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlexVolumeSource {
    /// Name of the FlexVolume driver, usually in the form vendor/driver.
    #[k8s(proto = 1, always, required)]
    pub driver: String,
    /// Filesystem to mount, such as ext4 or xfs; absent leaves the choice to the driver.
    #[k8s(proto = 2, optional)]
    pub fs_type: String,
    /// Secret in the pod's namespace whose contents are passed to the driver; absent if the driver
    /// needs none.
    #[k8s(proto = 3, optional)]
    pub secret_ref: Option<LocalObjectReference>,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
    /// Additional key-value settings passed to the driver unchanged.
    #[k8s(proto = 5, optional, each_entry_key(format = "unreserved-option"))]
    pub options: BTreeMap<String, String>,
}

/// An iSCSI disk mounted into a pod; writable from one node only.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ISCSIVolumeSource {
    /// Address of the iSCSI portal as host or host:port; the port is 3260 unless stated.
    #[k8s(proto = 1, always, required)]
    pub target_portal: String,
    /// Qualified name of the iSCSI target.
    #[k8s(proto = 2, always, required, format = "iscsi-name-of-known-kind")]
    pub iqn: String,
    /// Number of the logical unit at the target.
    #[k8s(proto = 3, always, format = "byte")]
    pub lun: i32,
    /// Name of the iSCSI interface on the node, i.e. its transport; `default` selects plain TCP.
    #[k8s(proto = 4, optional, default = "default", published = default)]
    pub iscsi_interface: String,
    /// Filesystem on the disk, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 5, optional)]
    pub fs_type: String,
    /// When true, the disk is mounted read-only; absent means false.
    #[k8s(proto = 6, optional)]
    pub read_only: bool,
    /// Further portal addresses of the same target, used for multipath access.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub portals: Vec<String>,
    /// When true, CHAP credentials are used while discovering targets.
    #[k8s(proto = 8, optional)]
    pub chap_auth_discovery: bool,
    /// When true, CHAP credentials are used for the session with the target.
    #[k8s(proto = 11, optional)]
    pub chap_auth_session: bool,
    /// Secret in the pod's namespace with the CHAP credentials; needed when CHAP is switched on.
    #[k8s(
        proto = 10,
        published = optional,
        when(chap_auth_discovery = "true")(required),
        when(chap_auth_session = "true")(required)
    )]
    pub secret_ref: Option<LocalObjectReference>,
    /// Initiator name to present to the target; a dedicated interface is created for it. Absent
    /// uses the name of the node.
    #[k8s(proto = 12, optional)]
    pub initiator_name: Option<String>,
}

/// An iSCSI disk backing a persistent volume; writable from one node only.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ISCSIPersistentVolumeSource {
    /// Address of the iSCSI portal as host or host:port; the port is 3260 unless stated.
    #[k8s(proto = 1, always, required)]
    pub target_portal: String,
    /// Qualified name of the iSCSI target.
    #[k8s(proto = 2, always, required, format = "iscsi-name")]
    pub iqn: String,
    /// Number of the logical unit at the target.
    #[k8s(proto = 3, always, format = "byte")]
    pub lun: i32,
    /// Name of the iSCSI interface on the node, i.e. its transport; `default` selects plain TCP.
    #[k8s(proto = 4, optional, default = "default", published = default)]
    pub iscsi_interface: String,
    /// Filesystem on the disk, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 5, optional)]
    pub fs_type: String,
    /// When true, the disk is mounted read-only; absent means false.
    #[k8s(proto = 6, optional)]
    pub read_only: bool,
    /// Further portal addresses of the same target, used for multipath access.
    #[k8s(proto = 7, optional, list_type = atomic)]
    pub portals: Vec<String>,
    /// When true, CHAP credentials are used while discovering targets.
    #[k8s(proto = 8, optional)]
    pub chap_auth_discovery: bool,
    /// When true, CHAP credentials are used for the session with the target.
    #[k8s(proto = 11, optional)]
    pub chap_auth_session: bool,
    /// Secret, given by name and namespace, with the CHAP credentials; needed when CHAP is switched
    /// on.
    #[k8s(
        proto = 10,
        published = optional,
        subfield(name)(required),
        when(chap_auth_discovery = "true")(required),
        when(chap_auth_session = "true")(required)
    )]
    pub secret_ref: Option<SecretReference>,
    /// Initiator name to present to the target; a dedicated interface is created for it. Absent
    /// uses the name of the node.
    #[k8s(proto = 12, optional)]
    pub initiator_name: Option<String>,
}

/// A Fibre Channel disk, found either by target names with a LUN or by world wide identifiers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FCVolumeSource {
    /// World wide names of the targets; `lun` has to be given with them.
    #[k8s(
        proto = 1,
        name = "targetWWNs",
        published = optional,
        list_type = atomic,
        when_unset(wwids)(required = "must specify either targetWWNs or wwids, but not both"),
        when_set(wwids)(message(invalid = "targetWWNs and wwids can not be specified simultaneously")(forbidden))
    )]
    pub target_wwns: Vec<String>,
    /// Number of the logical unit at the targets.
    #[k8s(
        proto = 2,
        published = optional,
        when_set(targetWWNs)(required = "lun is required if targetWWNs is specified", format = "byte")
    )]
    pub lun: Option<i32>,
    /// Filesystem on the disk, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 3, optional)]
    pub fs_type: String,
    /// When true, the disk is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
    /// World wide identifiers of the disk; use either these or targetWWNs with lun, never both.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub wwids: Vec<String>,
}

/// A Portworx volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PortworxVolumeSource {
    /// Identifier of the volume in Portworx.
    #[k8s(proto = 1, name = "volumeID", always, required)]
    pub volume_id: String,
    /// Filesystem on the volume, such as xfs; an empty value means ext4.
    #[k8s(proto = 2)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 3, optional)]
    pub read_only: bool,
}

/// A ScaleIO volume mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleIOVolumeSource {
    /// Where the ScaleIO gateway with its REST API can be reached.
    #[k8s(proto = 1, always, required)]
    pub gateway: String,
    /// ScaleIO storage system that owns the volume.
    #[k8s(proto = 2, always, required)]
    pub system: String,
    /// Secret in the pod's namespace with the ScaleIO user and password; logging in is impossible
    /// without it.
    #[k8s(proto = 3, always)]
    pub secret_ref: Option<LocalObjectReference>,
    /// When true, the gateway is contacted over TLS; absent means false.
    #[k8s(proto = 4, optional)]
    pub ssl_enabled: bool,
    /// Name of the ScaleIO protection domain that holds the storage.
    #[k8s(proto = 5, optional)]
    pub protection_domain: String,
    /// Storage pool within the protection domain.
    #[k8s(proto = 6, optional)]
    pub storage_pool: String,
    /// Provisioning style, ThickProvisioned or ThinProvisioned; defaults to ThinProvisioned.
    #[k8s(proto = 7, optional, default = "ThinProvisioned", published = default)]
    pub storage_mode: String,
    /// Name of a volume that already exists in ScaleIO.
    #[k8s(proto = 8, required, published = optional)]
    pub volume_name: String,
    /// Filesystem on the volume, such as ext4; defaults to xfs.
    #[k8s(proto = 9, optional, default = "xfs", published = default)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 10, optional)]
    pub read_only: bool,
}

/// A ScaleIO volume backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleIOPersistentVolumeSource {
    /// Where the ScaleIO gateway with its REST API can be reached.
    #[k8s(proto = 1, always, required)]
    pub gateway: String,
    /// ScaleIO storage system that owns the volume.
    #[k8s(proto = 2, always, required)]
    pub system: String,
    /// Secret, given by name and namespace, with the ScaleIO user and password; logging in is
    /// impossible without it.
    #[k8s(proto = 3, always)]
    pub secret_ref: Option<SecretReference>,
    /// When true, the gateway is contacted over TLS; absent means false.
    #[k8s(proto = 4, optional)]
    pub ssl_enabled: bool,
    /// Name of the ScaleIO protection domain that holds the storage.
    #[k8s(proto = 5, optional)]
    pub protection_domain: String,
    /// Storage pool within the protection domain.
    #[k8s(proto = 6, optional)]
    pub storage_pool: String,
    /// Provisioning style, ThickProvisioned or ThinProvisioned; defaults to ThinProvisioned.
    #[k8s(proto = 7, optional, default = "ThinProvisioned", published = default)]
    pub storage_mode: String,
    /// Name of a volume that already exists in ScaleIO.
    #[k8s(proto = 8, required, published = optional)]
    pub volume_name: String,
    /// Filesystem on the volume, such as ext4; defaults to xfs.
    #[k8s(proto = 9, optional, default = "xfs", published = default)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 10, optional)]
    pub read_only: bool,
}

/// A StorageOS volume mounted into a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageOSVolumeSource {
    /// Name of the volume, unique within its StorageOS namespace.
    #[k8s(proto = 1, required, format = "dns1123-label", published = optional)]
    pub volume_name: String,
    /// StorageOS namespace of the volume; absent means one named like the pod's namespace,
    /// `default` the StorageOS default.
    #[k8s(proto = 2, optional, format = "dns1123-label")]
    pub volume_namespace: String,
    /// Filesystem on the volume, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 3, optional)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
    /// Secret in the pod's namespace with the StorageOS API credentials; absent means default
    /// credentials are tried.
    #[k8s(proto = 5, optional, subfield(name)(required))]
    pub secret_ref: Option<LocalObjectReference>,
}

/// A StorageOS volume backing a persistent volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageOSPersistentVolumeSource {
    /// Name of the volume, unique within its StorageOS namespace.
    #[k8s(proto = 1, required, format = "dns1123-label", published = optional)]
    pub volume_name: String,
    /// StorageOS namespace of the volume; absent means one named like the pod's namespace,
    /// `default` the StorageOS default.
    #[k8s(proto = 2, optional, format = "dns1123-label")]
    pub volume_namespace: String,
    /// Filesystem on the volume, such as ext4 or xfs; absent means ext4.
    #[k8s(proto = 3, optional)]
    pub fs_type: String,
    /// When true, the volume is mounted read-only; absent means false.
    #[k8s(proto = 4, optional)]
    pub read_only: bool,
    /// Reference to the Secret with the StorageOS API credentials; absent means default credentials
    /// are tried.
    #[k8s(proto = 5, optional, subfield(name)(required), subfield(namespace)(required))]
    pub secret_ref: Option<ObjectReference>,
}
