//! The few rules of protobuf's wire format that writing needs.
//!
//! Proto3: what has its zero value is not written.

/// Appends a varint.
pub(crate) fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8 & 0x7f) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends bytes, also when there are none: an empty message is not an absent one.
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

/// Appends a boolean that was chosen among several fields, so that false is told as well.
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

/// Appends a number, zero as well: where it is used, an absent one is told apart.
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
