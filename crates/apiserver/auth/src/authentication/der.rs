//! Reads the subject and the end of a certificate, the subject of a signing request, and the shell of keys: just enough
//! DER for that, not for trust.
//! Guarantees bounded work and no panic on any bytes; what it does not understand is an error, not a guess.
//! Must never be the reason to trust a certificate.

use std::time::{Duration, SystemTime};

pub(super) const SEQUENCE: u8 = 0x30;
const SET: u8 = 0x31;
const INTEGER: u8 = 0x02;
const OBJECT_IDENTIFIER: u8 = 0x06;
pub(super) const VERSION: u8 = 0xa0;

/// The bytes are not the DER that was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Malformed;

/// One attribute of a distinguished name.
#[derive(Debug, PartialEq, Eq)]
pub struct Attribute<'a> {
    /// The encoded object identifier.
    pub oid: &'a [u8],
    /// The value as text.
    pub value: String,
}

/// The attributes of a certificate's subject, in their order.
pub(super) fn subject(certificate: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let (_, after_validity) = expect(from_validity(certificate)?, SEQUENCE)?;
    attributes(after_validity)
}

/// The attributes of the subject of a signing request (PKCS#10, in DER), in their order; `None` if it cannot be read.
pub fn subject_of_request(request: &[u8]) -> Option<Vec<Attribute<'_>>> {
    let (request, _) = expect(request, SEQUENCE).ok()?;
    let (information, _) = expect(request, SEQUENCE).ok()?;
    let (_, after_version) = expect(information, INTEGER).ok()?;
    attributes(after_version).ok()
}

/// The attributes of the distinguished name that comes first.
fn attributes(name: &[u8]) -> Result<Vec<Attribute<'_>>, Malformed> {
    let (mut names, _) = expect(name, SEQUENCE)?;
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

/// The moment after which a certificate (in DER) is not valid any more; `None` if it cannot be read.
pub fn not_after(certificate: &[u8]) -> Option<SystemTime> {
    let (validity, _) = expect(from_validity(certificate).ok()?, SEQUENCE).ok()?;
    let (_, _, not_after) = element(validity).ok()?;
    let (tag, time, _) = element(not_after).ok()?;
    moment(tag, time)
}

/// A moment of a certificate's validity.
pub(super) fn moment(tag: u8, time: &[u8]) -> Option<SystemTime> {
    const UTC_TIME: u8 = 0x17;
    const GENERALIZED_TIME: u8 = 0x18;
    let (year, rest) = match tag {
        // Two digits of the year: 50 and later are of the last century.
        UTC_TIME => {
            let (year, rest) = digits(time, 2)?;
            (if year < 50 { 2000 + year } else { 1900 + year }, rest)
        }
        GENERALIZED_TIME => digits(time, 4)?,
        _ => return None,
    };
    let (month, rest) = digits(rest, 2)?;
    let (day, rest) = digits(rest, 2)?;
    let (hour, rest) = digits(rest, 2)?;
    let (minute, rest) = digits(rest, 2)?;
    let (second, rest) = digits(rest, 2)?;
    if rest != b"Z" || !(1..=12).contains(&month) || year < 1970 {
        return None;
    }
    let days = days_since_1970(year, month, day);
    let seconds = days * 86_400 + hour * 3600 + minute * 60 + second;
    SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds))
}

/// A number of so many decimal digits, and what follows it.
fn digits(bytes: &[u8], count: usize) -> Option<(u64, &[u8])> {
    let (number, rest) = bytes.split_at_checked(count)?;
    let number = number.iter().try_fold(0, |n, byte| {
        let digit = byte.checked_sub(b'0').filter(|digit| *digit < 10)?;
        Some(n * 10 + u64::from(digit))
    })?;
    Some((number, rest))
}

/// Days of the Gregorian calendar; the year counts from March, so that the leap day is its last.
fn days_since_1970(year: u64, month: u64, day: u64) -> u64 {
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let leap_days = year / 4 - year / 100 + year / 400;
    // 719468 days lie between the first of March of year 0 and 1970.
    (year * 365 + leap_days + (month * 153 + 2) / 5 + day).saturating_sub(1 + 719_468)
}

/// What begins with a certificate's validity.
fn from_validity(certificate: &[u8]) -> Result<&[u8], Malformed> {
    let (certificate, _) = expect(certificate, SEQUENCE)?;
    let (mut tbs, _) = expect(certificate, SEQUENCE)?;
    if tbs.first() == Some(&VERSION) {
        (_, _, tbs) = element(tbs)?;
    }
    // Serial number, signature algorithm, issuer.
    for _ in 0..3 {
        (_, _, tbs) = element(tbs)?;
    }
    Ok(tbs)
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
pub(super) fn expect(bytes: &[u8], tag: u8) -> Result<(&[u8], &[u8]), Malformed> {
    let (found, contents, rest) = element(bytes)?;
    match found == tag {
        true => Ok((contents, rest)),
        false => Err(Malformed),
    }
}

/// The first element: its tag, its contents, and what follows it.
pub(super) fn element(bytes: &[u8]) -> Result<(u8, &[u8], &[u8]), Malformed> {
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

/// An element of a tag and contents; of keys, which are far smaller than what three bytes can count.
pub(super) fn encode(tag: u8, contents: &[u8]) -> Vec<u8> {
    let length = contents.len().to_be_bytes();
    let length = length.iter().position(|byte| *byte != 0).map_or(&[][..], |first| &length[first..]);
    let mut element = vec![tag];
    match contents.len() {
        short @ 0..=0x7f => element.push(short as u8),
        _ => {
            element.push(0x80 | length.len() as u8);
            element.extend(length);
        }
    }
    element.extend(contents);
    element
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
    fn the_end_of_a_certificate() {
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
                let _ = not_after(&changed);
            }
        }
    }
}
