//! `TestServer`: a whole server in memory, on a free port, within a test's process.

use crate::{Builder, Serving, StartError};
use pintle_controllers::Controller;
use pintle_storage::{MemoryStore, Store};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// A server for a test: everything is allowed, nothing outlives it. All controllers run in it, without delay.
pub struct TestServer {
    server: Serving,
}

impl TestServer {
    /// Starts in memory on a free port of the loopback interface, without TLS.
    ///
    /// # Errors
    /// No port can be bound.
    pub async fn start() -> Result<Self, StartError> {
        Self::start_with(Arc::new(MemoryStore::new())).await
    }

    /// Starts on a store of the test's own.
    ///
    /// # Errors
    /// The store cannot be opened, or no port can be bound.
    pub async fn start_with(store: Arc<dyn Store>) -> Result<Self, StartError> {
        Self::start_from(Builder::new(store)).await
    }

    /// Starts in memory after `configure` has changed parts of the server, such as its feature gates.
    ///
    /// # Errors
    /// No port can be bound, or a part cannot be as it is configured.
    pub async fn configured(configure: impl FnOnce(&mut Builder)) -> Result<Self, StartError> {
        let mut builder = Builder::new(Arc::new(MemoryStore::new()));
        configure(&mut builder);
        Self::start_from(builder).await
    }

    async fn start_from(mut builder: Builder) -> Result<Self, StartError> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        builder.controllers().enabled = Controller::ALL.to_vec();
        let server = builder.start(listener).await?;
        Ok(TestServer { server })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub fn server(&self) -> &Serving {
        &self.server
    }

    /// Stops the server and waits until it is gone.
    ///
    /// # Errors
    /// The listener failed while the server ran.
    pub async fn stop(self) -> std::io::Result<()> {
        self.server.stop().await
    }
}
