//! `Serving`: a running server with the built-in groups. Guarantees that a stop withdraws the server from the cluster
//! before it takes no more connections. Must never hold up a stop for a store that does not answer.

use crate::controllers::RunningControllers;
use crate::identity_lease::IdentityLease;
use pintle_endpoints::Api;
use pintle_storage::EndedFuture;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::AbortHandle;

/// The timeout for removing the server from the endpoints.
const WITHDRAWAL: Duration = Duration::from_secs(3);

/// A running server.
pub struct Serving {
    address: SocketAddr,
    generic: pintle_server::Serving,
    controllers: RunningControllers,
    identity_lease: Arc<IdentityLease>,
    renewal: AbortHandle,
}

impl Serving {
    pub(crate) fn new(
        address: SocketAddr,
        generic: pintle_server::Serving,
        controllers: RunningControllers,
        identity_lease: Arc<IdentityLease>,
        renewal: AbortHandle,
    ) -> Serving {
        Serving { address, generic, controllers, identity_lease, renewal }
    }

    /// The address of the first listener.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The API, for calls within the process.
    pub fn api(&self) -> &Arc<Api> {
        self.generic.api()
    }

    /// Resolves with the reason when a part that the server needs has ended: the store, the listener or a watch. The
    /// server is then unhealthy; the caller stops it.
    pub fn ended(&self) -> EndedFuture {
        self.generic.ended()
    }

    /// Stops accepting connections, lets requests finish, ends watches and closes the store.
    ///
    /// # Errors
    /// The listener failed while the server ran.
    pub async fn stop(mut self) -> std::io::Result<()> {
        self.api().health.stop();
        self.renewal.abort();
        // An unreachable store must not delay the shutdown: the lease expires by itself.
        let _ = tokio::time::timeout(WITHDRAWAL, self.identity_lease.withdraw()).await;
        let drained = self.generic.drain().await;
        self.controllers.stop().await;
        drained.and(self.generic.stop().await)
    }
}
