//! `Connection` and `Call`: streams of messages on an HTTP/2 connection.
//! Guarantees that what went wrong with the connection is told as `Unavailable`, as nobody knows what became of the call.
//! Must never try anything twice.

use crate::frames::Arrived;
use crate::status::{Code, Status};
use bytes::Bytes;
use h2::client::SendRequest;
use h2::{Ping, PingPong, RecvStream, SendStream};
use http::header::{CONTENT_TYPE, HeaderName, HeaderValue, TE};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, StatusCode, Uri};
use std::future::pending;
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::time::{sleep, timeout};

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
pub struct Connection {
    requests: SendRequest<Bytes>,
    scheme: Scheme,
    authority: Authority,
    message_max: usize,
}

impl Connection {
    /// Begins to speak HTTP/2 on a stream. What keeps it going runs on the runtime that this is called in.
    ///
    /// # Errors
    /// The stream fails.
    pub async fn open<T>(stream: T, settings: &Settings) -> Result<Connection, Status>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let (connection, driver) = Connection::with_driver(stream, settings).await?;
        tokio::spawn(driver);
        Ok(connection)
    }

    /// The same with what keeps it going, to be run beside those who call: then nobody else is woken for a call.
    ///
    /// # Errors
    /// The stream fails.
    pub async fn with_driver<T>(
        stream: T,
        settings: &Settings,
    ) -> Result<(Connection, impl Future<Output = ()> + Send + use<T>), Status>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let handshake = h2::client::Builder::new()
            .initial_window_size(settings.window)
            .initial_connection_window_size(settings.window)
            .enable_push(false)
            .handshake(stream);
        let (requests, mut driver) = handshake.await.map_err(Status::unavailable)?;
        let keep_alive = driver.ping_pong().zip(settings.keep_alive);
        let driver = async move {
            // Whoever has a call on it learns of its end, either way.
            tokio::select! {
                biased;
                _ = driver => {}
                () = until_silent(keep_alive) => {}
            }
        };
        let (scheme, authority) = (settings.scheme.clone(), settings.authority.clone());
        Ok((Connection { requests, scheme, authority, message_max: settings.message_max }, driver))
    }

    /// Whether another call can be begun on it.
    pub fn is_usable(&self) -> bool {
        // A handle that has begun no call waits for none.
        let ready = self.requests.clone().poll_ready(&mut Context::from_waker(Waker::noop()));
        matches!(ready, Poll::Ready(Ok(())))
    }

    /// A call with one message each way.
    ///
    /// # Errors
    /// The service refuses it, or the connection fails.
    pub async fn unary(&self, path: &'static str, message: Bytes) -> Result<Bytes, Status> {
        let mut call = self.begin(path, message, None, true).await?;
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
        self.begin(path, message, Some(header), false).await
    }

    async fn begin(
        &self,
        path: &'static str,
        message: Bytes,
        header: Option<(HeaderName, HeaderValue)>,
        is_last: bool,
    ) -> Result<Call, Status> {
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(self.authority.clone());
        uri.path_and_query = Some(PathAndQuery::from_static(path));
        let mut request = Request::new(());
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = Uri::from_parts(uri).map_err(Status::unavailable)?;
        let headers = request.headers_mut();
        headers.insert(TE, HeaderValue::from_static("trailers"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        if let Some((name, value)) = header {
            headers.insert(name, value);
        }
        let mut requests = self.requests.clone();
        let (response, mut sending) = requests.send_request(request, false).map_err(Status::unavailable)?;
        sending.send_data(message, is_last).map_err(Status::unavailable)?;
        let (head, arriving) = response.await.map_err(Status::unavailable)?.into_parts();
        let outcome = match head.status {
            StatusCode::OK => Status::told(&head.headers).transpose()?,
            status => return Err(Status::of_http(status)),
        };
        Ok(Call { sending, arriving, arrived: Arrived::new(self.message_max), is_well: outcome.is_some() })
    }
}

/// Returns when the other side does not answer any more, or the connection has ended.
async fn until_silent(keep_alive: Option<(PingPong, (Duration, Duration))>) {
    let Some((mut pings, (every, patience))) = keep_alive else { return pending().await };
    loop {
        sleep(every).await;
        if !matches!(timeout(patience, pings.ping(Ping::opaque())).await, Ok(Ok(_))) {
            return;
        }
    }
}

/// A call that is under way.
pub struct Call {
    sending: SendStream<Bytes>,
    arriving: RecvStream,
    arrived: Arrived,
    /// The answer said so before anything came of it.
    is_well: bool,
}

impl Call {
    /// Sends another message.
    ///
    /// # Errors
    /// The call is over.
    pub fn send(&mut self, message: Bytes) -> Result<(), Status> {
        self.sending.send_data(message, false).map_err(Status::unavailable)
    }

    /// The next message; `None` at the end. Nothing is lost when this is dropped half way.
    ///
    /// # Errors
    /// The service ended the call with an error, or the connection failed.
    pub async fn message(&mut self) -> Result<Option<Bytes>, Status> {
        loop {
            if let Some(message) = self.arrived.take()? {
                return Ok(Some(message));
            }
            match self.arriving.data().await {
                Some(piece) => {
                    let piece = piece.map_err(Status::unavailable)?;
                    // It fails when the call is over, and then nobody waits for room.
                    let _ = self.arriving.flow_control().release_capacity(piece.len());
                    self.arrived.push(piece);
                }
                None => break,
            }
        }
        let trailers = self.arriving.trailers().await.map_err(Status::unavailable)?;
        match trailers.as_ref().and_then(Status::told).or(self.is_well.then_some(Ok(()))) {
            Some(Err(refusal)) => Err(refusal),
            Some(Ok(())) if self.arrived.is_empty() => Ok(None),
            Some(Ok(())) => Err(Status::malformed()),
            None => Err(Status::new(Code::Internal, "the call ended without a status")),
        }
    }
}
