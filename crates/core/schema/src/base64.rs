//! Standard base64 with padding, as Go's `encoding/json` writes and reads byte slices.
//! Guarantees that decoding skips line breaks, as Go's decoder does, and rejects all other characters outside the
//! alphabet.

use data_encoding::{BASE64, Encoding, Specification};
use std::sync::LazyLock;

/// Go does not look at the bits that padding leaves over.
static DECODER: LazyLock<Encoding> = LazyLock::new(|| {
    let mut specification: Specification = BASE64.specification();
    specification.check_trailing_bits = false;
    specification.encoding().unwrap_or(BASE64)
});

/// The offset of the first invalid byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct CorruptInput(pub usize);

/// Standard base64, padded.
pub fn encode(bytes: &[u8]) -> String {
    BASE64.encode(bytes)
}

/// Decodes padded base64.
///
/// # Errors
/// The offset of the first invalid byte.
pub fn decode(text: &str) -> Result<Vec<u8>, CorruptInput> {
    let decoded = match text.contains(['\n', '\r']) {
        false => decode_line(text),
        true => decode_line(&text.replace(['\n', '\r'], "")),
    };
    decoded.ok_or_else(|| CorruptInput(end_of_valid(text)))
}

fn decode_line(text: &str) -> Option<Vec<u8>> {
    // The decoder would go on behind padding.
    let ends_with_padding = text.find('=').is_none_or(|at| at + 2 >= text.len());
    ends_with_padding.then(|| DECODER.decode(text.as_bytes()).ok()).flatten()
}

/// Where Go says that a text which is not base64 stops being it.
fn end_of_valid(text: &str) -> usize {
    let mut digits = 0;
    let mut input = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    while let Some((at, byte)) = input.next() {
        match byte {
            b'=' => return end_of_padding(digits, at, input, text.len()),
            b'+' | b'/' | b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' => digits = (digits + 1) % 4,
            _ => return at,
        }
    }
    // Go counts back from the end by the digits of the group, ignoring line breaks among them.
    text.len() - digits
}

/// The same from the first padding on, which stands at a place behind some digits of a group.
fn end_of_padding(digits: usize, at: usize, mut rest: impl Iterator<Item = (usize, u8)>, end: usize) -> usize {
    match (digits, rest.next()) {
        (2, None) => end,
        (2, Some((_, b'='))) => rest.next().map_or(end, |(at, _)| at),
        // Go names the byte before the one that should be padding.
        (2, Some((at, _))) => at - 1,
        (3, next) => next.map_or(end, |(at, _)| at),
        _ => at,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_and_back() {
        for (bytes, text) in
            [("", ""), ("f", "Zg=="), ("fo", "Zm8="), ("foo", "Zm9v"), ("foob", "Zm9vYg=="), ("\u{ff}", "w78=")]
        {
            assert_eq!(encode(bytes.as_bytes()), text);
            assert_eq!(decode(text).as_deref(), Ok(bytes.as_bytes()));
        }
        for text in ["Zm9v\nYg==", "Z\rm\n9vYg=\n=", "\nZm9vYg==\r\n", "Zm9vYh=="] {
            assert_eq!(decode(text), Ok(b"foob".to_vec()), "{text:?}");
        }
    }

    #[test]
    fn what_is_not_base64_is_refused_where_it_stops() {
        let rows = [
            // A byte that is not a digit.
            ("Zm9v*", 4),
            ("Zm9vYg*=", 6),
            ("é", 0),
            // The input ends within a group.
            ("Z", 0),
            ("Zg", 0),
            ("Zm9", 0),
            ("Zm9vY", 4),
            ("Zm9vYmE", 4),
            ("Zm9vYg\n", 5),
            // Padding that is too short, too early or not at the end.
            ("Zg=", 3),
            ("Zm9vYg=\n", 8),
            ("=", 0),
            ("Z===", 1),
            ("Zm9v=", 4),
            ("Zg=x", 2),
            ("Zg=\nx", 3),
            ("Zg==x", 4),
            ("Zg==\nZg==", 5),
            ("Zm8=Zm8=", 4),
        ];
        for (text, at) in rows {
            assert_eq!(decode(text), Err(CorruptInput(at)), "{text:?}");
        }
    }
}
