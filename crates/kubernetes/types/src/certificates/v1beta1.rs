//! Types of `certificates.k8s.io/v1beta1`: certificate signing requests and trust bundles.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Bytes, Time, same_as};

use crate::core::v1::ConditionStatus;
use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        CertificateSigningRequest, CertificateSigningRequestList, CertificateSigningRequestStatus, ExtraValue,
        KeyUsage, RequestConditionType
    }
}

/// Certificate request plus the identity of its author.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestSpec {
    /// PKCS#10 request in a PEM `CERTIFICATE REQUEST` block.
    #[k8s(proto = 1, always)]
    pub request: Bytes,
    /// Signer that should issue the certificate, such as kubernetes.io/kubelet-serving.
    #[k8s(proto = 7, optional)]
    pub signer_name: Option<String>,
    /// Wanted validity in seconds, at least 600; the signer may choose otherwise.
    #[k8s(proto = 8, optional)]
    pub expiration_seconds: Option<i32>,
    /// Purposes the certificate's key should be good for.
    #[k8s(proto = 5, list_type = atomic)]
    pub usages: Vec<KeyUsage>,
    /// User that made the request; filled in by the server.
    #[k8s(proto = 2, optional)]
    pub username: String,
    /// UID of the requesting user; filled in by the server.
    #[k8s(proto = 3, optional)]
    pub uid: String,
    /// Groups of the requesting user; filled in by the server.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub groups: Vec<String>,
    /// Further attributes of the requesting user; filled in by the server.
    #[k8s(proto = 6, optional)]
    pub extra: BTreeMap<String, ExtraValue>,
}

/// One decision on a signing request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CertificateSigningRequestCondition {
    /// Decision made: Approved, Denied, Failed or a custom one.
    #[k8s(proto = 1, always)]
    pub r#type: RequestConditionType,
    /// True, False or Unknown; decisions themselves are always True.
    #[k8s(proto = 6, optional, always, default = "True")]
    pub status: ConditionStatus,
    /// One-word cause of the decision.
    #[k8s(proto = 2, optional)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 3, optional)]
    pub message: String,
    /// When this entry was last touched.
    #[k8s(proto = 4, optional)]
    pub last_update_time: Time,
    /// When the status last flipped.
    #[k8s(proto = 5, optional)]
    pub last_transition_time: Time,
}

/// Cluster-wide collection of trusted root certificates.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "certificates.k8s.io", plural = "clustertrustbundles", cluster))]
pub struct ClusterTrustBundle {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Certificates and the signer they belong to.
    #[k8s(proto = 2, always)]
    pub spec: ClusterTrustBundleSpec,
}

/// Trust anchors, optionally tied to a signer.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundleSpec {
    /// Signer these roots belong to; the object name must then start with it.
    #[k8s(proto = 1, optional)]
    pub signer_name: String,
    /// PEM blocks with the trusted X.509 certificates.
    #[k8s(proto = 2, always)]
    pub trust_bundle: String,
}

/// Collection of cluster trust bundles.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ClusterTrustBundleList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ClusterTrustBundle objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ClusterTrustBundle>,
}

/// Asks a signer for a certificate identifying a pod, usually sent by the kubelet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "certificates.k8s.io", plural = "podcertificaterequests", namespaced))]
pub struct PodCertificateRequest {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Pod identity and key to certify; immutable.
    #[k8s(proto = 2, published = required, always)]
    pub spec: PodCertificateRequestSpec,
    /// Issued certificate or refusal.
    #[k8s(proto = 3, optional)]
    pub status: PodCertificateRequestStatus,
}

/// Identity of the pod and the key to be certified.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodCertificateRequestSpec {
    /// Signer that should issue the certificate.
    #[k8s(proto = 1, published = required, always)]
    pub signer_name: String,
    /// Pod the certificate is for.
    #[k8s(proto = 2, published = required, always, format = "dns1123-subdomain")]
    pub pod_name: String,
    /// UID of that pod.
    #[k8s(
        proto = 3,
        name = "podUID",
        published = required,
        always,
        message(invalid = "must not be empty")(min_length = 1),
        max_bytes = 128
    )]
    pub pod_uid: String,
    /// Service account the pod runs as.
    #[k8s(proto = 4, published = required, always, format = "dns1123-subdomain")]
    pub service_account_name: String,
    /// UID of that service account.
    #[k8s(
        proto = 5,
        name = "serviceAccountUID",
        published = required,
        always,
        message(invalid = "must not be empty")(min_length = 1),
        max_bytes = 128
    )]
    pub service_account_uid: String,
    /// Node the pod was assigned to.
    #[k8s(proto = 6, published = required, always, format = "dns1123-subdomain")]
    pub node_name: String,
    /// UID of that node.
    #[k8s(
        proto = 7,
        name = "nodeUID",
        published = required,
        always,
        message(invalid = "must not be empty")(min_length = 1),
        max_bytes = 128
    )]
    pub node_uid: String,
    /// Longest acceptable validity in seconds; signers may issue shorter ones.
    #[k8s(proto = 8, published = optional, default = 86400, published = default, required = "must be set")]
    pub max_expiration_seconds: Option<i32>,
    /// Public key to certify, as DER-encoded PKIX; replaced by the PKCS#10 stub.
    #[k8s(proto = 9, optional, always)]
    pub pkix_public_key: Bytes,
    /// Signature over the pod UID showing the private key is held.
    #[k8s(proto = 10, optional, always)]
    pub proof_of_possession: Bytes,
    /// DER-encoded PKCS#10 request conveying the public key and proving possession.
    #[k8s(proto = 12, name = "stubPKCS10Request", always)]
    pub stub_pkcs10_request: Bytes,
    /// Hints from the pod author for the signer; they are not verified.
    #[k8s(proto = 11)]
    pub unverified_user_annotations: BTreeMap<String, String>,
}

/// Outcome of a pod certificate request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodCertificateRequestStatus {
    /// Whether the request was issued, denied or has failed.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
    /// Issued certificate with intermediates, in PEM form.
    #[k8s(proto = 2, optional)]
    pub certificate_chain: String,
    /// Start of the certificate's validity.
    #[k8s(proto = 4, optional)]
    pub not_before: Option<Time>,
    /// When to start asking for a replacement.
    #[k8s(proto = 5, optional)]
    pub begin_refresh_at: Option<Time>,
    /// End of the certificate's validity.
    #[k8s(proto = 6, optional)]
    pub not_after: Option<Time>,
}

/// Collection of pod certificate requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodCertificateRequestList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PodCertificateRequest objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PodCertificateRequest>,
}
