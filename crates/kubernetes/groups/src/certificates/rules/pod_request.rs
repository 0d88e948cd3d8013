//! Rules of PodCertificateRequest: the requester, the duration, and one of two proofs of possession, which is verified. Guarantees
//! that a valid request was made by who has the private key. Must never look at an issued certificate.

use super::public_key::{CertificateRequest, Curve, PublicKey};
use super::signer_name;
use crate::rules::{immutable, invalid_each};
use pintle_schema::{Bytes, FieldName, Map, Value, View, base64, names};
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
    match proofs {
        [true, false, false] => certificate_request(spec, cx),
        [false, true, true] => public_key(spec, cx),
        _ => {
            let detail = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set";
            cx.errors.push(ErrorKind::Invalid, spec.path.to_string(), None, detail);
        }
    }
}

/// The most bytes of a key, a proof or a request.
const MOST_BYTES: usize = 10_240;

/// The bytes of a field; `None` if there are too many, which is reported.
fn bytes_of(spec: &At<'_, Spec>, field: FieldName<Spec, Bytes>, cx: &mut ValidationContext<'_>) -> Option<Vec<u8>> {
    let text = spec.new.field(field).value().as_str().unwrap_or_default();
    let bytes = base64::decode(text).unwrap_or_default();
    if bytes.len() > MOST_BYTES {
        cx.errors.too_long(spec.path.to(field), MOST_BYTES);
        return None;
    }
    Some(bytes)
}

/// A request is signed by the key that it contains, which is of a kind that signers take.
fn certificate_request(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let field = Spec::STUB_PKCS10_REQUEST;
    let Some(bytes) = bytes_of(&spec, field, cx) else { return };
    let fault = match CertificateRequest::parse(&bytes) {
        None => Some((None, "must be a valid PKCS#10 CSR")),
        Some(request) => {
            let unusable = unusable(&request.key, "elliptic public keys must use curve P256, P384, or P521", || None);
            unusable.or_else(|| (!request.is_signed()).then_some((None, "invalid signature")))
        }
    };
    if let Some((value, detail)) = fault {
        cx.errors.push(ErrorKind::Invalid, spec.path.to(field).to_string(), value, detail);
    }
}

/// A key of a kind that signers take has signed the UID of the pod.
fn public_key(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let (key, proof) = (Spec::PKIX_PUBLIC_KEY, Spec::PROOF_OF_POSSESSION);
    let Some(info) = bytes_of(&spec, key, cx) else { return };
    let Some(signature) = bytes_of(&spec, proof, cx) else { return };
    let shown = || Some(spec.new.field(key).value().clone());
    let uid = spec.new.field(Spec::POD_UID).as_str();
    let (field, value, detail) = match PublicKey::parse(&info) {
        Err(_) | Ok(PublicKey::Unknown) => (key, shown(), "must be a valid PKIX-serialized public key"),
        Ok(public) => match unusable(&public, "elliptic public keys must use curve P256 or P384", shown) {
            Some((value, detail)) => (key, value, detail),
            None if public.has_signed(uid.as_bytes(), &signature) => return,
            None => (proof, None, "could not verify proof-of-possession signature"),
        },
    };
    cx.errors.push(ErrorKind::Invalid, spec.path.to(field).to_string(), value, detail);
}

/// Why no signer takes a key: what is shown of it, and the text of the error.
fn unusable(
    key: &PublicKey<'_>,
    of_curve: &'static str,
    shown: impl FnOnce() -> Option<Value>,
) -> Option<(Option<Value>, &'static str)> {
    match key {
        PublicKey::Ec(Curve::P224, _) => Some((Some(Value::from("curve P-224")), of_curve)),
        PublicKey::Rsa { .. } => {
            let bits = key.rsa_bits().filter(|bits| ![3072, 4096].contains(bits))?;
            Some((Some(Value::from(format!("{bits}-bit modulus"))), "RSA keys must have modulus size 3072 or 4096"))
        }
        PublicKey::OtherKind | PublicKey::Unknown => {
            Some((shown(), "unknown public key type; supported types are Ed25519, ECDSA, and RSA"))
        }
        PublicKey::Ed25519(_) | PublicKey::Ec(..) => None,
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

#[cfg(test)]
mod tests {
    use super::super::public_key::tests::{UID, key};
    use super::*;
    use crate::rules::tests::validate;
    use pintle_schema::{ApiType, value};

    fn errors(fields: &[(&str, Vec<u8>)]) -> Vec<String> {
        let mut request = value!({
            "metadata": {"name": "a", "namespace": "default"},
            "spec": {
                "signerName": "example.com/a", "podName": "p", "podUID": (UID), "serviceAccountName": "s",
                "serviceAccountUID": "u", "nodeName": "n", "nodeUID": "u", "maxExpirationSeconds": 3600
            }
        });
        for (field, bytes) in fields {
            request.set_at(&["spec", field], base64::encode(bytes));
        }
        validate(PodCertificateRequest::schema(), &request, None, "")
    }

    #[test]
    fn possession_is_proved_by_a_signature() {
        let proved = |public: &str, proof: Vec<u8>| {
            errors(&[("pkixPublicKey", key(public, "public")), ("proofOfPossession", proof)])
        };
        for (name, proof) in
            [("ed25519", "proof"), ("p256", "proof"), ("p384", "proof"), ("p521", "proof"), ("rsa3072", "proof")]
        {
            assert_eq!(proved(name, key(name, proof)), [""; 0], "{name}");
            let other = if name == "p256" { "p384" } else { "p256" };
            let wrong = "spec.proofOfPossession: Invalid value: could not verify proof-of-possession signature";
            assert_eq!(proved(name, key(other, proof)), [wrong], "{name}");
        }
        for (name, why) in [
            ("rsa2048", "\"2048-bit modulus\": RSA keys must have modulus size 3072 or 4096"),
            ("p224", "\"curve P-224\": elliptic public keys must use curve P256 or P384"),
        ] {
            assert_eq!(proved(name, vec![1]), [format!("spec.pkixPublicKey: Invalid value: {why}")]);
        }
        let shown = base64::encode(&key("x25519", "public"));
        let why = "unknown public key type; supported types are Ed25519, ECDSA, and RSA";
        assert_eq!(proved("x25519", vec![1]), [format!("spec.pkixPublicKey: Invalid value: \"{shown}\": {why}")]);
        let malformed = errors(&[("pkixPublicKey", vec![1, 2, 3]), ("proofOfPossession", vec![1])]);
        let why = "must be a valid PKIX-serialized public key";
        assert_eq!(malformed, [format!("spec.pkixPublicKey: Invalid value: \"AQID\": {why}")]);
        for field in ["pkixPublicKey", "proofOfPossession"] {
            let mut fields = [("pkixPublicKey", vec![1]), ("proofOfPossession", vec![1])];
            fields
                .iter_mut()
                .filter(|(name, _)| *name == field)
                .for_each(|(_, bytes)| *bytes = vec![1; MOST_BYTES + 1]);
            assert_eq!(errors(&fields), [format!("spec.{field}: Too long: may not be more than 10240 bytes")]);
        }
    }

    #[test]
    fn a_certificate_request_is_signed_by_its_key() {
        let of = |bytes: Vec<u8>| errors(&[("stubPKCS10Request", bytes)]);
        for name in ["ed25519", "p256", "p384", "p521", "rsa3072"] {
            assert_eq!(of(key(name, "request")), [""; 0], "{name}");
            let mut changed = key(name, "request");
            // The name of the subject is empty; the version is not.
            changed.iter_mut().last().into_iter().for_each(|byte| *byte ^= 1);
            assert_eq!(of(changed), ["spec.stubPKCS10Request: Invalid value: invalid signature"], "{name}");
        }
        for (bytes, why) in [
            (key("rsa2048", "request"), "\"2048-bit modulus\": RSA keys must have modulus size 3072 or 4096"),
            (key("p224", "request"), "\"curve P-224\": elliptic public keys must use curve P256, P384, or P521"),
            (vec![1], "must be a valid PKCS#10 CSR"),
        ] {
            assert_eq!(of(bytes), [format!("spec.stubPKCS10Request: Invalid value: {why}")]);
        }
        let long = of(vec![1; MOST_BYTES + 1]);
        assert_eq!(long, ["spec.stubPKCS10Request: Too long: may not be more than 10240 bytes"]);
    }
}
