//! A key service for tests: a plugin on a Unix socket that can be stopped, started again, and told to change its key.
//! Guarantees that what it encrypted with one key it decrypts under that key's name alone. Must never be used outside of
//! tests: its encryption is none.

#![allow(dead_code)]

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use bytes::{BufMut, Bytes, BytesMut};
use http::{HeaderMap, HeaderValue, Response};
use tokio::net::UnixListener;

/// What a test sees of the service and may change.
#[derive(Default)]
pub struct Keys {
    /// The name of the current key.
    pub current: Mutex<String>,
    /// What `Status` answers for its health; "ok" when empty.
    pub healthz: Mutex<String>,
    pub encryptions: AtomicU32,
    pub decryptions: AtomicU32,
}

/// A running service; it stops when it is dropped.
pub struct Plugin {
    pub keys: Arc<Keys>,
    socket: PathBuf,
    runtime: Option<tokio::runtime::Runtime>,
}

impl Plugin {
    pub fn start(socket: &Path, key: &str) -> Plugin {
        let keys = Arc::new(Keys { current: Mutex::new(key.to_owned()), ..Keys::default() });
        Plugin::start_with(socket, keys)
    }

    /// The same service again, after it was stopped.
    pub fn start_with(socket: &Path, keys: Arc<Keys>) -> Plugin {
        let _ = std::fs::remove_file(socket);
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let listener = runtime.block_on(async { UnixListener::bind(socket) }).expect("a socket");
        let serving = keys.clone();
        runtime.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let keys = serving.clone();
                tokio::spawn(async move {
                    let Ok(mut connection) = h2::server::handshake(stream).await else { return };
                    while let Some(Ok((request, respond))) = connection.accept().await {
                        tokio::spawn(answer(keys.clone(), request, respond));
                    }
                });
            }
        });
        Plugin { keys, socket: socket.to_owned(), runtime: Some(runtime) }
    }

    pub fn change_key(&self, name: &str) {
        name.clone_into(&mut self.keys.current.lock().expect("whole"));
    }
}

impl Drop for Plugin {
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let _ = std::fs::remove_file(&self.socket);
    }
}

async fn answer(
    keys: Arc<Keys>,
    request: http::Request<h2::RecvStream>,
    mut respond: h2::server::SendResponse<Bytes>,
) -> Option<()> {
    let method = request.uri().path().strip_prefix("/v2.KeyManagementService/")?.to_owned();
    let mut body = request.into_body();
    let mut message = BytesMut::new();
    while let Some(piece) = body.data().await {
        let piece = piece.ok()?;
        body.flow_control().release_capacity(piece.len()).ok()?;
        message.extend_from_slice(&piece);
    }
    let fields = fields(message.get(5..)?)?;
    let field = |number: u64| fields.iter().find(|(at, _)| *at == number).map_or(&[][..], |(_, bytes)| bytes);
    let current = keys.current.lock().ok()?.clone();
    let outcome = match method.as_str() {
        "Status" => {
            let healthz = keys.healthz.lock().ok()?.clone();
            let healthz = if healthz.is_empty() { "ok".to_owned() } else { healthz };
            Ok(message_of(&[(1, b"v2"), (2, healthz.as_bytes()), (3, current.as_bytes())]))
        }
        "Encrypt" => {
            keys.encryptions.fetch_add(1, Ordering::Relaxed);
            let annotation = message_of(&[(1, b"version.example.com"), (2, b"1")]);
            let text = scramble(&current, field(1));
            Ok(message_of(&[(1, &text), (2, current.as_bytes()), (3, &annotation)]))
        }
        "Decrypt" => {
            keys.decryptions.fetch_add(1, Ordering::Relaxed);
            let key = String::from_utf8(field(3).to_vec()).ok()?;
            let known = key.starts_with("key-") && !field(4).is_empty();
            if known { Ok(message_of(&[(1, &scramble(&key, field(1)))])) } else { Err("no such key: 100%") }
        }
        _ => Err("no such method"),
    };
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
            trailers.insert("grpc-status", HeaderValue::from_static("5"));
            trailers.insert("grpc-message", HeaderValue::from_str(&why.replace('%', "%25")).ok()?);
        }
    }
    send.send_trailers(trailers).ok()
}

/// Its own inverse.
fn scramble(key: &str, bytes: &[u8]) -> Vec<u8> {
    bytes.iter().zip(key.bytes().cycle()).map(|(byte, key)| byte ^ key ^ 0x5a).collect()
}

fn message_of(fields: &[(u8, &[u8])]) -> Vec<u8> {
    let mut out = Vec::new();
    for (number, bytes) in fields {
        assert!(bytes.len() < 128, "a length of one byte");
        out.extend([number << 3 | 2, bytes.len() as u8]);
        out.extend_from_slice(bytes);
    }
    out
}

fn fields(mut rest: &[u8]) -> Option<Vec<(u64, Vec<u8>)>> {
    let mut found = Vec::new();
    while let [tag, length, after @ ..] = rest {
        assert!(*length < 128, "a length of one byte");
        let (bytes, after) = after.split_at_checked((*length).into())?;
        found.push((u64::from(tag >> 3), bytes.to_vec()));
        rest = after;
    }
    Some(found)
}

/// A directory that is removed with the value.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pintle-encryption-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).expect("a directory");
        TempDir(path)
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
