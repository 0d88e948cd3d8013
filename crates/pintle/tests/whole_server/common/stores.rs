//! The store of test servers that do not choose one: their own, or their own etcd if `PINTLE_TEST_STORE=etcd` is set.
//! Guarantees that each server starts empty, and that its etcd ends with it. Must never be used by a test of one particular
//! store.

use super::etcd::{Etcd, program};
use pintle::{Builder, StartError};
use pintle_etcd::EtcdOptions;
use pintle_registry::EtcdCodec;
use pintle_storage::{MemoryStore, Store};
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use tokio::net::TcpListener;

/// Whether tests use etcd.
pub fn is_etcd() -> bool {
    std::env::var("PINTLE_TEST_STORE").is_ok_and(|store| store == "etcd")
}

/// An etcd, if tests are to use one.
pub fn etcd() -> Option<Etcd> {
    match std::env::var("PINTLE_TEST_STORE").as_deref() {
        Err(_) | Ok("own") => None,
        // Nothing here outlives its machine.
        Ok("etcd") => Some(Etcd::start_with(program("3.5").expect("etcd 3.5"), 1, &["--unsafe-no-fsync"])),
        Ok(other) => panic!("PINTLE_TEST_STORE must be own or etcd, not {other}"),
    }
}

/// A server in this process, with the controllers of a part of a control plane: namespaces contain only what a test creates.
pub struct Server {
    server: pintle::Server,
    /// Dropped after the server.
    _etcd: Option<Etcd>,
}

/// An empty store, and the etcd that it is in, if tests are to use one.
pub fn store() -> Result<(Arc<dyn Store>, Option<Etcd>), StartError> {
    let etcd = etcd();
    let store: Arc<dyn Store> = match &etcd {
        None => Arc::new(MemoryStore::new()),
        Some(etcd) => {
            let endpoints = vec![etcd.urls()];
            let options = EtcdOptions { endpoints, lifetimes: pintle::etcd::lifetimes(None), ..Default::default() };
            pintle::etcd::store(options, [], EtcdCodec::new(pintle_groups::resources()), None)?.0
        }
    };
    Ok((store, etcd))
}

impl Server {
    pub async fn start() -> Result<Server, StartError> {
        let (store, etcd) = store()?;
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        Ok(Server { server: Builder::new(store).start(listener).await?, _etcd: etcd })
    }

    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address())
    }

    pub async fn stop(self) -> std::io::Result<()> {
        self.server.stop().await
    }
}
