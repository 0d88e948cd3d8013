//! The protobuf wire format: varints, tags and lengths.
//! Guarantees that the reader never reads beyond its input and that texts are UTF-8.

use crate::error::DecodeError;

/// The wire type of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Bytes = 2,
}

#[inline]
pub(crate) fn put_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

pub(crate) fn put_tag(number: u32, wire: Wire, out: &mut Vec<u8>) {
    put_varint(u64::from(number) << 3 | wire as u64, out);
}

pub(crate) fn put_bytes(number: u32, bytes: &[u8], out: &mut Vec<u8>) {
    put_tag(number, Wire::Bytes, out);
    put_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

pub(crate) fn put_int(number: u32, int: i64, out: &mut Vec<u8>) {
    put_tag(number, Wire::Varint, out);
    put_varint(int as u64, out);
}

/// Appends a field whose length is known only afterwards: the content is moved if its length needs more than one
/// byte.
pub(crate) fn put_nested(number: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    put_tag(number, Wire::Bytes, out);
    let place = out.len();
    out.push(0);
    write(out);
    let length = out.len() - place - 1;
    if length < 0x80 {
        out[place] = length as u8;
        return;
    }
    // The content is moved to make room for the length's other bytes.
    let extra = (63 - (length as u64).leading_zeros() as usize) / 7;
    let end = out.len();
    out.resize(end + extra, 0);
    out.copy_within(place + 1..end, place + 1 + extra);
    let mut rest = length;
    for byte in &mut out[place..place + extra] {
        *byte = rest as u8 | 0x80;
        rest >>= 7;
    }
    out[place + extra] = rest as u8;
}

/// A field on the wire.
#[derive(Clone, Copy)]
pub(crate) enum Payload<'a> {
    Varint(u64),
    Fixed64(u64),
    Fixed32,
    Bytes(&'a [u8]),
    /// A group, which no field is: code that knows the number rejects it, other code skips it.
    Group,
}

pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { rest: bytes }
    }

    /// The next field's number and payload, or `None` at the end.
    #[allow(clippy::should_implement_trait)]
    pub(crate) fn next(&mut self) -> Result<Option<(u32, Payload<'a>)>, DecodeError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let tag = self.varint()?;
        let number = u32::try_from(tag >> 3).ok().filter(|number| (1..1 << 29).contains(number));
        let Some(number) = number else { return Err(broken(&format!("illegal tag {} (wire type {})", tag >> 3, tag))) };
        let payload = match tag & 7 {
            0 => Payload::Varint(self.varint()?),
            1 => Payload::Fixed64(u64::from_le_bytes(self.fixed()?)),
            2 => Payload::Bytes(self.delimited()?),
            3 => {
                self.skip_group()?;
                Payload::Group
            }
            4 => return Err(broken("wiretype end group for non-group")),
            5 => {
                self.fixed::<4>()?;
                Payload::Fixed32
            }
            wire => return Err(broken(&format!("illegal wireType {wire}"))),
        };
        Ok(Some((number, payload)))
    }

    fn delimited(&mut self) -> Result<&'a [u8], DecodeError> {
        let length = self.varint()?.cast_signed();
        let length = usize::try_from(length).map_err(|_| broken("negative length found during unmarshaling"))?;
        self.take(length)
    }

    /// Skips the rest of a group, including its end.
    fn skip_group(&mut self) -> Result<(), DecodeError> {
        let mut depth = 1_usize;
        while depth > 0 {
            match self.varint()? & 7 {
                0 => drop(self.varint()?),
                1 => drop(self.fixed::<8>()?),
                2 => drop(self.delimited()?),
                3 => depth += 1,
                4 => depth -= 1,
                5 => drop(self.fixed::<4>()?),
                wire => return Err(broken(&format!("illegal wireType {wire}"))),
            }
        }
        Ok(())
    }

    #[inline]
    fn varint(&mut self) -> Result<u64, DecodeError> {
        // Almost all tags, lengths and numbers have one byte.
        match self.rest.split_first() {
            Some((&byte, rest)) if byte < 0x80 => {
                self.rest = rest;
                Ok(byte.into())
            }
            _ => self.long_varint(),
        }
    }

    fn long_varint(&mut self) -> Result<u64, DecodeError> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let Some((&byte, rest)) = self.rest.split_first() else { return Err(unexpected_end()) };
            self.rest = rest;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(broken("integer overflow"))
    }

    fn fixed<const N: usize>(&mut self) -> Result<[u8; N], DecodeError> {
        let (bytes, rest) = self.rest.split_first_chunk().ok_or_else(unexpected_end)?;
        self.rest = rest;
        Ok(*bytes)
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.rest.split_at_checked(length).ok_or_else(unexpected_end)?;
        self.rest = rest;
        Ok(bytes)
    }
}

#[cold]
pub(crate) fn broken(what: &str) -> DecodeError {
    DecodeError::Syntax(format!("proto: {what}"))
}

#[cold]
pub(crate) fn unexpected_end() -> DecodeError {
    DecodeError::Syntax("unexpected EOF".to_owned())
}

#[cold]
pub(crate) fn wrong_wire(owner: &str, field: &str) -> DecodeError {
    DecodeError::Syntax(format!("proto: wrong wireType for field {field} of {owner}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The field numbers of a message.
    fn numbers(bytes: &[u8]) -> Result<Vec<u32>, String> {
        let mut reader = Reader::new(bytes);
        let mut numbers = Vec::new();
        while let Some((number, _)) = reader.next().map_err(|error| error.to_string())? {
            numbers.push(number);
        }
        Ok(numbers)
    }

    #[test]
    fn groups_are_passed_over_whole() {
        type Row<'a> = (&'a [u8], Result<&'a [u32], &'a str>);
        let rows: [Row<'_>; 6] = [
            (&[0x0b, 0x0c, 0x10, 0x05], Ok(&[1, 2])),
            (&[0x0b, 0x13, 0x0a, 0x01, 0x0c, 0x14, 0x08, 0x01, 0x0c, 0x18, 0x00], Ok(&[1, 3])),
            (&[0x0b, 0x13, 0x14], Err("unexpected EOF")),
            (&[0x0c], Err("proto: wiretype end group for non-group")),
            (&[0x0b, 0x0f], Err("proto: illegal wireType 7")),
            (
                &[0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01],
                Err("proto: negative length found during unmarshaling"),
            ),
        ];
        for (bytes, expected) in rows {
            assert_eq!(numbers(bytes), expected.map(<[u32]>::to_vec).map_err(str::to_owned), "{bytes:?}");
        }
    }
}
