//! The part of SPDY/3.1 that a client of a kubelet needs: opening streams, data in both directions, pings.
//!
//! Guarantees a limit on buffered bytes of a frame, whatever its head says. Headers are written as zlib's stored
//! blocks, which every inflater accepts, and those of responses are skipped, so that no compressor and no dictionary is
//! needed. Must never depend on the purpose of a stream.

use bytes::{BufMut, Bytes, BytesMut};
use std::io;
use tokio::io::{AsyncRead, AsyncReadExt};

const VERSION: u16 = 0x8003;
const SYN_STREAM: u16 = 1;
const SYN_REPLY: u16 = 2;
const RST_STREAM: u16 = 3;
const PING: u16 = 6;
const GOAWAY: u16 = 7;

const FIN: u8 = 1;

/// The largest frame that is not data.
const MAX_CONTROL_BYTES: usize = 64 << 10;
/// Bytes of a stream that are read or written at a time.
pub const PIECE_BYTES: usize = 32 << 10;

/// A frame from the peer.
#[derive(Debug, PartialEq, Eq)]
pub enum Frame {
    /// A piece of a stream, and whether it is the last.
    Data {
        stream: u32,
        bytes: Bytes,
        last: bool,
    },
    /// A stream was reset.
    Reset(u32),
    Ping(u32),
    /// The peer accepts no more streams.
    GoAway,
    /// A frame that is ignored.
    Other,
}

/// Opens streams. Their ids are odd, as a client's are, and count up.
#[derive(Default)]
pub struct Opener {
    opened: u32,
}

impl Opener {
    /// Appends a SYN_STREAM frame with these headers, whose names are in lower case, and returns the stream's id.
    pub fn open(&mut self, headers: &[(&str, &str)], out: &mut BytesMut) -> u32 {
        let mut names = BytesMut::new();
        names.put_u32(headers.len() as u32);
        for text in headers.iter().flat_map(|(name, value)| [name, value]) {
            names.put_u32(text.len() as u32);
            names.put_slice(text.as_bytes());
        }
        let mut block = BytesMut::new();
        if self.opened == 0 {
            // All blocks of headers of a connection are one zlib stream.
            block.put_slice(&[0x78, 0x01]);
        }
        for piece in names.chunks(usize::from(u16::MAX)) {
            stored(piece, &mut block);
        }
        // An empty block makes an inflater flush its output.
        stored(&[], &mut block);
        let id = 2 * self.opened + 1;
        self.opened += 1;
        control(SYN_STREAM, block.len() + 10, out);
        out.put_u32(id);
        out.put_slice(&[0; 6]);
        out.put(block);
        id
    }
}

/// A block of zlib that is not the last and not compressed.
fn stored(bytes: &[u8], out: &mut BytesMut) {
    let length = bytes.len() as u16;
    out.put_u8(0);
    out.put_u16_le(length);
    out.put_u16_le(!length);
    out.put_slice(bytes);
}

fn control(kind: u16, length: usize, out: &mut BytesMut) {
    out.put_u16(VERSION);
    out.put_u16(kind);
    out.put_u32(length as u32);
}

/// Appends a piece of a stream, at most [`PIECE_BYTES`] of it.
pub fn data(stream: u32, bytes: &[u8], last: bool, out: &mut BytesMut) {
    out.put_u32(stream);
    out.put_u32(u32::from(if last { FIN } else { 0 }) << 24 | bytes.len() as u32);
    out.put_slice(bytes);
}

/// Appends a ping, or the reply to one.
pub fn ping(id: u32, out: &mut BytesMut) {
    control(PING, 4, out);
    out.put_u32(id);
}

/// Reads the frames of a connection.
pub struct Frames<R> {
    reader: R,
    /// The rest of a data frame.
    rest: Option<Rest>,
}

struct Rest {
    stream: u32,
    bytes: usize,
    last: bool,
}

impl<R: AsyncRead + Unpin> Frames<R> {
    pub fn new(reader: R) -> Self {
        Frames { reader, rest: None }
    }

    /// The next frame, data in pieces of a bounded size.
    ///
    /// # Errors
    /// The connection breaks or ends, or its bytes are not SPDY/3.1.
    pub async fn next(&mut self) -> io::Result<Frame> {
        if let Some(rest) = self.rest.take() {
            return self.piece(rest).await;
        }
        let (first, second) = (self.reader.read_u32().await?, self.reader.read_u32().await?);
        let (flags, length) = ((second >> 24) as u8, (second & 0x00ff_ffff) as usize);
        if first >> 31 == 0 {
            return self.piece(Rest { stream: first, bytes: length, last: flags & FIN != 0 }).await;
        }
        if (first >> 16) as u16 != VERSION || length > MAX_CONTROL_BYTES {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut body = vec![0; length];
        self.reader.read_exact(&mut body).await?;
        let number = body.first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
        Ok(match first as u16 {
            SYN_REPLY if flags & FIN != 0 => Frame::Data { stream: number, bytes: Bytes::new(), last: true },
            RST_STREAM => Frame::Reset(number),
            PING => Frame::Ping(number),
            GOAWAY => Frame::GoAway,
            _ => Frame::Other,
        })
    }

    async fn piece(&mut self, rest: Rest) -> io::Result<Frame> {
        let Rest { stream, bytes, last } = rest;
        let mut piece = vec![0; bytes.min(PIECE_BYTES)];
        self.reader.read_exact(&mut piece).await?;
        let left = bytes - piece.len();
        if left > 0 {
            self.rest = Some(Rest { stream, bytes: left, last });
        }
        Ok(Frame::Data { stream, bytes: piece.into(), last: last && left == 0 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::{Decompress, FlushDecompress};

    #[test]
    fn streams_are_opened_with_headers_that_inflate() {
        let mut opener = Opener::default();
        // One inflater for a connection, as a peer has.
        let mut inflater = Decompress::new(true);
        let long = "x".repeat(70_000);
        for (nth, value) in ["error", "stdin", &long].into_iter().enumerate() {
            let mut out = BytesMut::new();
            let id = opener.open(&[("streamtype", value)], &mut out);
            assert_eq!(id as usize, 2 * nth + 1);
            assert_eq!(out[..4], [0x80, 3, 0, 1]);
            let length = u32::from_be_bytes([0, out[5], out[6], out[7]]) as usize;
            assert_eq!((out[4], length), (0, out.len() - 8));
            assert_eq!(out[8..18], [&id.to_be_bytes()[..], &[0; 6]].concat());
            let mut headers = Vec::with_capacity(100_000);
            inflater.decompress_vec(&out[18..], &mut headers, FlushDecompress::Sync).expect("zlib");
            let size = (value.len() as u32).to_be_bytes();
            let expected = [&[0, 0, 0, 1, 0, 0, 0, 10], &b"streamtype"[..], &size, value.as_bytes()].concat();
            assert!(headers == expected, "{value}");
        }
    }

    #[tokio::test]
    async fn frames_are_read_in_bounded_pieces() {
        let mut sent = BytesMut::new();
        let text: Vec<u8> = (0..PIECE_BYTES + 3).map(|n| n as u8).collect();
        data(3, &text, true, &mut sent);
        data(5, b"", false, &mut sent);
        sent.put_slice(&[0x80, 3, 0, 2, FIN, 0, 0, 4, 0, 0, 0, 7]);
        sent.put_slice(&[0x80, 3, 0, 3, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 1]);
        ping(2, &mut sent);
        sent.put_slice(&[0x80, 3, 0, 7, 0, 0, 0, 8, 0, 0, 0, 9, 0, 0, 0, 0]);
        sent.put_slice(&[0x80, 3, 0, 4, 0, 0, 0, 0]);
        let mut frames = Frames::new(&sent[..]);
        let piece = |stream, bytes: &[u8], last| Frame::Data { stream, bytes: Bytes::copy_from_slice(bytes), last };
        for expected in [
            piece(3, &text[..PIECE_BYTES], false),
            piece(3, &text[PIECE_BYTES..], true),
            piece(5, b"", false),
            piece(7, b"", true),
            Frame::Reset(9),
            Frame::Ping(2),
            Frame::GoAway,
            Frame::Other,
        ] {
            assert_eq!(frames.next().await.expect("a frame"), expected);
        }
        assert_eq!(frames.next().await.map_err(|error| error.kind()), Err(io::ErrorKind::UnexpectedEof));
        for wrong in [&[0x80, 2, 0, 6, 0, 0, 0, 4, 0, 0, 0, 1][..], &[0x80, 3, 0, 4, 0, 0xff, 0, 0]] {
            let outcome = Frames::new(wrong).next().await;
            assert_eq!(outcome.map_err(|error| error.kind()), Err(io::ErrorKind::InvalidData));
        }
    }
}
