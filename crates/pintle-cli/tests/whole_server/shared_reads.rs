//! Reads from a store that other servers write to: they read the current revision first. Guarantees that waiting reads
//! do not block other requests. Must never depend on timing: the test controls the store's responses and counts waiting
//! reads.

use crate::common::fixture::Fixture;
use crate::common::http::Answered;
use crate::common::raw::Http2;
use crate::common::wait_for;
use pintle_storage::{
    CommitFuture, CompactFuture, MemoryStore, Observer, Revision, Started, Store, StoreError, Transaction,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use tokio::sync::Notify;

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// What a test knows of a store, and says to it.
#[derive(Default)]
struct Others {
    /// Whether it takes time to ask them.
    silent: AtomicBool,
    /// How many wait for them.
    waiting: AtomicUsize,
    answered: Notify,
}

struct Shared(MemoryStore, Arc<Others>);

/// Counts waiting requests.
struct Waiting(Arc<Others>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::AcqRel);
    }
}

impl Store for Shared {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.0.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.0.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.0.compact(revision)
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(&self.0)
    }

    fn close(&self) {
        self.0.close();
    }

    fn catch_up(&self, _: &str) -> Option<CommitFuture> {
        let others = Arc::clone(&self.1);
        others.silent.load(Ordering::Acquire).then(|| {
            CommitFuture::pending(async move {
                let answered = others.answered.notified();
                others.waiting.fetch_add(1, Ordering::AcqRel);
                let waiting = Waiting(Arc::clone(&others));
                answered.await;
                drop(waiting);
                Ok(Revision(0))
            })
        })
    }

    fn is_shared(&self) -> bool {
        true
    }
}

#[test]
fn reads_that_wait_for_others_hold_no_slot() {
    let others = Arc::new(Others::default());
    let shared = Shared(MemoryStore::new(), Arc::clone(&others));
    let fixture = Fixture::over(
        || Arc::new(shared),
        |builder| {
            builder.generic().settings().max_read_only_in_flight = 1;
            builder.generic().settings().priority_and_fairness = false;
        },
    );
    let list = || {
        let mut client = Http2::connect(&fixture.endpoint, "", 0);
        let id = client.request("GET", CONFIG_MAPS, false);
        (client, id)
    };
    others.silent.store(true, Ordering::Release);
    let mut reads = Vec::new();
    for number in 1..=3 {
        reads.push(list());
        wait_for("the read to wait", || (others.waiting.load(Ordering::Acquire) == number).then_some(()));
    }
    // What may be answered from what is known is.
    fixture.client().get(&format!("{CONFIG_MAPS}?resourceVersion=0")).expect_status(200);
    let (mut last, id) = reads.pop().expect("three");
    drop(reads);
    wait_for("the others to go", || (others.waiting.load(Ordering::Acquire) == 1).then_some(()));
    others.silent.store(false, Ordering::Release);
    others.answered.notify_waiters();
    assert!(last.read_until(|client| client.streams.get(&id).is_some_and(|stream| !stream.head.is_empty())));
    assert_eq!(last.streams[&id].status(), 200);
}
