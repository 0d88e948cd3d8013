//! Calls to a key service: gRPC over a Unix socket, one call at a time on the thread of the service.
//! Guarantees an answer or an error within the timeout; a connection that broke is made anew at the next call.
//! Must never trust the length of an answer.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use http::uri::{Authority, Scheme};
use pintle_grpc::{Code, Settings, Status, framed};
use tokio::net::UnixStream;

use super::messages::{self, EncryptedSeed, StatusResponse};
use crate::limits;

/// A decryption that somebody waits for.
pub(crate) struct Decrypt {
    pub seed: EncryptedSeed,
    pub answer: mpsc::SyncSender<Result<Vec<u8>, Status>>,
}

/// Where calls are handed to the thread of the service. The thread ends with the last of these.
pub(crate) struct Client {
    pub calls: tokio::sync::mpsc::Sender<Decrypt>,
    pub timeout: Duration,
}

impl Client {
    /// Asks for the seed in plain. Blocks; not to be called on the thread of the service.
    pub fn decrypt(&self, seed: &EncryptedSeed) -> Result<Vec<u8>, Status> {
        let (answer, answered) = mpsc::sync_channel(1);
        let call = Decrypt { seed: seed.clone(), answer };
        let busy = |_| Status::new(Code::Unavailable, "too many calls wait for the key service");
        self.calls.try_send(call).map_err(busy)?;
        // Another call may be on its way, and the service's state be asked for.
        answered.recv_timeout(self.timeout * 3).unwrap_or_else(|_| Err(Status::deadline_exceeded()))
    }
}

/// The connection, on the thread of the service.
pub(crate) struct Connection {
    socket: std::path::PathBuf,
    timeout: Duration,
    open: Option<pintle_grpc::Connection>,
}

impl Connection {
    pub fn new(socket: &Path, timeout: Duration) -> Connection {
        Connection { socket: socket.to_owned(), timeout, open: None }
    }

    pub async fn status(&mut self) -> Result<StatusResponse, Status> {
        let answer = self.call(method::STATUS, Vec::new()).await?;
        messages::decode_status(&answer).ok_or_else(Status::malformed)
    }

    pub async fn encrypt(&mut self, plain: &[u8], uid: &str) -> Result<EncryptedSeed, Status> {
        let answer = self.call(method::ENCRYPT, messages::encode_encrypt_request(plain, uid)).await?;
        messages::decode_encrypt_response(&answer).ok_or_else(Status::malformed)
    }

    pub async fn decrypt(&mut self, seed: &EncryptedSeed, uid: &str) -> Result<Vec<u8>, Status> {
        let answer = self.call(method::DECRYPT, messages::encode_decrypt_request(seed, uid)).await?;
        messages::decode_decrypt_response(&answer).ok_or_else(Status::malformed)
    }

    async fn call(&mut self, method: &'static str, message: Vec<u8>) -> Result<bytes::Bytes, Status> {
        let answer = tokio::time::timeout(self.timeout, self.call_again(method, &message)).await;
        answer.unwrap_or_else(|_| {
            self.open = None;
            Err(Status::deadline_exceeded())
        })
    }

    /// A connection that was left from the last call may have been closed since: then another one is tried.
    async fn call_again(&mut self, method: &'static str, message: &[u8]) -> Result<bytes::Bytes, Status> {
        let message = framed(message.len(), |buffer| buffer.extend_from_slice(message));
        if let Some(open) = &self.open {
            match open.unary(method, message.clone()).await {
                Err(status) if status.code == Code::Unavailable => self.open = None,
                answer => return answer,
            }
        }
        let stream = connect(&self.socket).await.map_err(Status::unavailable)?;
        let settings = Settings {
            scheme: Scheme::HTTP,
            authority: Authority::from_static("localhost"),
            window: limits::ANSWER_BYTES as u32,
            message_max: limits::ANSWER_BYTES,
            keep_alive: None,
        };
        let open = self.open.insert(pintle_grpc::Connection::open(stream, &settings).await?);
        open.unary(method, message).await
    }
}

/// What is called, with the path of the call.
pub(crate) mod method {
    pub const STATUS: &str = "/v2.KeyManagementService/Status";
    pub const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";
    pub const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";
}

async fn connect(socket: &Path) -> std::io::Result<UnixStream> {
    #[cfg(target_os = "linux")]
    if let Some(name) = socket.to_str().and_then(|socket| socket.strip_prefix('@')) {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(name)?;
        let stream = std::os::unix::net::UnixStream::connect_addr(&address)?;
        stream.set_nonblocking(true)?;
        return UnixStream::from_std(stream);
    }
    UnixStream::connect(socket).await
}
