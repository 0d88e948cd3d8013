//! The `certificates.k8s.io` group: signing requests and trust bundles.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{NOT_SUPPORTED, Resource, Selectable, Served, Storage, Subresource, Verbs};
use crate::strategy::{GENERAL, NameRule, Part, SPEC_PATHS, STATUS, STATUS_PATHS, Strategy};
use pintle_types::certificates::{v1, v1alpha1, v1beta1};

pub(crate) static RESOURCES: &[&Resource] = &[&CERTIFICATE_SIGNING_REQUESTS, &CLUSTER_TRUST_BUNDLES, &POD_CERTIFICATE_REQUESTS, &CLUSTER_TRUST_BUNDLES_V1ALPHA1];

static CERTIFICATE_SIGNING_REQUEST_STRATEGY: Strategy = Strategy {
    name: NameRule::PathSegment,
    create_clears: &[&["status"], &["spec", "extra"]],
    update_keeps: &[&["spec"], &["status"]],
    reset_fields: &[&["spec"], &["status"]],
    // TODO prepareCreate: spec.username, uid, groups, extra overwritten from the requesting user
    // TODO prepareCreate: status = {conditions: []}
    // TODO prepareUpdate: spec and status kept (main resource only updates metadata)
    ..GENERAL
};

static CERTIFICATE_SIGNING_REQUEST_STATUS: Part = Part { reset_fields: SPEC_PATHS, /* Approved and Denied conditions kept from old */ prepare: None, /* other conditions, certificate taken; same timestamps rule */ prepare: None, ..STATUS };

static CLUSTER_TRUST_BUNDLE_STRATEGY: Strategy = Strategy {
    name: NameRule::None,
    unconditional_update: false,
    ..GENERAL
};

const CLUSTER_TRUST_BUNDLE_STORAGE: Storage = Storage::of::<v1beta1::ClusterTrustBundle>("certificates.k8s.io/v1beta1", "ClusterTrustBundle", "/registry/clustertrustbundles/", "v5yhuVertL4=");

static POD_CERTIFICATE_REQUEST_STRATEGY: Strategy = Strategy {
    unconditional_update: false,
    create_clears: STATUS_PATHS,
    update_keeps: STATUS_PATHS,
    ..GENERAL
};

static POD_CERTIFICATE_REQUEST_STATUS: Part = Part { keeps_metadata: true, ..STATUS };

static CERTIFICATE_SIGNING_REQUESTS: Resource = Resource {
    short_names: &["csr"],
    storage: Some(Storage::of::<v1::CertificateSigningRequest>("certificates.k8s.io/v1", "CertificateSigningRequest", "/registry/certificatesigningrequests/", "95fRKMXA+00=")),
    subresources: &[
        Subresource::OTHER("approval", "CertificateSigningRequest", Verbs::PART, null),
        Subresource::status::<v1::CertificateSigningRequest>("CertificateSigningRequest", &CERTIFICATE_SIGNING_REQUEST_STATUS),
    ],
    selectable: &[Selectable::path("spec.signerName", &["spec", "signerName"])],
    selector_refusal: NOT_SUPPORTED,
    strategy: &CERTIFICATE_SIGNING_REQUEST_STRATEGY,
    ..Resource::cluster::<v1::CertificateSigningRequest>("certificates.k8s.io", "v1", "certificatesigningrequests", "certificatesigningrequest", "CertificateSigningRequest")
};

static CLUSTER_TRUST_BUNDLES: Resource = Resource {
    served: Served::Gated("ClusterTrustBundle"),
    storage: Some(CLUSTER_TRUST_BUNDLE_STORAGE),
    selectable: &[Selectable::path("spec.signerName", &["spec", "signerName"])],
    selector_refusal: NOT_SUPPORTED,
    strategy: &CLUSTER_TRUST_BUNDLE_STRATEGY,
    ..Resource::cluster::<v1beta1::ClusterTrustBundle>("certificates.k8s.io", "v1beta1", "clustertrustbundles", "clustertrustbundle", "ClusterTrustBundle")
};

static POD_CERTIFICATE_REQUESTS: Resource = Resource {
    served: Served::Gated("PodCertificateRequest"),
    storage: Some(Storage::of::<v1beta1::PodCertificateRequest>("certificates.k8s.io/v1beta1", "PodCertificateRequest", "/registry/podcertificaterequests/", "wYA9yXQH8fg=")),
    subresources: &[
        Subresource::status::<v1beta1::PodCertificateRequest>("PodCertificateRequest", &POD_CERTIFICATE_REQUEST_STATUS),
    ],
    selectable: &[
        Selectable::path("spec.nodeName", &["spec", "nodeName"]),
        Selectable::path("spec.podName", &["spec", "podName"]),
        Selectable::path("spec.signerName", &["spec", "signerName"]),
        Selectable::refused("metadata.namespace"),
    ],
    selector_refusal: NOT_SUPPORTED,
    strategy: &POD_CERTIFICATE_REQUEST_STRATEGY,
    ..Resource::namespaced::<v1beta1::PodCertificateRequest>("certificates.k8s.io", "v1beta1", "podcertificaterequests", "podcertificaterequest", "PodCertificateRequest")
};

static CLUSTER_TRUST_BUNDLES_V1ALPHA1: Resource = Resource {
    served: Served::Gated("ClusterTrustBundle"),
    storage: Some(CLUSTER_TRUST_BUNDLE_STORAGE),
    selectable: &[Selectable::path("spec.signerName", &["spec", "signerName"])],
    selector_refusal: NOT_SUPPORTED,
    strategy: &CLUSTER_TRUST_BUNDLE_STRATEGY,
    deprecation: "certificates.k8s.io/v1alpha1 ClusterTrustBundle is deprecated in v1.34+, unavailable in v1.37+",
    ..Resource::cluster::<v1alpha1::ClusterTrustBundle>("certificates.k8s.io", "v1alpha1", "clustertrustbundles", "clustertrustbundle", "ClusterTrustBundle")
};
