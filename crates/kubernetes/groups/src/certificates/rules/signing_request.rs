//! Rules of CertificateSigningRequest.

use super::{pem, signer_name};
use crate::rules::{Repeats, items, text_in};
use pintle_schema::{Bytes, Value, View, base64};
use pintle_types::certificates::v1::{
    CertificateSigningRequest, CertificateSigningRequestCondition, CertificateSigningRequestStatus,
};
use pintle_validation::{At, ValidationContext, same};

const LEAST_SECONDS: i32 = 600;
const LEGACY_SIGNER: &str = "kubernetes.io/legacy-unknown";

fn text_of(data: &Value) -> String {
    let bytes = base64::decode(data.as_str().unwrap_or_default()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The request is a PEM block with a certificate request.
pub fn request(request: At<'_, Bytes>, cx: &mut ValidationContext<'_>) {
    let text = text_of(request.new.value());
    let blocks = pem::blocks(&text);
    let why = match blocks.first().filter(|block| block.kind == "CERTIFICATE REQUEST") {
        None => "PEM block type must be CERTIFICATE REQUEST",
        Some(block) if !pem::is_sequence(&block.data) => "asn1: structure error: tags don't match",
        Some(_) => return,
    };
    cx.errors.invalid(request.path, request.new.value().clone(), why);
}

/// The signer is named, and is none of those that sign anything.
pub fn signer(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    match name.new.as_str() {
        LEGACY_SIGNER => {
            let detail = "the legacy signerName is not allowed via this API version";
            cx.errors.invalid(name.path, LEGACY_SIGNER, detail);
        }
        text => signer_name::validate(text, name.path, cx),
    }
}

/// Certificates last for some time.
pub fn expiration(seconds: At<'_, Option<i32>>, cx: &mut ValidationContext<'_>) {
    if let Some(seconds) = seconds.new.some().map(View::get).filter(|seconds| *seconds < LEAST_SECONDS) {
        let detail = format!("may not specify a duration less than {LEAST_SECONDS} seconds (10 minutes)");
        cx.errors.invalid("spec.expirationSeconds", seconds, detail);
    }
}

/// Decisions are true, are made once, and do not contradict each other.
pub fn conditions(conditions: At<'_, Vec<CertificateSigningRequestCondition>>, cx: &mut ValidationContext<'_>) {
    type Condition = CertificateSigningRequestCondition;
    let list = items(conditions.new);
    let kind = |at: usize| text_in(list, at, Condition::TYPE);
    let mut repeats = Repeats::new(list.len(), kind);
    let (mut approved, mut denied) = (false, false);
    for at in 0..list.len() {
        let (path, kind) = (conditions.path.index(at), kind(at));
        if kind.is_empty() {
            cx.errors.required(path.to(Condition::TYPE), "");
        }
        let known: &[&str] = match kind {
            "Approved" | "Denied" | "Failed" => &["True"],
            _ => &["False", "True", "Unknown"],
        };
        match text_in(list, at, Condition::STATUS) {
            "" => cx.errors.required(path.to(Condition::STATUS), ""),
            status if known.contains(&status) => {}
            status => cx.errors.unknown_name(path.to(Condition::STATUS), status, known),
        }
        approved |= kind == "Approved";
        denied |= kind == "Denied";
        if approved && denied && matches!(kind, "Approved" | "Denied") {
            let detail = "Approved and Denied conditions are mutually exclusive";
            cx.errors.invalid(conditions.path, kind, detail);
            cx.errors.origin("zeroOrOneOf");
            cx.errors.covered();
        }
        if repeats.is_repeated(at) {
            cx.errors.duplicate(path.to(Condition::TYPE), kind);
        }
    }
}

/// The status has PEM blocks with certificates.
pub fn certificate(certificate: At<'_, Bytes>, cx: &mut ValidationContext<'_>) {
    let data = certificate.new.value();
    if data.is_zero() {
        return;
    }
    let text = text_of(data);
    let blocks = pem::blocks(&text);
    let wrong = blocks.iter().find_map(|block| match block.kind {
        "CERTIFICATE" if block.has_headers => Some("no PEM block headers are permitted".to_owned()),
        "CERTIFICATE" if !pem::is_sequence(&block.data) => Some("x509: malformed certificate".to_owned()),
        "CERTIFICATE" => None,
        other => Some(format!("only CERTIFICATE PEM blocks are allowed, found {other:?}")),
    });
    let none = || blocks.is_empty().then(|| "must contain at least one CERTIFICATE PEM block".to_owned());
    if let Some(why) = wrong.or_else(none) {
        cx.errors.invalid(certificate.path, "<certificate data>", why);
    }
}

/// Approval is given through its endpoint, the certificate through that of the status; neither is taken back.
pub fn each_part_by_its_endpoint(request: At<'_, CertificateSigningRequest>, cx: &mut ValidationContext<'_>) {
    type Status = CertificateSigningRequestStatus;
    let Some(old) = request.old.map(|old| old.field(CertificateSigningRequest::STATUS)) else { return };
    let new = request.new.field(CertificateSigningRequest::STATUS);
    let path = "status.conditions";
    let of = |status: View<'_, Status>, kind: &str| -> Vec<Value> {
        let all = items(status.field(Status::CONDITIONS)).iter();
        all.filter(|condition| condition.str_at(&[CertificateSigningRequestCondition::TYPE.name()]) == kind)
            .cloned()
            .collect()
    };
    for kind in ["Approved", "Denied", "Failed"] {
        let (before, now) = (of(old, kind), of(new, kind));
        if now.len() < before.len() {
            cx.errors.forbidden(path, format!("updates may not remove a condition of type {kind:?}"));
        }
    }
    if cx.request.subresource != "approval" {
        for kind in ["Approved", "Denied"] {
            let (before, now) = (of(old, kind), of(new, kind));
            if now.len() > before.len() {
                cx.errors.forbidden(path, format!("updates may not add a condition of type {kind:?}"));
            } else if now.len() == before.len() && !before.iter().zip(&now).all(|(before, now)| same(before, now)) {
                cx.errors.forbidden(path, format!("updates may not modify a condition of type {kind:?}"));
            }
        }
    }
    let (before, now) = (old.field(Status::CERTIFICATE).value(), new.field(Status::CERTIFICATE).value());
    if before == now || before.is_zero() && now.is_zero() {
        return;
    }
    if cx.request.subresource != "status" {
        cx.errors.forbidden("status.certificate", "updates may not set certificate content");
    } else if !before.is_zero() {
        cx.errors.forbidden("status.certificate", "updates may not modify existing certificate content");
    }
}
