//! Decodes the bytes of a YAML stream to text: UTF-8, or UTF-16 behind a byte order mark.
//! Guarantees kube-apiserver's messages for bytes that are no text and for characters that YAML forbids, and that they count only if they are
//! read: in blocks, like there, so that a document which ends earlier is not refused.

use std::borrow::Cow;

/// kube-apiserver's reader decodes so many bytes at a time.
const BLOCK: usize = 512;

/// The text of a stream.
pub(super) struct Source<'b> {
    /// Without a byte order mark, up to the block that cannot be decoded.
    pub(super) text: Cow<'b, str>,
    /// Why the block after the text cannot be decoded.
    pub(super) broken: Option<&'static str>,
}

/// Decodes a stream, as far as it can be.
pub(super) fn source(bytes: &[u8]) -> Source<'_> {
    match bytes {
        [0xff, 0xfe, units @ ..] => utf16(units, u16::from_le_bytes),
        [0xfe, 0xff, units @ ..] => utf16(units, u16::from_be_bytes),
        _ => utf8(bytes),
    }
}

fn utf8(bytes: &[u8]) -> Source<'_> {
    const MARK: char = '\u{feff}';
    let (text, mut bad) = match std::str::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(broken) => {
            let at = broken.valid_up_to();
            let (valid, rest) = bytes.split_at_checked(at).unwrap_or((bytes, &[]));
            (std::str::from_utf8(valid).unwrap_or_default(), Some((at, width(rest), problem(rest))))
        }
    };
    if let Some((at, width)) = forbidden(text.as_bytes()) {
        bad = Some((at, width, CONTROL));
    }
    let whole = text.strip_prefix(MARK).unwrap_or(text);
    let Some((at, width, problem)) = bad else { return Source { text: whole.into(), broken: None } };
    let start = block_of(text, bytes.len(), at, width);
    let before = text.get(..start).unwrap_or_default();
    Source { text: before.strip_prefix(MARK).unwrap_or(before).into(), broken: Some(problem) }
}

const CONTROL: &str = "control characters are not allowed";

/// The first character that YAML forbids: its position and width.
fn forbidden(text: &[u8]) -> Option<(usize, usize)> {
    let mut bytes = text.iter().enumerate();
    bytes.find_map(|(at, byte)| match byte {
        b' '..=b'~' | b'\n' | b'\t' | b'\r' | 0x80..=0xc1 => None,
        0..=0x1f | 0x7f => Some((at, 1)),
        // The control characters from U+0080, without U+0085.
        0xc2 => matches!(text.get(at + 1), Some(0x80..=0x84 | 0x86..=0x9f)).then_some((at, 2)),
        // U+FFFE and U+FFFF.
        0xef => matches!(text.get(at + 1..at + 3), Some([0xbf, 0xbe | 0xbf])).then_some((at, 3)),
        _ => None,
    })
}

/// Where the block begins in which a character at a position is decoded. A character that is cut off, by the end of a block or
/// of the stream, is decoded in the next block.
fn block_of(text: &str, length: usize, at: usize, width: usize) -> usize {
    let mut start = 0;
    loop {
        let end = start + BLOCK;
        if start == at || at + width <= end.min(length) {
            return start;
        }
        let mut next = end.min(at);
        while !text.is_char_boundary(next) {
            next -= 1;
        }
        start = next;
    }
}

/// The width that the first byte of a character announces.
fn width(bytes: &[u8]) -> usize {
    match bytes.first() {
        Some(0xc0..=0xdf) => 2,
        Some(0xe0..=0xef) => 3,
        Some(0xf0..=0xf7) => 4,
        _ => 1,
    }
}

/// Why the sequence at the start of `bytes` is not UTF-8.
fn problem(bytes: &[u8]) -> &'static str {
    let first = bytes.first().copied().unwrap_or(0xff);
    let width = width(bytes);
    let bits = match width {
        2 => first & 0x1f,
        3 => first & 0x0f,
        4 => first & 0x07,
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

/// Decodes UTF-16 behind its byte order mark, which belongs to the first block.
fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Source<'static> {
    let mut units = bytes.chunks_exact(2).map(|pair| unit([pair[0], pair[1]]));
    let mut text = String::with_capacity(bytes.len() / 2);
    // Where the current block ends, and the length of the text before it. The mark is before the bytes.
    let (mut at, mut block_end, mut decoded) = (0, BLOCK - 2, 0);
    loop {
        let Some(first) = units.next() else {
            let is_odd = bytes.len() % 2 == 1;
            return Source { text: text.into(), broken: is_odd.then_some("incomplete UTF-16 character") };
        };
        let width = if first & 0xfc00 == 0xd800 { 4 } else { 2 };
        if at + width > block_end.min(bytes.len()) {
            (block_end, decoded) = (at + BLOCK, text.len());
        }
        let found = match first & 0xfc00 {
            0xdc00 => Err("unexpected low surrogate area"),
            0xd800 => match units.next() {
                None => Err("incomplete UTF-16 surrogate pair"),
                Some(second) if second & 0xfc00 == 0xdc00 => {
                    Ok(0x1_0000 + (u32::from(first & 0x3ff) << 10) + u32::from(second & 0x3ff))
                }
                Some(_) => Err("expected low surrogate area"),
            },
            _ => Ok(u32::from(first)),
        };
        match found.and_then(|value| char::from_u32(value).filter(|char| is_allowed(*char)).ok_or(CONTROL)) {
            Ok(char) => text.push(char),
            Err(problem) => {
                text.truncate(decoded);
                return Source { text: text.into(), broken: Some(problem) };
            }
        }
        at += width;
    }
}

fn is_allowed(char: char) -> bool {
    let mut bytes = [0; 4];
    forbidden(char.encode_utf8(&mut bytes).as_bytes()).is_none()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(bytes: &[u8]) -> Result<String, &'static str> {
        let source = source(bytes);
        source.broken.map_or(Ok(source.text.into_owned()), Err)
    }

    #[test]
    fn invalid_text_has_the_reference_messages() {
        let rows: &[(&[u8], Result<&str, &str>)] = &[
            (b"a: b\r\n\t", Ok("a: b\r\n\t")),
            ("\u{feff}\u{85}\u{e9}\u{fffd}\u{feff}\u{1f600}".as_bytes(), Ok("\u{85}\u{e9}\u{fffd}\u{feff}\u{1f600}")),
            (b"a: \xff}", Err("invalid leading UTF-8 octet")),
            (b"a: \x80", Err("invalid leading UTF-8 octet")),
            (b"a: \xc3(", Err("invalid trailing UTF-8 octet")),
            (b"a: \xe2\x82", Err("incomplete UTF-8 octet sequence")),
            (b"a: \xc0\x80", Err("invalid length of a UTF-8 sequence")),
            (b"a: \xed\xa0\x80", Err("invalid Unicode character")),
            (b"a: \xf7\xbf\xbf\xbf", Err("invalid Unicode character")),
            (b"a: \0\xff", Err("control characters are not allowed")),
            (b"a: \x7f", Err("control characters are not allowed")),
            ("a: \u{ffff}".as_bytes(), Err("control characters are not allowed")),
            ("a: \u{80}".as_bytes(), Err("control characters are not allowed")),
            ("a: \u{9f}".as_bytes(), Err("control characters are not allowed")),
            ("a: \u{a0}\u{c0}\u{ff}".as_bytes(), Ok("a: \u{a0}\u{c0}\u{ff}")),
            (b"\xff\xfea\0:\0 \0\xe9\0\x3d\xd8\0\xde", Ok("a: \u{e9}\u{1f600}")),
            (b"\xfe\xff\0a", Ok("a")),
            (b"\xff\xfea\0b", Err("incomplete UTF-16 character")),
            (b"\xff\xfe\x3d\xd8", Err("incomplete UTF-16 surrogate pair")),
            (b"\xff\xfe\x3d\xd8a\0", Err("expected low surrogate area")),
            (b"\xff\xfe\0\xde", Err("unexpected low surrogate area")),
            (b"\xff\xfe\x01\0", Err("control characters are not allowed")),
        ];
        for (bytes, expected) in rows {
            assert_eq!(read(bytes).as_deref().map_err(|problem| *problem), *expected, "{bytes:?}");
        }
    }

    #[test]
    fn what_is_broken_is_cut_off_with_its_block() {
        let rows: &[(&str, usize, &[u8], usize)] = &[
            ("a", 511, b"\0", 0),
            ("a", 512, b"\0", 512),
            ("a", 1100, b"\xff", 1024),
            // A character that is cut off belongs to the next block, which is as long as any.
            ("\u{e9}", 511, b"\0", 512),
            ("\u{20ac}", 511, b"\0", 1530),
            ("a", 511, b"\xe2\x82(", 511),
            ("a", 511, b"\xe2", 511),
            ("a", 3, b"\xe2\x82", 3),
        ];
        for (unit, count, end, wanted) in rows {
            let bytes = [unit.repeat(*count).as_bytes(), end].concat();
            let source = source(&bytes);
            assert_eq!((source.text.len(), source.broken.is_some()), (*wanted, true), "{unit} {count} {end:?}");
        }
        let wide = |count: usize| [b"\xff\xfe".to_vec(), b"a\0".repeat(count), b"\0\0".to_vec()].concat();
        assert_eq!(source(&wide(254)).text.len(), 0);
        assert_eq!(source(&wide(255)).text.len(), 255);
    }
}
