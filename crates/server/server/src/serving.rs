//! `Serving`: a running server. Guarantees that the end of an essential part is reported (`ended`), and that a stop
//! lets requests finish and closes the store. Must never restart a part.

use crate::builder::ShutdownOptions;
use crate::critical_tasks;
use crate::service::ApiService;
use pintle_endpoints::Api;
use pintle_endpoints::flow::InFlightLimits;
use pintle_flowcontrol::bounds::ADJUSTMENT_PERIOD;
use pintle_http::{ServerConfig, Shutdown, TlsConfig};
use pintle_storage::{EndedFuture, FatalSignal, Store};
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::task::{AbortHandle, JoinHandle};

/// How long the audit log may take to write what waits when the server stops: longer than a webhook's usual retries.
const AUDIT_SHUTDOWN: Duration = Duration::from_secs(60);

/// How long requests may take to finish when an essential part has ended: those that do not need it finish in less.
const GRACE_AFTER_FAILURE: Duration = Duration::from_secs(1);

/// A running server.
pub struct Serving {
    addresses: Vec<SocketAddr>,
    api: Arc<Api>,
    shutdown: Shutdown,
    options: ShutdownOptions,
    listeners: Vec<JoinHandle<io::Result<()>>>,
    /// The tasks that end when requests have finished.
    tasks: Vec<AbortHandle>,
    /// The tasks that supervise the others, until the store is closed.
    supervisors: Vec<AbortHandle>,
    fatal_signal: FatalSignal,
    store: Arc<dyn Store>,
}

impl Serving {
    pub(crate) fn new(
        api: Arc<Api>,
        store: Arc<dyn Store>,
        options: ShutdownOptions,
        fatal_signal: FatalSignal,
        tasks: Vec<AbortHandle>,
    ) -> Serving {
        Serving {
            addresses: Vec::new(),
            api,
            shutdown: Shutdown::new(),
            options,
            listeners: Vec::new(),
            tasks,
            supervisors: Vec::new(),
            fatal_signal,
            store,
        }
    }

    /// Serves on a socket.
    ///
    /// # Errors
    /// The socket has no address.
    pub(crate) fn listen(
        &mut self,
        socket: TcpListener,
        tls: Option<Arc<TlsConfig>>,
        service: ApiService,
        connections: ServerConfig,
    ) -> io::Result<()> {
        self.addresses.push(socket.local_addr()?);
        let task = pintle_http::serve(socket, tls, service, connections, self.shutdown.clone());
        let failed = self.fatal_signal.clone();
        self.listeners.push(critical_tasks::spawn(&self.fatal_signal, "a listener", async move {
            task.await.inspect_err(|error| failed.report(format!("a listener has failed: {error}")))
        }));
        Ok(())
    }

    /// Starts the tasks that supervise the store and flow control.
    pub(crate) fn supervise(&mut self, store_timeouts: (Duration, Duration)) {
        let Serving { api, store, fatal_signal, .. } = &*self;
        let adjusting = adjust(api.flow.clone());
        let adjusting = critical_tasks::spawn(fatal_signal, "borrowing among priority levels", adjusting);
        critical_tasks::follow_health(store.as_ref(), None, store_timeouts, api);
        for (number, partition) in store.partitions().iter().enumerate() {
            critical_tasks::follow_health(partition.store.as_ref(), Some(number), store_timeouts, api);
        }
        if let Some(space) = store.space() {
            critical_tasks::follow_space(space, api);
        }
        let (ended, others, weak) = (store.ended(), fatal_signal.ended(), Arc::downgrade(api));
        let ends = tokio::spawn(critical_tasks::end_with(ended, others, weak, fatal_signal.clone()));
        self.supervisors = vec![adjusting.abort_handle(), ends.abort_handle()];
    }

    /// Runs a task until the server stops. Its end is no failure.
    pub fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.tasks.push(tokio::spawn(task).abort_handle());
    }

    /// The addresses of the listeners, in their order.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The API behind the sockets, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Resolves, with the reason, when an essential part has ended: the store, a listener, or an essential task. The
    /// server must then be stopped.
    pub fn ended(&self) -> EndedFuture {
        self.fatal_signal.ended()
    }

    /// Takes no more connections, lets requests finish, and ends watches and the tasks of features. The store stays
    /// open. If an essential part has ended, requests that do not finish soon are cut off: some may wait for a store
    /// that does not answer.
    ///
    /// # Errors
    /// A listener failed while the server ran.
    pub async fn drain(&mut self) -> io::Result<()> {
        self.api.health.stop();
        let has_failed = self.fatal_signal.is_reported();
        if !has_failed {
            tokio::time::sleep(self.options.delay).await;
        }
        if self.options.send_retry_after && !has_failed {
            self.api.health.reject_requests();
            // Requests that still run after this long have been ended by their own time limit.
            let done = self.api.flow.drained();
            drop(tokio::time::timeout(self.api.settings.request_timeout, done).await);
        }
        self.shutdown.trigger();
        if has_failed {
            let shutdown = self.shutdown.clone();
            tokio::spawn(async move {
                tokio::time::sleep(GRACE_AFTER_FAILURE).await;
                shutdown.abort();
            });
        }
        let mut outcome = Ok(());
        for listener in self.listeners.drain(..) {
            outcome = outcome.and(listener.await.unwrap_or_else(|error| Err(io::Error::other(error))));
        }
        self.tasks.iter().for_each(AbortHandle::abort);
        outcome
    }

    /// Drains the server if that was not done, and closes the store.
    ///
    /// # Errors
    /// A listener failed while the server ran.
    pub async fn stop(mut self) -> io::Result<()> {
        let outcome = match self.listeners.is_empty() {
            true => Ok(()),
            false => self.drain().await,
        };
        self.tasks.iter().chain(&self.supervisors).for_each(AbortHandle::abort);
        if let Some(auditor) = &self.api.auditor {
            // A disk that hangs must not keep the store from being closed.
            drop(tokio::time::timeout(AUDIT_SHUTDOWN, auditor.shutdown()).await);
        }
        let store = self.store;
        let closed = tokio::task::spawn_blocking(move || store.close()).await;
        outcome.and(closed.map_err(io::Error::other))
    }
}

/// Has priority levels lend each other seats, from time to time.
async fn adjust(flow: Arc<InFlightLimits>) {
    let Some(controller) = flow.controller() else { return std::future::pending().await };
    loop {
        tokio::time::sleep(ADJUSTMENT_PERIOD).await;
        controller.adjust();
    }
}
