//! Handwritten rules of the certificates group.
//!
//! Files for requests, for names of signers, for PEM and for keys; this one is the table.

mod der;
pub mod pem;
mod pod_request;
pub mod private_key;
pub mod public_key;
pub mod signer_name;
pub mod signing_request;
mod trust_bundle;

use pintle_schema::ApiType;
use pintle_types::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use pintle_types::certificates::v1beta1::{
    ClusterTrustBundle, ClusterTrustBundleSpec, PodCertificateRequest, PodCertificateRequestSpec,
    PodCertificateRequestStatus,
};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order, pass};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

const UPDATE: &[Pass] = &[
    Pass::Metadata,
    Pass::Rules,
    Pass::MetadataUpdate,
    pass!(CertificateSigningRequest, signing_request::each_part_by_its_endpoint),
];

static KINDS: &[KindRules] = &[
    KindRules {
        update: UPDATE,
        parts: &[("approval", UPDATE), ("status", UPDATE)],
        ..KindRules::of(CertificateSigningRequest::schema)
    },
    KindRules {
        create: &[pass!(ClusterTrustBundle, trust_bundle::name), Pass::Metadata, Pass::Rules],
        update: &[
            pass!(ClusterTrustBundle, trust_bundle::name),
            Pass::Metadata,
            Pass::Rules,
            Pass::MetadataUpdate,
            pass!(ClusterTrustBundle, trust_bundle::keeps_signer),
        ],
        ..KindRules::of(ClusterTrustBundle::schema)
    },
    KindRules {
        update: &[Pass::MetadataUpdate, pass!(PodCertificateRequest, pod_request::keeps_spec)],
        parts: &[(
            "status",
            &[
                Pass::MetadataUpdate,
                Pass::Field(PodCertificateRequest::STATUS.name()),
                pass!(PodCertificateRequest, pod_request::is_answered_once),
            ],
        )],
        ..KindRules::of(PodCertificateRequest::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(PodCertificateRequestSpec: [SIGNER_NAME, UNVERIFIED_USER_ANNOTATIONS]),
    field_order!(CertificateSigningRequestSpec: [REQUEST, USAGES]),
];

static RULES: &[CustomRule] = &[
    at_field!(CertificateSigningRequestSpec::REQUEST, signing_request::request),
    at_field!(CertificateSigningRequestSpec::SIGNER_NAME, signing_request::signer),
    at_field!(CertificateSigningRequestSpec::EXPIRATION_SECONDS, signing_request::expiration),
    at_field!(CertificateSigningRequestStatus::CONDITIONS, signing_request::conditions),
    at_field!(CertificateSigningRequestStatus::CERTIFICATE, signing_request::certificate),
    at_field!(ClusterTrustBundleSpec::SIGNER_NAME, trust_bundle::validate_signer),
    at_field!(ClusterTrustBundleSpec::TRUST_BUNDLE, trust_bundle::certificates),
    at_field!(PodCertificateRequestSpec::SIGNER_NAME, pod_request::signer),
    at_field!(PodCertificateRequestSpec::UNVERIFIED_USER_ANNOTATIONS, pod_request::annotations),
    at_field!(PodCertificateRequestSpec::MAX_EXPIRATION_SECONDS, pod_request::expiration),
    at_type!(PodCertificateRequestSpec, pod_request::one_proof, phase = After),
    at_field!(PodCertificateRequestStatus::CONDITIONS, crate::rules::condition::conditions),
];
