//! Columns of the group `certificates.k8s.io`.
//!
//! A condition of these kinds counts if it exists, whatever its status is.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::duration::human_duration;
use pintle_schema::{Value, View};
use pintle_types::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestSpec,
    CertificateSigningRequestStatus, RequestConditionType,
};
use pintle_types::certificates::v1beta1::{
    ClusterTrustBundle, ClusterTrustBundleSpec, PodCertificateRequest, PodCertificateRequestSpec,
    PodCertificateRequestStatus,
};
use pintle_types::meta::v1::Condition;

printers! {
    CERTIFICATE_SIGNING_REQUEST: CertificateSigningRequest |request, now| {
        NAME => name(request),
        AGE => age(request, now),
        string("SignerName", "Who is to sign.")
            => text_or(request.to(CertificateSigningRequest::SPEC).to(CertificateSigningRequestSpec::SIGNER_NAME), NONE),
        string("Requestor", "User who asks.")
            => text(request.to(CertificateSigningRequest::SPEC).to(CertificateSigningRequestSpec::USERNAME)),
        string("RequestedDuration", "How long the certificate should be valid.") => requested_duration(request),
        string("Condition", "What was decided, and whether there is a certificate.") => decision(request),
    }
    CLUSTER_TRUST_BUNDLE: ClusterTrustBundle |bundle, now| {
        NAME => name(bundle),
        string("SignerName", "Signer whose certificates are trusted.")
            => text_or(bundle.to(ClusterTrustBundle::SPEC).to(ClusterTrustBundleSpec::SIGNER_NAME), NONE),
    }
    POD_CERTIFICATE_REQUEST: PodCertificateRequest |request, now| {
        NAME => name(request),
        string("PodName", "Pod that the certificate is for.")
            => text(request.to(PodCertificateRequest::SPEC).to(PodCertificateRequestSpec::POD_NAME)),
        string("ServiceAccountName", "Service account of the pod.")
            => text(request.to(PodCertificateRequest::SPEC).to(PodCertificateRequestSpec::SERVICE_ACCOUNT_NAME)),
        string("NodeName", "Node of the pod.")
            => text(request.to(PodCertificateRequest::SPEC).to(PodCertificateRequestSpec::NODE_NAME)),
        string("SignerName", "Who is to sign.")
            => text(request.to(PodCertificateRequest::SPEC).to(PodCertificateRequestSpec::SIGNER_NAME)),
        string("State", "What was decided.") => state(request),
        string("UnverifiedUserAnnotations", "What the pod's author tells the signer.")
            => labels(request.to(PodCertificateRequest::SPEC).to(PodCertificateRequestSpec::UNVERIFIED_USER_ANNOTATIONS)),
    }
}

fn requested_duration(request: View<'_, CertificateSigningRequest>) -> Value {
    let spec = request.to(CertificateSigningRequest::SPEC);
    match spec.to(CertificateSigningRequestSpec::EXPIRATION_SECONDS).get() {
        Some(seconds) => human_duration(seconds.into()).into(),
        None => NONE.into(),
    }
}

fn decision(request: View<'_, CertificateSigningRequest>) -> Value {
    let status = request.to(CertificateSigningRequest::STATUS);
    let has = |ty: RequestConditionType| {
        let conditions = status.to(CertificateSigningRequestStatus::CONDITIONS);
        find(conditions, CertificateSigningRequestCondition::TYPE, ty.as_str()).is_some()
    };
    let mut text = if has(RequestConditionType::DENIED) {
        "Denied"
    } else if has(RequestConditionType::APPROVED) {
        "Approved"
    } else {
        "Pending"
    }
    .to_owned();
    if has(RequestConditionType::FAILED) {
        text.push_str(",Failed");
    }
    if !str_of(status.to(CertificateSigningRequestStatus::CERTIFICATE)).is_empty() {
        text.push_str(",Issued");
    }
    text.into()
}

fn state(request: View<'_, PodCertificateRequest>) -> Value {
    let conditions = request.to(PodCertificateRequest::STATUS).to(PodCertificateRequestStatus::CONDITIONS);
    let types = conditions.iter().map(|condition| str_of(condition.to(Condition::TYPE)));
    types.filter(|ty| ["Issued", "Denied", "Failed"].contains(ty)).last().unwrap_or("Pending").into()
}
