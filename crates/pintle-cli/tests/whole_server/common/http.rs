//! A minimal blocking HTTP/1.1 client: one connection, bodies whole or as a stream of lines. Guarantees that bytes are sent
//! unmodified, however malformed they are, and that only whole responses are returned. Must never retry: tests count
//! acknowledged writes.

use super::DEADLINE;
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use serde_json::Value;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

pub const JSON: &str = "application/json";
pub const YAML: &str = "application/yaml";
pub const MERGE_PATCH: &str = "application/merge-patch+json";
pub const JSON_PATCH: &str = "application/json-patch+json";
pub const STRATEGIC_PATCH: &str = "application/strategic-merge-patch+json";

/// Where a server is and how one enters.
#[derive(Clone)]
pub struct Endpoint {
    pub address: SocketAddr,
    /// `None` is plain HTTP.
    pub tls: Option<Arc<ClientConfig>>,
    pub token: Option<String>,
}

impl Endpoint {
    pub fn client(&self) -> Client {
        Client { endpoint: self.clone(), stream: None, headers: String::new() }
    }

    fn connect(&self) -> io::Result<BufReader<Stream>> {
        let tcp = TcpStream::connect(self.address)?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(DEADLINE))?;
        let stream = match &self.tls {
            None => Stream::Plain(tcp),
            Some(config) => {
                let name = ServerName::from(self.address.ip());
                let connection = ClientConnection::new(config.clone(), name).map_err(io::Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(connection, tcp)))
            }
        };
        Ok(BufReader::new(stream))
    }
}

enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Read for Stream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.read(buffer),
            Stream::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for Stream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Stream::Plain(stream) => stream.write(bytes),
            Stream::Tls(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Stream::Plain(stream) => stream.flush(),
            Stream::Tls(stream) => stream.flush(),
        }
    }
}

/// A response with its whole body.
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    /// Names in lower case.
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Answer {
    /// A header by its name in lower case; empty when there is none.
    pub fn header(&self, name: &str) -> &str {
        header(&self.headers, name).unwrap_or_default()
    }

    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// # Panics
    /// The body is not JSON.
    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|_| panic!("{}: not JSON: {}", self.status, self.text()))
    }

    /// The object in the body of a response with this status.
    ///
    /// # Panics
    /// It has another status.
    #[track_caller]
    pub fn expect(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.text());
        self.json()
    }

    /// # Panics
    /// The response is not 200 with this body.
    pub fn expect_text(&self, text: &str) {
        assert_eq!((self.status, self.text().as_str()), (200, text));
    }
}

/// What tests expect of a request that must be answered.
pub trait Answered {
    /// # Panics
    /// There is no response.
    fn answer(self) -> Answer;

    /// The object in the body of a response with this status.
    ///
    /// # Panics
    /// There is no response, or it has another status.
    fn expect_status(self, status: u16) -> Value;
}

impl Answered for io::Result<Answer> {
    #[track_caller]
    fn answer(self) -> Answer {
        self.unwrap_or_else(|error| panic!("no answer: {error}"))
    }

    #[track_caller]
    fn expect_status(self, status: u16) -> Value {
        self.answer().expect(status)
    }
}

/// One connection, opened when needed. After an error the next request opens another.
pub struct Client {
    endpoint: Endpoint,
    stream: Option<BufReader<Stream>>,
    /// Additional headers of every request, as lines.
    headers: String,
}

impl Client {
    /// A browser, showing a page of an origin.
    pub fn of_page(self, origin: &str) -> Client {
        self.with_header("Origin", origin)
    }

    /// A client that sends this header with every request.
    pub fn with_header(self, name: &str, value: &str) -> Client {
        Client { headers: format!("{}{name}: {value}\r\n", self.headers), ..self }
    }

    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send("GET", path, "", b"")
    }

    pub fn delete(&mut self, path: &str) -> io::Result<Answer> {
        self.send("DELETE", path, "", b"")
    }

    pub fn post(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.send("POST", path, JSON, body.to_string().as_bytes())
    }

    pub fn put(&mut self, path: &str, body: &Value) -> io::Result<Answer> {
        self.send("PUT", path, JSON, body.to_string().as_bytes())
    }

    /// Sends a request and reads the whole response.
    pub fn send(&mut self, method: &str, path: &str, content_type: &str, body: &[u8]) -> io::Result<Answer> {
        let (status, headers, mut reader) = self.begin(method, path, content_type, body)?;
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes)?;
        let close = header(&headers, "connection") == Some("close");
        if !close && !matches!(reader.kind, BodyKind::UntilClosed) {
            self.stream = Some(reader.stream);
        }
        Ok(Answer { status, headers, body: bytes })
    }

    /// Opens a watch. It has the connection for itself; this client opens another.
    pub fn watch(&mut self, path: &str) -> io::Result<Watch> {
        let (status, _, mut reader) = self.begin("GET", path, "", b"")?;
        if status != 200 {
            let mut text = String::new();
            reader.read_to_string(&mut text)?;
            return Err(io::Error::other(format!("{status}: {text}")));
        }
        Ok(Watch { lines: BufReader::new(reader) })
    }

    fn begin(&mut self, method: &str, path: &str, content_type: &str, body: &[u8]) -> io::Result<Begun> {
        let mut stream = match self.stream.take() {
            Some(stream) => stream,
            None => self.endpoint.connect()?,
        };
        let mut head = format!("{method} {path} HTTP/1.1\r\nHost: {}\r\n", self.endpoint.address);
        if let Some(token) = &self.endpoint.token {
            head.push_str(&format!("Authorization: Bearer {token}\r\n"));
        }
        head.push_str(&self.headers);
        if !content_type.is_empty() {
            head.push_str(&format!("Content-Type: {content_type}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n", body.len()));
        let mut message = head.into_bytes();
        message.extend_from_slice(body);
        let sent = stream.get_mut().write_all(&message).and_then(|()| stream.get_mut().flush());
        // A server may refuse a body that it has not read: the answer counts, not the broken pipe.
        let read = read_head(&mut stream);
        let (status, headers) = match (sent, read) {
            (_, Ok(head)) => head,
            (Err(error), Err(_)) | (Ok(()), Err(error)) => return Err(error),
        };
        let kind = if method == "HEAD" || status == 204 || status == 304 {
            BodyKind::Length(0)
        } else if header(&headers, "transfer-encoding") == Some("chunked") {
            BodyKind::Chunked { left: 0, first: true }
        } else {
            match header(&headers, "content-length").and_then(|text| text.parse().ok()) {
                Some(length) => BodyKind::Length(length),
                None => BodyKind::UntilClosed,
            }
        };
        Ok((status, headers, BodyReader { stream, kind }))
    }
}

type Headers = Vec<(String, String)>;
type Begun = (u16, Headers, BodyReader);

fn header<'a>(headers: &'a Headers, name: &str) -> Option<&'a str> {
    headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

fn line(stream: &mut BufReader<Stream>) -> io::Result<String> {
    let mut line = String::new();
    if stream.read_line(&mut line)? == 0 || !line.ends_with('\n') {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(line.trim_end().to_owned())
}

fn read_head(stream: &mut BufReader<Stream>) -> io::Result<(u16, Headers)> {
    let first = line(stream)?;
    let status = first.split(' ').nth(1).and_then(|status| status.parse().ok());
    let status = status.ok_or_else(|| io::Error::other(format!("not an HTTP answer: {first:?}")))?;
    let mut headers = Vec::new();
    loop {
        let line = line(stream)?;
        match line.split_once(':') {
            Some((name, value)) => headers.push((name.to_ascii_lowercase(), value.trim().to_owned())),
            None => return Ok((status, headers)),
        }
    }
}

enum BodyKind {
    /// So many bytes are left.
    Length(u64),
    /// So many bytes are left of this chunk.
    Chunked {
        left: u64,
        first: bool,
    },
    UntilClosed,
}

struct BodyReader {
    stream: BufReader<Stream>,
    kind: BodyKind,
}

impl Read for BodyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if let BodyKind::Chunked { left: 0, first } = self.kind {
            if !first {
                line(&mut self.stream)?;
            }
            let size = line(&mut self.stream)?;
            let size = u64::from_str_radix(&size, 16).map_err(io::Error::other)?;
            self.kind = BodyKind::Chunked { left: size, first: false };
            if size == 0 {
                line(&mut self.stream)?;
                self.kind = BodyKind::Length(0);
            }
        }
        let left = match &mut self.kind {
            BodyKind::Length(left) | BodyKind::Chunked { left, .. } => left,
            BodyKind::UntilClosed => return self.stream.read(buffer),
        };
        let wanted = buffer.len().min(usize::try_from(*left).unwrap_or(usize::MAX));
        if wanted == 0 {
            return Ok(0);
        }
        let read = self.stream.read(&mut buffer[..wanted])?;
        if read == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        *left -= read as u64;
        Ok(read)
    }
}

/// The events of a watch, one per line.
pub struct Watch {
    lines: BufReader<BodyReader>,
}

impl Watch {
    /// The next event, or `None` when the server ended the watch cleanly.
    pub fn next(&mut self) -> io::Result<Option<Value>> {
        let mut line = String::new();
        if self.lines.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        serde_json::from_str(&line).map(Some).map_err(|error| io::Error::other(format!("{error} in {line:?}")))
    }

    /// The next event.
    ///
    /// # Panics
    /// The watch ended or broke.
    pub fn event(&mut self) -> (String, Value) {
        let mut event = self.next().expect("the watch goes on").expect("one more event");
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        (kind, event["object"].take())
    }
}
