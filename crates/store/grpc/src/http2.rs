//! The frames of HTTP/2 (RFC 9113): their heads, and the few kinds that a client of gRPC meets.
//! Guarantees nothing: these are the wire's facts.
//! Must never keep anything.

/// Bytes of a frame's head.
pub const HEAD: usize = 9;
/// Bytes of a frame's content at most, as nothing else is agreed.
pub const FRAME_MAX: usize = 1 << 14;
/// Bytes that may be under way before anybody says anything.
pub const WINDOW: u32 = (1 << 16) - 1;
pub const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

pub mod kind {
    pub const DATA: u8 = 0;
    pub const HEADERS: u8 = 1;
    pub const RESET: u8 = 3;
    pub const SETTINGS: u8 = 4;
    pub const PUSH_PROMISE: u8 = 5;
    pub const PING: u8 = 6;
    pub const GO_AWAY: u8 = 7;
    pub const WINDOW_UPDATE: u8 = 8;
    pub const CONTINUATION: u8 = 9;
}

pub mod flag {
    pub const END_STREAM: u8 = 1;
    /// Of settings and pings.
    pub const ACK: u8 = 1;
    pub const END_HEADERS: u8 = 4;
    pub const PADDED: u8 = 8;
    pub const PRIORITY: u8 = 0x20;
}

pub mod setting {
    pub const ENABLE_PUSH: u16 = 2;
    pub const STREAMS_MAX: u16 = 3;
    pub const INITIAL_WINDOW: u16 = 4;
    pub const FRAME_MAX: u16 = 5;
}

/// Why a stream is reset by whom nobody waits for it any more.
pub const CANCEL: u32 = 8;

#[derive(Clone, Copy, Debug)]
pub struct Head {
    pub length: usize,
    pub kind: u8,
    pub flags: u8,
    /// 0: the connection.
    pub stream: u32,
}

impl Head {
    /// The head at the beginning of some bytes, if all of it is there.
    pub fn read(bytes: &[u8]) -> Option<Head> {
        let [a, b, c, kind, flags, stream @ ..] = *bytes.first_chunk::<HEAD>()?;
        let length = u32::from_be_bytes([0, a, b, c]) as usize;
        Some(Head { length, kind, flags, stream: u31(stream) })
    }

    pub fn has(self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

/// A number of 31 bits, as most are.
pub fn u31(bytes: [u8; 4]) -> u32 {
    u32::from_be_bytes(bytes) & u32::MAX >> 1
}

/// Appends a frame.
pub fn write(to: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, content: &[u8]) {
    let [_, length @ ..] = u32::try_from(content.len()).unwrap_or(u32::MAX).to_be_bytes();
    to.reserve(HEAD + content.len());
    to.extend_from_slice(&length);
    to.extend_from_slice(&[kind, flags]);
    to.extend_from_slice(&stream.to_be_bytes());
    to.extend_from_slice(content);
}

/// Appends the settings, as pairs.
pub fn write_settings(to: &mut Vec<u8>, settings: &[(u16, u32)]) {
    let content: Vec<u8> =
        settings.iter().flat_map(|(name, value)| name.to_be_bytes().into_iter().chain(value.to_be_bytes())).collect();
    write(to, kind::SETTINGS, 0, 0, &content);
}

/// The settings of a frame.
pub fn settings(content: &[u8]) -> impl Iterator<Item = (u16, u32)> {
    content.chunks_exact(6).filter_map(|pair| {
        let [a, b, value @ ..] = *pair.first_chunk::<6>()?;
        Some((u16::from_be_bytes([a, b]), u32::from_be_bytes(value)))
    })
}
