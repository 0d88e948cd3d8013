//! Measures the store over a running etcd: latency and CPU of creations and of questions for the newest revision.
//! Guarantees the numbers of docs/decisions/etcd-store.md: `cargo bench -p pintle-etcd -- URL`.
//! Must never be run on a cluster that holds something else.

use bytes::Bytes;
use futures_util::future::join_all;
use pintle_etcd::{EtcdOptions, EtcdStore};
use pintle_storage::{Expect, Observer, Record, Revision, Store, Transaction};
use std::sync::Arc;
use std::time::{Duration, Instant};

const VALUE_BYTES: usize = 1_000;
const OPERATIONS: usize = 12_000;
const ROUNDS: usize = 3;

struct Nobody;

impl Observer for Nobody {
    fn replay(&mut self, _: Record, _: bool) {}

    fn publish(&mut self, _: &[Record], _: Revision) {}
}

fn main() {
    let url = std::env::args().skip(1).find(|argument| !argument.starts_with("--")).expect("the URL of an etcd");
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().expect("a runtime");
    let prefix = format!("/bench-{}", std::process::id());
    let options = EtcdOptions { endpoints: vec![url], prefix, compaction_interval: None, ..EtcdOptions::default() };
    let store = {
        let _context = runtime.enter();
        Arc::new(EtcdStore::new(options).expect("a store"))
    };
    store.start(Box::new(Nobody)).expect("started");
    println!("{:>10} {:>10} {:>14} {:>14} {:>14}", "", "in flight", "µs of CPU", "median µs", "p99 µs");
    for in_flight in [1, 16, 64] {
        // The least of the rounds: the others had company on the machine.
        let create = (0..ROUNDS).map(|round| runtime.block_on(measure(&store, in_flight, Some(round))));
        show("create", in_flight, create);
        let ask = (0..ROUNDS).map(|_| runtime.block_on(measure(&store, in_flight, None)));
        show("catch up", in_flight, ask);
    }
    store.close();
}

fn show(what: &str, in_flight: usize, rounds: impl Iterator<Item = [f64; 3]>) {
    let best = rounds.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1]), a[2].min(b[2])]).unwrap_or_default();
    println!("{what:>10} {in_flight:>10} {:>14.1} {:>14.0} {:>14.0}", best[0], best[1], best[2]);
}

/// CPU, median and 99th percentile of an operation in microseconds: creations in a round, or questions.
async fn measure(store: &Arc<EtcdStore>, in_flight: usize, round: Option<usize>) -> [f64; 3] {
    let operations = if in_flight == 1 { OPERATIONS / 6 } else { OPERATIONS };
    let before = cpu();
    let clients = (0..in_flight).map(|client| {
        let store = store.clone();
        tokio::spawn(async move {
            let mut latencies = Vec::new();
            for at in 0..operations / in_flight {
                let since = Instant::now();
                match round {
                    Some(round) => {
                        let key = format!("/registry/things/{in_flight}-{round}-{client}-{at}");
                        let value = Bytes::from(vec![b'v'; VALUE_BYTES]);
                        let create = Transaction::one(key.into(), Expect::Absent, Some(value));
                        store.commit(create).await.expect("created");
                    }
                    None => {
                        store.catch_up("").expect("a shared store").await.expect("answered");
                    }
                }
                latencies.push(since.elapsed());
            }
            latencies
        })
    });
    let mut latencies: Vec<Duration> = join_all(clients).await.into_iter().flat_map(Result::unwrap).collect();
    latencies.sort_unstable();
    let at = |share: f64| latencies[((latencies.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
    [(cpu() - before) * 1e6 / latencies.len() as f64, at(0.5), at(0.99)]
}

/// CPU seconds of this process, all threads, in steps of 10 ms.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}
