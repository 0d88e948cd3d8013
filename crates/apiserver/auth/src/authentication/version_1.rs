//! Client certificates of X.509's first version, as `openssl x509 -req` makes them unless it is told otherwise.
//! Guarantees that one counts only when an authority itself signed it and it is valid now: without extensions it can limit
//! nothing, so nothing else is to be judged. Must never take such a certificate for an authority.

use super::der::{Malformed, SEQUENCE, VERSION, element, encode, expect, moment};
use rustls_pki_types::{SubjectPublicKeyInfoDer, TrustAnchor};
use std::time::SystemTime;
use webpki::RawPublicKeyEntity;

const BIT_STRING: u8 = 0x03;

/// What there is to judge in a certificate of the first version.
struct Certificate<'a> {
    /// What the authority signed.
    signed: &'a [u8],
    /// The algorithm it says so with, without its shell.
    algorithm: &'a [u8],
    signature: &'a [u8],
    /// The authority's name, without its shell.
    issuer: &'a [u8],
    not_before: SystemTime,
    not_after: SystemTime,
    key: &'a [u8],
}

impl<'a> Certificate<'a> {
    fn read(der: &'a [u8]) -> Result<Certificate<'a>, Malformed> {
        let (certificate, rest) = expect(der, SEQUENCE)?;
        let (tbs, after_tbs) = expect(certificate, SEQUENCE)?;
        let signed = certificate.strip_suffix(after_tbs).ok_or(Malformed)?;
        let (algorithm, after) = expect(after_tbs, SEQUENCE)?;
        let (bits, end) = expect(after, BIT_STRING)?;
        // Signatures are whole bytes.
        let signature = bits.strip_prefix(&[0]).ok_or(Malformed)?;
        if !rest.is_empty() || !end.is_empty() || tbs.first() == Some(&VERSION) {
            return Err(Malformed);
        }
        let (_, _, tbs) = element(tbs)?;
        let (inner_algorithm, tbs) = expect(tbs, SEQUENCE)?;
        let (issuer, tbs) = expect(tbs, SEQUENCE)?;
        let (validity, tbs) = expect(tbs, SEQUENCE)?;
        let (_, tbs) = expect(tbs, SEQUENCE)?;
        let (_, after_key) = expect(tbs, SEQUENCE)?;
        let key = tbs.strip_suffix(after_key).ok_or(Malformed)?;
        let (tag, begin, after_begin) = element(validity)?;
        let not_before = moment(tag, begin).ok_or(Malformed)?;
        let (tag, end, _) = element(after_begin)?;
        let not_after = moment(tag, end).ok_or(Malformed)?;
        // Later versions have more after the key.
        if inner_algorithm != algorithm || !after_key.is_empty() {
            return Err(Malformed);
        }
        Ok(Certificate { signed, algorithm, signature, issuer, not_before, not_after, key })
    }
}

/// Whether one of the authorities signed the certificate for now.
pub(super) fn is_trusted(der: &[u8], anchors: &[TrustAnchor<'_>], now: SystemTime) -> bool {
    let Ok(certificate) = Certificate::read(der) else { return false };
    let is_valid = certificate.not_before <= now && now <= certificate.not_after;
    let mut issuers = anchors.iter().filter(|anchor| {
        // An authority that may only speak for some names is not asked which: this certificate cannot show it.
        anchor.subject.as_ref() == certificate.issuer && anchor.name_constraints.is_none()
    });
    is_valid
        && issuers.any(|anchor| {
            let key = SubjectPublicKeyInfoDer::from(encode(SEQUENCE, anchor.subject_public_key_info.as_ref()));
            let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
            let algorithms = webpki::ALL_VERIFICATION_ALGS.iter();
            algorithms
                .filter(|algorithm| algorithm.signature_alg_id().as_ref() == certificate.algorithm)
                .any(|algorithm| key.verify_signature(*algorithm, certificate.signed, certificate.signature).is_ok())
        })
}

/// The public key of a certificate of the first version; `None` for every other certificate.
pub fn version_1_key(certificate: &[u8]) -> Option<Vec<u8>> {
    Certificate::read(certificate).ok().map(|certificate| certificate.key.to_vec())
}
