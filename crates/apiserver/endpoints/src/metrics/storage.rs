//! Metrics of the store: number, duration and failures of transactions. Guarantees that a transaction is counted once, under
//! the resource of its first write. Must never change what is measured; one whose outcome is unknown has no end.

use pintle_metrics::{Exposition, Family, Histogram, Keyed, Label, Layout};
use pintle_resource::{Resources, Verbs};
use pintle_schema::Str;
use pintle_storage::{
    CommitError, CommitFuture, CompactFuture, Expect, Observer, Revision, Started, Store, StoreError, Transaction,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

static DURATIONS: Layout = Layout::seconds(&[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
]);

const DURATION: Family =
    Family::histogram("etcd_request_duration_seconds", "Time that the store took by operation, group and resource.");
const REQUESTS: Family =
    Family::counter("etcd_requests_total", "Requests to the store by operation, group and resource.");
const ERRORS: Family = Family::counter(
    "etcd_request_errors_total",
    "Requests that the store could not carry out, by operation, group and resource.",
);

/// Operation, group and resource.
type Key = [Str; 3];

struct Series {
    durations: Histogram,
    errors: AtomicU64,
}

impl Series {
    fn new() -> Self {
        Series { durations: Histogram::new(&DURATIONS), errors: AtomicU64::new(0) }
    }

    fn ended(&self, started: Instant, outcome: &Result<Revision, CommitError>) {
        self.durations.observe_duration(started.elapsed());
        // A failed precondition is a regular result, not an error.
        let is_answered =
            matches!(outcome, Ok(_) | Err(CommitError::Conflict { .. } | CommitError::ConditionFailed { .. }));
        if !is_answered {
            self.errors.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// All series of the store's transactions.
#[derive(Default)]
pub struct Transactions {
    series: Keyed<Key, Series>,
}

impl Transactions {
    pub(super) fn render(&self, out: &mut Exposition) {
        let all = self.series.sorted();
        fn labels([operation, group, resource]: &Key) -> [Label<'_>; 3] {
            [("group", group), ("operation", operation), ("resource", resource)]
        }
        out.family(&REQUESTS);
        for (key, series) in &all {
            let count = series.durations.buckets().map(|(_, count)| count).sum::<u64>();
            out.sample(REQUESTS.name, &labels(key), count);
        }
        out.family(&ERRORS);
        for (key, series) in &all {
            let errors = series.errors.load(Ordering::Relaxed);
            if errors > 0 {
                out.sample(ERRORS.name, &labels(key), errors);
            }
        }
        out.family(&DURATION);
        for (key, series) in &all {
            out.histogram(DURATION.name, &labels(key), &series.durations);
        }
    }
}

/// A store whose transactions are measured.
pub struct MeasuredStore {
    inner: Arc<dyn Store>,
    transactions: Arc<Transactions>,
    resources: Arc<Resources>,
}

impl MeasuredStore {
    pub fn new(inner: Arc<dyn Store>, transactions: Arc<Transactions>, resources: Arc<Resources>) -> Self {
        MeasuredStore { inner, transactions, resources }
    }

    fn key(&self, transaction: &Transaction) -> Key {
        let Some(first) = transaction.writes.first() else { return Key::default() };
        let operation = match (&first.value, &first.expect) {
            (None, _) => "delete",
            (Some(_), Expect::Absent) => "create",
            (Some(_), _) => "update",
        };
        // The longest known prefix ends at the third or fourth slash.
        let ends = first.key.match_indices('/').skip(2).take(2);
        let table = self.resources.read();
        let found = ends.filter_map(|(at, _)| table.stored(first.key.get(..=at)?)).last();
        // Only served resources are counted under their name.
        let hub = found.map(|stored| &stored.hub).filter(|hub| hub.verbs != Verbs::NONE);
        let (group, resource) = hub.map(|hub| (hub.group.clone(), hub.plural.clone())).unwrap_or_default();
        [Str::new_static(operation), group, resource]
    }
}

impl Store for MeasuredStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        self.inner.start(observer)
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        let started = Instant::now();
        let series = self.transactions.series.get(&self.key(&transaction), Series::new);
        let commit = self.inner.commit(transaction);
        CommitFuture::pending(async move {
            let outcome = commit.await;
            series.ended(started, &outcome);
            if let Err(CommitError::Unknown(_)) = outcome {
                // Any response might be wrong. The server ends now, and with it the connection.
                std::future::pending::<()>().await;
            }
            outcome
        })
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.inner.compact(revision)
    }

    fn close(&self) {
        self.inner.close();
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.inner.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_storage::{MemoryStore, Record};

    struct Nobody;

    impl Observer for Nobody {
        fn replay(&mut self, _: Record, _: bool) {}
        fn publish(&mut self, _: &[Record], _: Revision) {}
    }

    #[test]
    fn transactions_are_counted_under_their_first_write() {
        let transactions = Arc::new(Transactions::default());
        let resources = pintle_groups::resources();
        let store = MeasuredStore::new(Arc::new(MemoryStore::new()), transactions.clone(), resources);
        let commit = |key: &str, expect: Expect, value: Option<&'static [u8]>| {
            store.commit(Transaction::one(key.into(), expect, value.map(bytes::Bytes::from_static))).wait()
        };
        assert!(commit("/registry/services/specs/a/b", Expect::Absent, Some(b"x")).is_err(), "it has not started");
        store.start(Box::new(Nobody)).expect("starts");
        let created = commit("/registry/services/specs/a/b", Expect::Absent, Some(b"x")).expect("created");
        assert!(commit("/registry/services/specs/a/b", Expect::Absent, Some(b"y")).is_err(), "it is there");
        commit("/registry/services/specs/a/b", Expect::At(created), Some(b"y")).expect("updated");
        commit("/registry/deployments/a/b", Expect::Any, None).expect("nothing to delete");
        let mut out = Exposition::default();
        transactions.render(&mut out);
        let text = out.into_text();
        for line in [
            "etcd_requests_total{group=\"\",operation=\"create\",resource=\"services\"} 3\n",
            "etcd_request_errors_total{group=\"\",operation=\"create\",resource=\"services\"} 1\n",
            "etcd_requests_total{group=\"\",operation=\"update\",resource=\"services\"} 1\n",
            "etcd_request_duration_seconds_count{group=\"apps\",operation=\"delete\",resource=\"deployments\"} 1\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
        assert_eq!(text.matches("etcd_request_errors_total{").count(), 1, "a conflict is no error: {text}");
    }
}
