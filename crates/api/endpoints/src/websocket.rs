//! WebSockets that end here: the handshake, and watches and logs, one message per event or piece.
//!
//! Guarantees that a slow client holds up its own stream and nothing else, and a bound on what a client's message holds.
//! Must never carry exec, attach or portforward: what those mean is for `connect` to know.

use crate::answer::Answer;
use crate::body::Body;
use crate::upgrade::{Upgraded, tokens};
use bytes::Bytes;
use futures_util::future::{BoxFuture, select};
use futures_util::stream::{BoxStream, StreamExt};
use futures_util::{FutureExt, SinkExt};
use http::header::{SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION};
use http::{HeaderMap, HeaderValue};
use pintle_registry::{Result, Status};
use pintle_schema::base64;
use std::pin::pin;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message, Role, WebSocketConfig};

/// Largest message taken from a client that has nothing to say; this is room for its pings.
const MAX_IGNORED_BYTES: usize = 64 << 10;
/// Bytes read and written at a time.
const BUFFER_BYTES: usize = 16 << 10;

/// How a stream is cut into messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// Every line is a text.
    Lines,
    /// Every run of bytes behind its length, in four bytes, is a binary message.
    Lengths,
    /// Every piece is a binary message.
    Pieces,
    /// Every piece is a text, in base64.
    Base64Pieces,
}

/// The protocols in which a plain stream of bytes is sent.
const READER_PROTOCOLS: [(&str, Framing); 2] =
    [("binary.k8s.io", Framing::Pieces), ("base64.binary.k8s.io", Framing::Base64Pieces)];

/// Answers with a watch's stream, whose pieces are whole events. The first protocol offered is agreed to, whatever it
/// is: events look the same in all.
///
/// # Errors
/// The handshake is none.
pub fn watch(headers: &HeaderMap, events: BoxStream<'static, Bytes>, framing: Framing) -> Result<Answer> {
    let protocol = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).next();
    accept(headers, protocol, MAX_IGNORED_BYTES, move |socket| send(socket, events, framing).boxed())
}

/// Answers with a stream of bytes, in the first protocol offered that is known.
///
/// # Errors
/// The handshake is none, or no protocol offered is known.
pub fn bytes(headers: &HeaderMap, pieces: BoxStream<'static, Bytes>) -> Result<Answer> {
    let mut offered = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).peekable();
    if offered.peek().is_none() {
        return accept(headers, None, MAX_IGNORED_BYTES, |socket| send(socket, pieces, Framing::Pieces).boxed());
    }
    let known = offered.find_map(|name| READER_PROTOCOLS.iter().find(|(known, _)| *known == name));
    let (name, framing) = known.ok_or_else(|| Status::new(403, "Forbidden", "no WebSocket protocol is known"))?;
    accept(headers, Some(name), MAX_IGNORED_BYTES, |socket| send(socket, pieces, *framing).boxed())
}

/// The last message of a WebSocket that has come to its end.
pub fn goodbye() -> Message {
    Message::Close(Some(CloseFrame { code: CloseCode::Normal, reason: "".into() }))
}

/// The key of a handshake.
///
/// # Errors
/// It is none.
pub fn check(headers: &HeaderMap) -> Result<&HeaderValue> {
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|_| headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13"));
    key.ok_or_else(|| Status::bad_request("missing or bad WebSocket-Key or version"))
}

/// Agrees to a WebSocket in a protocol; `run` is what happens on it. A client's messages have at most so many bytes.
///
/// # Errors
/// The handshake is none.
pub fn accept(
    headers: &HeaderMap,
    protocol: Option<&str>,
    max_bytes: usize,
    run: impl FnOnce(WebSocketStream<Upgraded>) -> BoxFuture<'static, ()> + Send + 'static,
) -> Result<Answer> {
    let key = check(headers)?;
    let mut answer = Answer::new(101, "", "");
    answer.headers = vec![
        ("connection", "Upgrade".into()),
        ("upgrade", "websocket".into()),
        ("sec-websocket-accept", derive_accept_key(key.as_bytes())),
    ];
    if let Some(protocol) = protocol.and_then(|protocol| HeaderValue::try_from(protocol).ok()) {
        answer.passed.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    answer.body = Body::Upgrade(Box::new(move |connection| {
        let config = WebSocketConfig::default()
            .read_buffer_size(BUFFER_BYTES)
            .write_buffer_size(BUFFER_BYTES)
            .max_message_size(Some(max_bytes))
            .max_frame_size(Some(max_bytes));
        WebSocketStream::from_raw_socket(connection, Role::Server, Some(config)).then(run).boxed()
    }));
    Ok(answer)
}

/// Sends until the stream ends or the client goes.
async fn send(socket: WebSocketStream<Upgraded>, mut pieces: BoxStream<'static, Bytes>, framing: Framing) {
    let (mut to_client, mut from_client) = socket.split();
    let sending = async {
        while let Some(mut piece) = pieces.next().await {
            while let Some(message) = framing.next(&mut piece) {
                to_client.feed(message).await?;
            }
            to_client.flush().await?;
        }
        to_client.send(goodbye()).await
    };
    let ignoring = async { while let Some(Ok(_)) = from_client.next().await {} };
    // Whichever ends first ends both: there is nobody to tell of an error.
    select(pin!(sending), pin!(ignoring)).await;
}

impl Framing {
    /// Cuts the next message off a piece; what is no message is dropped.
    fn next(self, piece: &mut Bytes) -> Option<Message> {
        if piece.is_empty() {
            return None;
        }
        match self {
            Framing::Lines => {
                let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |at| at + 1);
                Some(Message::Text(piece.split_to(end).try_into().ok()?))
            }
            Framing::Lengths => {
                let (length, _) = piece.split_first_chunk::<4>()?;
                let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
                let _length = piece.split_to(4);
                (length <= piece.len()).then(|| Message::Binary(piece.split_to(length)))
            }
            Framing::Pieces => Some(Message::Binary(std::mem::take(piece))),
            Framing::Base64Pieces => Some(Message::text(base64::encode(&std::mem::take(piece)))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_cut_into_messages() {
        let rows: [(Framing, &[u8], Vec<Message>); 6] = [
            (Framing::Lines, b"{}\n[]\n", vec![Message::text("{}\n"), Message::text("[]\n")]),
            (
                Framing::Lengths,
                b"\0\0\0\x01a\0\0\0\x02bc",
                vec![Message::binary(&b"a"[..]), Message::binary(&b"bc"[..])],
            ),
            (Framing::Lengths, b"\0\0\0\x09a", vec![]),
            (Framing::Lengths, b"\0\0", vec![]),
            (Framing::Pieces, b"abc\n", vec![Message::binary(&b"abc\n"[..])]),
            (Framing::Base64Pieces, b"abc", vec![Message::text("YWJj")]),
        ];
        for (framing, bytes, expected) in rows {
            let mut piece = Bytes::from_static(bytes);
            let found: Vec<Message> = std::iter::from_fn(|| framing.next(&mut piece)).collect();
            assert_eq!(found, expected, "{framing:?}");
        }
    }
}
