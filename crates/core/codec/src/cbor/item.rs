//! Heads of CBOR data items.
//! A head is three bits of major type and a number in as few bytes as needed, or the mark of an indefinite length.

use crate::error::DecodeError;
use crate::json::opened;
use pintle_schema::Value;

pub(super) const UNSIGNED: u8 = 0;
pub(super) const NEGATIVE: u8 = 1;
pub(super) const BYTES: u8 = 2;
pub(super) const TEXT: u8 = 3;
pub(super) const ARRAY: u8 = 4;
pub(super) const MAP: u8 = 5;
pub(super) const TAG: u8 = 6;
pub(super) const PRIMITIVE: u8 = 7;

pub(super) const FALSE: u64 = 20;
pub(super) const TRUE: u64 = 21;
pub(super) const NULL: u64 = 22;

/// The tag of bytes that JSON shows as base64.
pub(super) const AS_BASE64: u64 = 22;

const ONE_BYTE: u8 = 24;
const EIGHT_BYTES: u8 = 27;
const INDEFINITE: u8 = 31;

/// The end of an item of indefinite length.
pub(super) const BREAK: u8 = 0xff;

/// The names of major types in kube-apiserver's messages.
pub(super) fn name(major: u8) -> &'static str {
    match major {
        UNSIGNED => "positive integer",
        NEGATIVE => "negative integer",
        BYTES => "byte string",
        TEXT => "UTF-8 text string",
        ARRAY => "array",
        MAP => "map",
        TAG => "tag",
        _ => "primitives",
    }
}

/// The name of a value's major type in kube-apiserver's messages.
pub(super) fn kind(value: &Value) -> &'static str {
    match value {
        Value::Int(int) if *int < 0 => name(NEGATIVE),
        Value::Int(_) => name(UNSIGNED),
        Value::String(_) => name(BYTES),
        Value::List(_) => name(ARRAY),
        Value::Map(_) => name(MAP),
        Value::Raw(_) => kind(&opened(value)),
        Value::Null | Value::Bool(_) | Value::Float(_) => name(PRIMITIVE),
    }
}

pub(super) fn put_head(major: u8, number: u64, out: &mut Vec<u8>) {
    let bytes = number.to_be_bytes();
    let (info, width) = match number {
        0..24 => (bytes[7], 0),
        24..0x100 => (ONE_BYTE, 1),
        0x100..0x1_0000 => (ONE_BYTE + 1, 2),
        0x1_0000..0x1_0000_0000 => (ONE_BYTE + 2, 4),
        _ => (EIGHT_BYTES, 8),
    };
    out.push(major << 5 | info);
    out.extend_from_slice(&bytes[8 - width..]);
}

/// The head of an item.
#[derive(Clone, Copy)]
pub(super) struct Head {
    pub(super) major: u8,
    /// The size of the number in bytes: 0 if it is in the first byte.
    pub(super) width: u8,
    /// A value, length or tag; `None` for an indefinite length.
    pub(super) number: Option<u64>,
}

/// The remaining bytes.
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    length: usize,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes, length: bytes.len() }
    }

    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], DecodeError> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or_else(|| broken("unexpected EOF"))?;
        self.rest = rest;
        Ok(taken)
    }

    /// Whether an item of indefinite length ends here; consumes its end.
    pub(super) fn ends(&mut self) -> bool {
        match self.rest.split_first() {
            Some((&BREAK, rest)) => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    pub(super) fn head(&mut self) -> Result<Head, DecodeError> {
        let first = self.take(1)?.first().copied().unwrap_or_default();
        let (major, info) = (first >> 5, first & 31);
        let number = match info {
            0..ONE_BYTE => Some(info.into()),
            ONE_BYTE..=EIGHT_BYTES => {
                let bytes = self.take(1 << (info - ONE_BYTE))?;
                Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
            }
            INDEFINITE if matches!(major, BYTES | TEXT | ARRAY | MAP) => None,
            INDEFINITE if major == PRIMITIVE => return Err(broken("cbor: unexpected \"break\" code")),
            _ => {
                let kind = name(major);
                return Err(broken(&format!("cbor: invalid additional information {info} for type {kind}")));
            }
        };
        let width = if info < ONE_BYTE { 0 } else { 1 << (info - ONE_BYTE).min(3) };
        Ok(Head { major, width, number })
    }

    pub(super) fn end(&self) -> Result<(), DecodeError> {
        match self.rest.len() {
            0 => Ok(()),
            extra => {
                let at = self.length - extra;
                Err(broken(&format!("cbor: {extra} bytes of extraneous data starting at index {at}")))
            }
        }
    }
}

pub(super) fn broken(text: &str) -> DecodeError {
    DecodeError::Syntax(text.to_owned())
}
