//! Calls to a key service: gRPC over a Unix socket, one call at a time on the thread of the service.
//! Guarantees an answer or an error within the timeout; a connection that broke is made anew at the next call.
//! Must never trust the length of an answer.

use std::fmt;
use std::path::Path;
use std::sync::mpsc;
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use h2::client::SendRequest;
use http::{HeaderMap, Request};
use tokio::net::UnixStream;

use super::messages::{self, EncryptedSeed, StatusResponse};
use crate::limits;

/// A failed call, in the words of gRPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CallError {
    pub code: &'static str,
    text: String,
}

impl CallError {
    /// Whether the service could not be asked, rather than had an answer.
    pub fn is_silence(&self) -> bool {
        matches!(self.code, "Unavailable" | "DeadlineExceeded")
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rpc error: code = {} desc = {}", self.code, self.text)
    }
}

fn unavailable(error: impl fmt::Display) -> CallError {
    CallError { code: "Unavailable", text: format!("connection error: {error}") }
}

fn malformed() -> CallError {
    CallError { code: "Internal", text: "the answer is malformed".to_owned() }
}

/// A decryption that somebody waits for.
pub(crate) struct Decrypt {
    pub seed: EncryptedSeed,
    pub answer: mpsc::SyncSender<Result<Vec<u8>, CallError>>,
}

/// Where calls are handed to the thread of the service. The thread ends with the last of these.
pub(crate) struct Client {
    pub calls: tokio::sync::mpsc::Sender<Decrypt>,
    pub timeout: Duration,
}

impl Client {
    /// Asks for the seed in plain. Blocks; not to be called on the thread of the service.
    pub fn decrypt(&self, seed: &EncryptedSeed) -> Result<Vec<u8>, CallError> {
        let (answer, answered) = mpsc::sync_channel(1);
        let call = Decrypt { seed: seed.clone(), answer };
        let busy = |_| CallError { code: "Unavailable", text: "too many calls wait for the key service".to_owned() };
        self.calls.try_send(call).map_err(busy)?;
        // Another call may be on its way, and the service's state be asked for.
        answered.recv_timeout(self.timeout * 3).unwrap_or_else(|_| Err(timed_out()))
    }
}

fn timed_out() -> CallError {
    CallError { code: "DeadlineExceeded", text: "context deadline exceeded".to_owned() }
}

/// The connection, on the thread of the service.
pub(crate) struct Connection {
    socket: std::path::PathBuf,
    timeout: Duration,
    open: Option<SendRequest<Bytes>>,
}

impl Connection {
    pub fn new(socket: &Path, timeout: Duration) -> Connection {
        Connection { socket: socket.to_owned(), timeout, open: None }
    }

    pub async fn status(&mut self) -> Result<StatusResponse, CallError> {
        let answer = self.call("Status", Vec::new()).await?;
        messages::decode_status(&answer).ok_or_else(malformed)
    }

    pub async fn encrypt(&mut self, plain: &[u8], uid: &str) -> Result<EncryptedSeed, CallError> {
        let answer = self.call("Encrypt", messages::encode_encrypt_request(plain, uid)).await?;
        messages::decode_encrypt_response(&answer).ok_or_else(malformed)
    }

    pub async fn decrypt(&mut self, seed: &EncryptedSeed, uid: &str) -> Result<Vec<u8>, CallError> {
        let answer = self.call("Decrypt", messages::encode_decrypt_request(seed, uid)).await?;
        messages::decode_decrypt_response(&answer).ok_or_else(malformed)
    }

    async fn call(&mut self, method: &str, message: Vec<u8>) -> Result<Bytes, CallError> {
        let timeout = self.timeout;
        let answer = tokio::time::timeout(timeout, self.call_again(method, message.into())).await;
        answer.unwrap_or_else(|_| {
            self.open = None;
            Err(timed_out())
        })
    }

    /// A connection that was left from the last call may have been closed since: then another one is tried.
    async fn call_again(&mut self, method: &str, message: Bytes) -> Result<Bytes, CallError> {
        if let Some(open) = self.open.take()
            && let Ok(answer) = self.call_on(open, method, message.clone()).await
        {
            return answer;
        }
        let stream = connect(&self.socket).await.map_err(unavailable)?;
        let (open, driver) = h2::client::handshake(stream).await.map_err(unavailable)?;
        tokio::spawn(async move {
            // Its end is noticed by the next call.
            let _ = driver.await;
        });
        self.call_on(open, method, message).await.map_err(unavailable)?
    }

    /// The outer error is the connection's, the inner one the service's.
    async fn call_on(
        &mut self,
        open: SendRequest<Bytes>,
        method: &str,
        message: Bytes,
    ) -> Result<Result<Bytes, CallError>, h2::Error> {
        let mut open = open.ready().await?;
        let request = Request::post(format!("http://localhost/v2.KeyManagementService/{method}"))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .body(());
        let Ok(request) = request else { return Ok(Err(malformed())) };
        let mut framed = BytesMut::with_capacity(message.len() + 5);
        framed.put_u8(0);
        framed.put_u32(message.len() as u32);
        framed.put(message);
        let (response, mut body) = open.send_request(request, false)?;
        body.send_data(framed.freeze(), true)?;
        let (head, mut body) = response.await?.into_parts();
        let mut answer = BytesMut::new();
        while let Some(piece) = body.data().await {
            let piece = piece?;
            body.flow_control().release_capacity(piece.len())?;
            if answer.len() + piece.len() > limits::ANSWER_BYTES {
                return Ok(Err(malformed()));
            }
            answer.extend_from_slice(&piece);
        }
        let trailers = body.trailers().await?.unwrap_or_default();
        self.open = Some(open);
        Ok(outcome(&head.headers, &trailers, answer.freeze()))
    }
}

/// What an answer says. An error without a message has its status in the headers.
fn outcome(headers: &HeaderMap, trailers: &HeaderMap, mut answer: Bytes) -> Result<Bytes, CallError> {
    let find = |name: &str| trailers.get(name).or_else(|| headers.get(name)).and_then(|value| value.to_str().ok());
    let code: usize = find("grpc-status").and_then(|status| status.parse().ok()).unwrap_or(2);
    if code != 0 {
        let code = CODES.get(code).copied().unwrap_or("Unknown");
        return Err(CallError { code, text: percent_decoded(find("grpc-message").unwrap_or_default()) });
    }
    // A mark that it is not compressed, and the length.
    let head: Option<[u8; 5]> = answer.get(..5).and_then(|head| head.try_into().ok());
    match head {
        Some([0, a, b, c, d]) if u32::from_be_bytes([a, b, c, d]) as usize == answer.len() - 5 => {
            Ok(answer.split_off(5))
        }
        _ => Err(malformed()),
    }
}

const CODES: [&str; 17] = [
    "OK",
    "Canceled",
    "Unknown",
    "InvalidArgument",
    "DeadlineExceeded",
    "NotFound",
    "AlreadyExists",
    "PermissionDenied",
    "ResourceExhausted",
    "FailedPrecondition",
    "Aborted",
    "OutOfRange",
    "Unimplemented",
    "Internal",
    "Unavailable",
    "DataLoss",
    "Unauthenticated",
];

fn percent_decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let digits = after.split_at_checked(2).filter(|_| *first == b'%');
        let byte = digits.and_then(|(digits, _)| u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if let (Some(_), Some((_, behind))) = (byte, digits) { behind } else { after };
    }
    String::from_utf8_lossy(&bytes).into_owned()
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
