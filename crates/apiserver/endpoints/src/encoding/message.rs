//! Length-delimited protobuf fields around encoded messages. Guarantees that a size is known before the bytes are written. Must
//! never parse a message.

/// Appends a length-delimited protobuf field.
pub fn put_message(out: &mut Vec<u8>, number: u32, message: &[u8]) {
    put_varint(out, u64::from(number << 3 | 2));
    put_varint(out, message.len() as u64);
    out.extend_from_slice(message);
}

/// How many bytes `put_message` appends for a message of `length` bytes with a field number below 16.
pub fn message_size(length: usize) -> usize {
    let length_bytes = (usize::BITS - (length | 1).leading_zeros()).div_ceil(7) as usize;
    1 + length_bytes + length
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
