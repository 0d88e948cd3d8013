//! A store that was imported behaves as one that was written.

mod support;

use bytes::Bytes;
use pintle_storage::{EmbeddedOptions, EmbeddedStore, Expect, Key, Record, Revision, Store, Transaction, import};
use support::{TempDir, Watcher};

fn record(revision: u64, key: &str, value: Bytes) -> Record {
    Record { revision: Revision(revision), key: Key::from(key), value: Some(value) }
}

#[test]
fn an_imported_store_holds_everything_at_its_revision() {
    let directory = TempDir::new();
    let large = Bytes::from(vec![7; 3 * 1024 * 1024]);
    // More than a batch, and a revision that a batch must not split.
    let mut records = vec![record(3, "/a", Bytes::from_static(b"one"))];
    records.extend(["/b", "/c", "/d", "/e"].map(|key| record(5, key, large.clone())));
    records.push(record(9, "/f", large));
    import(directory.path(), &records, Revision(20)).unwrap();
    for _ in 0..2 {
        let store = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap();
        let seen = Watcher::default();
        let started = store.start(Box::new(seen.clone())).unwrap();
        let seen = seen.0.lock().unwrap();
        assert_eq!((started.compacted, seen.history.len()), (Revision(20), 0));
        assert_eq!(seen.base, records);
    }
    let store = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap();
    store.start(Box::new(Watcher::default())).unwrap();
    let at = |key: &str, revision| Transaction::one(key.into(), Expect::At(Revision(revision)), None);
    assert_eq!(store.commit(at("/a", 3)).wait().unwrap(), Revision(21));
    assert_eq!(store.commit(at("/c", 5)).wait().unwrap(), Revision(22));
    drop(store);
    let again = import(directory.path(), &records, Revision(20)).unwrap_err().to_string();
    assert!(again.contains("there is something in it already"), "{again}");
}

#[test]
fn an_unfinished_import_is_no_store() {
    let directory = TempDir::new();
    // A store for which the second batch of a copy failed, or whose copy was killed before it.
    import(directory.path(), &[record(3, "/a", Bytes::new())], Revision(20)).unwrap();
    std::fs::write(directory.path().join("unfinished"), "").unwrap();
    let opened = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).map(drop);
    for outcome in [opened, import(directory.path(), &[], Revision(20))] {
        let reported = outcome.unwrap_err().to_string();
        assert!(reported.contains("a copy to it was not finished"), "{reported}");
    }
}

#[test]
fn an_empty_store_may_have_a_revision_and_disorder_is_rejected() {
    let directory = TempDir::new();
    let records = [record(5, "/b", Bytes::new()), record(3, "/a", Bytes::new())];
    for (records, current) in [(&records[..], 9), (&records[..1], 4)] {
        assert!(import(directory.path(), records, Revision(current)).is_err());
    }
    import(directory.path(), &[], Revision(7)).unwrap();
    let store = EmbeddedStore::open(directory.path(), EmbeddedOptions::default()).unwrap();
    assert_eq!(store.start(Box::new(Watcher::default())).unwrap().current, Revision(7));
}
