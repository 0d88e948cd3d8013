//! Port forwarding in a WebSocket: its messages carry the bytes of a SPDY connection.
//!
//! Guarantees that bytes pass unchanged. Must never parse them: both ends speak SPDY, this server does not.

use crate::locate::Location;
use crate::metrics::StreamMetrics;
use crate::proxy;
use crate::translate::STREAM_PROTOCOL;
use bytes::BytesMut;
use futures_util::future::{FutureExt, select};
use http::StatusCode;
use http::header::{self, HeaderMap, HeaderValue};
use pintle_endpoints::Request;
use pintle_endpoints::context::Context;
use pintle_endpoints::response::{ApiResponse, handshake_refused};
use pintle_proxy::upgrade::{Upgraded, is_websocket, tokens};
use pintle_proxy::websocket::frames::{Kind, Reader, Writer};
use pintle_proxy::{forward, websocket};
use pintle_registry::Result;
use std::pin::pin;
use tokio::io::{AsyncReadExt, AsyncWriteExt, split};

/// The prefix of the inner protocol in the name of the WebSocket's protocol.
const PREFIX: &str = "SPDY/3.1+";

/// Bytes of a message.
const MESSAGE_BYTES: usize = 32 << 10;

/// The inner protocols that a client offers.
pub fn offered(headers: &HeaderMap) -> Vec<&str> {
    match is_websocket(headers) {
        true => tokens(headers, &header::SEC_WEBSOCKET_PROTOCOL)
            .filter(|protocol| protocol.ends_with(".k8s.io"))
            .filter_map(|protocol| protocol.strip_prefix(PREFIX))
            .collect(),
        false => Vec::new(),
    }
}

/// Requests SPDY from a kubelet on behalf of the client, and tunnels it in the client's WebSocket.
///
/// # Errors
/// The handshake is invalid, or the kubelet cannot be reached.
pub async fn serve(
    context: &Context,
    streams: &StreamMetrics,
    location: Location,
    request: Request,
) -> Result<ApiResponse> {
    websocket::check(&request.headers).map_err(handshake_refused)?;
    let mut headers = forward::outgoing_headers(&request.headers, request.peer);
    for name in [
        header::SEC_WEBSOCKET_PROTOCOL,
        header::SEC_WEBSOCKET_KEY,
        header::SEC_WEBSOCKET_VERSION,
        header::SEC_WEBSOCKET_EXTENSIONS,
    ] {
        headers.remove(name);
    }
    headers.insert(header::CONNECTION, HeaderValue::from_static("Upgrade"));
    headers.insert(header::UPGRADE, HeaderValue::from_static("SPDY/3.1"));
    for protocol in offered(&request.headers) {
        headers.extend(HeaderValue::try_from(protocol).ok().map(|protocol| (STREAM_PROTOCOL, protocol)));
    }
    let dialed = proxy::dial(context, location, request, headers).await;
    let code = dialed.as_ref().map_or_else(|status| status.code, |exchange| exchange.response.status.as_u16());
    streams.tunneled(code);
    let exchange = dialed?;
    if exchange.response.status != StatusCode::SWITCHING_PROTOCOLS {
        return Ok(forward::answer(exchange).into());
    }
    let agreed = exchange.response.headers.get(STREAM_PROTOCOL).and_then(|value| value.to_str().ok());
    let agreed = agreed.map(|protocol| format!("{PREFIX}{protocol}"));
    let kubelet = exchange.upgraded;
    // Messages have no meaning for the tunneled bytes, so kube-apiserver does not limit their size.
    let accepted = websocket::accept(&context.headers, agreed.as_deref(), None, |from_client, to_client| {
        async move {
            if let Ok(kubelet) = kubelet.await {
                carry(from_client, to_client, kubelet).await;
            }
        }
        .boxed()
    });
    accepted.map(ApiResponse::from).map_err(handshake_refused)
}

/// Forwards bytes in both directions until one side has ended.
async fn carry(mut from_client: Reader, to_client: Writer, kubelet: Upgraded) {
    let (mut from_kubelet, mut to_kubelet) = split(kubelet);
    let up = async {
        while let Some(piece) = from_client.next().await? {
            if piece.kind == Kind::Binary {
                to_kubelet.write_all(&piece.bytes).await?;
                to_kubelet.flush().await?;
            }
        }
        std::io::Result::Ok(())
    };
    let down = async {
        let mut buffer = BytesMut::with_capacity(MESSAGE_BYTES);
        while from_kubelet.read_buf(&mut buffer).await.is_ok_and(|read| read > 0) {
            if to_client.message(Kind::Binary, &[&buffer]).await.is_err() {
                return;
            }
            buffer.clear();
        }
        let _ = to_client.close().await;
    };
    select(pin!(up), pin!(down)).await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inner_protocols_are_those_of_kubernetes() {
        let mut headers: HeaderMap = [
            (header::CONNECTION, "Upgrade"),
            (header::UPGRADE, "websocket"),
            (header::SEC_WEBSOCKET_PROTOCOL, "SPDY/3.1+portforward.k8s.io, v4.channel.k8s.io, SPDY/3.1+other"),
        ]
        .into_iter()
        .map(|(name, value)| (name, HeaderValue::from_static(value)))
        .collect();
        assert_eq!(offered(&headers), ["portforward.k8s.io"]);
        headers.remove(header::UPGRADE);
        assert!(offered(&headers).is_empty());
    }
}
