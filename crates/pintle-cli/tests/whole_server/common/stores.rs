//! The store of test servers that do not choose one: their own, or their own etcd if `PINTLE_TEST_STORE=etcd` is set.
//! Guarantees that each server starts empty, and that its etcd ends with it. Must never be used by a test of one particular
//! store.

use super::etcd::{Etcd, program};
use bytes::Bytes;
use pintle::{Builder, StartError};
use pintle_etcd::EtcdOptions;
use pintle_registry::EtcdCodec;
use pintle_storage::{
    CommitFuture, CompactFuture, Expect, MemoryStore, Observer, Revision, Started, Store, StoreError, Transaction,
    TranscodingStore,
};
use std::collections::HashMap;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
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
    server: pintle::Serving,
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

/// What an etcd keeps, in memory: a test reads and writes the bytes of objects beside a server, as another server would.
#[derive(Clone)]
pub struct KeptBytes {
    memory: Arc<MemoryStore>,
    last: Arc<Mutex<HashMap<String, Bytes>>>,
}

impl KeptBytes {
    pub fn new() -> KeptBytes {
        KeptBytes { memory: Arc::new(MemoryStore::new()), last: Arc::default() }
    }

    /// The store of a server. `change` sets the form that it writes.
    pub fn store(&self, change: impl FnOnce(&mut EtcdCodec)) -> Arc<dyn Store> {
        let mut form = EtcdCodec::new(pintle_groups::resources());
        change(&mut form);
        Arc::new(TranscodingStore::new(Arc::new(self.clone()), Arc::new(form)))
    }

    /// Stores the bytes of an object, whatever was there.
    pub fn put(&self, key: &str, bytes: impl Into<Bytes>) {
        let transaction = Transaction::one(key.into(), Expect::Any, Some(bytes.into()));
        self.memory.commit(transaction).wait().expect("stored");
    }

    /// The bytes that a server stored last under a key.
    pub fn written(&self, key: &str) -> Bytes {
        self.last.lock().expect("no panic").get(key).cloned().unwrap_or_default()
    }
}

impl Store for KeptBytes {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.memory.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        let mut last = self.last.lock().expect("no panic");
        for write in &transaction.writes {
            last.insert(write.key.to_string(), write.value.clone().unwrap_or_default());
        }
        drop(last);
        self.memory.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.memory.compact(revision)
    }

    fn close(&self) {
        self.memory.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.memory.as_ref())
    }
}
