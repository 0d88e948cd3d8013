//! Client certificates that webpki does not verify: of X.509 version 1, as `openssl x509 -req` makes them by default, and those
//! of authorities, as `openssl req -x509` makes them.
//! Guarantees that one is trusted only if a trusted authority itself signed it, it is valid now and may authenticate clients.
//! Must never treat such a certificate as an authority.

use super::authority::Authority;
use rustls_pki_types::SubjectPublicKeyInfoDer;
use std::time::SystemTime;
use webpki::RawPublicKeyEntity;
use x509_parser::asn1_rs::Sequence;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::ParsedExtension;
use x509_parser::prelude::FromDer;
use x509_parser::time::ASN1Time;
use x509_parser::x509::X509Version;

/// `None` for every other certificate.
fn version_1(der: &[u8]) -> Option<X509Certificate<'_>> {
    let (rest, certificate) = X509Certificate::from_der(der).ok()?;
    let tbs = &certificate.tbs_certificate;
    // Later versions have more after the key.
    let has_more = !tbs.extensions().is_empty() || tbs.issuer_uid.is_some() || tbs.subject_uid.is_some();
    let is_consistent = rest.is_empty() && certificate.signature_algorithm == tbs.signature;
    (is_consistent && certificate.version() == X509Version::V1 && !has_more).then_some(certificate)
}

/// The certificate of an authority that may authenticate clients; `None` for every other certificate.
fn authority(der: &[u8]) -> Option<X509Certificate<'_>> {
    let (rest, certificate) = X509Certificate::from_der(der).ok()?;
    let is_consistent = rest.is_empty() && certificate.signature_algorithm == certificate.tbs_certificate.signature;
    let is_understood = certificate.extensions().iter().all(|extension| {
        let is_known = matches!(
            extension.parsed_extension(),
            ParsedExtension::BasicConstraints(_)
                | ParsedExtension::KeyUsage(_)
                | ParsedExtension::ExtendedKeyUsage(_)
                | ParsedExtension::SubjectAlternativeName(_)
        );
        is_known || !extension.critical
    });
    let usage = certificate.extended_key_usage().ok()?;
    let is_for_clients = usage.is_none_or(|usage| usage.value.any || usage.value.client_auth);
    (is_consistent && certificate.is_ca() && is_understood && is_for_clients).then_some(certificate)
}

/// Whether one of the authorities signed the certificate and it is valid now.
pub(super) fn is_trusted(der: &[u8], authorities: &[Authority], now: SystemTime) -> bool {
    verify(der, authorities, now).is_some()
}

fn verify(der: &[u8], authorities: &[Authority], now: SystemTime) -> Option<()> {
    let certificate = version_1(der).or_else(|| authority(der))?;
    let now = now.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    let now = ASN1Time::from_timestamp(i64::try_from(now).ok()?).ok()?;
    if !certificate.validity().is_valid_at(now) || certificate.signature_value.unused_bits != 0 {
        return None;
    }
    let signed = certificate.tbs_certificate.as_ref();
    // The algorithm as it is encoded, which is how webpki names algorithms.
    let (_, outer) = Sequence::from_der(der).ok()?;
    let (_, algorithm) = Sequence::from_der(outer.content.strip_prefix(signed)?).ok()?;
    let algorithms = webpki::ALL_VERIFICATION_ALGS.iter();
    let algorithms = algorithms.filter(|known| known.signature_alg_id().as_ref() == &*algorithm.content);
    let signature = &*certificate.signature_value.data;
    let issued = |authority: &&Authority| {
        // An authority with constraints on names is not trusted: this certificate cannot show that they hold.
        authority.anchor.name_constraints.is_none() && authority.is_named(certificate.issuer())
    };
    let mut keys = authorities.iter().filter(issued).filter_map(Authority::public_key);
    let is_signed = keys.any(|key| {
        let key = SubjectPublicKeyInfoDer::from(key);
        let Ok(key) = RawPublicKeyEntity::try_from(&key) else { return false };
        algorithms.clone().any(|algorithm| key.verify_signature(*algorithm, signed, signature).is_ok())
    });
    is_signed.then_some(())
}

/// The public key of a certificate, for those that webpki does not read: of version 1, or with critical extensions that it does
/// not know. Who owns the key is not trusted for that.
pub fn public_key(certificate: &[u8]) -> Option<Vec<u8>> {
    let (rest, certificate) = X509Certificate::from_der(certificate).ok()?;
    rest.is_empty().then(|| certificate.public_key().raw.to_vec())
}
