//! Decodes the bytes of a YAML stream to text.
//! Guarantees that invalid UTF-8 and characters that YAML forbids are rejected here, with the messages of
//! kube-apiserver's reader.

use super::nodes::error;
use crate::error::DecodeError;

/// The text of a stream.
pub(super) fn text(bytes: &[u8]) -> Result<&str, DecodeError> {
    let (text, broken) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(broken) => {
            let (valid, rest) = bytes.split_at_checked(broken.valid_up_to()).unwrap_or((bytes, &[]));
            (std::str::from_utf8(valid).unwrap_or_default(), Some(rest))
        }
    };
    if text.chars().any(|char| !allowed(char)) {
        return Err(error("control characters are not allowed"));
    }
    broken.map_or(Ok(text), |rest| Err(error(problem(rest))))
}

/// YAML's printable characters. They include the byte order mark, at any position.
fn allowed(char: char) -> bool {
    matches!(char, '\t' | '\n' | '\r' | ' '..='~' | '\u{85}' | '\u{a0}'..='\u{fffd}' | '\u{10000}'..)
}

/// Why the sequence at the start of `bytes` is not UTF-8.
fn problem(bytes: &[u8]) -> &'static str {
    let first = bytes.first().copied().unwrap_or(0xff);
    let (width, bits) = match first {
        0xc0..=0xdf => (2, first & 0x1f),
        0xe0..=0xef => (3, first & 0x0f),
        0xf0..=0xf7 => (4, first & 0x07),
        _ => return "invalid leading UTF-8 octet",
    };
    let Some(trailing) = bytes.get(1..width) else { return "incomplete UTF-8 octet sequence" };
    let mut value = u32::from(bits);
    for octet in trailing {
        if octet & 0xc0 != 0x80 {
            return "invalid trailing UTF-8 octet";
        }
        value = value << 6 | u32::from(octet & 0x3f);
    }
    let least = match width {
        2 => 0x80,
        3 => 0x800,
        _ => 0x1_0000,
    };
    if value < least { "invalid length of a UTF-8 sequence" } else { "invalid Unicode character" }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn invalid_text_has_the_reference_messages() {
        let rows: &[(&[u8], Result<&str, &str>)] = &[
            (b"a: b\r\n\t", Ok("a: b\r\n\t")),
            ("\u{feff}\u{85}\u{e9}\u{fffd}\u{1f600}".as_bytes(), Ok("\u{feff}\u{85}\u{e9}\u{fffd}\u{1f600}")),
            (b"a: \xff}", Err("yaml: invalid leading UTF-8 octet")),
            (b"a: \x80", Err("yaml: invalid leading UTF-8 octet")),
            (b"a: \xc3(", Err("yaml: invalid trailing UTF-8 octet")),
            (b"a: \xe2\x82", Err("yaml: incomplete UTF-8 octet sequence")),
            (b"a: \xc0\x80", Err("yaml: invalid length of a UTF-8 sequence")),
            (b"a: \xed\xa0\x80", Err("yaml: invalid Unicode character")),
            (b"a: \xf7\xbf\xbf\xbf", Err("yaml: invalid Unicode character")),
            (b"a: \0\xff", Err("yaml: control characters are not allowed")),
            (b"a: \x7f", Err("yaml: control characters are not allowed")),
            ("a: \u{ffff}".as_bytes(), Err("yaml: control characters are not allowed")),
        ];
        for (bytes, expected) in rows {
            let found = text(bytes).map_err(|error| error.to_string());
            assert_eq!(found.as_deref().map_err(|text| text.as_str()), *expected, "{bytes:?}");
        }
    }
}
