//! Standard base64 with padding, as Go's `encoding/json` writes and reads byte slices.
//! Guarantees that decoding skips line breaks, as Go's decoder does, and rejects all other characters outside the
//! alphabet.

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The offset of the first invalid byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("illegal base64 data at input byte {0}")]
pub struct CorruptInput(pub usize);

/// Standard base64, padded.
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
/// The offset of the first invalid byte.
pub fn decode(text: &str) -> Result<Vec<u8>, CorruptInput> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let whole = decode_whole_groups(text.as_bytes(), &mut bytes);
    let mut group = 0u32;
    let mut digits = 0;
    let mut input = text.bytes().enumerate().skip(whole).filter(|(_, byte)| !matches!(byte, b'\n' | b'\r'));
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
    // Go counts back from the end by the digits of the group, ignoring line breaks among them.
    if digits == 0 { Ok(bytes) } else { Err(CorruptInput(text.len() - digits)) }
}

/// Decodes the groups before the first one without four digits; returns their length in the text.
fn decode_whole_groups(text: &[u8], bytes: &mut Vec<u8>) -> usize {
    let before = bytes.len();
    for four in text.as_chunks::<4>().0 {
        let digits = four.map(|byte| DIGITS[usize::from(byte)]);
        if digits.iter().any(|digit| *digit > 63) {
            break;
        }
        let group = digits.iter().fold(0u32, |group, digit| group << 6 | u32::from(*digit));
        bytes.extend_from_slice(&group.to_be_bytes()[1..]);
    }
    (bytes.len() - before) / 3 * 4
}

fn finish(
    mut bytes: Vec<u8>,
    group: u32,
    digits: usize,
    at: usize,
    mut rest: impl Iterator<Item = (usize, u8)>,
    end: usize,
) -> Result<Vec<u8>, CorruptInput> {
    match digits {
        2 => match rest.next() {
            Some((_, b'=')) => bytes.push((group >> 4) as u8),
            // Go reports the byte before the one that should be padding.
            Some((at, _)) => return Err(CorruptInput(at - 1)),
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

const NO_DIGIT: u8 = 0xff;

/// The value of each byte as a digit.
static DIGITS: [u8; 256] = {
    let mut digits = [NO_DIGIT; 256];
    let mut value = 0;
    while value < ALPHABET.len() {
        digits[ALPHABET[value] as usize] = value as u8;
        value += 1;
    }
    digits
};

fn digit(byte: u8) -> Option<u32> {
    Some(DIGITS[usize::from(byte)]).filter(|digit| *digit != NO_DIGIT).map(u32::from)
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
