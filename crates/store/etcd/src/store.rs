//! `EtcdStore`: the `Store` over a cluster. Guarantees the contract of `Store`, except for the order of concurrent
//! transactions. Must never block an asynchronous caller.

use crate::client::Client;
use crate::compact::Compacted;
use crate::lease::Leases;
use crate::progress::Progress;
use crate::read_index::ReadIndex;
use crate::stats::Stats;
use crate::tasks::Tasks;
use crate::tls::Tls;
use crate::wire::{CompactionRequest, CompactionResponse};
use crate::{client::method, commit, compact, follow, limits};
use bytes::Bytes;
use pintle_grpc::Status;
use pintle_storage::{
    CommitError, CommitFuture, CompactFuture, EndedFuture, FatalSignal, Guard, Key, Observer, Revision, Started, Store,
    StoreError, Transaction,
};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, oneshot};
use tokio::time::Instant;

/// The prefix of all keys as seen by the store's users.
const INNER: &str = "/registry";

/// How a cluster is reached and used.
#[derive(Clone, Debug)]
pub struct EtcdOptions {
    /// URLs of the members' clients' ports.
    pub endpoints: Vec<String>,
    pub tls: Tls,
    /// Takes the place of `/registry` at the beginning of every key.
    pub prefix: String,
    /// The keys of the store; others in the cluster are ignored.
    pub keys: OwnKeys,
    /// The interval of compaction; `None` if another program compacts.
    pub compaction_interval: Option<Duration>,
    /// Lifetimes in seconds after the last change, by key prefix; other keys do not expire.
    pub lifetimes: Vec<(String, u32)>,
    /// How many seconds longer than its keys a lease may live at most, so that many keys share one.
    pub lease_reuse_seconds: u32,
    /// Timeout of a health check.
    pub health_timeout: Duration,
    /// How often the members' database sizes are requested; `None`: never.
    pub size_interval: Option<Duration>,
}

impl Default for EtcdOptions {
    fn default() -> Self {
        EtcdOptions {
            endpoints: Vec::new(),
            tls: Tls::default(),
            prefix: INNER.to_owned(),
            keys: OwnKeys::All,
            compaction_interval: Some(Duration::from_secs(5 * 60)),
            lifetimes: Vec::new(),
            lease_reuse_seconds: limits::LEASE_REUSE_SECONDS,
            health_timeout: limits::HEALTH_TIMEOUT,
            size_interval: None,
        }
    }
}

/// Which keys belong to a store, by their prefixes (each `/registry/.../`).
#[derive(Clone, Debug, Default)]
pub enum OwnKeys {
    #[default]
    All,
    Under(Vec<Box<str>>),
    NotUnder(Vec<Box<str>>),
}

impl OwnKeys {
    fn contain(&self, key: &str) -> bool {
        let is_under = |prefixes: &[Box<str>]| prefixes.iter().any(|prefix| key.starts_with(&**prefix));
        match self {
            OwnKeys::All => true,
            OwnKeys::Under(prefixes) => is_under(prefixes),
            OwnKeys::NotUnder(prefixes) => !is_under(prefixes),
        }
    }
}

/// Keys as etcd has them and as the users of the store know them.
pub(crate) struct Keys {
    prefix: String,
    own: OwnKeys,
}

impl Keys {
    fn new(prefix: &str, own: OwnKeys) -> Keys {
        Keys { prefix: format!("/{}", prefix.trim_matches('/')), own }
    }

    pub fn outer(&self, key: &str) -> Bytes {
        let rest = key.strip_prefix(INNER).unwrap_or(key);
        Bytes::from([self.prefix.as_str(), rest].concat())
    }

    /// `None` for a key of another program or store.
    pub fn inner(&self, key: &[u8]) -> Option<Key> {
        let rest = std::str::from_utf8(key).ok()?.strip_prefix(self.prefix.as_str())?;
        let inner = || Key::from([INNER, rest].concat());
        rest.starts_with('/').then(inner).filter(|key| self.own.contain(key))
    }

    /// The first of all keys and the end of them.
    pub fn range(&self) -> (Bytes, Bytes) {
        // The byte after the slash.
        (Bytes::from(format!("{}/", self.prefix)), Bytes::from(format!("{}0", self.prefix)))
    }
}

/// The shared state of the store's parts.
pub(crate) struct Shared {
    pub client: Arc<Client>,
    pub keys: Keys,
    pub progress: Progress,
    pub leases: Leases,
    pub transactions: Semaphore,
    pub compacted: Compacted,
    read_index: ReadIndex,
    fatal_signal: FatalSignal,
    lifetimes: Vec<(String, u32)>,
}

impl Shared {
    pub fn lifetime(&self, key: &str) -> u32 {
        self.lifetimes.iter().find(|(prefix, _)| key.starts_with(prefix.as_str())).map_or(0, |(_, seconds)| *seconds)
    }

    /// The newest revision that was acknowledged to any client before this call.
    ///
    /// # Errors
    /// The cluster cannot be reached, or its revision has decreased.
    pub async fn revision(&self, time: Duration) -> Result<u64, Status> {
        let published = self.progress.published();
        let revision = self.client.revision(time).await?;
        self.progress.check(published, revision)?;
        Ok(revision)
    }

    /// Fails all waiters: the store is closed.
    fn close(&self) {
        self.read_index.close();
        self.transactions.close();
        self.progress.close();
    }
}

/// Ends the store if an essential task panics.
struct EndOnPanic {
    shared: Arc<Shared>,
    _guard: Guard,
}

impl Drop for EndOnPanic {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.close();
        }
    }
}

/// A [`Store`] that keeps everything in an etcd cluster.
pub struct EtcdStore {
    pub(crate) shared: Arc<Shared>,
    /// For messages.
    endpoints: String,
    tasks: Arc<Tasks>,
    pub(crate) runtime: Handle,
    compaction_interval: Option<Duration>,
    health_timeout: Duration,
    size_interval: Option<Duration>,
    is_started: AtomicBool,
    is_closed: AtomicBool,
}

impl EtcdStore {
    /// A store over the cluster, whose connections run on the current runtime. Nothing is connected before the start.
    ///
    /// # Errors
    /// An endpoint is no URL, or a certificate is unusable.
    pub fn new(options: EtcdOptions) -> Result<EtcdStore, StoreError> {
        EtcdStore::counted(options, None)
    }

    /// The same for a further cluster, whose calls and members are counted together with those of another store.
    ///
    /// # Errors
    /// As `new`.
    pub fn beside(options: EtcdOptions, other: &Stats) -> Result<EtcdStore, StoreError> {
        EtcdStore::counted(options, Some(other))
    }

    fn counted(options: EtcdOptions, other: Option<&Stats>) -> Result<EtcdStore, StoreError> {
        let runtime = Handle::try_current().map_err(|error| StoreError::Remote(error.to_string()))?;
        let tasks = Arc::new(Tasks::new(runtime.clone()));
        let keys = Keys::new(&options.prefix, options.keys);
        let probe = keys.outer("/health");
        let mut client = Client::new(&options.endpoints, &options.tls, probe, &tasks).map_err(StoreError::Remote)?;
        if let Some(other) = other {
            client.stats = Arc::new(Stats::beside(other, client.endpoints()));
        }
        let shared = Shared {
            client: Arc::new(client),
            keys,
            progress: Progress::default(),
            leases: Leases::new(options.lease_reuse_seconds),
            transactions: Semaphore::new(limits::TRANSACTIONS),
            compacted: Compacted::default(),
            read_index: ReadIndex::default(),
            fatal_signal: FatalSignal::default(),
            lifetimes: options.lifetimes.into_iter().filter(|(_, seconds)| *seconds > 0).collect(),
        };
        Ok(EtcdStore {
            shared: Arc::new(shared),
            endpoints: options.endpoints.join(", "),
            tasks,
            runtime,
            compaction_interval: options.compaction_interval.filter(|interval| !interval.is_zero()),
            health_timeout: options.health_timeout,
            size_interval: options.size_interval.filter(|interval| !interval.is_zero()),
            is_started: AtomicBool::new(false),
            is_closed: AtomicBool::new(false),
        })
    }

    /// Counters of calls.
    pub fn stats(&self) -> Arc<Stats> {
        self.shared.client.stats.clone()
    }

    fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Runs an essential task for the lifetime of the store.
    fn keep<F: Future<Output = ()> + Send + 'static>(&self, what: &'static str, work: impl FnOnce(Arc<Shared>) -> F) {
        let vital = EndOnPanic { shared: self.shared.clone(), _guard: self.shared.fatal_signal.guard(what) };
        let work = work(self.shared.clone());
        self.tasks.spawn(async move {
            let _vital = vital;
            work.await;
        });
    }

    /// Runs to its end even if the caller is dropped.
    fn carry_out(&self, work: impl Future<Output = Outcome> + Send + 'static) -> CommitFuture {
        let (sender, outcome) = oneshot::channel();
        // The receiver may have been dropped.
        self.tasks.spawn(async move { drop(sender.send(work.await)) });
        CommitFuture::pending(async move { outcome.await.unwrap_or(Err(CommitError::Closed)) })
    }
}

type Outcome = Result<Revision, CommitError>;

impl Store for EtcdStore {
    /// Blocks, so it must not be called where tasks of the runtime run.
    fn start(&self, mut observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        if self.is_started.load(Ordering::Acquire) || self.is_closed() {
            return Err(StoreError::AlreadyStarted);
        }
        let shared = self.shared.clone();
        let remote = |status: Status| {
            let Status { code, message } = status;
            StoreError::Remote(format!("etcd at {} cannot be read: {code:?}: {message}", self.endpoints))
        };
        let started = self.runtime.block_on(follow::start(&shared, observer.as_mut())).map_err(remote)?;
        self.is_started.store(true, Ordering::Release);
        self.keep("what follows etcd", |shared| async move { follow::run(&shared, observer).await });
        self.keep("what asks etcd how far it is", |shared| async move { shared.read_index.run(&shared).await });
        if let Some(interval) = self.compaction_interval {
            self.keep("the compaction of etcd", move |shared| async move {
                compact::run(&shared.client, interval, &shared.compacted).await;
            });
        }
        if let Some(interval) = self.size_interval {
            self.keep("the measuring of etcd", move |shared| async move { shared.client.watch_sizes(interval).await });
        }
        // Timers are the runtime's.
        let _context = self.runtime.enter();
        let waiting = tokio::time::timeout(limits::START, shared.progress.wait(started.current.0));
        match self.runtime.block_on(waiting) {
            Ok(Ok(())) => Ok(started),
            _ => Err(StoreError::Remote("etcd's watch does not come up".to_owned())),
        }
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        if self.is_closed() {
            return CommitFuture::ready(Err(CommitError::Closed));
        }
        if let Err(error) = transaction.check() {
            return CommitFuture::ready(Err(error));
        }
        if transaction.writes.iter().any(|write| write.begins_revision) {
            let why = "etcd gives a transaction one revision".to_owned();
            return CommitFuture::ready(Err(CommitError::Invalid(why)));
        }
        let shared = self.shared.clone();
        self.carry_out(async move { shared.commit(transaction).await })
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        let client = self.shared.client.clone();
        let request = CompactionRequest { revision: i64::try_from(revision.0).unwrap_or(i64::MAX) };
        self.carry_out(async move {
            let outcome = client
                .attempt::<CompactionResponse>(client.turn(), limits::ATTEMPT_MAX, method::COMPACT, &request)
                .await;
            outcome.map(|_| revision).map_err(commit::failed)
        })
    }

    fn close(&self) {
        self.is_closed.store(true, Ordering::Release);
        self.tasks.close();
        self.shared.close();
    }

    fn catch_up(&self, _: &str) -> Option<CommitFuture> {
        let (shared, answer) = (self.shared.clone(), self.shared.read_index.ask());
        Some(CommitFuture::pending(async move {
            let revision = answer.await.map_err(|_| CommitError::Closed)?.map_err(commit::failed)?;
            shared.progress.wait(revision).await.map_err(|_| CommitError::Closed)?;
            Ok(Revision(revision))
        }))
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn expires(&self) -> bool {
        true
    }

    fn transaction_writes_max(&self) -> usize {
        limits::TRANSACTION_WRITES
    }

    fn on_health(&self, report: Box<dyn Fn(Result<Duration, String>) + Send + Sync>) {
        let timeout = self.health_timeout;
        // It was reached a moment ago, or there would be no server.
        report(Ok(Duration::ZERO));
        self.keep("what asks etcd how it is", move |shared| async move {
            loop {
                tokio::time::sleep(limits::HEALTH_PERIOD).await;
                let asked = Instant::now();
                let answer = shared.revision(timeout).await;
                report(answer.map(|_| asked.elapsed()).map_err(|status| status.to_string()));
            }
        });
    }

    fn ended(&self) -> EndedFuture {
        self.shared.fatal_signal.ended()
    }
}

impl Drop for EtcdStore {
    fn drop(&mut self) {
        self.close();
    }
}

impl fmt::Debug for EtcdStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EtcdStore")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn futures_of_requests_are_small() {
        let options = EtcdOptions { endpoints: vec!["http://127.0.0.1:1".to_owned()], ..EtcdOptions::default() };
        let store = EtcdStore::new(options).unwrap();
        let commit = size_of_val(&store.shared.commit(Transaction::default()));
        assert!(commit <= 2_048, "a commit waits in {commit} bytes");
    }

    #[test]
    fn keys_are_moved_under_the_prefix_and_back() {
        for (prefix, key, outer) in [
            ("/registry", "/registry/pods/a/b", "/registry/pods/a/b"),
            ("registry", "/registry/pods/a/b", "/registry/pods/a/b"),
            ("/clusters/one/", "/registry/pods/a/b", "/clusters/one/pods/a/b"),
        ] {
            let keys = Keys::new(prefix, OwnKeys::All);
            assert_eq!(keys.outer(key), outer);
            assert_eq!(keys.inner(outer.as_bytes()).as_deref(), Some(key));
            let (from, to) = keys.range();
            assert!(from <= *outer && *outer.as_bytes() < to[..]);
        }
        let keys = Keys::new("/registry", OwnKeys::All);
        for foreign in [&b"/registryother/a"[..], b"/other/a", b"/registry", b"/registry/\xff"] {
            assert_eq!(keys.inner(foreign), None);
        }
        let events = || vec!["/registry/events/".into()];
        for (own, key, is_own) in [
            (OwnKeys::Under(events()), "/clusters/one/events/a/b", true),
            (OwnKeys::Under(events()), "/clusters/one/pods/a/b", false),
            (OwnKeys::NotUnder(events()), "/clusters/one/events/a/b", false),
            (OwnKeys::NotUnder(events()), "/clusters/one/pods/a/b", true),
        ] {
            assert_eq!(Keys::new("/clusters/one", own).inner(key.as_bytes()).is_some(), is_own, "{key}");
        }
    }
}
