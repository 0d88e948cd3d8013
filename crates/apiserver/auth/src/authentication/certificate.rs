//! Reads the subject and the validity of certificates, and the subject of signing requests.
//! Guarantees that a value of a name that is not text is an error, not a guess.
//! Must never be the reason to trust a certificate.

use std::time::{Duration, SystemTime};

use x509_parser::asn1_rs::{Any, Oid, Tag};
use x509_parser::certificate::X509Certificate;
use x509_parser::certification_request::X509CertificationRequest;
use x509_parser::oid_registry::{OID_X509_COMMON_NAME, OID_X509_ORGANIZATION_NAME};
use x509_parser::prelude::FromDer;
use x509_parser::x509::X509Name;

/// 1.3.6.1.4.1.57683.2, the attribute of a user's uid.
const USER_UID: &[u8] = &[0x2b, 0x06, 0x01, 0x04, 0x01, 0x83, 0xc2, 0x53, 0x02];

/// The attributes of a subject that identify a user.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The last common name; empty when there is none.
    pub common_name: String,
    pub organizations: Vec<String>,
    pub uids: Vec<String>,
}

/// The subject of a certificate in DER; `None` if it is malformed.
pub(super) fn subject(certificate: &[u8]) -> Option<Subject> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    Subject::of(certificate.subject())
}

/// The subject of a signing request (PKCS#10, in DER); `None` if it is malformed.
pub fn subject_of_request(request: &[u8]) -> Option<Subject> {
    let (_, request) = X509CertificationRequest::from_der(request).ok()?;
    Subject::of(&request.certification_request_info.subject)
}

impl Subject {
    /// `None` when any attribute is not text.
    fn of(name: &X509Name<'_>) -> Option<Subject> {
        let mut subject = Subject::default();
        for attribute in name.iter_attributes() {
            let (oid, value) = (attribute.attr_type(), text(attribute.attr_value())?);
            if *oid == OID_X509_COMMON_NAME {
                subject.common_name = value;
            } else if *oid == OID_X509_ORGANIZATION_NAME {
                subject.organizations.push(value);
            } else if *oid == Oid::new(USER_UID.into()) {
                subject.uids.push(value);
            }
        }
        Some(subject)
    }
}

/// The time after which a certificate (in DER) is no longer valid; `None` if it is malformed.
pub fn not_after(certificate: &[u8]) -> Option<SystemTime> {
    let (_, certificate) = X509Certificate::from_der(certificate).ok()?;
    let seconds = u64::try_from(certificate.validity().not_after.timestamp()).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// The text of the string types that names may have.
fn text(value: &Any<'_>) -> Option<String> {
    let bytes = value.data;
    match value.tag() {
        Tag::Utf8String => String::from_utf8(bytes.to_vec()).ok(),
        Tag::NumericString | Tag::PrintableString | Tag::Ia5String => {
            str::from_utf8(bytes).ok().filter(|text| text.is_ascii()).map(str::to_owned)
        }
        // Latin-1 in practice, whatever the standard says.
        Tag::TeletexString => Some(bytes.iter().map(|byte| char::from(*byte)).collect()),
        Tag::BmpString => {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
            let text = char::decode_utf16(units).collect::<Result<String, _>>();
            text.ok().filter(|_| rest.is_empty())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_names() {
        let rows: [(u32, &[u8], Option<&str>); 8] = [
            (0x0c, "grün".as_bytes(), Some("grün")),
            (0x0c, b"\xff", None),
            (0x13, b"abc", Some("abc")),
            (0x13, b"\xe9", None),
            (0x14, b"\xe9", Some("é")),
            (0x1e, b"\x00a\x54\x0d", Some("a名")),
            (0x1e, b"\x00a\x54", None),
            (0x03, b"abc", None),
        ];
        for (tag, bytes, expected) in rows {
            assert_eq!(text(&Any::from_tag_and_data(Tag(tag), bytes)).as_deref(), expected, "{tag:#x} {bytes:?}");
        }
    }

    #[test]
    fn not_after_of_a_certificate() {
        // (year, month, day, seconds since 1970)
        let rows = [
            (1970, 1, 1, 0),
            (2000, 2, 29, 951_782_400),
            (2024, 3, 1, 1_709_251_200),
            (2049, 12, 31, 2_524_521_600),
            (2050, 1, 1, 2_524_608_000),
            (2100, 3, 1, 4_107_542_400),
        ];
        let key = rcgen::KeyPair::generate().expect("key");
        for (year, month, day, seconds) in rows {
            let mut params = rcgen::CertificateParams::default();
            params.not_before = rcgen::date_time_ymd(1970, 1, 1);
            params.not_after = rcgen::date_time_ymd(year, month, day);
            let cert = params.self_signed(&key).expect("signed");
            let expected = SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
            assert_eq!(not_after(cert.der()), Some(expected), "{year}-{month}-{day}");
        }
    }

    #[test]
    fn cut_and_changed_certificates_do_not_panic() {
        let key = rcgen::KeyPair::generate().expect("key");
        let params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]);
        let cert = params.expect("valid").self_signed(&key).expect("signed");
        let der = cert.der().to_vec();
        assert!(!subject(&der).expect("whole").common_name.is_empty());
        for cut in 0..der.len() {
            assert_eq!(subject(&der[..cut]), None, "{cut}");
        }
        for at in 0..der.len().min(200) {
            for value in [0, 0x30, 0x80, 0x83, 0xff] {
                let mut changed = der.clone();
                changed[at] = value;
                let _ = (subject(&changed), subject_of_request(&changed), not_after(&changed));
            }
        }
    }
}
