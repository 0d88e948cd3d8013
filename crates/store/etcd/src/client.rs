//! Calls to a cluster: one connection to each endpoint, one endpoint used until it fails, then the next. Guarantees
//! that a call ends in bounded time, and that only idempotent calls are retried. Must never depend on the meaning of a
//! key.

use crate::endpoint::Endpoint;
use crate::limits;
use crate::stats::{Calls, Stats};
use crate::tasks::Tasks;
use crate::tls::Tls;
use crate::wire::{RangeRequest, RangeResponse, StatusRequest, StatusResponse};
use bytes::Bytes;
use pintle_grpc::{Call, Code, Status};
use prost::Message;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::{Instant, sleep, timeout};
use tracing::debug;

/// The paths of the methods.
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
    pub stats: Arc<Stats>,
    endpoints: Vec<Arc<Endpoint>>,
    /// Counts failures; the endpoint in use is this modulo their number.
    current: AtomicUsize,
    /// The key that probes read. It is under the prefix, because the server may have no permission for other keys.
    probe: Bytes,
}

impl Client {
    /// Connects when a connection is first needed.
    ///
    /// # Errors
    /// An endpoint is not a URL, or a certificate is invalid.
    pub fn new(endpoints: &[String], tls: &Tls, probe: Bytes, tasks: &Arc<Tasks>) -> Result<Client, String> {
        let endpoints = endpoints.iter().map(|url| Endpoint::new(url, tls, tasks));
        let endpoints: Vec<_> = endpoints.collect::<Result<_, String>>()?;
        if endpoints.is_empty() {
            return Err("no etcd endpoint is named".to_owned());
        }
        let stats = Arc::new(Stats::new(endpoints.len()));
        Ok(Client { stats, endpoints, current: AtomicUsize::new(0), probe })
    }

    /// The endpoint in use; pass it to `failed` if it fails.
    pub fn turn(&self) -> usize {
        self.current.load(Ordering::Relaxed)
    }

    /// Switches to the next endpoint after a failure, unless another call has done so already.
    pub fn failed(&self, turn: usize) {
        // If another call was faster there is nothing to do.
        let _ = self.current.compare_exchange(turn, turn.wrapping_add(1), Ordering::Relaxed, Ordering::Relaxed);
    }

    /// How many endpoints there are.
    pub fn endpoints(&self) -> usize {
        self.endpoints.len()
    }

    fn endpoint(&self, turn: usize) -> Result<&Arc<Endpoint>, Status> {
        let endpoint = self.endpoints.get(turn % self.endpoints.len().max(1));
        endpoint.ok_or_else(|| Status::unavailable("no endpoint"))
    }

    /// One attempt at the endpoint of a turn.
    ///
    /// # Errors
    /// The attempt failed; whether the call had an effect is unknown.
    pub async fn attempt<A: Message + Default + 'static>(
        &self,
        turn: usize,
        time: Duration,
        method: &'static str,
        request: &(impl Message + Clone + 'static),
    ) -> Result<A, Status> {
        let calls = self.stats.calls.get(&(method, false), Calls::default);
        calls.started.increment();
        let message = request.clone();
        let call = async { self.endpoint(turn)?.connection().await?.unary(method, message).await };
        calls.sent.increment();
        let answer = timeout(time, call).await.unwrap_or_else(|_| Err(Status::deadline_exceeded()));
        calls.received.add(u64::from(answer.is_ok()));
        Stats::ended(&calls, &answer);
        if let Err(status) = &answer {
            debug!(err = %status, method, turn, "a call to etcd failed");
        }
        answer
    }

    /// An idempotent call: tries one endpoint after the other until the timeout of calls.
    ///
    /// # Errors
    /// The cluster refuses it, or cannot be reached.
    pub async fn call<A: Message + Default + 'static>(
        &self,
        method: &'static str,
        request: &(impl Message + Clone + 'static),
    ) -> Result<A, Status> {
        self.call_within(limits::CALL, method, request).await
    }

    /// The same with another timeout.
    ///
    /// # Errors
    /// The cluster refuses it, or cannot be reached.
    pub async fn call_within<A: Message + Default + 'static>(
        &self,
        time: Duration,
        method: &'static str,
        request: &(impl Message + Clone + 'static),
    ) -> Result<A, Status> {
        let mut retries = RetryBudget::new(time);
        loop {
            let turn = self.turn();
            match self.attempt(turn, retries.attempt(), method, request).await {
                Err(status) if is_passing(&status) => {
                    self.failed(turn);
                    if !retries.wait(self.endpoints()).await {
                        return Err(status);
                    }
                }
                outcome => return outcome,
            }
        }
    }

    /// A minimal read at a revision, or at the newest one if it is 0.
    pub fn probe(&self, revision: i64) -> RangeRequest {
        RangeRequest { key: self.probe.clone(), count_only: true, revision, ..RangeRequest::default() }
    }

    /// The newest revision that was acknowledged to any client before this call.
    ///
    /// # Errors
    /// The cluster cannot be reached.
    pub async fn revision(&self, time: Duration) -> Result<u64, Status> {
        // An empty read still needs a quorum.
        let answer: RangeResponse = self.call_within(time, method::RANGE, &self.probe(0)).await?;
        Ok(answer.header.map_or(0, |header| header.revision.unsigned_abs()))
    }

    /// The version of the member at the endpoint of a turn.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn version(&self, turn: usize) -> Result<String, Status> {
        let answer: StatusResponse = self.attempt(turn, limits::ATTEMPT, method::STATUS, &StatusRequest {}).await?;
        Ok(answer.version)
    }

    /// Polls the database size of every member.
    pub async fn watch_sizes(&self, interval: Duration) {
        loop {
            for turn in 0..self.endpoints() {
                let answer = self.attempt(turn, limits::ATTEMPT, method::STATUS, &StatusRequest {}).await;
                // The last size of a member that does not respond stays.
                if let Ok(StatusResponse { db_size, .. }) = answer {
                    self.stats.set_size(turn, db_size);
                }
            }
            sleep(interval).await;
        }
    }

    /// Opens a stream at the endpoint of a turn, with its first request.
    ///
    /// # Errors
    /// It cannot be reached.
    pub async fn stream<Q: Message + 'static, A: Message + Default + 'static>(
        &self,
        turn: usize,
        method: &'static str,
        request: Q,
    ) -> Result<Stream<Q, A>, Status> {
        // A member that is cut off from the others ends the stream instead of staying silent.
        let header = ("hasleader", "true");
        let opening = async { self.endpoint(turn)?.connection().await?.streaming(method, request, header).await };
        let calls = self.stats.calls.get(&(method, true), Calls::default);
        calls.started.increment();
        let call = timeout(limits::ATTEMPT, opening).await.unwrap_or_else(|_| Err(Status::deadline_exceeded()));
        if call.is_err() {
            Stats::ended(&calls, &call);
        }
        calls.sent.increment();
        Ok(Stream { call: call?, calls })
    }
}

/// A bidirectional stream.
pub struct Stream<Q, A> {
    call: Call<Q, A>,
    calls: Arc<Calls>,
}

impl<Q, A> Stream<Q, A> {
    /// Sends another request.
    ///
    /// # Errors
    /// The stream has ended.
    pub fn send(&mut self, request: Q) -> Result<(), Status> {
        self.calls.sent.increment();
        self.call.send(request)
    }

    /// The next response; `None` at the end. Dropping the future loses no response.
    ///
    /// # Errors
    /// The stream broke.
    pub async fn message(&mut self) -> Result<Option<A>, Status> {
        let message = self.call.message().await;
        match &message {
            Ok(Some(_)) => self.calls.received.increment(),
            ended => Stats::ended(&self.calls, ended),
        }
        message
    }
}

/// Whether another endpoint, or the same one later, may succeed.
pub fn is_passing(status: &Status) -> bool {
    matches!(status.code, Code::Unavailable | Code::DeadlineExceeded | Code::Cancelled | Code::Unknown | Code::Internal)
}

/// Retries with growing pauses until a deadline.
pub struct RetryBudget {
    until: Instant,
    failures: usize,
    /// How many times all endpoints have failed.
    rounds: u32,
}

impl RetryBudget {
    pub fn new(time: Duration) -> Self {
        RetryBudget { until: Instant::now() + time, failures: 0, rounds: 0 }
    }

    /// The timeout of the next attempt. It grows only after each endpoint had its attempt, because a stopped member
    /// fails at once.
    pub fn attempt(&self) -> Duration {
        let left = self.until.saturating_duration_since(Instant::now());
        limits::ATTEMPT.saturating_mul(1 << self.rounds.min(8)).min(limits::ATTEMPT_MAX).min(left)
    }

    /// Pauses after a failure; false if the deadline would pass. The first attempt at each endpoint has no pause.
    pub async fn wait(&mut self, endpoints: usize) -> bool {
        self.failures += 1;
        self.rounds = u32::try_from(self.failures / endpoints.max(1)).unwrap_or(u32::MAX);
        let pause = match self.rounds {
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
