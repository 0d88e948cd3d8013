//! Standard base64 with padding, as Go's `encoding/json` writes and reads byte slices.
//!
//! Decoding skips line breaks as Go's decoder does and refuses everything else that is not of the alphabet.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The place of the first byte that is not valid base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CorruptInput(pub usize);

impl std::fmt::Display for CorruptInput {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "illegal base64 data at input byte {}", self.0)
    }
}

impl std::error::Error for CorruptInput {}

pub fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().fold(0u32, |group, byte| group << 8 | u32::from(*byte)) << (8 * (3 - chunk.len()));
        for place in 0..4 {
            if place <= chunk.len() {
                let index = (group >> (18 - 6 * place)) & 63;
                text.push(char::from(ALPHABET[index as usize]));
            } else {
                text.push('=');
            }
        }
    }
    text
}

/// Decodes padded base64.
///
/// # Errors
/// Where the input stops being base64.
pub fn decode(text: &str) -> Result<Vec<u8>, CorruptInput> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let mut group = 0u32;
    let mut digits = 0;
    let mut input = text.bytes().enumerate().filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
    while let Some((at, byte)) = input.next() {
        if byte == b'=' {
            return finish(bytes, group, digits, at, input, text.len());
        }
        let digit = digit(byte).ok_or(CorruptInput(at))?;
        group = group << 6 | digit;
        digits += 1;
        if digits == 4 {
            bytes.extend_from_slice(&group.to_be_bytes()[1..]);
            (group, digits) = (0, 0);
        }
    }
    if digits == 0 { Ok(bytes) } else { Err(CorruptInput(text.len())) }
}

fn finish(
    mut bytes: Vec<u8>,
    group: u32,
    digits: u32,
    at: usize,
    mut rest: impl Iterator<Item = (usize, u8)>,
    end: usize,
) -> Result<Vec<u8>, CorruptInput> {
    match digits {
        2 => match rest.next() {
            Some((_, b'=')) => bytes.push((group >> 4) as u8),
            Some((at, _)) => return Err(CorruptInput(at)),
            None => return Err(CorruptInput(end)),
        },
        3 => bytes.extend_from_slice(&((group >> 2) as u16).to_be_bytes()),
        _ => return Err(CorruptInput(at)),
    }
    match rest.next() {
        Some((at, _)) => Err(CorruptInput(at)),
        None => Ok(bytes),
    }
}

fn digit(byte: u8) -> Option<u32> {
    let value = match byte {
        b'A'..=b'Z' => byte - b'A',
        b'a'..=b'z' => byte - b'a' + 26,
        b'0'..=b'9' => byte - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(value.into())
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
        assert_eq!(decode("Zm9v\nYg=="), Ok(b"foob".to_vec()));
    }

    #[test]
    fn what_is_not_base64_is_refused_where_it_stops() {
        for (text, at) in [("Zm9v*", 4), ("Zg=", 3), ("Zg", 2), ("=", 0), ("Zg==x", 4), ("Zg=x", 3)] {
            assert_eq!(decode(text), Err(CorruptInput(at)), "{text}");
        }
    }
}
