//! The parts of protobuf's wire format that the writers need.
//!
//! Proto3: zero values are not written.

/// Appends a varint.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes, even if empty: an empty message differs from an absent one.
pub(crate) fn bytes(out: &mut Vec<u8>, number: u32, content: &[u8]) {
    varint(out, u64::from(number) << 3 | 2);
    varint(out, content.len() as u64);
    out.extend_from_slice(content);
}

/// Appends a text unless it is empty.
pub(crate) fn string(out: &mut Vec<u8>, number: u32, text: &str) {
    if !text.is_empty() {
        bytes(out, number, text.as_bytes());
    }
}

/// Appends a boolean unless it is false.
pub(crate) fn boolean(out: &mut Vec<u8>, number: u32, value: bool) {
    if value {
        chosen(out, number, value);
    }
}

/// Appends a boolean of a oneof, including false.
pub(crate) fn chosen(out: &mut Vec<u8>, number: u32, value: bool) {
    varint(out, u64::from(number) << 3);
    out.push(u8::from(value));
}

/// Appends a number unless it is zero.
pub(crate) fn integer(out: &mut Vec<u8>, number: u32, value: i64) {
    if value != 0 {
        varint(out, u64::from(number) << 3);
        varint(out, value.cast_unsigned());
    }
}

/// Appends a number, including zero.
pub(crate) fn double(out: &mut Vec<u8>, number: u32, value: f64) {
    varint(out, u64::from(number) << 3 | 1);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a message that `write` fills.
pub(crate) fn message(out: &mut Vec<u8>, number: u32, write: impl FnOnce(&mut Vec<u8>)) {
    let mut content = Vec::new();
    write(&mut content);
    bytes(out, number, &content);
}
