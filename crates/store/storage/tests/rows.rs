//! The same rows for the memory store and the embedded one: results of transactions and published records.
//! Guarantees that both treat every precondition, batch and revision alike.
//! Must never use more than the public traits.

mod support;

use std::sync::Arc;
use std::sync::mpsc;
use std::task::{Context, Waker};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{
    CommitError, CommitFuture, Condition, EmbeddedOptions, EmbeddedStore, Expect, MemoryStore, Observer, Record,
    Revision, Store, StoreError, Transaction, Write, limits,
};
use support::{TempDir, Watcher};

/// Each kind of store, empty, with its directory.
fn stores() -> Vec<(&'static str, Arc<dyn Store>, TempDir)> {
    let directory = TempDir::new();
    let embedded = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap();
    vec![("memory", Arc::new(MemoryStore::new()), TempDir::new()), ("embedded", Arc::new(embedded), directory)]
}

/// Reads `+k=v` (absent), `@3:k=v` (at revision 3), `k=v` (any), each also as `-k` (delete); `?3:k` is a condition.
fn transaction(text: &str) -> Transaction {
    let (conditions, writes): (Vec<&str>, Vec<&str>) = text.split_whitespace().partition(|word| word.starts_with('?'));
    let condition = |word: &str| {
        let (at, key) = word[1..].split_once(':').unwrap();
        Condition { key: key.into(), at: Revision(at.parse().unwrap()) }
    };
    let conditions = conditions.into_iter().map(condition).collect();
    let write = |word: &str| {
        let (expect, rest) = match word.split_at(1) {
            ("+", rest) => (Expect::Absent, rest),
            ("@", rest) => {
                let (revision, rest) = rest.split_once(':').unwrap();
                (Expect::At(Revision(revision.parse().unwrap())), rest)
            }
            _ => (Expect::Any, word),
        };
        match rest.split_once('=') {
            Some((key, value)) => Write::put(key.into(), expect, Bytes::from(value.to_owned())),
            None => Write::delete(rest.trim_start_matches('-').into(), expect),
        }
    };
    Transaction { writes: writes.into_iter().map(write).collect(), conditions }
}

fn describe(answer: Result<Revision, CommitError>) -> String {
    match answer {
        Ok(revision) => revision.to_string(),
        Err(CommitError::Conflict { index, key, actual }) => {
            format!("conflict {index} {key} {}", actual.map_or("none".to_owned(), |actual| actual.to_string()))
        }
        Err(error) => error.to_string(),
    }
}

fn published(records: &[Record]) -> String {
    let words: Vec<String> = records
        .iter()
        .map(|record| match &record.value {
            Some(value) => format!("{}:{}={}", record.revision, record.key, String::from_utf8_lossy(value)),
            None => format!("{}:-{}", record.revision, record.key),
        })
        .collect();
    words.join(" ")
}

/// A name; transactions with their results; the published records.
type Row = (&'static str, &'static [(&'static str, &'static str)], &'static str);

const ROWS: &[Row] = &[
    ("the first transaction makes revision 2", &[("a=1", "2")], "2:a=1"),
    ("one revision for a whole transaction", &[("a=1 b=2 c=3", "2"), ("a=4", "3")], "2:a=1 2:b=2 2:c=3 3:a=4"),
    ("absent holds for a new key", &[("+a=1", "2")], "2:a=1"),
    ("absent fails for a live key", &[("a=1", "2"), ("+a=2", "conflict 0 a 2")], "2:a=1"),
    ("absent holds after a delete", &[("a=1", "2"), ("-a", "3"), ("+a=2", "4")], "2:a=1 3:-a 4:a=2"),
    ("at the revision of the last change", &[("a=1", "2"), ("@2:a=2", "3"), ("@3:-a", "4")], "2:a=1 3:a=2 4:-a"),
    ("at another revision", &[("a=1", "2"), ("a=2", "3"), ("@2:a=3", "conflict 0 a 3")], "2:a=1 3:a=2"),
    ("at fails for a key that is not there", &[("@1:a=1", "conflict 0 a none"), ("@0:-a", "conflict 0 a none")], ""),
    ("a conflict names the first failing write", &[("a=1", "2"), ("b=1 +a=1 @9:c=1", "conflict 1 a 2")], "2:a=1"),
    ("a conflict writes nothing", &[("a=1", "2"), ("b=1 +a=1", "conflict 1 a 2"), ("+b=1", "3")], "2:a=1 3:b=1"),
    ("a conflict uses no revision", &[("@5:a=1", "conflict 0 a none"), ("a=1", "2")], "2:a=1"),
    ("writing the same value is a change", &[("a=1", "2"), ("a=1", "3")], "2:a=1 3:a=1"),
    ("deleting nothing is no change", &[("-a", "1"), ("a=1", "2"), ("-b", "2"), ("a=2", "3")], "2:a=1 3:a=2"),
    ("deleting something and nothing", &[("a=1", "2"), ("-b -a", "3")], "2:a=1 3:-a"),
    ("an empty transaction", &[("", "1"), ("a=1", "2"), ("", "2")], "2:a=1"),
    ("an empty value is a value", &[("a=", "2"), ("+a=1", "conflict 0 a 2")], "2:a="),
    ("a key twice", &[("a=1 b=1 a=2", "invalid transaction: key a occurs twice"), ("a=1", "2")], "2:a=1"),
    ("a condition holds", &[("d=1", "2"), ("+a=1 ?2:d", "3"), ("@3:a=2 ?2:d", "4")], "2:d=1 3:a=1 4:a=2"),
    (
        "a condition fails",
        &[("d=1", "2"), ("d=2", "3"), ("+a=1 ?2:d", "condition failed: d is at revision 3"), ("+a=1 ?3:d", "4")],
        "2:d=1 3:d=2 4:a=1",
    ),
    (
        "a condition on a key that is not there",
        &[
            ("a=1 ?2:d", "condition failed: d does not exist"),
            ("d=1", "2"),
            ("-d", "3"),
            ("a=1 ?2:d", "condition failed: d does not exist"),
        ],
        "2:d=1 3:-d",
    ),
    ("a precondition is reported before a condition", &[("a=1", "2"), ("+a=2 ?9:d", "conflict 0 a 2")], "2:a=1"),
    ("an empty key", &[("=1", "invalid transaction: a key is empty")], ""),
];

#[test]
fn rows_one_by_one_and_all_at_once() {
    for (name, steps, expected) in ROWS {
        for together in [false, true] {
            for (kind, store, _directory) in stores() {
                let watcher = Watcher::default();
                let started = store.start(Box::new(watcher.clone())).unwrap();
                assert_eq!((started.compacted, started.current), (Revision(1), Revision(1)));
                let mut futures = Vec::new();
                for (text, answer) in *steps {
                    let future = store.commit(transaction(text));
                    if together {
                        futures.push((future, answer));
                    } else {
                        assert_eq!(&describe(future.wait()), answer, "{name} on {kind}: {text}");
                    }
                }
                for (future, answer) in futures {
                    assert_eq!(&describe(future.wait()), answer, "{name} on {kind}, together");
                }
                assert_eq!(&published(&watcher.0.lock().unwrap().published), expected, "{name} on {kind}");
            }
        }
    }
}

#[test]
fn bounds_are_kept() {
    let value = |bytes: usize| Transaction::one("/k".into(), Expect::Any, Some(Bytes::from(vec![0; bytes])));
    let writes = |count: usize| {
        let put = |i| Write::put(format!("/{i}").into(), Expect::Any, Bytes::new());
        Transaction::of((0..count).map(put).collect())
    };
    let key = |bytes: usize| Transaction::one("k".repeat(bytes).into(), Expect::Any, Some(Bytes::new()));
    let rows = [
        (value(limits::VALUE_BYTES_MAX), "2"),
        (
            value(limits::VALUE_BYTES_MAX + 1),
            "invalid transaction: 16777217 bytes of a value, at most 16777216 are allowed",
        ),
        (key(limits::KEY_BYTES_MAX), "3"),
        (key(limits::KEY_BYTES_MAX + 1), "invalid transaction: 4097 bytes of a key, at most 4096 are allowed"),
        (writes(limits::TRANSACTION_WRITES_MAX), "4"),
        (
            writes(limits::TRANSACTION_WRITES_MAX + 1),
            "invalid transaction: 16385 writes in a transaction, at most 16384 are allowed",
        ),
    ];
    for (kind, store, _directory) in stores() {
        store.start(Box::new(Watcher::default())).unwrap();
        for (transaction, answer) in rows.clone() {
            assert_eq!(describe(store.commit(transaction).wait()), answer, "{kind}");
        }
    }
}

#[test]
fn a_store_that_does_not_run_answers_closed() {
    for (kind, store, _directory) in stores() {
        store.start(Box::new(Watcher::default())).unwrap();
        assert!(matches!(store.start(Box::new(Watcher::default())), Err(StoreError::AlreadyStarted)), "{kind}");
        let in_line: Vec<_> = (0..100).map(|i| store.commit(transaction(&format!("k{i}=1")))).collect();
        store.close();
        for future in in_line {
            assert!(future.wait().is_ok(), "{kind}: what was in line is carried out");
        }
        assert!(matches!(store.commit(transaction("a=1")).wait(), Err(CommitError::Closed)), "{kind}");
        assert!(matches!(store.compact(Revision(1)).wait(), Err(CommitError::Closed)), "{kind}");
        assert!(matches!(store.start(Box::new(Watcher::default())), Err(StoreError::AlreadyStarted)), "{kind}");
        store.close();
    }
}

#[test]
fn compaction_answers_where_history_begins() {
    for (kind, store, _directory) in stores() {
        let watcher = Watcher::default();
        store.start(Box::new(watcher.clone())).unwrap();
        for i in 0..10 {
            drop(store.commit(transaction(&format!("a={i}"))));
        }
        let rows = [(0, 1), (5, 5), (3, 5), (11, 11), (99, 11)];
        for (asked, answer) in rows {
            assert_eq!(store.compact(Revision(asked)).wait().unwrap(), Revision(answer), "{kind}: {asked}");
        }
        assert_eq!(store.commit(transaction("@11:a=x")).wait().unwrap(), Revision(12), "{kind}: live values stay");
    }
}

/// An observer that blocks the writer inside `publish` until it is released.
struct Gate {
    entered: mpsc::Sender<Revision>,
    go: mpsc::Receiver<()>,
}

impl Observer for Gate {
    fn replay(&mut self, _: Record, _: bool) {}

    fn publish(&mut self, _: &[Record], revision: Revision) {
        self.entered.send(revision).unwrap();
        self.go.recv().unwrap();
    }
}

#[test]
fn commits_are_answered_after_they_are_published() {
    for (kind, store, _directory) in stores() {
        let (entered, entries) = mpsc::channel();
        let (go, gate) = mpsc::channel();
        store.start(Box::new(Gate { entered, go: gate })).unwrap();
        let (answer, answers) = mpsc::channel();
        let committer = std::thread::spawn({
            let store = store.clone();
            move || answer.send(store.commit(transaction("a=1")).wait().unwrap()).unwrap()
        });
        assert_eq!(entries.recv().unwrap(), Revision(2));
        assert!(answers.recv_timeout(Duration::from_millis(20)).is_err(), "{kind}: answered before publish ended");
        go.send(()).unwrap();
        assert_eq!(answers.recv().unwrap(), Revision(2), "{kind}");
        committer.join().unwrap();
    }
}

struct Panics;

impl Observer for Panics {
    fn replay(&mut self, _: Record, _: bool) {}

    fn publish(&mut self, _: &[Record], _: Revision) {
        panic!("an observer that fails");
    }
}

#[test]
fn a_writer_that_dies_closes_the_store() {
    for (kind, store, _directory) in stores() {
        store.start(Box::new(Panics)).unwrap();
        let first = std::thread::spawn({
            let store = store.clone();
            move || store.commit(transaction("a=1")).wait()
        });
        // In memory the panic surfaces in the commit.
        assert!(!matches!(first.join(), Ok(Ok(_))), "{kind}");
        assert!(matches!(store.commit(transaction("a=1")).wait(), Err(CommitError::Closed)), "{kind}");
        let ended = store.ended();
        let told = CommitFuture::pending(async move { Err(CommitError::Invalid(ended.await.to_string())) });
        assert!(matches!(told.wait(), Err(CommitError::Invalid(why)) if why.ends_with(" has failed")), "{kind}");
        store.close();
    }
}

#[test]
fn closing_a_store_reports_no_failure() {
    for (kind, store, _directory) in stores() {
        store.start(Box::new(Watcher::default())).unwrap();
        let mut ended = store.ended();
        store.close();
        assert!(ended.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending(), "{kind}");
    }
}

#[test]
fn many_committers_share_syncs_and_each_revision_is_one_transaction() {
    for (kind, store, _directory) in stores() {
        let watcher = Watcher::default();
        store.start(Box::new(watcher.clone())).unwrap();
        std::thread::scope(|scope| {
            for thread in 0..8 {
                let (store, watcher) = (store.clone(), watcher.clone());
                scope.spawn(move || {
                    for i in 0..50 {
                        let text = format!("{thread}/{i}/a=1 {thread}/{i}/b=2");
                        let revision = store.commit(transaction(&text)).wait().unwrap();
                        assert!(watcher.0.lock().unwrap().revision >= revision, "published before answered");
                    }
                });
            }
        });
        let seen = watcher.0.lock().unwrap();
        assert_eq!(seen.published.len(), 800, "{kind}");
        for (i, pair) in seen.published.chunks(2).enumerate() {
            assert_eq!((pair[0].revision.0, pair[1].revision.0), (i as u64 + 2, i as u64 + 2), "{kind}");
            assert_eq!(pair[0].key.trim_end_matches('a'), pair[1].key.trim_end_matches('b'), "{kind}");
        }
    }
}
