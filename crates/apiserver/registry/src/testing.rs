//! Test helpers: a registry, and a way to wait for a future.
//!
//! There is no runtime: the test's own thread runs the future to its end, so nothing waits for a clock.
use pintle_schema::gates::{GateSet, NO_GATES};

use crate::{AdmissionChain, Environment, Registry, WriteOptions};
use pintle_cache::Cache;

use pintle_schema::value;
use pintle_storage::{MemoryStore, Store};
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// The output of a future, for which this thread waits.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// A clock that advances by a second with each reading.
pub(crate) struct Ticking(pub(crate) AtomicI64);

impl Environment for Ticking {
    fn now_unix(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

/// A registry of all kinds over a store in memory, with one namespace, `default`.
pub(crate) fn registry() -> Registry {
    registry_over(Arc::new(MemoryStore::new()))
}

/// The same over another store.
pub(crate) fn registry_over(store: Arc<dyn Store>) -> Registry {
    registry_of(store, Box::new(Ticking(AtomicI64::new(1_700_000_000))))
}

/// The same as [`registry`] with another environment.
pub(crate) fn registry_in(environment: Box<dyn Environment>) -> Registry {
    registry_of(Arc::new(MemoryStore::new()), environment)
}

/// The same over another store, which may have partitions.
pub(crate) fn registry_of(store: Arc<dyn Store>, environment: Box<dyn Environment>) -> Registry {
    let prefixes = pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str()));
    let cache = Cache::partitioned(prefixes.map(|prefix| (prefix, Vec::new())), store.partitions());
    store.start(Box::new(cache.writer())).unwrap();
    for (number, partition) in (1..).zip(store.partitions()) {
        partition.store.start(Box::new(cache.writer_of(number))).unwrap();
    }
    let registry = Registry::new(cache, store, environment, AdmissionChain::default(), pintle_groups::resources());
    let namespaces = pintle_groups::find("", "v1", "namespaces").unwrap();
    let namespace = registry.target(namespaces, "", "default").unwrap();
    wait(registry.create(&namespace, value!({"metadata": {"name": "default"}}), &WriteOptions::default())).unwrap();
    registry
}
