//! WebSockets that are served here: the handshake, and streams of bytes and of events, one message per event or chunk.
//!
//! Guarantees that a slow client blocks only its own stream, and that the memory of a client's message is bounded. Must
//! never interpret what a stream carries.

pub mod frames;

use crate::response::{Content, ForwardedResponse};
use crate::upgrade::tokens;
use bytes::Bytes;
use data_encoding::BASE64;
use frames::{Kind, Reader, Writer};
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, select};
use futures_util::stream::{BoxStream, StreamExt};
use http::header::{
    CONNECTION, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_KEY, SEC_WEBSOCKET_PROTOCOL, SEC_WEBSOCKET_VERSION, UPGRADE,
};
use http::{HeaderMap, HeaderValue};
use std::io;
use std::pin::pin;
use tungstenite::handshake::derive_accept_key;

/// Largest message of a client, as in kube-apiserver. It is read in pieces and never buffered whole.
pub const MAX_MESSAGE_BYTES: u64 = 32 << 20;

/// Why a handshake is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HandshakeError {
    #[error("missing or bad WebSocket-Key or version")]
    Malformed,
    /// The client offers protocols, and none of them is known.
    #[error("no WebSocket protocol is known")]
    UnknownProtocol,
}

type Result<T> = std::result::Result<T, HandshakeError>;

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

/// Sends a watch's stream, whose chunks are whole events. The first offered protocol is accepted: events are the same
/// in all.
///
/// # Errors
/// The handshake is invalid.
pub fn watch(headers: &HeaderMap, events: BoxStream<'static, Bytes>, framing: Framing) -> Result<ForwardedResponse> {
    let protocol = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).next();
    accept(headers, protocol, Some(MAX_MESSAGE_BYTES), move |from, to| send(from, to, events, framing).boxed())
}

/// Sends a stream of bytes, in the first offered protocol that is known.
///
/// # Errors
/// The handshake is invalid, or no offered protocol is known.
pub fn bytes(headers: &HeaderMap, pieces: BoxStream<'static, Bytes>) -> Result<ForwardedResponse> {
    let mut offered = tokens(headers, &SEC_WEBSOCKET_PROTOCOL).peekable();
    if offered.peek().is_none() {
        let run = |from, to| send(from, to, pieces, Framing::Pieces).boxed();
        return accept(headers, None, Some(MAX_MESSAGE_BYTES), run);
    }
    let known = offered.find_map(|name| READER_PROTOCOLS.iter().find(|(known, _)| *known == name));
    let (name, framing) = known.ok_or(HandshakeError::UnknownProtocol)?;
    accept(headers, Some(name), Some(MAX_MESSAGE_BYTES), |from, to| send(from, to, pieces, *framing).boxed())
}

/// The key of a handshake.
///
/// # Errors
/// The handshake is invalid.
pub fn check(headers: &HeaderMap) -> Result<&HeaderValue> {
    let key = headers
        .get(SEC_WEBSOCKET_KEY)
        .filter(|_| headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13"));
    key.ok_or(HandshakeError::Malformed)
}

/// Accepts a WebSocket with a subprotocol and calls `run` with it. The size of the client's messages is limited.
///
/// # Errors
/// The handshake is invalid.
pub fn accept(
    headers: &HeaderMap,
    protocol: Option<&str>,
    max_bytes: Option<u64>,
    run: impl FnOnce(Reader, Writer) -> BoxFuture<'static, ()> + Send + 'static,
) -> Result<ForwardedResponse> {
    let key = check(headers)?;
    let accepted = HeaderValue::try_from(derive_accept_key(key.as_bytes())).map_err(|_| HandshakeError::Malformed)?;
    let mut headers = HeaderMap::new();
    headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
    headers.insert(SEC_WEBSOCKET_ACCEPT, accepted);
    if let Some(protocol) = protocol.and_then(|protocol| HeaderValue::try_from(protocol).ok()) {
        headers.insert(SEC_WEBSOCKET_PROTOCOL, protocol);
    }
    let content = Content::Upgrade(Box::new(move |connection| {
        let (from_client, to_client) = frames::open(connection, max_bytes);
        run(from_client, to_client)
    }));
    Ok(ForwardedResponse { code: 101, headers, content })
}

/// Sends until the stream ends or the client disconnects.
async fn send(mut from_client: Reader, to_client: Writer, mut pieces: BoxStream<'static, Bytes>, framing: Framing) {
    let sending = async {
        while let Some(mut piece) = pieces.next().await {
            while let Some((kind, message)) = framing.next(&mut piece) {
                to_client.feed(kind, &[&message]).await?;
            }
            to_client.flush().await?;
        }
        to_client.close().await
    };
    let ignoring = async {
        while from_client.next().await?.is_some() {}
        io::Result::Ok(())
    };
    // The end of either ends both. An error cannot be reported, because the connection is closed.
    select(pin!(sending), pin!(ignoring)).await;
}

impl Framing {
    /// Splits off the next message; an incomplete one is dropped.
    fn next(self, piece: &mut Bytes) -> Option<(Kind, Bytes)> {
        if piece.is_empty() {
            return None;
        }
        match self {
            Framing::Lines => {
                let end = piece.iter().position(|byte| *byte == b'\n').map_or(piece.len(), |at| at + 1);
                Some((Kind::Text, piece.split_to(end)))
            }
            Framing::Lengths => {
                let (length, _) = piece.split_first_chunk::<4>()?;
                let length = usize::try_from(u32::from_be_bytes(*length)).ok()?;
                let _length = piece.split_to(4);
                (length <= piece.len()).then(|| (Kind::Binary, piece.split_to(length)))
            }
            Framing::Pieces => Some((Kind::Binary, std::mem::take(piece))),
            Framing::Base64Pieces => Some((Kind::Text, BASE64.encode(&std::mem::take(piece)).into())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_cut_into_messages() {
        let (text, binary) =
            (|text| (Kind::Text, Bytes::from_static(text)), |bytes| (Kind::Binary, Bytes::from_static(bytes)));
        /// Framing, input, messages.
        type Row = (Framing, &'static [u8], Vec<(Kind, Bytes)>);
        let rows: [Row; 6] = [
            (Framing::Lines, b"{}\n[]\n", vec![text(b"{}\n"), text(b"[]\n")]),
            (Framing::Lengths, b"\0\0\0\x01a\0\0\0\x02bc", vec![binary(b"a"), binary(b"bc")]),
            (Framing::Lengths, b"\0\0\0\x09a", vec![]),
            (Framing::Lengths, b"\0\0", vec![]),
            (Framing::Pieces, b"abc\n", vec![binary(b"abc\n")]),
            (Framing::Base64Pieces, b"abc", vec![text(b"YWJj")]),
        ];
        for (framing, bytes, expected) in rows {
            let mut piece = Bytes::from_static(bytes);
            let found: Vec<(Kind, Bytes)> = std::iter::from_fn(|| framing.next(&mut piece)).collect();
            assert_eq!(found, expected, "{framing:?}");
        }
    }
}
