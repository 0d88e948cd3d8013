//! Calls to a key service: gRPC over a Unix socket, one call at a time on the thread of the service. Guarantees a
//! response or an error within the timeout; the next call replaces a broken connection. Must never trust the length of
//! a response.

use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use http::Uri;
use pintle_grpc::{Code, Executor, Settings, Status, local_socket};
use prost::Message;

use super::messages::{
    DecryptRequest, DecryptResponse, EncryptRequest, EncryptResponse, EncryptedSeed, StatusRequest, StatusResponse,
};
use crate::limits;

/// A decryption that a caller waits for.
pub(crate) struct Decrypt {
    pub seed: EncryptedSeed,
    pub answer: mpsc::SyncSender<Result<Vec<u8>, Status>>,
}

/// Passes calls to the thread of the service, which ends with the last client.
pub(crate) struct Client {
    pub calls: tokio::sync::mpsc::Sender<Decrypt>,
    pub timeout: Duration,
}

impl Client {
    /// Decrypts a seed. Blocks; must not be called on the thread of the service.
    pub fn decrypt(&self, seed: &EncryptedSeed) -> Result<Vec<u8>, Status> {
        let (answer, answered) = mpsc::sync_channel(1);
        let call = Decrypt { seed: seed.clone(), answer };
        let busy = |_| Status::new(Code::Unavailable, "too many calls wait for the key service");
        self.calls.try_send(call).map_err(busy)?;
        // Another call and a status request may come first.
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
        self.call(method::STATUS, StatusRequest {}).await
    }

    pub async fn encrypt(&mut self, plain: &[u8], uid: &str) -> Result<EncryptedSeed, Status> {
        let request = EncryptRequest { plaintext: plain.to_vec(), uid: uid.to_owned() };
        self.call::<EncryptResponse>(method::ENCRYPT, request).await.map(Into::into)
    }

    pub async fn decrypt(&mut self, seed: EncryptedSeed, uid: String) -> Result<Vec<u8>, Status> {
        let request = DecryptRequest::new(seed, uid);
        Ok(self.call::<DecryptResponse>(method::DECRYPT, request).await?.plaintext)
    }

    async fn call<A: Message + Default + 'static>(
        &mut self,
        method: &'static str,
        request: impl Message + Clone + 'static,
    ) -> Result<A, Status> {
        let answer = tokio::time::timeout(self.timeout, self.call_again(method, request)).await;
        answer.unwrap_or_else(|_| {
            self.open = None;
            Err(Status::deadline_exceeded())
        })
    }

    /// The connection of the last call may have been closed since: then a new one is tried.
    async fn call_again<A: Message + Default + 'static>(
        &mut self,
        method: &'static str,
        request: impl Message + Clone + 'static,
    ) -> Result<A, Status> {
        if let Some(open) = &self.open {
            match open.unary(method, request.clone()).await {
                Err(status) if status.code == Code::Unavailable => self.open = None,
                answer => return answer,
            }
        }
        let stream = local_socket::connect(&self.socket).await.map_err(Status::unavailable)?;
        let settings = Settings {
            origin: Uri::from_static("http://localhost/"),
            window: limits::ANSWER_BYTES as u32,
            message_max: limits::ANSWER_BYTES,
            keep_alive: None,
        };
        // The runtime is that of the thread, so the connection ends with it.
        let open = pintle_grpc::Connection::open(stream, &settings, Executor::runtime()).await?;
        self.open.insert(open).unary(method, request).await
    }
}

/// The paths of the methods.
pub(crate) mod method {
    pub const STATUS: &str = "/v2.KeyManagementService/Status";
    pub const ENCRYPT: &str = "/v2.KeyManagementService/Encrypt";
    pub const DECRYPT: &str = "/v2.KeyManagementService/Decrypt";
}
