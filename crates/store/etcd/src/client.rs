//! Calls to a cluster: one connection to each endpoint, one endpoint used until it fails, then the next.
//! Guarantees that a call ends in bounded time, and that only what may happen twice is tried twice.
//! Must never know what a key means.

use crate::limits;
use crate::wire::{RangeRequest, RangeResponse, StatusRequest, StatusResponse};
use bytes::Bytes;
use http::uri::PathAndQuery;
use prost::Message;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tonic::client::Grpc;
use tonic::transport::{Certificate, Channel, ClientTlsConfig, Endpoint, Identity};
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;

/// The certificates of a cluster's clients.
#[derive(Clone, Debug, Default)]
pub struct Tls {
    /// The authorities of the members' certificates.
    pub ca_pem: Option<Vec<u8>>,
    /// A certificate and its key to be known by.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

/// What is called, with the path of the call.
pub mod method {
    pub const RANGE: &str = "/etcdserverpb.KV/Range";
    pub const TXN: &str = "/etcdserverpb.KV/Txn";
    pub const COMPACT: &str = "/etcdserverpb.KV/Compact";
    pub const WATCH: &str = "/etcdserverpb.Watch/Watch";
    pub const LEASE_GRANT: &str = "/etcdserverpb.Lease/LeaseGrant";
    pub const STATUS: &str = "/etcdserverpb.Maintenance/Status";
}

/// The endpoints of a cluster.
pub struct Client {
    endpoints: Vec<(String, Channel)>,
    /// Counts failures; the endpoint in use is this modulo their number.
    current: AtomicUsize,
}

impl Client {
    /// Connections are made when they are first needed; call this within a runtime.
    ///
    /// # Errors
    /// An endpoint is no URL, or a certificate cannot be used.
    pub fn new(endpoints: &[String], tls: &Tls) -> Result<Client, String> {
        let wrong = |url: &str, error: &dyn std::error::Error| match error.source() {
            Some(cause) => format!("etcd endpoint {url}: {error}: {cause}"),
            None => format!("etcd endpoint {url}: {error}"),
        };
        let connect = |url: &String| {
            let with_scheme = if url.contains("://") { url.clone() } else { format!("http://{url}") };
            let mut endpoint = Endpoint::from_shared(with_scheme.clone())
                .map_err(|error| wrong(url, &error))?
                .connect_timeout(limits::CONNECT)
                .tcp_nodelay(true)
                .http2_keep_alive_interval(limits::KEEP_ALIVE)
                .keep_alive_timeout(limits::KEEP_ALIVE_TIMEOUT)
                .keep_alive_while_idle(true)
                .initial_stream_window_size(limits::WINDOW)
                .initial_connection_window_size(limits::WINDOW);
            if with_scheme.starts_with("https://") {
                let mut config = ClientTlsConfig::new();
                if let Some(ca) = &tls.ca_pem {
                    config = config.ca_certificate(Certificate::from_pem(ca));
                }
                if let Some((certificate, key)) = &tls.identity {
                    config = config.identity(Identity::from_pem(certificate, key));
                }
                endpoint = endpoint.tls_config(config).map_err(|error| wrong(url, &error))?;
            }
            Ok((url.clone(), endpoint.connect_lazy()))
        };
        let endpoints: Vec<_> = endpoints.iter().map(connect).collect::<Result<_, String>>()?;
        if endpoints.is_empty() {
            return Err("no etcd endpoint is named".to_owned());
        }
        Ok(Client { endpoints, current: AtomicUsize::new(0) })
    }

    /// The endpoint in use, to be named when it fails.
    pub fn turn(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// What was begun in this turn failed: the next endpoint's turn, unless it has come already.
    pub fn failed(&self, turn: usize) {
        // Somebody else was faster: then there is nothing to do.
        let _ = self.current.compare_exchange(turn, turn.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How many endpoints there are.
    pub fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    fn grpc(&self, turn: usize) -> Result<Grpc<Channel>, Status> {
        let (_, channel) =
            self.endpoints.get(turn % self.endpoints.len().max(1)).ok_or_else(|| Status::unavailable("no endpoint"))?;
        Ok(Grpc::new(channel.clone()).max_decoding_message_size(usize::MAX).max_encoding_message_size(usize::MAX))
    }

    /// One attempt at the endpoint of a turn.
    ///
    /// # Errors
    /// Whatever went wrong; whether the call had an effect is unknown.
    pub async fn attempt<Q, A>(
        &self,
        turn: usize,
        time: Duration,
        method: &'static str,
        request: Q,
    ) -> Result<A, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = self.grpc(turn)?;
        let call = async {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let path = PathAndQuery::from_static(method);
            grpc.unary(Request::new(request), path, ProstCodec::<Q, A>::default()).await
        };
        match timeout(time, call).await {
            Ok(outcome) => outcome.map(tonic::Response::into_inner),
            Err(_) => Err(Status::deadline_exceeded("the endpoint did not answer in time")),
        }
    }

    /// A call that may happen twice: tried on one endpoint after the other for as long as calls may take.
    ///
    /// # Errors
    /// The cluster refuses it, or cannot be reached.
    pub async fn call<Q, A>(&self, method: &'static str, request: Q) -> Result<A, Status>
    where
        Q: Message + Clone + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        self.call_within(limits::CALL, method, request).await
    }

    /// The same with a time of its own.
    ///
    /// # Errors
    /// The cluster refuses it, or cannot be reached.
    pub async fn call_within<Q, A>(&self, time: Duration, method: &'static str, request: Q) -> Result<A, Status>
    where
        Q: Message + Clone + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut patience = Patience::new(time);
        loop {
            let turn = self.turn();
            match self.attempt(turn, patience.attempt(), method, request.clone()).await {
                Err(status) if is_passing(&status) => {
                    self.failed(turn);
                    if !patience.wait(self.endpoints()).await {
                        return Err(status);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// The newest revision that anybody was acknowledged before this call.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn revision(&self, time: Duration) -> Result<u64, Status> {
        // A read of nothing still asks the majority.
        let request = RangeRequest { key: Bytes::from_static(b"health"), count_only: true, ..RangeRequest::default() };
        let answer: RangeResponse = self.call_within(time, method::RANGE, request).await?;
        Ok(answer.header.map_or(0, |header| header.revision.unsigned_abs()))
    }

    /// The version of the member at the endpoint of a turn.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn version(&self, turn: usize) -> Result<String, Status> {
        let answer: StatusResponse = self.attempt(turn, limits::ATTEMPT, method::STATUS, StatusRequest {}).await?;
        Ok(answer.version)
    }

    /// Opens a stream at the endpoint of a turn.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn stream<Q, A>(
        &self,
        turn: usize,
        method: &'static str,
        requests: tokio::sync::mpsc::Receiver<Q>,
    ) -> Result<Streaming<A>, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let mut grpc = self.grpc(turn)?;
        let opening = async {
            grpc.ready().await.map_err(|error| Status::unavailable(error.to_string()))?;
            let mut request = Request::new(tokio_stream::wrappers::ReceiverStream::new(requests));
            // A member that is cut off from the others ends the stream instead of staying silent.
            request.metadata_mut().insert("hasleader", tonic::metadata::MetadataValue::from_static("true"));
            grpc.streaming(request, PathAndQuery::from_static(method), ProstCodec::<Q, A>::default()).await
        };
        match timeout(limits::ATTEMPT, opening).await {
            Ok(outcome) => outcome.map(tonic::Response::into_inner),
            Err(_) => Err(Status::deadline_exceeded("the endpoint did not answer in time")),
        }
    }
}

/// Whether another endpoint, or the same one later, may do better.
pub fn is_passing(status: &Status) -> bool {
    matches!(
        status.code(),
        Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown | Code::Internal
    )
}

/// How long something is tried, with growing pauses.
pub struct Patience {
    until: Instant,
    failures: usize,
}

impl Patience {
    pub fn new(time: Duration) -> Self {
        Patience { until: Instant::now() + time, failures: 0 }
    }

    /// How long the next attempt may take.
    pub fn attempt(&self) -> Duration {
        let doublings = u32::try_from(self.failures.min(8)).unwrap_or(8);
        let left = self.until.saturating_duration_since(Instant::now());
        limits::ATTEMPT.saturating_mul(1 << doublings).min(limits::ATTEMPT_MAX).min(left)
    }

    /// Pauses after a failure; false: enough has been tried. Each of the endpoints is tried at once in the first round.
    pub async fn wait(&mut self, endpoints: usize) -> bool {
        self.failures += 1;
        let rounds = u32::try_from(self.failures / endpoints.max(1)).unwrap_or(u32::MAX);
        let pause = match rounds {
            0 => Duration::ZERO,
            rounds => limits::PAUSE.saturating_mul(1 << rounds.min(8)).min(limits::PAUSE_MAX),
        };
        if Instant::now() + pause >= self.until {
            return false;
        }
        sleep(pause).await;
        true
    }
}
