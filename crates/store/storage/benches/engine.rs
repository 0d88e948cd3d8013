//! Measures the embedded store: latency and CPU of writes, recovery after a kill, size under churn, memory at rest.
//! Guarantees the numbers of docs/decisions/embedded-store.md: `cargo bench -p pintle-storage [-- DIR]`.
//! Must never be run in a directory that holds something else.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, Expect, Observer, Record, Revision, Started, Store, Transaction};

const OBJECTS: u64 = 100_000;
const VALUE_BYTES: usize = 3000;
const SINGLES: u64 = 5000;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).filter(|argument| !argument.starts_with("--")).collect();
    match arguments.as_slice() {
        [stage, directory] => run(stage, Path::new(directory)),
        _ => {
            let default = std::env::temp_dir().join("pintle-engine-bench");
            let directory = arguments.first().map_or(default, Into::into);
            let _ = std::fs::remove_dir_all(&directory);
            for stage in ["single", "fill", "open", "churn1", "churn16", "churn64", "open", "open"] {
                run_and_kill(stage, &directory);
            }
            let _ = std::fs::remove_dir_all(&directory);
        }
    }
}

/// Each stage is a separate process that is killed at its end, so that the next one begins with a recovery.
fn run_and_kill(stage: &str, directory: &Path) {
    let program = std::env::current_exe().expect("this program has a path");
    let command = &mut Command::new(program);
    let mut child = command.arg(stage).arg(directory).stdout(Stdio::piped()).spawn().expect("runs");
    for line in BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok) {
        if line == "done" {
            break;
        }
        println!("{line}");
    }
    child.kill().expect("killed");
    child.wait().expect("gone");
}

fn run(stage: &str, directory: &Path) {
    let (store, count, started) = open(stage, directory);
    let mut random = 88_172_645_463_325_252;
    match stage {
        "single" => write(&store, "1 in flight", 1, SINGLES, &mut |i| i, &mut random),
        "fill" => write(&store, "64 in flight", 64, OBJECTS, &mut |i| i, &mut random),
        "open" => {
            let before = cpu();
            std::thread::sleep(Duration::from_secs(3));
            println!("  3 s at rest: {:.0} ms of CPU, {}", (cpu() - before) * 1e3, memory());
        }
        churn => {
            let (in_flight, writes) = match churn {
                "churn1" => (1, 20_000),
                "churn16" => (16, 5 * OBJECTS),
                _ => (64, 5 * OBJECTS),
            };
            let mut place = 12_345_u64;
            let mut object = |_| {
                place = place.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (place >> 33) % OBJECTS
            };
            let name = format!("{in_flight} in flight, overwriting, 20,000 kept as history");
            write(&store, &name, in_flight, writes, &mut object, &mut random);
        }
    }
    println!(
        "  {count} records, revisions {} to {}, {} MiB on disk",
        started.compacted,
        started.current,
        size(directory) >> 20
    );
    println!("done");
    std::thread::sleep(Duration::from_secs(3600));
}

fn open(stage: &str, directory: &Path) -> (EmbeddedStore, u64, Started) {
    let since = Instant::now();
    let options = EmbeddedOptions { retention: None, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory, options).expect("opens");
    let opened = since.elapsed();
    let count = Arc::new(Mutex::new((0, 0)));
    let started = store.start(Box::new(Counter(count.clone()))).expect("starts");
    let (records, bytes) = *count.lock().expect("not poisoned");
    println!(
        "{stage}: opened after {:.0} ms, {records} records of {} MiB replayed after {:.0} ms ({:.0} ms of CPU); {}",
        opened.as_secs_f64() * 1e3,
        bytes >> 20,
        since.elapsed().as_secs_f64() * 1e3,
        cpu() * 1e3,
        memory()
    );
    (store, records, started)
}

struct Counter(Arc<Mutex<(u64, usize)>>);

impl Observer for Counter {
    fn replay(&mut self, record: Record, _: bool) {
        if let Ok(mut count) = self.0.lock() {
            count.0 += 1;
            count.1 += record.value.map_or(0, |value| value.len());
        }
    }

    fn publish(&mut self, _: &[Record], _: Revision) {}
}

/// Writes in rounds of `in_flight` transactions, so that a round is a batch; history beyond 20,000 revisions is
/// compacted.
fn write(
    store: &EmbeddedStore,
    name: &str,
    in_flight: u64,
    writes: u64,
    object: &mut dyn FnMut(u64) -> u64,
    random: &mut u64,
) {
    let (before, since) = (cpu(), Instant::now());
    let mut latencies = Vec::new();
    let mut compactions = Vec::new();
    for round in 0..writes / in_flight {
        let transactions: Vec<_> = (0..in_flight)
            .map(|i| {
                let key = format!("/registry/pods/default/object-{}", object(round * in_flight + i));
                Transaction::one(key.into(), Expect::Any, Some(value(random)))
            })
            .collect();
        let since = Instant::now();
        let futures: Vec<_> = transactions.into_iter().map(|transaction| store.commit(transaction)).collect();
        let mut last = Revision(0);
        for future in futures {
            last = future.wait().expect("written");
        }
        latencies.push(since.elapsed().as_micros());
        if round % (1 + 2000 / in_flight) == 0 {
            compactions.push(store.compact(Revision(last.0.saturating_sub(20_000))));
        }
    }
    for compaction in compactions {
        compaction.wait().expect("compacted");
    }
    latencies.sort_unstable();
    let quantile = |part: usize| latencies.get(latencies.len() * part / 1000).copied().unwrap_or_default();
    println!(
        "  {name}: p50 {} µs, p99 {} µs, max {} ms, {:.0} writes/s, {:.1} µs of CPU per write; {}",
        quantile(500),
        quantile(990),
        latencies.last().copied().unwrap_or_default() / 1000,
        writes as f64 / since.elapsed().as_secs_f64(),
        (cpu() - before) * 1e6 / writes as f64,
        memory()
    );
}

/// Incompressible bytes.
fn value(random: &mut u64) -> Bytes {
    let mut value = Vec::with_capacity(VALUE_BYTES);
    while value.len() < VALUE_BYTES {
        *random ^= *random << 13;
        *random ^= *random >> 7;
        *random ^= *random << 17;
        value.extend_from_slice(&random.to_le_bytes());
    }
    value.into()
}

/// CPU seconds of this process, all threads, in steps of 10 ms.
fn cpu() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
    fields.skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok()).sum::<f64>() / 100.0
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name)).unwrap_or_default();
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<f64>().ok()).unwrap_or_default() / 1024.0
    };
    format!("RSS {:.1} MiB, peak {:.1} MiB", field("VmRSS:"), field("VmHWM:"))
}

fn size(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => size(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
