//! The frames of a server's WebSocket: a client's messages in pieces as they arrive, and whole frames to the client.
//!
//! Guarantees that a message takes one buffer of memory, whatever its length, and that a frame is written whole even if the
//! future that sends it is dropped. Must never interpret a message.

use crate::upgrade::Upgraded;
use bytes::{Buf, Bytes, BytesMut};
use std::io::{self, Cursor, ErrorKind};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt, ReadHalf, WriteHalf, split};
use tokio::sync::Mutex;
use tungstenite::protocol::frame::FrameHeader;
use tungstenite::protocol::frame::coding::{CloseCode, Control, Data, OpCode};

/// Bytes read at a time, and the most that a piece of a message has; bytes that are written together.
pub const BUFFER_BYTES: usize = 16 << 10;
/// The longest payload of a ping, a pong or a close.
const MAX_CONTROL_BYTES: u64 = 125;

/// The type of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Text,
    Binary,
}

/// A piece of a message, which may be empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    pub kind: Kind,
    pub bytes: Bytes,
    /// Whether it begins a message, and whether it ends one.
    pub first: bool,
    pub last: bool,
}

/// Reads the messages of a client.
pub struct Reader {
    half: ReadHalf<Upgraded>,
    buffer: BytesMut,
    /// The frame whose payload is being read.
    frame: Option<Payload>,
    /// The message that is being read.
    message: Option<Message>,
    max_bytes: Option<u64>,
    writer: Writer,
}

struct Payload {
    left: u64,
    mask: [u8; 4],
    is_final: bool,
}

struct Message {
    kind: Kind,
    bytes: u64,
    begun: bool,
}

/// Takes a connection, on which messages of a client have at most so many bytes.
pub fn open(connection: Upgraded, max_bytes: Option<u64>) -> (Reader, Writer) {
    let (from_client, to_client) = split(connection);
    let sending = Sending { half: to_client, out: BytesMut::new(), closed: false };
    let writer = Writer(Arc::new(Mutex::new(sending)));
    let reader = Reader {
        half: from_client,
        buffer: BytesMut::new(),
        frame: None,
        message: None,
        max_bytes,
        writer: writer.clone(),
    };
    (reader, writer)
}

impl Reader {
    /// The next piece of a message; `None` when the client has closed the connection. Pings are answered meanwhile. Cancel
    /// safe.
    ///
    /// # Errors
    /// The connection breaks, or the client violates the protocol.
    pub async fn next(&mut self) -> io::Result<Option<Piece>> {
        loop {
            if self.frame.is_some() {
                return self.piece().await.map(Some);
            }
            let Some((head, length, head_bytes)) = self.head().await? else { return Ok(None) };
            let mask = head.mask.filter(|_| !(head.rsv1 || head.rsv2 || head.rsv3)).ok_or(ErrorKind::InvalidData)?;
            match head.opcode {
                OpCode::Data(data) => {
                    self.buffer.advance(head_bytes);
                    self.begin(data, length)?;
                    self.frame = Some(Payload { left: length, mask, is_final: head.is_final });
                }
                OpCode::Control(control) if head.is_final && length <= MAX_CONTROL_BYTES => {
                    let end = head_bytes + length as usize;
                    while self.buffer.len() < end {
                        self.fill().await?;
                    }
                    let mut payload = self.buffer.split_to(end).split_off(head_bytes);
                    unmask(&mut payload, mask);
                    match control {
                        Control::Ping => self.writer.send(OpCode::Control(Control::Pong), &[&payload]).await?,
                        Control::Close => {
                            // The code without the reason, as in kube-apiserver's
                            // responses.
                            payload.truncate(2);
                            // The client may have disconnected.
                            let _ = self.writer.end(&payload).await;
                            return Ok(None);
                        }
                        Control::Pong | Control::Reserved(_) => {}
                    }
                }
                OpCode::Control(_) => return Err(ErrorKind::InvalidData.into()),
            }
        }
    }

    /// The head of the next frame, which stays in the buffer, and its length there.
    async fn head(&mut self) -> io::Result<Option<(FrameHeader, u64, usize)>> {
        loop {
            let mut cursor = Cursor::new(&self.buffer[..]);
            let parsed =
                FrameHeader::parse(&mut cursor).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
            if let Some((head, length)) = parsed {
                return Ok(Some((head, length, cursor.position() as usize)));
            }
            if self.read().await? == 0 {
                return if self.buffer.is_empty() { Ok(None) } else { Err(ErrorKind::UnexpectedEof.into()) };
            }
        }
    }

    /// Begins or continues a message by a frame of a length.
    fn begin(&mut self, data: Data, length: u64) -> io::Result<()> {
        let new = |kind| Message { kind, bytes: 0, begun: false };
        let message = match (data, self.message.take()) {
            (Data::Continue, Some(message)) => message,
            (Data::Text, None) => new(Kind::Text),
            (Data::Binary, None) => new(Kind::Binary),
            _ => return Err(ErrorKind::InvalidData.into()),
        };
        let bytes = message.bytes.checked_add(length).filter(|bytes| self.max_bytes.is_none_or(|max| *bytes <= max));
        self.message = Some(Message { bytes: bytes.ok_or(ErrorKind::FileTooLarge)?, ..message });
        Ok(())
    }

    /// The next piece of the frame's payload.
    async fn piece(&mut self) -> io::Result<Piece> {
        if self.buffer.is_empty() && self.frame.as_ref().is_some_and(|frame| frame.left > 0) {
            self.fill().await?;
        }
        let (Some(mut frame), Some(mut message)) = (self.frame.take(), self.message.take()) else {
            // A payload is only read of a message.
            return Err(ErrorKind::InvalidData.into());
        };
        let length = self.buffer.len().min(BUFFER_BYTES).min(usize::try_from(frame.left).unwrap_or(usize::MAX));
        let mut bytes = self.buffer.split_to(length);
        unmask(&mut bytes, frame.mask);
        frame.mask.rotate_left(length % 4);
        frame.left -= length as u64;
        let last = frame.left == 0 && frame.is_final;
        let piece = Piece { kind: message.kind, bytes: bytes.freeze(), first: !message.begun, last };
        message.begun = true;
        self.frame = Some(frame).filter(|frame| frame.left > 0);
        self.message = Some(message).filter(|_| !last);
        Ok(piece)
    }

    /// Reads more, of which there must be some.
    async fn fill(&mut self) -> io::Result<()> {
        match self.read().await? {
            0 => Err(ErrorKind::UnexpectedEof.into()),
            _ => Ok(()),
        }
    }

    async fn read(&mut self) -> io::Result<usize> {
        let room = BUFFER_BYTES.saturating_sub(self.buffer.len()).max(1);
        self.buffer.reserve(room);
        (&mut self.half).take(room as u64).read_buf(&mut self.buffer).await
    }
}

fn unmask(bytes: &mut [u8], mask: [u8; 4]) {
    for (at, byte) in bytes.iter_mut().enumerate() {
        *byte ^= mask[at % 4];
    }
}

/// Writes to a client; a write waits until the client takes it.
#[derive(Clone)]
pub struct Writer(Arc<Mutex<Sending>>);

struct Sending {
    half: WriteHalf<Upgraded>,
    /// Unwritten frames: usually one, and the rest of one whose sender was dropped.
    out: BytesMut,
    /// The last frame has been sent.
    closed: bool,
}

impl Writer {
    /// Sends a message, given in parts.
    ///
    /// # Errors
    /// The connection breaks, or has been ended.
    pub async fn message(&self, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
        self.send(data(kind), parts).await
    }

    /// The same, but several small messages may be sent together: [`Writer::flush`] sends them.
    ///
    /// # Errors
    /// As above.
    pub async fn feed(&self, kind: Kind, parts: &[&[u8]]) -> io::Result<()> {
        let mut sending = self.0.lock().await;
        if sending.out.len() >= BUFFER_BYTES {
            sending.write().await?;
        }
        sending.put(data(kind), parts)
    }

    /// Sends the fed frames.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn flush(&self) -> io::Result<()> {
        self.0.lock().await.write().await
    }

    /// Sends a close frame: nothing can be sent afterwards.
    ///
    /// # Errors
    /// The connection breaks.
    pub async fn close(&self) -> io::Result<()> {
        self.end(&u16::from(CloseCode::Normal).to_be_bytes()).await
    }

    async fn send(&self, opcode: OpCode, parts: &[&[u8]]) -> io::Result<()> {
        let mut sending = self.0.lock().await;
        sending.write().await?;
        sending.put(opcode, parts)?;
        sending.write().await
    }

    /// Sends the last frame, unless it has been sent.
    async fn end(&self, payload: &[u8]) -> io::Result<()> {
        let mut sending = self.0.lock().await;
        if !sending.closed {
            sending.put(OpCode::Control(Control::Close), &[payload])?;
            sending.closed = true;
        }
        sending.write().await
    }
}

fn data(kind: Kind) -> OpCode {
    OpCode::Data(match kind {
        Kind::Text => Data::Text,
        Kind::Binary => Data::Binary,
    })
}

impl Sending {
    fn put(&mut self, opcode: OpCode, parts: &[&[u8]]) -> io::Result<()> {
        if self.closed {
            return Err(ErrorKind::BrokenPipe.into());
        }
        let length: usize = parts.iter().map(|part| part.len()).sum();
        let head = FrameHeader { opcode, ..FrameHeader::default() };
        let mut bytes = Vec::with_capacity(head.len(length as u64));
        head.format(length as u64, &mut bytes).map_err(io::Error::other)?;
        self.out.reserve(bytes.len() + length);
        self.out.extend_from_slice(&bytes);
        parts.iter().for_each(|part| self.out.extend_from_slice(part));
        Ok(())
    }

    async fn write(&mut self) -> io::Result<()> {
        while self.out.has_remaining() {
            self.half.write_buf(&mut self.out).await?;
        }
        // A large message leaves no large buffer behind.
        self.out = BytesMut::new();
        self.half.flush().await
    }
}

#[cfg(test)]
mod tests;
