//! Hostile clients: endless heads, garbage, too many fields, too long a URL, floods of resets. Guarantees that each gets a
//! response or loses its own connection, and that others are served. Must never use an HTTP library for hostile input: the
//! bytes are written as they are.

use std::time::Duration;

use pintle_http::{ServerConfig, TlsConfig};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::client::{Client, Pki};
use super::{Running, SOON};

#[tokio::test]
async fn a_head_that_does_not_end_costs_only_its_own_connection() {
    let pki = Pki::new();
    let config = ServerConfig { head_timeout: Duration::from_secs(3), ..ServerConfig::default() };
    let server = Running::start(Some(TlsConfig::new(&pki.material()).expect("TLS")), config).await;
    let client_config = pki.client(false, None);
    let mut idle = Client::tls(server.port, false, &client_config).await;
    assert_eq!(idle.get("/info").await.0, 200);
    let silent = Client::tls(server.port, false, &client_config).await;
    timeout(SOON, silent.closed()).await.expect("nothing came: closed");
    assert_eq!(idle.get("/info").await.0, 200, "a client may be silent between requests");
}

#[tokio::test]
async fn garbage_costs_only_its_own_connection() {
    let server = Running::plain().await;
    let mut client = Client::plain(server.port, true).await;
    for garbage in [&b"\x00\x01\x02\r\n\r\n"[..], b"GET\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n"] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        stream.write_all(garbage).await.expect("sent");
        let mut answer = Vec::new();
        // Either an HTTP error or a close; a reset is a close too.
        let _ = timeout(SOON, stream.read_to_end(&mut answer)).await.expect("closed");
        assert!(!answer.starts_with(b"HTTP/1.1 200"));
    }
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let head = format!("GET /info HTTP/1.1\r\nhost: a\r\nx: {}\r\n\r\n", "y".repeat(2 << 20));
    let _ = stream.write_all(head.as_bytes()).await;
    let mut answer = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut answer)).await.expect("closed");
    assert!(!answer.starts_with(b"HTTP/1.1 200"), "2 MiB of headers");
    assert_eq!(client.get("/info").await.0, 200);
}

#[tokio::test]
async fn a_user_may_be_in_hundreds_of_groups() {
    let server = Running::plain().await;
    for (groups, status) in [(500, "200"), (2000, "431")] {
        let fields: String = (0..groups).map(|group| format!("x-remote-group: {group}\r\n")).collect();
        let head = format!("GET /info HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{fields}\r\n");
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        stream.write_all(head.as_bytes()).await.expect("sent");
        let mut answer = Vec::new();
        timeout(SOON, stream.read_to_end(&mut answer)).await.expect("closed").expect("read");
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{groups}: {answer}");
    }
}

/// A frame of HTTP/2.
fn frame(kind: u8, flags: u8, stream: u32, payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("short").to_be_bytes();
    [&length[1..], &[kind, flags], &stream.to_be_bytes(), payload].concat()
}

/// Go clients retry a request without end whose stream is reset with `PROTOCOL_ERROR`; they do not retry one with a response.
#[tokio::test]
async fn a_url_too_long_for_http2_is_answered() {
    let [headers, settings] = [1, 4];
    let server = Running::plain().await;
    for (length, status) in [(60_000, "200"), (65_500, "431"), (100_000, "431")] {
        let path = format!("/info?{}", "x".repeat(length - 6));
        // GET, http, authority and path, by their numbers in the static table; the path's length is an HPACK integer.
        let rest = length - 127;
        let integer = [0x7f, rest & 0x7f | 0x80, rest >> 7 & 0x7f | 0x80, rest >> 14]
            .map(|byte| u8::try_from(byte).expect("a byte"));
        let head = [&[0x82, 0x86, 0x01, 1][..], b"a", &[0x04], &integer, path.as_bytes()].concat();
        let preface = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(settings, 0, 0, &[])].concat();
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
        stream.write_all(&[preface, frame(headers, 0b101, 1, &head)].concat()).await.expect("sent");
        let answer = timeout(SOON, async {
            loop {
                let mut head = [0; 9];
                stream.read_exact(&mut head).await.expect("a frame");
                let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
                stream.read_exact(&mut payload).await.expect("its payload");
                if head[3] == headers {
                    return payload;
                }
            }
        });
        let answer = answer.await.expect("answered");
        // 200 has a number in the static table; 431 is a literal of three Huffman-coded digits.
        let expected: &[u8] = if status == "200" { &[0x88] } else { &[0x48, 0x83, 0x69, 0x90, 0xff] };
        assert!(answer.windows(expected.len()).any(|found| found == expected), "{length}: {answer:x?}");
    }
}

#[tokio::test]
async fn requests_that_are_cancelled_at_once_cost_their_own_connection() {
    let [headers, rst_stream, settings, goaway] = [1, 3, 4, 7];
    const ENHANCE_YOUR_CALM: u8 = 11;
    let server = Running::plain().await;
    let mut client = Client::plain(server.port, true).await;
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).await.expect("connect");
    let mut flood = [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(), frame(settings, 0, 0, &[])].concat();
    // GET, http, authority and path, by their numbers in the static table.
    let head = [&[0x82, 0x86, 0x01, 1][..], b"a", &[0x04, 5], b"/slow"].concat();
    for stream in (1..2000).step_by(2) {
        flood.extend(frame(headers, 0b101, stream, &head));
        flood.extend(frame(rst_stream, 0, stream, &[0, 0, 0, 8]));
    }
    // It may be closed before all is sent.
    let _ = stream.write_all(&flood).await;
    let mut said = Vec::new();
    let _ = timeout(SOON, stream.read_to_end(&mut said)).await.expect("closed");
    let mut rest = said.as_slice();
    let mut why = None;
    while let [a, b, c, kind, _, _, _, _, _, tail @ ..] = rest {
        let length = u32::from_be_bytes([0, *a, *b, *c]) as usize;
        let (payload, tail) = tail.split_at(length.min(tail.len()));
        if *kind == goaway {
            why = payload.get(7).copied();
        }
        rest = tail;
    }
    assert_eq!(why, Some(ENHANCE_YOUR_CALM), "{said:?}");
    assert_eq!(client.get("/info").await.0, 200, "others are served");
}
