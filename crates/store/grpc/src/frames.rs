//! Messages on a stream: a mark that it is not compressed, four bytes of length, the message.
//! Guarantees that a message which came in one piece is not copied.
//! Must never wait.

use crate::status::{Code, Status};
use bytes::{Bytes, BytesMut};

const HEAD: usize = 5;

/// A message as it is sent; `write` appends its bytes, about `length` of them.
pub fn framed(length: usize, write: impl FnOnce(&mut Vec<u8>)) -> Bytes {
    let mut bytes = Vec::with_capacity(HEAD + length);
    bytes.extend_from_slice(&[0; HEAD]);
    write(&mut bytes);
    let length = u32::try_from(bytes.len() - HEAD).unwrap_or(u32::MAX);
    if let Some(place) = bytes.get_mut(1..HEAD) {
        place.copy_from_slice(&length.to_be_bytes());
    }
    Bytes::from(bytes)
}

/// What has arrived and has not been taken.
#[derive(Debug)]
pub struct Arrived {
    /// One piece as it came; empty when `several` are put together.
    whole: Bytes,
    several: BytesMut,
    /// Bytes of a message at most.
    max: usize,
}

impl Arrived {
    pub fn new(max: usize) -> Arrived {
        Arrived { whole: Bytes::new(), several: BytesMut::new(), max }
    }

    pub fn push(&mut self, piece: Bytes) {
        if self.is_empty() {
            self.whole = piece;
            return;
        }
        self.several.extend_from_slice(&std::mem::take(&mut self.whole));
        self.several.extend_from_slice(&piece);
    }

    pub fn is_empty(&self) -> bool {
        self.whole.is_empty() && self.several.is_empty()
    }

    /// The next message, when all of it is there.
    ///
    /// # Errors
    /// It is compressed, which nobody asked for, or too long.
    pub fn take(&mut self) -> Result<Option<Bytes>, Status> {
        let bytes: &[u8] = if self.several.is_empty() { &self.whole } else { &self.several };
        let Some((&[mark, a, b, c, d], rest)) = bytes.split_first_chunk::<HEAD>() else { return Ok(None) };
        if mark != 0 {
            return Err(Status::new(Code::Internal, "a message came compressed"));
        }
        let length = u32::from_be_bytes([a, b, c, d]) as usize;
        if length > self.max {
            return Err(Status::new(Code::ResourceExhausted, format!("a message of {length} bytes is too long")));
        }
        if rest.len() < length {
            return Ok(None);
        }
        let end = HEAD + length;
        let message =
            if self.several.is_empty() { self.whole.split_to(end) } else { self.several.split_to(end).freeze() };
        Ok(Some(message.slice(HEAD..)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_taken_whole_however_they_come() {
        let messages = [&b"one"[..], b"", b"and another"];
        let all: Vec<u8> = messages.iter().flat_map(|text| framed(0, |to| to.extend_from_slice(text))).collect();
        for size in 1..=all.len() {
            let mut arrived = Arrived::new(usize::MAX);
            let mut taken = Vec::new();
            for piece in all.chunks(size) {
                arrived.push(Bytes::copy_from_slice(piece));
                while let Some(message) = arrived.take().unwrap() {
                    taken.push(message);
                }
            }
            assert_eq!(taken, messages, "in pieces of {size}");
            assert!(arrived.is_empty());
        }
    }

    #[test]
    fn what_is_compressed_or_too_long_is_refused() {
        for head in [[1, 0, 0, 0, 0], [0, 0, 0, 1, 1]] {
            let mut arrived = Arrived::new(256);
            arrived.push(Bytes::copy_from_slice(&head));
            assert!(arrived.take().is_err(), "{head:?}");
        }
    }
}
