//! The content of the embedded store when it is opened again: compared with a model, after damage, while another
//! process has it locked.
//! Guarantees that the model is a map and the full history.
//! Must never sleep or depend on the machine's clock.

mod support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use pintle_storage::{
    Clock, CommitError, EmbeddedOptions, EmbeddedStore, Expect, Record, Revision, Started, Store, StoreError,
    Transaction, Write,
};
use support::{Random, Seen, TempDir, Watcher};

/// Every record ever made, and what follows from them.
#[derive(Default)]
struct Model {
    records: Vec<Record>,
    live: BTreeMap<String, Revision>,
    current: u64,
}

impl Model {
    fn commit(&mut self, transaction: &Transaction) -> Result<Revision, Option<Revision>> {
        for write in &transaction.writes {
            let actual = self.live.get(&*write.key).copied();
            match write.expect {
                Expect::Absent if actual.is_some() => return Err(actual),
                Expect::At(revision) if actual != Some(revision) => return Err(actual),
                _ => {}
            }
        }
        let revision = Revision(self.current + 1);
        for Write { key, value, .. } in transaction.writes.clone() {
            let known = match &value {
                Some(_) => {
                    self.live.insert(key.to_string(), revision);
                    true
                }
                None => self.live.remove(&*key).is_some(),
            };
            if known {
                self.current = revision.0;
                self.records.push(Record { revision, key, value });
            }
        }
        Ok(Revision(self.current))
    }

    /// The expected replay of a store with this compaction revision.
    fn expected(&self, compacted: Revision) -> (Vec<Record>, Vec<Record>) {
        let (old, history): (Vec<_>, Vec<_>) =
            self.records.iter().cloned().partition(|record| record.revision <= compacted);
        let mut base: BTreeMap<_, (usize, Record)> = BTreeMap::new();
        for (place, record) in old.into_iter().enumerate() {
            if record.value.is_some() {
                base.insert(record.key.clone(), (place, record));
            } else {
                base.remove(&record.key);
            }
        }
        let mut base: Vec<_> = base.into_values().collect();
        base.sort_by_key(|(place, _)| *place);
        (base.into_iter().map(|(_, record)| record).collect(), history)
    }
}

fn open(directory: &Path, options: EmbeddedOptions) -> Result<(EmbeddedStore, Watcher, Started), StoreError> {
    let store = EmbeddedStore::open(directory, options)?;
    let watcher = Watcher::default();
    let started = store.start(Box::new(watcher.clone()))?;
    Ok((store, watcher, started))
}

fn random_transaction(random: &mut Random, model: &Model) -> Transaction {
    let mut keys: Vec<u64> = (0..1 + random.below(3)).map(|_| random.below(40)).collect();
    keys.sort_unstable();
    keys.dedup();
    let write = |key: u64, random: &mut Random| {
        let key = format!("/registry/pods/{key}");
        let expect = match (random.below(4), model.live.get(&key)) {
            (0, _) => Expect::Absent,
            (1, Some(revision)) => Expect::At(*revision),
            (2, _) if random.below(3) == 0 => Expect::At(Revision(random.below(model.current + 2))),
            _ => Expect::Any,
        };
        let length = if random.below(10) == 0 { random.below(20_000) } else { random.below(200) };
        let value = (random.below(4) != 0).then(|| Bytes::from(vec![random.below(256) as u8; length as usize]));
        Write { key: key.into(), expect, value, stored: None, begins_revision: false }
    };
    Transaction::of(keys.into_iter().map(|key| write(key, random)).collect())
}

fn check_replay(seen: &Seen, started: Started, model: &Model, seed: u64) {
    assert_eq!(started.current.0, model.current.max(1), "seed {seed}");
    let (base, history) = model.expected(started.compacted);
    assert_eq!(seen.base, base, "seed {seed}: base at {}", started.compacted);
    assert_eq!(seen.history, history, "seed {seed}: history after {}", started.compacted);
}

#[test]
fn a_reopened_store_matches_the_model() {
    for seed in 1..=5_u64 {
        let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let directory = TempDir::new();
        let mut model = Model { current: 1, ..Model::default() };
        let mut compacted = Revision(1);
        for _ in 0..4 {
            let options = EmbeddedOptions { retention: None, ..EmbeddedOptions::default() };
            let (store, watcher, started) = open(directory.path(), options).unwrap();
            assert_eq!(started.compacted, compacted, "seed {seed}");
            check_replay(&watcher.0.lock().unwrap(), started, &model, seed);
            let known = model.records.len();
            for _ in 0..30 {
                // Several in the queue at once, so that they share batches.
                let batch: Vec<_> = (0..1 + random.below(8))
                    .map(|_| {
                        let transaction = random_transaction(&mut random, &model);
                        (model.commit(&transaction), store.commit(transaction))
                    })
                    .collect();
                for (expected, future) in batch {
                    match (expected, future.wait()) {
                        (Ok(expected), Ok(revision)) => assert_eq!(revision, expected, "seed {seed}"),
                        (Err(expected), Err(CommitError::Conflict { actual, .. })) => {
                            assert_eq!(actual, expected, "seed {seed}");
                        }
                        (expected, answer) => panic!("seed {seed}: expected {expected:?}, got {answer:?}"),
                    }
                }
                if random.below(10) == 0 {
                    compacted = store.compact(Revision(random.below(model.current + 5))).wait().unwrap();
                    assert!(compacted.0 <= model.current);
                }
            }
            assert_eq!(watcher.0.lock().unwrap().published, model.records[known..], "seed {seed}");
        }
    }
}

#[derive(Clone, Default)]
struct Seconds(Arc<AtomicU64>);

impl Clock for Seconds {
    fn unix_seconds(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[test]
fn retention_goes_on_after_a_restart() {
    let directory = TempDir::new();
    let clock = Seconds::default();
    let put = |store: &EmbeddedStore, second: u64| {
        clock.0.store(second, Ordering::Relaxed);
        store.commit(Transaction::one("/a".into(), Expect::Any, Some(Bytes::new()))).wait().unwrap()
    };
    let options = || EmbeddedOptions {
        retention: Some(Duration::from_secs(300)),
        clock: Arc::new(clock.clone()),
        ..Default::default()
    };
    // Each line is a run of the store: when it writes, and where its history begins at start.
    let rows: &[(&[u64], u64)] = &[
        (&[1000, 1010, 1020], 1), // makes revisions 2, 3, 4; marks 1 at 1000
        (&[1250], 1),             // makes revision 5, too soon for a mark
        (&[1311], 1),             // marks 5; the mark of 1000 expires, and nothing was superseded by then
        (&[1400], 1),             // makes revision 7
        (&[1700], 1),             // marks 7; the mark of 1311 expires: compacted to 5
        (&[2600], 5),             // the mark of 1700 expires: to 7
        (&[], 7),
    ];
    for (writes, compacted) in rows {
        let (store, _, started) = open(directory.path(), options()).unwrap();
        assert_eq!(started.compacted, Revision(*compacted), "before {writes:?}");
        for second in *writes {
            put(&store, *second);
        }
        // Expired history is removed at the latest when a request is queued.
        store.compact(Revision(0)).wait().unwrap();
    }
}

#[test]
fn one_at_a_time() {
    let directory = TempDir::new();
    let (store, ..) = open(directory.path(), EmbeddedOptions::default()).unwrap();
    let at_once = EmbeddedOptions { lock_wait: Duration::ZERO, ..EmbeddedOptions::default() };
    let error = open(directory.path(), at_once).unwrap_err();
    assert!(matches!(error, StoreError::Locked(_)), "{error:?}");
    assert!(error.to_string().contains("is in use by another process"), "{error}");
    store.close();
    open(directory.path(), EmbeddedOptions::default()).unwrap();
}

#[test]
fn another_format_is_refused_and_left_as_it_is() {
    let directory = TempDir::new();
    let marker = directory.path().join("format");
    std::fs::write(&marker, "pintle store, format 1\n").unwrap();
    let refused = |error: StoreError| {
        assert!(error.to_string().ends_with("has format version 1, this program reads version 2"), "{error}");
    };
    refused(open(directory.path(), EmbeddedOptions::default()).unwrap_err());
    refused(EmbeddedStore::open_read_only(directory.path()).map(drop).unwrap_err());
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "pintle store, format 1\n");
    assert!(!directory.path().join("log").exists());
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() { found.extend(files(&path)) } else { found.push(path) }
    }
    found.sort();
    found
}

fn copy(from: &Path, to: &Path) {
    for file in files(from) {
        let target = to.join(file.strip_prefix(from).unwrap());
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::copy(&file, target).unwrap();
    }
}

#[test]
fn damage_is_an_error_or_harmless_but_never_wrong_and_never_a_panic() {
    let original = TempDir::new();
    let mut model = Model { current: 1, ..Model::default() };
    // Small segments, so that a little data fills several.
    let options = EmbeddedOptions { segment_bytes: 64 * 1024, ..EmbeddedOptions::default() };
    let (store, ..) = open(original.path(), options).unwrap();
    let mut random = Random(42);
    for i in 0..120 {
        let value: Vec<u8> = (0..2000).map(|_| random.next() as u8).collect();
        let transaction = Transaction::one(format!("/{}", i % 90).into(), Expect::Any, Some(value.into()));
        model.commit(&transaction).unwrap();
        let future = store.commit(transaction);
        if i % 50 == 0 {
            future.wait().unwrap();
        }
    }
    store.close();
    let (mut refused, mut whole) = (0, 0);
    let names = files(original.path());
    assert!(names.len() > 6, "{names:?}");
    for name in names {
        let name = name.strip_prefix(original.path()).unwrap();
        for damage in ["cut", "flip", "remove"] {
            let directory = TempDir::new();
            copy(original.path(), directory.path());
            let path = directory.path().join(name);
            let mut bytes = std::fs::read(&path).unwrap();
            let middle = bytes.len() / 2;
            match damage {
                "cut" => bytes.truncate(middle),
                "flip" => bytes.iter_mut().skip(middle).take(1).for_each(|byte| *byte ^= 0x10),
                _ => std::fs::remove_file(&path).unwrap(),
            }
            if damage != "remove" {
                std::fs::write(&path, bytes).unwrap();
            }
            match open(directory.path(), EmbeddedOptions::default()) {
                Err(error) => {
                    assert!(error.to_string().contains(&*directory.path().to_string_lossy()), "{error}");
                    refused += 1;
                }
                Ok((_store, watcher, started)) => {
                    let seen = watcher.0.lock().unwrap();
                    let (_, history) = model.expected(started.compacted);
                    assert!(seen.base.is_empty());
                    assert!(history.starts_with(&seen.history), "{damage} {}: wrong data", name.display());
                    assert_eq!(seen.history.len(), history.len(), "{damage} {}: writes are lost", name.display());
                    whole += 1;
                }
            }
        }
    }
    println!("refused {refused}, whole {whole}");
    assert!(refused > 0 && whole > 0);
}
