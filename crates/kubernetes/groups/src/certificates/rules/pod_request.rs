//! Rules of PodCertificateRequest: the requester, the duration, and one of two proofs of possession. The proofs
//! themselves are not verified here.

use super::signer_name;
use crate::rules::{immutable, invalid_each};
use pintle_schema::{Map, View, names};
use pintle_types::certificates::v1beta1::{
    PodCertificateRequest, PodCertificateRequestSpec, PodCertificateRequestStatus,
};
use pintle_types::meta::v1::Condition;
use pintle_validation::{At, ErrorKind, ValidationContext, same};
use std::collections::BTreeMap;

type Spec = PodCertificateRequestSpec;

pub fn signer(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    signer_name::validate(name.new.as_str(), name.path, cx);
}

/// Keys as annotations have them.
pub fn annotations(annotations: At<'_, BTreeMap<String, String>>, cx: &mut ValidationContext<'_>) {
    for key in annotations.new.value().as_map().into_iter().flat_map(Map::keys) {
        if invalid_each(key, names::label_key(&key.to_lowercase()), annotations.path, cx) && !key.contains('/') {
            let detail = "must be a domain-prefixed key (such as \"acme.io/foo\")";
            cx.errors.invalid(annotations.path, key.clone(), detail);
        }
    }
}

/// For an hour at least, and for longer from signers of one's own.
pub fn expiration(seconds: At<'_, Option<i32>>, cx: &mut ValidationContext<'_>) {
    const LEAST: i32 = 3600;
    const MOST_OF_KUBERNETES: i32 = 86_400;
    const MOST: i32 = 7_862_400;
    let Some(asked) = seconds.new.get() else { return };
    let spec = cx.root::<PodCertificateRequest>().field(PodCertificateRequest::SPEC);
    let domain = spec.field(Spec::SIGNER_NAME).as_str().split('/').next().unwrap_or_default();
    let is_kubernetes = domain == "kubernetes.io" || domain.ends_with(".kubernetes.io");
    let most = if is_kubernetes { MOST_OF_KUBERNETES } else { MOST };
    if !(LEAST..=most).contains(&asked) {
        cx.errors.invalid(seconds.path, asked, format!("must be in the range [{LEAST}, {most}]"));
    }
}

/// One way of proving that the key is one's own.
pub fn one_proof(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    if !spec.new.field(Spec::MAX_EXPIRATION_SECONDS).is_set() {
        return;
    }
    let is_there = |field| !spec.new.field(field).value().is_zero();
    let proofs = [Spec::STUB_PKCS10_REQUEST, Spec::PKIX_PUBLIC_KEY, Spec::PROOF_OF_POSSESSION].map(is_there);
    if !matches!(proofs, [true, false, false] | [false, true, true]) {
        let detail = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
        cx.errors.push(ErrorKind::Invalid, spec.path.to_string(), None, detail);
    }
}

/// A request is issued, denied or failed once. The content of a certificate is not validated here.
pub fn is_answered_once(request: At<'_, PodCertificateRequest>, cx: &mut ValidationContext<'_>) {
    const ANSWERS: &[&str] = &["Issued", "Denied", "Failed"];
    let Some(old) = request.old.map(|old| old.field(PodCertificateRequest::STATUS)) else { return };
    let new = request.new.field(PodCertificateRequest::STATUS);
    let answer = |status: View<'_, PodCertificateRequestStatus>| {
        let conditions = status.field(PodCertificateRequestStatus::CONDITIONS);
        let known = |condition: View<'_, Condition>| {
            ANSWERS.iter().position(|known| *known == condition.field(Condition::TYPE).as_str())
        };
        conditions.iter().find_map(known)
    };
    let detail = match (answer(old), answer(new)) {
        (Some(_), _) => "immutable after PodCertificateRequest is issued, denied, or failed",
        (None, None) => "status is immutable unless transitioning to \"Issued\", \"Denied\", or \"Failed\"",
        (None, Some(_)) => return,
    };
    if !same(new.value(), old.value()) {
        let path = request.path.to(PodCertificateRequest::STATUS);
        cx.errors.push(ErrorKind::Invalid, path.to_string(), None, detail);
    }
}

/// The spec is immutable.
pub fn keeps_spec(request: At<'_, PodCertificateRequest>, cx: &mut ValidationContext<'_>) {
    request.field(PodCertificateRequest::SPEC, |spec| immutable(spec, cx));
}
