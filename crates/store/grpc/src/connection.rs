//! `Connection` and `Call`: streams of messages on an HTTP/2 connection.
//! Guarantees that what went wrong with the connection is told as `Unavailable`, as nobody knows what became of the call.
//! Must never try anything twice.

use crate::driver::Driver;
use crate::hpack;
use crate::state::{Shared, State};
use crate::status::Status;
use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::uri::{Authority, Scheme};
use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};

/// How a connection is used.
#[derive(Clone, Debug)]
pub struct Settings {
    pub scheme: Scheme,
    /// Whom the requests are for.
    pub authority: Authority,
    /// Bytes that may be under way to this side.
    pub window: u32,
    /// Bytes of a message that is taken at most.
    pub message_max: usize,
    /// How often the other side is asked whether it is there, and how long it may take to say.
    pub keep_alive: Option<(Duration, Duration)>,
}

/// An open connection. Clones share it; it ends with the last of them and their calls.
#[derive(Clone)]
pub struct Connection(Arc<Handle>);

struct Handle {
    shared: Arc<Shared>,
    /// The fields that all requests begin with.
    fields: Vec<u8>,
}

impl Drop for Handle {
    fn drop(&mut self) {
        self.shared.with(State::leave);
    }
}

impl Connection {
    /// Begins to speak HTTP/2 on a stream. What keeps it going runs on the runtime that this is called in.
    pub fn open<T>(stream: T, settings: &Settings) -> Connection
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (connection, driver) = Connection::with_driver(stream, settings);
        tokio::spawn(driver);
        connection
    }

    /// The same with what keeps it going, to be run beside those who call: then nobody else is woken for a call.
    pub fn with_driver<T>(stream: T, settings: &Settings) -> (Connection, impl Future<Output = ()> + Send + use<T>)
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let shared = Arc::new(Shared::new(State::new(settings.window, settings.message_max)));
        let driver = Driver::new(stream, shared.clone(), settings.keep_alive);
        let mut fields = Vec::new();
        for (name, value) in [
            (":method", "POST"),
            (":scheme", settings.scheme.as_str()),
            (":authority", settings.authority.as_str()),
            ("te", "trailers"),
            ("content-type", "application/grpc"),
        ] {
            hpack::write(&mut fields, name, value.as_bytes());
        }
        (Connection(Arc::new(Handle { shared, fields })), driver)
    }

    /// Whether another call can be begun on it.
    pub fn is_usable(&self) -> bool {
        self.0.shared.with(|state| state.is_usable())
    }

    /// A call with one message each way.
    ///
    /// # Errors
    /// The service refuses it, or the connection fails.
    pub async fn unary(&self, path: &'static str, message: Bytes) -> Result<Bytes, Status> {
        let mut call = self.begin(path, &message, None, true).await?;
        let answer = call.message().await?.ok_or_else(Status::malformed)?;
        match call.message().await? {
            None => Ok(answer),
            Some(_) => Err(Status::malformed()),
        }
    }

    /// A call with many messages each way, of which this is the first, and a header of its own.
    ///
    /// # Errors
    /// The service refuses it, or the connection fails.
    pub async fn streaming(
        &self,
        path: &'static str,
        message: Bytes,
        header: (HeaderName, HeaderValue),
    ) -> Result<Call, Status> {
        let call = self.begin(path, &message, Some(header), false).await?;
        poll_fn(|context| call.shared.with(|state| state.poll_begun(call.id, context.waker()))).await?;
        Ok(call)
    }

    async fn begin(
        &self,
        path: &'static str,
        message: &[u8],
        header: Option<(HeaderName, HeaderValue)>,
        is_last: bool,
    ) -> Result<Call, Status> {
        let Handle { shared, fields } = &*self.0;
        let mut block = Vec::with_capacity(fields.len() + path.len() + 64);
        hpack::write(&mut block, ":path", path.as_bytes());
        block.extend_from_slice(fields);
        if let Some((name, value)) = header {
            hpack::write(&mut block, name.as_str(), value.as_bytes());
        }
        poll_fn(|context| {
            shared.with(|state| {
                let opened = state.open(context.waker(), &block);
                opened.map(|id| id.and_then(|id| state.send(id, message, is_last).map(|()| id)))
            })
        })
        .await
        .map(|id| Call { shared: shared.clone(), id })
    }
}

/// A call that is under way.
pub struct Call {
    shared: Arc<Shared>,
    id: u32,
}

impl Call {
    /// Sends another message.
    ///
    /// # Errors
    /// The call is over.
    pub fn send(&mut self, message: &Bytes) -> Result<(), Status> {
        self.shared.with(|state| state.send(self.id, message, false))
    }

    /// The next message; `None` at the end. Nothing is lost when this is dropped half way.
    ///
    /// # Errors
    /// The service ended the call with an error, or the connection failed.
    pub async fn message(&mut self) -> Result<Option<Bytes>, Status> {
        poll_fn(|context| self.shared.with(|state| state.poll_message(self.id, context.waker()))).await
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.shared.with(|state| state.close(self.id));
    }
}
