//! Misbehaving clients: raw bytes on a TLS connection, and HTTP/2 frame by frame. Guarantees that nothing is sent or read
//! implicitly: no window update, no end of a stream; only pings and settings are acknowledged, when they are read. Must never
//! be used for what a well-behaved client can do.

use super::DEADLINE;
use super::http::Endpoint;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::TcpStream;

pub type Tls = StreamOwned<ClientConnection, TcpStream>;

/// Whatever carries bytes both ways.
trait Duplex: Read + Write + Send {}

impl<T: Read + Write + Send> Duplex for T {}

fn dial(endpoint: &Endpoint) -> TcpStream {
    let tcp = TcpStream::connect(endpoint.address).expect("a connection");
    tcp.set_nodelay(true).expect("no delay");
    tcp.set_read_timeout(Some(DEADLINE)).expect("a deadline");
    tcp
}

/// A connection that speaks nothing yet.
pub fn connect(endpoint: &Endpoint, protocol: &str) -> Tls {
    let mut tcp = dial(endpoint);
    let config = endpoint.tls.as_ref().expect("TLS");
    let mut config = ClientConfig::clone(config);
    config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
    let name = ServerName::from(endpoint.address.ip());
    let mut connection = ClientConnection::new(config.into(), name).expect("a client");
    while connection.is_handshaking() {
        connection.complete_io(&mut tcp).expect("a handshake");
    }
    StreamOwned::new(connection, tcp)
}

/// The head of an HTTP/1 request, its body announced and not sent.
pub fn head(token: &str, method: &str, path: &str, length: usize) -> String {
    format!(
        "{method} {path} HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {token}\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n"
    )
}

/// How a stream of HTTP/2 has got on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stream {
    /// The compressed header block of the response: its first byte encodes the most common codes.
    pub head: Vec<u8>,
    pub bytes: usize,
    pub ended: bool,
    /// Reset, with this code.
    pub reset: Option<u32>,
    /// The server's additional window for this stream.
    granted: usize,
}

impl Stream {
    /// Whether the stream has ended.
    pub fn is_over(&self) -> bool {
        self.ended || self.reset.is_some()
    }

    /// The status code, from HPACK's static table or as a literal.
    pub fn status(&self) -> u16 {
        const STATIC: [u16; 7] = [200, 204, 206, 304, 400, 404, 500];
        // Size updates of the table may come first.
        let head = self.head.iter().position(|byte| byte & 0xe0 != 0x20).map_or(&[][..], |start| &self.head[start..]);
        match head {
            [index, ..] if index & 0x80 != 0 => STATIC.get(usize::from(index & 0x7f) - 8).copied().unwrap_or(0),
            [_, length, text @ ..] if length & 0x80 == 0 => {
                let text = text.get(..usize::from(*length)).and_then(|text| std::str::from_utf8(text).ok());
                text.and_then(|text| text.parse().ok()).unwrap_or(0)
            }
            // Digits as HPACK's Huffman code has them: 0 to 2 in 5 bits, the others in 6.
            [_, length, text @ ..] => huffman_digits(text.get(..usize::from(length & 0x7f)).unwrap_or_default()),
            _ => 0,
        }
    }
}

fn huffman_digits(bytes: &[u8]) -> u16 {
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |at| byte >> at & 1)).collect();
    let number = |bits: &[u8]| bits.iter().fold(0_u16, |number, bit| number << 1 | u16::from(*bit));
    let (mut rest, mut status) = (&bits[..], 0);
    for _ in 0..3 {
        let Some(five) = rest.get(..5).map(number) else { return 0 };
        let digit = match five {
            0..=2 => {
                rest = &rest[5..];
                five
            }
            _ => {
                let Some(six) = rest.get(..6).map(number) else { return 0 };
                rest = &rest[6..];
                six.wrapping_sub(0b01_1001).wrapping_add(3)
            }
        };
        status = status * 10 + digit;
    }
    status
}

/// A connection of HTTP/2, frame by frame.
pub struct Http2 {
    stream: Box<dyn Duplex>,
    token: String,
    next: u32,
    pub streams: HashMap<u32, Stream>,
    /// The server sent GOAWAY.
    pub goes_away: bool,
    /// The initial windows of a stream, and of the connection.
    stream_window: usize,
    window: usize,
}

impl Http2 {
    /// A connection whose streams have this window for responses.
    pub fn connect(endpoint: &Endpoint, token: &str, window: u32) -> Http2 {
        let mut stream: Box<dyn Duplex> = match endpoint.tls {
            Some(_) => Box::new(connect(endpoint, "h2")),
            None => Box::new(dial(endpoint)),
        };
        stream.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("sent");
        // No dynamic table for heads, so that each can be read by itself.
        let mut settings = vec![0, 1, 0, 0, 0, 0, 0, 4];
        settings.extend_from_slice(&window.to_be_bytes());
        let mut client = Http2 {
            stream,
            token: token.to_owned(),
            next: 1,
            streams: HashMap::new(),
            goes_away: false,
            stream_window: 65_535,
            window: 65_535,
        };
        client.frame(4, 0, 0, &settings);
        client
    }

    /// Starts a request, whose stream stays open when a body follows.
    pub fn request(&mut self, method: &str, path: &str, body_follows: bool) -> u32 {
        let bearer = format!("Bearer {}", self.token);
        let mut fields = vec![(":method", method), (":path", path), (":scheme", "https"), (":authority", "a")];
        if !self.token.is_empty() {
            fields.push(("authorization", bearer.as_str()));
        }
        fields.push(("content-type", "application/json"));
        let mut block = Vec::new();
        for (name, value) in fields {
            // A literal that is not indexed, its name written out.
            block.push(0);
            for text in [name, value] {
                block.push(u8::try_from(text.len()).ok().filter(|length| *length < 127).expect("short"));
                block.extend_from_slice(text.as_bytes());
            }
        }
        let id = self.next;
        self.next += 2;
        self.frame(1, if body_follows { 4 } else { 5 }, id, &block);
        id
    }

    /// Sends a piece of a body.
    pub fn data(&mut self, id: u32, bytes: &[u8], is_last: bool) {
        self.frame(0, u8::from(is_last), id, bytes);
    }

    /// Sends so many spaces of a body, as fast as the server takes them, and leaves it open. False when the server does not
    /// want them.
    pub fn spaces(&mut self, id: u32, length: usize) -> bool {
        const FRAME: usize = 16 << 10;
        let mut sent = 0;
        while sent < length {
            let has_room = |client: &Http2| {
                let granted = client.streams.get(&id).map_or(0, |stream| stream.granted);
                client.window >= FRAME && client.stream_window + granted >= sent + FRAME
            };
            let is_over = |client: &Http2| client.streams.get(&id).is_some_and(Stream::is_over);
            if !self.read_until(|client| has_room(client) || is_over(client)) || is_over(self) {
                return false;
            }
            self.data(id, &[b' '; FRAME], false);
            self.window -= FRAME;
            sent += FRAME;
        }
        true
    }

    /// Gives a stream up.
    pub fn cancel(&mut self, id: u32) {
        self.frame(3, 0, id, &8_u32.to_be_bytes());
    }

    /// Sends a frame; a server that has closed the connection is noticed when it is read from.
    pub fn frame(&mut self, kind: u8, flags: u8, id: u32, payload: &[u8]) {
        let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
        let mut frame = vec![length[1], length[2], length[3], kind, flags];
        frame.extend_from_slice(&id.to_be_bytes());
        frame.extend_from_slice(payload);
        let _ = self.stream.write_all(&frame).and_then(|()| self.stream.flush());
    }

    /// Reads frames until `done`; false when the server has closed the connection before.
    ///
    /// # Panics
    /// Nothing came before the deadline.
    pub fn read_until(&mut self, mut done: impl FnMut(&Http2) -> bool) -> bool {
        while !done(self) {
            match self.read_frame() {
                Ok(()) => {}
                Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut) => {
                    panic!("nothing more came: {:?}", self.streams)
                }
                Err(_) => return false,
            }
        }
        true
    }

    fn read_frame(&mut self) -> io::Result<()> {
        let mut head = [0; 9];
        self.stream.read_exact(&mut head)?;
        let length = u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        let id = u32::from_be_bytes([head[5] & 0x7f, head[6], head[7], head[8]]);
        let (kind, flags) = (head[3], head[4]);
        if kind == 7 {
            self.goes_away = true;
        }
        if (kind, flags & 1) == (6, 0) {
            self.frame(6, 1, 0, &payload);
        }
        let number = |bytes: &[u8]| bytes.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
        if kind == 4 && flags & 1 == 0 {
            let window = payload.chunks(6).find(|setting| setting[..2] == [0, 4]);
            window.into_iter().for_each(|setting| self.stream_window = number(&setting[2..]) as usize);
            self.frame(4, 1, 0, &[]);
        }
        if id == 0 {
            self.window += if kind == 8 { number(&payload) as usize } else { 0 };
            return Ok(());
        }
        let stream = self.streams.entry(id).or_default();
        match kind {
            0 => stream.bytes += length,
            1 => stream.head = payload,
            3 => stream.reset = Some(number(&payload)),
            8 => stream.granted += number(&payload) as usize,
            _ => {}
        }
        stream.ended |= kind <= 1 && flags & 1 != 0;
        Ok(())
    }
}
