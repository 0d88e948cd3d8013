//! `Connection` and `Call`: calls with one message each way, and with many.
//! Guarantees that a dropped call is cancelled at the service, and that messages have a bound.
//! Must never try anything twice.

use crate::service::Requests;
use crate::status::{Status, broken};
use futures_util::stream::{self, Stream};
use http::Uri;
use http::uri::PathAndQuery;
use hyper::client::conn::http2::Builder;
use hyper::rt::Executor as _;
use hyper_util::rt::{TokioIo, TokioTimer};
use prost::Message;
use std::pin::Pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc;
use tonic::client::Grpc;
use tonic::metadata::MetadataValue;
use tonic::{Request, Streaming};
use tonic_prost::ProstCodec;

/// Messages of a call that were sent and wait for the connection.
const UNSENT: usize = 16;

/// How a connection is used.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Scheme and authority of the requests.
    pub origin: Uri,
    /// Bytes that may be under way to this side.
    pub window: u32,
    /// Maximum size of a message.
    pub message_max: usize,
    /// The interval of pings, and the timeout of their response.
    pub keep_alive: Option<(Duration, Duration)>,
}

type Task = Pin<Box<dyn Future<Output = ()> + Send>>;

/// Runs the tasks of connections.
#[derive(Clone)]
pub struct Executor(Arc<dyn Fn(Task) + Send + Sync>);

impl Executor {
    /// An executor that hands each task to a function.
    pub fn new(spawn: impl Fn(Task) + Send + Sync + 'static) -> Executor {
        Executor(Arc::new(spawn))
    }

    /// Tasks of the runtime in which they are begun, which end with it.
    pub fn runtime() -> Executor {
        Executor::new(|task| drop(tokio::spawn(task)))
    }
}

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Executor {
    fn execute(&self, task: F) {
        (self.0)(Box::pin(task));
    }
}

/// An open connection. Clones share it; it ends with the last of them and their calls.
#[derive(Clone)]
pub struct Connection {
    requests: Requests,
    origin: Uri,
    message_max: usize,
}

impl Connection {
    /// Begins to speak HTTP/2 on a stream. The connection and its calls are tasks that are given to `executor`: when it ends
    /// them, all calls fail.
    ///
    /// # Errors
    /// The stream fails.
    pub async fn open<T>(stream: T, settings: &Settings, executor: Executor) -> Result<Connection, Status>
    where
        T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    {
        let mut builder = Builder::new(executor.clone());
        builder
            .timer(TokioTimer::new())
            .initial_stream_window_size(settings.window)
            .initial_connection_window_size(settings.window);
        if let Some((interval, timeout)) = settings.keep_alive {
            builder.keep_alive_interval(interval).keep_alive_timeout(timeout).keep_alive_while_idle(true);
        }
        let (requests, driver) = builder.handshake(TokioIo::new(stream)).await.map_err(|error| broken(&error))?;
        // The calls get the error.
        executor.execute(async move { drop(driver.await) });
        let (origin, message_max) = (settings.origin.clone(), settings.message_max);
        Ok(Connection { requests: Requests(requests), origin, message_max })
    }

    /// Whether another call can be begun on it.
    pub fn is_usable(&self) -> bool {
        self.requests.0.is_ready()
    }

    async fn client(&self) -> Result<Grpc<Requests>, Status> {
        let mut client = Grpc::with_origin(self.requests.clone(), self.origin.clone());
        client.ready().await?;
        Ok(client.max_decoding_message_size(self.message_max))
    }

    /// A call with one message each way.
    ///
    /// # Errors
    /// The service rejects it, or the connection fails.
    pub async fn unary<Q, A>(&self, path: &'static str, message: Q) -> Result<A, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::default());
        let mut client = self.client().await?;
        // Boxed: it is large, and part of the callers' futures.
        let answer = Box::pin(client.unary(Request::new(message), path, codec)).await?;
        Ok(answer.into_inner())
    }

    /// A call with many messages each way, of which this is the first, and an additional header.
    ///
    /// # Errors
    /// The service rejects it, or the connection fails.
    pub async fn streaming<Q, A>(
        &self,
        path: &'static str,
        message: Q,
        (name, value): (&'static str, &'static str),
    ) -> Result<Call<Q, A>, Status>
    where
        Q: Message + 'static,
        A: Message + Default + 'static,
    {
        let (requests, waiting) = mpsc::channel(UNSENT);
        let mut request = Request::new(sent(message, waiting));
        request.metadata_mut().insert(name, MetadataValue::from_static(value));
        let (path, codec) = (PathAndQuery::from_static(path), ProstCodec::default());
        let answers = self.client().await?.streaming(request, path, codec).await?.into_inner();
        Ok(Call { requests, answers })
    }
}

/// The messages of a call, until its caller is dropped.
fn sent<Q: Send + 'static>(first: Q, mut waiting: mpsc::Receiver<Q>) -> impl Stream<Item = Q> + Send + 'static {
    let mut first = Some(first);
    stream::poll_fn(move |context| match first.take() {
        Some(message) => Poll::Ready(Some(message)),
        None => waiting.poll_recv(context),
    })
}

/// A call that is under way.
pub struct Call<Q, A> {
    requests: mpsc::Sender<Q>,
    answers: Streaming<A>,
}

impl<Q, A> Call<Q, A> {
    /// Sends another message.
    ///
    /// # Errors
    /// The call has ended, or the previous message has not been sent yet.
    pub fn send(&mut self, message: Q) -> Result<(), Status> {
        self.requests.try_send(message).map_err(Status::unavailable)
    }

    /// The next message; `None` at the end. Cancel safe.
    ///
    /// # Errors
    /// The service ended the call with an error, or the connection failed.
    pub async fn message(&mut self) -> Result<Option<A>, Status> {
        Ok(self.answers.message().await?)
    }
}
