//! Measures the cache: loading 100,000 objects of 3 KB at a start, and notifying many watches of a change.
//! Guarantees nothing; run it with `cargo bench -p pintle-cache`.

use bytes::Bytes;
use pintle_cache::{Cache, Watcher, encoded_object};
use pintle_schema::value;
use pintle_storage::{Observer, Record, Revision, Started};
use std::time::Instant;

const OBJECTS: u64 = 100_000;
const WATCHERS: usize = 500;
const CHANGES: u64 = 2_000;

fn record(revision: u64, value: &Bytes) -> Record {
    let key = format!("/registry/pods/ns-{}/p-{:06}", revision % 20, revision % OBJECTS);
    Record { revision: Revision(revision), key: key.into(), value: Some(value.clone()) }
}

fn main() {
    let object = value!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "ns", "labels": {"app": "web"}},
        "spec": {"nodeName": "node", "containers": [{"name": "c", "args": [("x".repeat(3000))]}]}
    });
    let value = encoded_object::encode(&object, &["p", "ns", "node"]);
    let cache = Cache::indexed([("/registry/pods/", vec![2])]);
    let mut writer = cache.writer();

    let start = Instant::now();
    (2..OBJECTS + 2).for_each(|revision| writer.replay(record(revision, &value), false));
    writer.replayed(Started { compacted: Revision(OBJECTS + 1), current: Revision(OBJECTS + 1) });
    println!("replay of {OBJECTS} objects: {} ms", start.elapsed().as_millis());

    let Some(pods) = cache.resource("/registry/pods/") else { return };
    let mut cursors: Vec<Watcher> = (0..WATCHERS).map(|_| pods.cursor(Revision(OBJECTS + 1))).collect();
    let (mut publishing, mut visiting, mut seen) = (0, 0, 0_u64);
    for revision in OBJECTS + 2..OBJECTS + 2 + CHANGES {
        let start = Instant::now();
        writer.publish(&[record(revision, &value)], Revision(revision));
        publishing += start.elapsed().as_nanos();
        let start = Instant::now();
        for cursor in &mut cursors {
            if cursor.visit(256, |_| seen += 1).is_err() {
                println!("a cursor has expired");
            }
        }
        visiting += start.elapsed().as_nanos();
    }
    println!("publish to {WATCHERS} watchers: {} ns a change", publishing / u128::from(CHANGES));
    println!("visit: {} ns an event, {seen} events", visiting / u128::from(seen.max(1)));
}
