//! Reads the subject of a PEM encoded PKCS#10 signing request. Guarantees that it uses the same block as validation, and reads
//! names like those of certificates; otherwise it returns the error. Must never be the reason to trust a request.

use pintle_auth::authentication::{Subject, subject_of_request};
use pintle_groups::certificates::rules::pem;

/// The subject of a request.
///
/// # Errors
/// Why it cannot be read.
pub fn subject(pem: &[u8]) -> Result<Subject, &'static str> {
    let text = String::from_utf8_lossy(pem);
    let first = pem::blocks(&text).into_iter().next().filter(|block| block.kind == "CERTIFICATE REQUEST");
    let der = first.ok_or("PEM block type must be CERTIFICATE REQUEST")?.data;
    subject_of_request(&der).ok_or("asn1: syntax error: sequence truncated")
}

/// Requests for tests.
#[cfg(test)]
pub mod testing {
    use pintle_schema::base64;

    const SEQUENCE: u8 = 0x30;
    const SET: u8 = 0x31;
    const INTEGER: u8 = 0x02;
    const BIT_STRING: u8 = 0x03;
    const OBJECT_IDENTIFIER: u8 = 0x06;
    const UTF8: u8 = 0x0c;
    const ATTRIBUTES: u8 = 0xa0;

    /// A request whose subject has these attributes, with an invalid key and signature.
    pub fn request(attributes: &[(u8, &str)]) -> Vec<u8> {
        let attributes: Vec<_> =
            attributes.iter().map(|(last, value)| (*last, UTF8, value.as_bytes().to_vec())).collect();
        request_of(&attributes)
    }

    /// The same, with the type and the bytes of each value.
    pub fn request_of(attributes: &[(u8, u8, Vec<u8>)]) -> Vec<u8> {
        let element =
            |tag: u8, contents: &[u8]| [&[tag, u8::try_from(contents.len()).expect("short")], contents].concat();
        let names = attributes.iter().map(|(last, tag, value)| {
            let oid = element(OBJECT_IDENTIFIER, &[0x55, 0x04, *last]);
            element(SET, &element(SEQUENCE, &[oid, element(*tag, value)].concat()))
        });
        let subject = element(SEQUENCE, &names.collect::<Vec<_>>().concat());
        let algorithm = element(SEQUENCE, &element(OBJECT_IDENTIFIER, &[0x2b, 0x65, 0x70]));
        let key = element(SEQUENCE, &[algorithm.clone(), element(BIT_STRING, &[0; 3])].concat());
        let attributes = element(ATTRIBUTES, &[]);
        let information = element(SEQUENCE, &[element(INTEGER, &[0]), subject, key, attributes].concat());
        element(SEQUENCE, &[information, algorithm, element(BIT_STRING, &[0; 5])].concat())
    }

    pub fn encoded(der: &[u8]) -> Vec<u8> {
        format!("-----BEGIN CERTIFICATE REQUEST-----\n{}\n-----END CERTIFICATE REQUEST-----\n", base64::encode(der))
            .into_bytes()
    }

    /// The same as PEM text.
    pub fn pem(attributes: &[(u8, &str)]) -> String {
        String::from_utf8_lossy(&encoded(&request(attributes))).into_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{encoded, request, request_of};
    use super::*;

    #[test]
    fn names_in_subjects() {
        // (last number of the attribute's identifier and its value, common name, organizations)
        type Row<'a> = (&'a [(u8, &'a str)], &'a str, &'a [&'a str]);
        let rows: [Row<'_>; 4] = [
            (&[], "", &[]),
            (&[(0x03, "bob")], "bob", &[]),
            (&[(0x03, "bob"), (0x03, "eve")], "eve", &[]),
            (&[(0x0a, "a"), (0x03, "bob"), (0x0a, "system:masters")], "bob", &["a", "system:masters"]),
        ];
        for (attributes, name, organizations) in rows {
            let found = subject(&encoded(&request(attributes))).expect("readable");
            assert_eq!(found.common_name, name);
            assert_eq!(found.organizations, organizations);
        }
    }

    #[test]
    fn names_are_read_in_every_type_of_string() {
        let wide = "system:masters".bytes().flat_map(|byte| [0, byte]).collect();
        let found = subject(&encoded(&request_of(&[(0x0a, 0x1e, wide)]))).expect("readable");
        assert_eq!(found.organizations, ["system:masters"]);
        assert!(subject(&encoded(&request_of(&[(0x0a, 0x04, b"octets".to_vec())]))).is_err());
    }

    #[test]
    fn the_first_block_with_a_right_frame_counts() {
        let masters = testing::pem(&[(0x0a, "system:masters")]);
        let broken = format!("-----BEGIN X-----\n!\n-----END X-----\n{masters}");
        assert_eq!(subject(broken.as_bytes()).expect("readable").organizations, ["system:masters"]);
        let another = format!("-----BEGIN X-----\nMAA=\n-----END X-----\n{masters}");
        assert_eq!(subject(another.as_bytes()), Err("PEM block type must be CERTIFICATE REQUEST"));
    }

    #[test]
    fn cut_and_changed_requests_are_survived() {
        let der = request(&[(0x0a, "a"), (0x03, "bob")]);
        for cut in 0..der.len() {
            assert!(subject(&encoded(&der[..cut])).is_err(), "{cut}");
        }
        for at in 0..der.len() {
            for value in [0, 0x80, 0x83, 0xff] {
                let mut changed = der.clone();
                changed[at] = value;
                let _ = subject(&encoded(&changed));
            }
        }
        assert!(subject(b"no PEM").is_err());
    }
}
