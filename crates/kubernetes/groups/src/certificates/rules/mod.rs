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
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

const UPDATE: &[Step] = &[
    Step::Metadata,
    Step::Rules,
    Step::MetadataUpdate,
    step!(CertificateSigningRequest, signing_request::each_part_by_its_endpoint),
];

static KINDS: &[KindRules] = &[
    KindRules {
        update: UPDATE,
        parts: &[("approval", UPDATE), ("status", UPDATE)],
        ..KindRules::of(CertificateSigningRequest::schema)
    },
    KindRules {
        create: &[step!(ClusterTrustBundle, trust_bundle::name), Step::Metadata, Step::Rules],
        update: &[
            step!(ClusterTrustBundle, trust_bundle::name),
            Step::Metadata,
            Step::Rules,
            Step::MetadataUpdate,
            step!(ClusterTrustBundle, trust_bundle::keeps_signer),
        ],
        ..KindRules::of(ClusterTrustBundle::schema)
    },
    KindRules {
        update: &[Step::MetadataUpdate, step!(PodCertificateRequest, pod_request::keeps_spec)],
        parts: &[(
            "status",
            &[
                Step::MetadataUpdate,
                Step::Field(PodCertificateRequest::STATUS.name()),
                step!(PodCertificateRequest, pod_request::is_answered_once),
            ],
        )],
        ..KindRules::of(PodCertificateRequest::schema)
    },
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
    at_type!(PodCertificateRequestSpec, pod_request::one_proof, AFTER),
    at_field!(PodCertificateRequestStatus::CONDITIONS, crate::rules::condition::conditions),
];
