//! Types of `v1`: objects of the API shown as files.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::ApiType;

use super::{LocalObjectReference, ObjectFieldSelector, ResourceFieldSelector};
use crate::meta::v1::LabelSelector;

/// Presents a Secret as a directory with one file per key, held in memory on the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SecretVolumeSource {
    /// Name of the Secret, in the namespace of the pod.
    #[k8s(proto = 1, required, published = optional)]
    pub secret_name: String,
    /// Keys to include and the paths they get. Absent includes all keys; naming a missing key
    /// blocks the pod unless `optional` is set.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub items: Vec<KeyToPath>,
    /// Permission bits of the files created, 0 to 0777, in JSON as a decimal number; defaults to
    /// 0644.
    #[k8s(proto = 3, optional, default = 420, format = "file-mode")]
    pub default_mode: Option<i32>,
    /// When true, the pod may start although the Secret or one of the listed keys does not exist.
    #[k8s(proto = 4, optional)]
    pub optional: Option<bool>,
}

/// Contributes the keys of a Secret to a projected volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(name)(required))]
pub struct SecretProjection {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// Keys to include and the paths they get. Absent includes all keys; naming a missing key
    /// blocks the pod unless `optional` is set.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub items: Vec<KeyToPath>,
    /// When true, the pod may start although the Secret or one of the listed keys does not exist.
    #[k8s(proto = 4, optional)]
    pub optional: Option<bool>,
}

/// Presents a ConfigMap as a directory with one file per key.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(name)(required))]
pub struct ConfigMapVolumeSource {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// Keys to include and the paths they get. Absent includes all keys; naming a missing key
    /// blocks the pod unless `optional` is set.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub items: Vec<KeyToPath>,
    /// Permission bits of the files created, 0 to 0777, in JSON as a decimal number; defaults to
    /// 0644.
    #[k8s(proto = 3, optional, default = 420, format = "file-mode")]
    pub default_mode: Option<i32>,
    /// When true, the pod may start although the ConfigMap or one of the listed keys does not
    /// exist.
    #[k8s(proto = 4, optional)]
    pub optional: Option<bool>,
}

/// Contributes the keys of a ConfigMap to a projected volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(name)(required))]
pub struct ConfigMapProjection {
    /// Points to an object in the same namespace, whose type is known from context.
    #[k8s(inline, proto = 1)]
    pub local_object_reference: LocalObjectReference,
    /// Keys to include and the paths they get. Absent includes all keys; naming a missing key
    /// blocks the pod unless `optional` is set.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub items: Vec<KeyToPath>,
    /// When true, the pod may start although the ConfigMap or one of the listed keys does not
    /// exist.
    #[k8s(proto = 4, optional)]
    pub optional: Option<bool>,
}

/// Contributes a short-lived, automatically renewed token of the pod's service account to a
/// projected volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceAccountTokenProjection {
    /// Recipient the token is meant for, who should reject tokens made out to others; absent means
    /// the API server.
    #[k8s(proto = 1, optional)]
    pub audience: String,
    /// Requested lifetime of the token in seconds, at least 600; defaults to 3600. The node renews
    /// it well before it ends.
    #[k8s(
        proto = 2,
        optional,
        default = 3600,
        message(invalid = "may not specify a duration less than 10 minutes")(minimum = 600),
        message(invalid = "may not specify a duration larger than 2^32 seconds")(maximum = 4_294_967_296)
    )]
    pub expiration_seconds: Option<i64>,
    /// File to write the token to, relative to the root of the volume.
    #[k8s(proto = 3, always)]
    pub path: String,
}

/// Contributes the trust anchors of one or several ClusterTrustBundles, merged and deduplicated, as
/// a PEM file.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundleProjection {
    /// Selects a single bundle by its name; excludes signerName and labelSelector.
    #[k8s(proto = 1, optional)]
    pub name: Option<String>,
    /// Selects all bundles of this signer, further narrowed by labelSelector; excludes name.
    #[k8s(proto = 2, optional)]
    pub signer_name: Option<String>,
    /// Label query over the signer's bundles. Absent matches no bundle, an empty selector matches
    /// all of them.
    #[k8s(proto = 3, optional, opaque_type)]
    pub label_selector: Option<LabelSelector>,
    /// When true, the pod may start although no matching bundle exists; otherwise it waits for one.
    #[k8s(proto = 5, optional)]
    pub optional: Option<bool>,
    /// File to write the certificates to, relative to the root of the volume.
    #[k8s(proto = 4, always, required, format = "unreserved-path")]
    pub path: String,
}

/// Contributes a private key and an X.509 certificate issued for the pod, both renewed by the node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodCertificateProjection {
    /// Signer from which the certificate is requested.
    #[k8s(proto = 1, published = required)]
    pub signer_name: String,
    /// Sort of key pair the node generates: ED25519, ECDSAP256, ECDSAP384, ECDSAP521, RSA3072 or
    /// RSA4096.
    #[k8s(
        proto = 2,
        published = required,
        enum("ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519", "RSA3072", "RSA4096")
    )]
    pub key_type: String,
    /// Longest certificate lifetime accepted, in seconds, from 3600 (one hour) to 7862400 (91
    /// days); absent means 86400. Signers may issue shorter ones.
    #[k8s(proto = 3, optional, message(invalid = "if provided, maxExpirationSeconds must be >= 3600")(minimum = 3600))]
    pub max_expiration_seconds: Option<i32>,
    /// File, relative to the volume root, that gets key and certificate chain together as PEM, so
    /// that both change in one step.
    #[k8s(proto = 4, optional, format = "unreserved-path")]
    pub credential_bundle_path: String,
    /// File for the private key alone, relative to the volume root. Applications must cope with key
    /// and chain being replaced separately.
    #[k8s(proto = 5, optional, format = "unreserved-path")]
    pub key_path: String,
    /// File for the certificate chain alone, relative to the volume root. Applications must cope
    /// with key and chain being replaced separately.
    #[k8s(proto = 6, optional, format = "unreserved-path")]
    pub certificate_chain_path: String,
    /// Extra information for the signer, copied into the certificate request; keys must be
    /// domain-prefixed as the signer documents.
    #[k8s(proto = 7)]
    pub user_annotations: BTreeMap<String, String>,
}

/// Merges several data sources into a single directory.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ProjectedVolumeSource {
    /// Parts that make up the directory; each entry states exactly one kind of source.
    #[k8s(proto = 1, optional, always, list_type = atomic)]
    pub sources: Vec<VolumeProjection>,
    /// Permission bits of the files created, 0 to 0777, in JSON as a decimal number; defaults to
    /// 0644.
    #[k8s(proto = 2, optional, default = 420, format = "file-mode")]
    pub default_mode: Option<i32>,
}

/// One part of a projected volume; exactly one of the members must be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct VolumeProjection {
    /// Adds keys of a Secret.
    #[k8s(proto = 1, optional)]
    pub secret: Option<SecretProjection>,
    /// Adds metadata and resource figures of the pod itself.
    #[k8s(proto = 2, name = "downwardAPI", optional)]
    pub downward_api: Option<DownwardAPIProjection>,
    /// Adds keys of a ConfigMap.
    #[k8s(proto = 3, optional)]
    pub config_map: Option<ConfigMapProjection>,
    /// Adds a renewable token of the pod's service account.
    #[k8s(proto = 4, optional)]
    pub service_account_token: Option<ServiceAccountTokenProjection>,
    /// Adds the trust anchors of one or more ClusterTrustBundles, kept up to date.
    #[k8s(proto = 5, optional, gate = pintle_gates::CLUSTER_TRUST_BUNDLE_PROJECTION)]
    pub cluster_trust_bundle: Option<ClusterTrustBundleProjection>,
    /// Adds a private key and certificate issued for the pod, renewed automatically.
    #[k8s(proto = 6, optional, gate = pintle_gates::POD_CERTIFICATE_REQUEST)]
    pub pod_certificate: Option<PodCertificateProjection>,
}

/// Places one key of a Secret or ConfigMap at a chosen file path.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct KeyToPath {
    /// Key whose value is written.
    #[k8s(proto = 1, always, required)]
    pub key: String,
    /// Where to write it, relative to the volume root; absolute paths and `..` are refused.
    #[k8s(proto = 2, always, required, format = "unreserved-path")]
    pub path: String,
    /// Permission bits of this file, 0 to 0777, in JSON as a decimal number; absent means the
    /// default mode of the volume.
    #[k8s(proto = 3, optional, format = "file-mode")]
    pub mode: Option<i32>,
}

/// A volume whose files hold information about the pod itself.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DownwardAPIVolumeSource {
    /// Files to provide.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub items: Vec<DownwardAPIVolumeFile>,
    /// Permission bits for files that set none of their own, 0 to 0777 octal (511 decimal);
    /// defaults to 0644. JSON takes decimal only.
    #[k8s(proto = 2, optional, default = 420, format = "file-mode")]
    pub default_mode: Option<i32>,
}

/// One file holding a piece of information about the pod; exactly one of fieldRef and
/// resourceFieldRef has to be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DownwardAPIVolumeFile {
    /// Path of the file relative to the volume; it must not be absolute or contain "..".
    #[k8s(proto = 1, always)]
    pub path: String,
    /// Field of the pod to show: its name, namespace, UID, labels or annotations.
    #[k8s(proto = 2, optional)]
    pub field_ref: Option<ObjectFieldSelector>,
    /// Request or limit of a container to show.
    #[k8s(proto = 3, optional)]
    pub resource_field_ref: Option<ResourceFieldSelector>,
    /// Permission bits of the file, 0 to 0777 octal (511 decimal); absent uses the volume's
    /// default. JSON takes decimal only.
    #[k8s(proto = 4, optional)]
    pub mode: Option<i32>,
}

/// Adds information about the pod itself to a projected volume.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DownwardAPIProjection {
    /// Files to provide.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub items: Vec<DownwardAPIVolumeFile>,
}
