//! A gRPC server for tests: unary calls, answered by a closure. Guarantees that it stops when dropped. Must never know a
//! service.

use bytes::{BufMut, Bytes, BytesMut};
use h2::server::SendResponse;
use http::{HeaderMap, HeaderValue, Request, Response};
use std::path::Path;
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::runtime::Runtime;

/// The answer to a method and a message: a message, or the text of a failure.
type Answer = dyn Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync;

/// A running server.
pub struct GrpcServer {
    runtime: Option<Runtime>,
}

impl GrpcServer {
    /// Serves at a Unix socket.
    pub fn at_socket(
        socket: &Path,
        answer: impl Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> GrpcServer {
        let (runtime, answer): (_, Arc<Answer>) = (runtime(), Arc::new(answer));
        let _ = std::fs::remove_file(socket);
        let listener = runtime.block_on(async { UnixListener::bind(socket) }).expect("a socket");
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone()));
            }
        });
        GrpcServer { runtime: Some(runtime) }
    }

    /// Serves at a free port of the loopback interface, which is returned.
    pub fn at_port(
        answer: impl Fn(&str, &[u8]) -> Result<Vec<u8>, String> + Send + Sync + 'static,
    ) -> (GrpcServer, u16) {
        let (runtime, answer): (_, Arc<Answer>) = (runtime(), Arc::new(answer));
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a port");
        let port = listener.local_addr().expect("an address").port();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, answer.clone()));
            }
        });
        (GrpcServer { runtime: Some(runtime) }, port)
    }
}

impl Drop for GrpcServer {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime")
}

async fn serve(stream: impl AsyncRead + AsyncWrite + Unpin, answer: Arc<Answer>) {
    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
    while let Some(Ok((request, respond))) = connection.accept().await {
        let answer = answer.clone();
        tokio::spawn(async move { reply(&answer, request, respond).await });
    }
}

async fn reply(answer: &Arc<Answer>, request: Request<h2::RecvStream>, mut respond: SendResponse<Bytes>) -> Option<()> {
    let method = request.uri().path().to_owned();
    let mut body = request.into_body();
    let mut message = BytesMut::new();
    while let Some(piece) = body.data().await {
        let piece = piece.ok()?;
        body.flow_control().release_capacity(piece.len()).ok()?;
        message.extend_from_slice(&piece);
    }
    // A flag and a length come first.
    let outcome = answer(&method, message.get(5..)?);
    let head = Response::builder().header("content-type", "application/grpc").body(()).ok()?;
    let mut send = respond.send_response(head, false).ok()?;
    let mut trailers = HeaderMap::new();
    match outcome {
        Ok(message) => {
            let mut framed = BytesMut::new();
            framed.put_u8(0);
            framed.put_u32(u32::try_from(message.len()).ok()?);
            framed.put(&message[..]);
            send.send_data(framed.freeze(), false).ok()?;
            trailers.insert("grpc-status", HeaderValue::from_static("0"));
        }
        Err(why) => {
            trailers.insert("grpc-status", HeaderValue::from_static("13"));
            trailers.insert("grpc-message", HeaderValue::from_str(&why).ok()?);
        }
    }
    send.send_trailers(trailers).ok()
}
