//! Rules of the certificates group that tags cannot say.
//!
//! Files for requests, for the names of signers and for PEM; this one is the table.

pub mod pem;
pub mod signer_name;
pub mod signing_request;

use pintle_schema::ApiType;
use pintle_types::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestSpec, CertificateSigningRequestStatus,
};
use pintle_validation::{Group, Hand, KindRules, Step, at_field, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

const UPDATE: &[Step] = &[
    Step::Metadata,
    Step::Rules,
    Step::MetadataUpdate,
    step!(CertificateSigningRequest, signing_request::each_part_by_its_endpoint),
];

static KINDS: &[KindRules] = &[KindRules {
    update: UPDATE,
    parts: &[("approval", UPDATE), ("status", UPDATE)],
    ..KindRules::of(CertificateSigningRequest::schema)
}];

static RULES: &[Hand] = &[
    at_field!(CertificateSigningRequestSpec::REQUEST, signing_request::request),
    at_field!(CertificateSigningRequestSpec::SIGNER_NAME, signing_request::signer),
    at_field!(CertificateSigningRequestSpec::EXPIRATION_SECONDS, signing_request::expiration),
    at_field!(CertificateSigningRequestStatus::CONDITIONS, signing_request::conditions),
    at_field!(CertificateSigningRequestStatus::CERTIFICATE, signing_request::certificate),
];
