//! The JSON encoder: a plain walk over a canonical value.
//! Budget for a pod of 3 KB: no allocation except the growth of the buffer, 4 µs.

use super::raw;
use pintle_schema::Value;
use std::io::Write;

const HEX: &[u8; 16] = b"0123456789abcdef";

/// How strings are escaped.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// As Go's encoder: `<`, `>`, `&` and the line separators too.
    Html,
    /// Only what JSON requires.
    Plain,
}

pub(crate) fn write(value: &Value, escape: Escape, out: &mut Vec<u8>) {
    Writer { escape, keeps_raw: false, differs: false }.write(value, out);
}

/// How a value is encoded, and observations about it.
pub(crate) struct Writer {
    pub(crate) escape: Escape,
    /// Whether raw JSON is encoded as it was written.
    pub(crate) keeps_raw: bool,
    /// Whether some raw JSON is not in the encoder's own form.
    pub(crate) differs: bool,
}

impl Writer {
    pub(crate) fn write(&mut self, value: &Value, out: &mut Vec<u8>) {
        match value {
            Value::Null => out.extend_from_slice(b"null"),
            Value::Bool(true) => out.extend_from_slice(b"true"),
            Value::Bool(false) => out.extend_from_slice(b"false"),
            Value::Int(int) => write_int(*int, out),
            Value::Float(float) => write_float(*float, out),
            Value::String(text) => write_string(text, self.escape, out),
            Value::List(items) => {
                out.push(b'[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    self.write(item, out);
                }
                out.push(b']');
            }
            Value::Map(map) => {
                out.push(b'{');
                for (at, (key, item)) in map.iter().enumerate() {
                    if at > 0 {
                        out.push(b',');
                    }
                    write_string(key, self.escape, out);
                    out.push(b':');
                    self.write(item, out);
                }
                out.push(b'}');
            }
            Value::Raw(text) => self.raw(text, out),
        }
    }

    fn raw(&mut self, text: &str, out: &mut Vec<u8>) {
        let start = out.len();
        raw::compact(text.as_bytes(), out);
        if self.keeps_raw && out.get(start..) != Some(text.as_bytes()) {
            out.truncate(start);
            out.extend_from_slice(text.as_bytes());
            self.differs = true;
        }
    }
}

pub(crate) fn write_int(int: i64, out: &mut Vec<u8>) {
    let mut digits = [0u8; 20];
    let mut at = digits.len();
    let mut rest = int.unsigned_abs();
    loop {
        at -= 1;
        digits[at] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if int < 0 {
        out.push(b'-');
    }
    out.extend_from_slice(&digits[at..]);
}

/// Go's form: the shortest digits, with an exponent below 1e-6 and from 1e21 on.
pub(crate) fn write_float(float: f64, out: &mut Vec<u8>) {
    let size = float.abs();
    if !float.is_finite() {
        // Decoded values are never infinite; JSON cannot express it.
        out.extend_from_slice(b"null");
    } else if size != 0.0 && !(1e-6..1e21).contains(&size) {
        let text = format!("{float:e}");
        match text.split_once('e') {
            Some((digits, exponent)) if !exponent.starts_with('-') => {
                let _ = write!(out, "{digits}e+{exponent}");
            }
            _ => out.extend_from_slice(text.as_bytes()),
        }
    } else {
        let _ = write!(out, "{float}");
    }
}

/// The treatment of a byte in a string: 0 none, 1 an escape, 2 an escape in HTML form, 3 depends on the following
/// bytes.
static CLASS: [u8; 256] = {
    let mut class = [0; 256];
    let mut at = 0;
    while at < 0x20 {
        class[at] = 1;
        at += 1;
    }
    class[b'"' as usize] = 1;
    class[b'\\' as usize] = 1;
    class[b'<' as usize] = 2;
    class[b'>' as usize] = 2;
    class[b'&' as usize] = 2;
    // The first byte of U+2028 and U+2029.
    class[0xe2] = 3;
    class
};

/// The number of bytes before the first one that may need an escape. Whole lanes are compared at once, the rest byte by byte.
fn plain_prefix(bytes: &[u8]) -> usize {
    const LANES: usize = 16;
    let is_special = |byte: &u8| {
        (*byte < 0x20)
            | (*byte == b'"')
            | (*byte == b'\\')
            | (*byte == b'<')
            | (*byte == b'>')
            | (*byte == b'&')
            | (*byte == 0xe2)
    };
    let is_plain = |lanes: &&[u8]| !lanes.iter().fold(false, |found, byte| found | is_special(byte));
    let whole = bytes.chunks_exact(LANES).take_while(is_plain).count() * LANES;
    let rest = &bytes[whole..];
    whole + rest.iter().position(|byte| CLASS[usize::from(*byte)] != 0).unwrap_or(rest.len())
}

pub(crate) fn write_string(text: &str, escape: Escape, out: &mut Vec<u8>) {
    let bytes = text.as_bytes();
    out.reserve(bytes.len() + 2);
    out.push(b'"');
    let mut from = 0;
    let mut at = plain_prefix(bytes);
    while let Some(&byte) = bytes.get(at) {
        let class = CLASS[usize::from(byte)];
        if class == 0 || (class == 2 && escape == Escape::Plain) {
            at += 1;
            continue;
        }
        if class == 3 {
            let separator = escape == Escape::Html && bytes.get(at + 1) == Some(&0x80);
            if let (true, Some(&last @ (0xa8 | 0xa9))) = (separator, bytes.get(at + 2)) {
                out.extend_from_slice(&bytes[from..at]);
                out.extend_from_slice(if last == 0xa8 { b"\\u2028" } else { b"\\u2029" });
                at += 3;
                from = at;
            } else {
                at += 1;
            }
            continue;
        }
        out.extend_from_slice(&bytes[from..at]);
        match byte {
            b'"' => out.extend_from_slice(b"\\\""),
            b'\\' => out.extend_from_slice(b"\\\\"),
            b'\n' => out.extend_from_slice(b"\\n"),
            b'\r' => out.extend_from_slice(b"\\r"),
            b'\t' => out.extend_from_slice(b"\\t"),
            8 => out.extend_from_slice(b"\\b"),
            12 => out.extend_from_slice(b"\\f"),
            _ => {
                out.extend_from_slice(b"\\u00");
                out.push(HEX[usize::from(byte >> 4)]);
                out.push(HEX[usize::from(byte & 15)]);
            }
        }
        at += 1;
        from = at;
    }
    out.extend_from_slice(&bytes[from..]);
    out.push(b'"');
}
