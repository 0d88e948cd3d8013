//! Reads the subject of a certificate: just enough DER for names, after the chain has been verified.
//! Guarantees bounded work and no panic on any bytes; what it does not understand is an error, not a guess.
//! Must never be the reason to trust a certificate.

const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const OBJECT_IDENTIFIER: u8 = 0x06;
const VERSION: u8 = 0xa0;

/// The bytes are not the DER that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// One attribute of a distinguished name.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Attribute<'a> {
    /// The encoded object identifier.
    pub oid: &'a [u8],
    /// The value as text.
    pub value: String,
}

/// The attributes of a certificate's subject, in their order.
pub(super) fn subject(certificate: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let (certificate, _) = expect(certificate, SEQUENCE)?;
    let (mut tbs, _) = expect(certificate, SEQUENCE)?;
    if tbs.first() == Some(&VERSION) {
        (_, _, tbs) = element(tbs)?;
    }
    // Serial number, signature algorithm, issuer, validity.
    for _ in 0..4 {
        (_, _, tbs) = element(tbs)?;
    }
    let (mut names, _) = expect(tbs, SEQUENCE)?;
    let mut attributes = Vec::new();
    while !names.is_empty() {
        let (mut set, rest) = expect(names, SET)?;
        names = rest;
        while !set.is_empty() {
            let (pair, rest) = expect(set, SEQUENCE)?;
            set = rest;
            let (oid, value) = expect(pair, OBJECT_IDENTIFIER)?;
            let (tag, value, _) = element(value)?;
            let value = text(tag, value)?;
            attributes.push(Attribute { oid, value });
        }
    }
    Ok(attributes)
}

/// The string types that names may have.
fn text(tag: u8, bytes: &[u8]) -> Result<String, Malformed> {
    const UTF8: u8 = 0x0c;
    const NUMERIC: u8 = 0x12;
    const PRINTABLE: u8 = 0x13;
    const TELETEX: u8 = 0x14;
    const IA5: u8 = 0x16;
    const BMP: u8 = 0x1e;
    match tag {
        UTF8 => String::from_utf8(bytes.to_vec()).map_err(|_| Malformed),
        NUMERIC | PRINTABLE | IA5 if bytes.is_ascii() => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        // In practice Latin-1, whatever its standard says.
        TELETEX => Ok(bytes.iter().map(|byte| char::from(*byte)).collect()),
        BMP => {
            let (pairs, rest) = bytes.as_chunks::<2>();
            let units = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
            let text = char::decode_utf16(units).collect::<Result<String, _>>();
            text.ok().filter(|_| rest.is_empty()).ok_or(Malformed)
        }
        _ => Err(Malformed),
    }
}

/// The contents of the first element, which must have the tag, and what follows it.
fn expect(bytes: &[u8], tag: u8) -> Result<(&[u8], &[u8]), Malformed> {
    let (found, contents, rest) = element(bytes)?;
    match found == tag {
        true => Ok((contents, rest)),
        false => Err(Malformed),
    }
}

/// The first element: its tag, its contents, and what follows it.
fn element(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), Malformed> {
    let (tag, rest) = bytes.split_first().ok_or(Malformed)?;
    let (first, rest) = rest.split_first().ok_or(Malformed)?;
    let (length, rest) = match usize::from(*first) {
        short @ 0..=0x7f => (short, rest),
        // A certificate is far smaller than what three bytes can count.
        long @ 0x81..=0x83 => {
            let (count, rest) = rest.split_at_checked(long - 0x80).ok_or(Malformed)?;
            let length = count.iter().fold(0, |n, byte| n << 8 | usize::from(*byte));
            (length, rest)
        }
        _ => return Err(Malformed),
    };
    let (contents, rest) = rest.split_at_checked(length).ok_or(Malformed)?;
    Ok((*tag, contents, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_of_names() {
        let rows: [(u8, &[u8], Result<&str, Malformed>); 8] = [
            (0x0c, "grün".as_bytes(), Ok("grün")),
            (0x0c, b"\xff", Err(Malformed)),
            (0x13, b"abc", Ok("abc")),
            (0x13, b"\xe9", Err(Malformed)),
            (0x14, b"\xe9", Ok("é")),
            (0x1e, b"\x00a\x54\x0d", Ok("a名")),
            (0x1e, b"\x00a\x54", Err(Malformed)),
            (0x03, b"abc", Err(Malformed)),
        ];
        for (tag, bytes, expected) in rows {
            assert_eq!(text(tag, bytes).as_deref(), expected.as_deref());
        }
    }

    #[test]
    fn every_cut_and_every_changed_byte_is_survived() {
        let key = rcgen::KeyPair::generate().expect("key");
        let params = rcgen::CertificateParams::new(vec!["a.example".to_owned()]);
        let cert = params.expect("valid").self_signed(&key).expect("signed");
        let der = cert.der().to_vec();
        assert!(!subject(&der).expect("whole").is_empty());
        for cut in 0..der.len() {
            assert_eq!(subject(&der[..cut]), Err(Malformed), "{cut}");
        }
        for at in 0..der.len().min(200) {
            for value in [0, 0x30, 0x80, 0x83, 0xff] {
                let mut changed = der.clone();
                changed[at] = value;
                let _ = subject(&changed);
            }
        }
    }
}
