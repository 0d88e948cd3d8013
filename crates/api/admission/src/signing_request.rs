//! Reads the subject of a PEM encoded PKCS#10 signing request.
//! Guarantees bounded work and no panic on any bytes; what it does not understand is `None`.
//! Must never be the reason to trust a request.

use pintle_schema::base64;

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;

/// The identifier of an attribute of X.520, as it is encoded.
type Identifier = [u8; 3];

/// 2.5.4.3
const COMMON_NAME: Identifier = [0x55, 0x04, 0x03];
/// 2.5.4.10
const ORGANIZATION: Identifier = [0x55, 0x04, 0x0a];

/// The organizations of a request's subject.
pub fn organizations(pem: &[u8]) -> Option<Vec<String>> {
    let subject = subject(&der(pem)?)?;
    Some(subject.into_iter().filter(|(oid, _)| *oid == ORGANIZATION).map(|(_, value)| value).collect())
}

/// The common name of a request's subject, the last where there are more; empty when there is none.
///
/// # Errors
/// Why it cannot be read.
pub fn common_name(pem: &[u8]) -> Result<String, &'static str> {
    let der = der(pem).ok_or("PEM block type must be CERTIFICATE REQUEST")?;
    let subject = subject(&der).ok_or("asn1: syntax error: sequence truncated")?;
    Ok(subject.into_iter().rfind(|(oid, _)| *oid == COMMON_NAME).map(|(_, value)| value).unwrap_or_default())
}

/// The attributes of a subject that this module knows: the identifier's last bytes and the value.
fn subject(request: &[u8]) -> Option<Vec<(Identifier, String)>> {
    let (request, _) = expect(request, SEQUENCE)?;
    let (information, _) = expect(request, SEQUENCE)?;
    let (_, after_version) = expect(information, INTEGER)?;
    let (mut names, _) = expect(after_version, SEQUENCE)?;
    let mut found = Vec::new();
    while !names.is_empty() {
        let (mut set, rest) = expect(names, SET)?;
        names = rest;
        while !set.is_empty() {
            let (pair, rest) = expect(set, SEQUENCE)?;
            set = rest;
            let (oid, value) = expect(pair, OBJECT_IDENTIFIER)?;
            let (_, value, _) = element(value)?;
            if let Ok(oid) = Identifier::try_from(oid) {
                found.push((oid, String::from_utf8_lossy(value).into_owned()));
            }
        }
    }
    Some(found)
}

/// The first block of PEM text.
fn der(pem: &[u8]) -> Option<Vec<u8>> {
    let text = std::str::from_utf8(pem).ok()?;
    let (_, block) = text.split_once("-----BEGIN ")?;
    let (_, block) = block.split_once("-----")?;
    let (block, _) = block.split_once("-----END ")?;
    let letters: String = block.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    base64::decode(&letters).ok()
}

/// The contents of the first element, which must have the tag, and what follows it.
fn expect(bytes: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (found, contents, rest) = element(bytes)?;
    (found == tag).then_some((contents, rest))
}

/// The first element: its tag, its contents, and what follows it.
fn element(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (tag, rest) = bytes.split_first()?;
    let (first, rest) = rest.split_first()?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..=0x7f => (short, rest),
        // A request is far smaller than what three bytes can count.
        long @ 0x81..=0x83 => {
            let (count, rest) = rest.split_at_checked(long - 0x80)?;
            (count.iter().fold(0, |n, byte| n << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    let (contents, rest) = rest.split_at_checked(length)?;
    Some((*tag, contents, rest))
}

/// Requests for tests.
#[cfg(test)]
pub mod testing {
    use super::*;

    /// A request whose subject has these attributes; nothing after the subject.
    pub fn request(attributes: &[(u8, &str)]) -> Vec<u8> {
        let element =
            |tag: u8, contents: &[u8]| [&[tag, u8::try_from(contents.len()).expect("short")], contents].concat();
        let names = attributes.iter().map(|(last, value)| {
            let oid = element(OBJECT_IDENTIFIER, &[0x55, 0x04, *last]);
            element(SET, &element(SEQUENCE, &[oid, element(0x0c, value.as_bytes())].concat()))
        });
        let subject = element(SEQUENCE, &names.collect::<Vec<_>>().concat());
        let information = element(SEQUENCE, &[element(INTEGER, &[0]), subject].concat());
        element(SEQUENCE, &information)
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
    use super::testing::{encoded, request};
    use super::*;

    #[test]
    fn organizations_and_names_of_subjects() {
        // (last number of the attribute's identifier and its value, organizations)
        let rows = [
            (vec![], vec![]),
            (vec![(0x03, "bob")], vec![]),
            (vec![(0x0a, "a"), (0x03, "bob"), (0x0a, "system:masters")], vec!["a", "system:masters"]),
        ];
        for (attributes, expected) in rows {
            let pem = encoded(&request(&attributes));
            assert_eq!(organizations(&pem).expect("readable"), expected);
            let named = attributes.iter().any(|(last, _)| *last == 0x03);
            assert_eq!(common_name(&pem).as_deref(), Ok(if named { "bob" } else { "" }));
        }
    }

    #[test]
    fn cut_and_changed_requests_are_survived() {
        let der = request(&[(0x0a, "a"), (0x03, "bob")]);
        for cut in 0..der.len() {
            assert_eq!(organizations(&encoded(&der[..cut])), None, "{cut}");
        }
        for at in 0..der.len() {
            for value in [0, 0x80, 0x83, 0xff] {
                let mut changed = der.clone();
                changed[at] = value;
                let _ = organizations(&encoded(&changed));
            }
        }
        assert_eq!(organizations(b"no PEM"), None);
    }
}
