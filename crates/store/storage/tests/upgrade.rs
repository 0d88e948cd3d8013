//! Stores of format 1, as an earlier version wrote them: read by commands, and migrated at the first start.
//! Guarantees that a start that is interrupted at any step loses nothing. Must never create such a store with current
//! code.

mod support;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, SystemTime};

use fjall::{Database, KeyspaceCreateOptions, KvSeparationOptions, PersistMode};
use pintle_storage::{
    EmbeddedOptions, EmbeddedStore, OsStorage, Record, Revision, Started, Storage, StorageFile, Store,
};
use support::script::{Script, commit};
use support::{TempDir, Watcher};
use xxhash_rust::xxh3::xxh3_64_with_seed;

const COMPACTED: u64 = 60;

fn position(revision: u64, ordinal: u32) -> Vec<u8> {
    [&[1][..], &revision.to_be_bytes(), &ordinal.to_be_bytes()].concat()
}

/// Writes what the earlier version would have written: the base at the compaction revision, and history.
fn format_1(directory: &Path, script: &Script) {
    let database = Database::builder(directory.join("engine")).open().unwrap();
    let options = || KeyspaceCreateOptions::default().with_kv_separation(Some(KvSeparationOptions::default()));
    let log = database.keyspace("log", options).unwrap();
    log.insert([0, b'v'], 1_u32.to_be_bytes()).unwrap();
    log.insert([0, b'c'], COMPACTED.to_be_bytes()).unwrap();
    let current = Revision(script.transactions.len() as u64 + 1);
    let (base, history) = script.expected(Revision(COMPACTED), current);
    let mut before = (0, 0);
    for Record { revision, key, value } in base.into_iter().chain(history) {
        before = (revision.0, if revision.0 == before.0 { before.1 + 1 } else { 0 });
        let kind = if value.is_some() { 1 } else { 2 };
        let at = position(before.0, before.1);
        let value = value.unwrap_or_default();
        let seed = xxh3_64_with_seed(key.as_bytes(), xxh3_64_with_seed(&at, kind));
        let checksum = xxh3_64_with_seed(&value, seed) as u32;
        let mut entry = vec![kind as u8];
        entry.extend_from_slice(&(key.len() as u16).to_be_bytes());
        entry.extend_from_slice(key.as_bytes());
        entry.extend_from_slice(&checksum.to_be_bytes());
        entry.extend_from_slice(&value);
        log.insert(at, entry).unwrap();
    }
    database.persist(PersistMode::SyncAll).unwrap();
    std::fs::write(directory.join("format"), "pintle store, format 1\n").unwrap();
    std::fs::write(directory.join("lock"), "").unwrap();
}

fn check(script: &Script, watcher: &Watcher, started: Started) {
    let current = Revision(script.transactions.len() as u64 + 1);
    assert_eq!(started, Started { compacted: Revision(COMPACTED), current });
    assert_eq!(script.wrong(&watcher.0.lock().unwrap(), started), None);
}

fn open(
    directory: &Path,
    storage: Arc<dyn Storage>,
) -> Result<(EmbeddedStore, Watcher, Started), pintle_storage::StoreError> {
    let options = EmbeddedOptions { retention: None, storage, ..EmbeddedOptions::default() };
    let store = EmbeddedStore::open(directory, options)?;
    let watcher = Watcher::default();
    let started = store.start(Box::new(watcher.clone()))?;
    Ok((store, watcher, started))
}

/// Every name with its content and modification time.
fn contents(directory: &Path) -> Vec<(PathBuf, Option<Vec<u8>>, SystemTime)> {
    let mut found = vec![(directory.to_owned(), None, directory.metadata().unwrap().modified().unwrap())];
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            found.extend(contents(&path));
        } else {
            let changed = path.metadata().unwrap().modified().unwrap();
            found.push((path.clone(), Some(std::fs::read(&path).unwrap()), changed));
        }
    }
    found.sort();
    found
}

#[test]
fn reading_changes_nothing_in_either_format() {
    let (directory, script) = (TempDir::new(), Script::new(200, 300, 5));
    format_1(directory.path(), &script);
    for format in [1, 2] {
        if format == 2 {
            drop(open(directory.path(), Arc::new(OsStorage::default())).unwrap());
            std::fs::remove_file(directory.path().join("lock")).unwrap();
        }
        let before = contents(directory.path());
        let store = EmbeddedStore::open_read_only(directory.path()).unwrap();
        let watcher = Watcher::default();
        let started = store.start(Box::new(watcher.clone())).unwrap();
        check(&script, &watcher, started);
        assert!(commit(&store, &script.transactions[0]).is_err());
        drop(store);
        assert!(contents(directory.path()) == before, "format {format}");
    }
}

/// The system's files, until the process is considered killed.
struct Killed(OsStorage, AtomicI64);

impl Killed {
    fn step(&self) -> io::Result<()> {
        if self.1.fetch_sub(1, Ordering::Relaxed) > 0 { Ok(()) } else { Err(io::Error::other("killed")) }
    }
}

impl Storage for Killed {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| self.0.create_dir(path))
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.step().and_then(|()| self.0.create(path))
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.step().and_then(|()| self.0.open(path))
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.step().and_then(|()| self.0.rename(from, to))
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| self.0.remove(path))
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| self.0.remove_dir(path))
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.step().and_then(|()| self.0.sync_dir(path))
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        self.0.lock(path)
    }
}

#[test]
fn an_upgrade_that_is_cut_off_anywhere_loses_nothing() {
    let script = Script::new(120, 100, 6);
    let mut cuts = 0;
    for steps in 0.. {
        let directory = TempDir::new();
        format_1(directory.path(), &script);
        let whole = open(directory.path(), Arc::new(Killed(OsStorage::default(), AtomicI64::new(steps)))).is_ok();
        cuts += u32::from(!whole);
        let (store, watcher, started) = open(directory.path(), Arc::new(OsStorage::default())).unwrap();
        check(&script, &watcher, started);
        assert!(!directory.path().join("engine").exists() && !directory.path().join("log.new").exists());
        assert_eq!(commit(&store, &script.transactions[0]), Ok(started.current.next_for_test()));
        if whole {
            break;
        }
    }
    assert!(cuts > 15, "{cuts}");
}

/// Files whose lock another process gives back after so many attempts to take it.
struct Busy(OsStorage, AtomicI64);

impl Storage for Busy {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.0.create_dir(path)
    }
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.0.create(path)
    }
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.0.open(path)
    }
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.0.rename(from, to)
    }
    fn remove(&self, path: &Path) -> io::Result<()> {
        self.0.remove(path)
    }
    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.0.remove_dir(path)
    }
    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        self.0.list(path)
    }
    fn exists(&self, path: &Path) -> io::Result<bool> {
        self.0.exists(path)
    }
    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.0.sync_dir(path)
    }
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        match self.1.fetch_sub(1, Ordering::Relaxed) > 0 {
            true => Err(io::ErrorKind::WouldBlock.into()),
            false => self.0.lock(path),
        }
    }
}

#[test]
fn a_lock_that_is_about_to_go_is_waited_for() {
    // (how often the lock is taken, how long to wait for it, whether it is waited for)
    for (attempts, wait, waits) in [(3, 3600, true), (1, 0, false)] {
        let directory = TempDir::new();
        let busy = Arc::new(Busy(OsStorage::default(), AtomicI64::new(attempts)));
        let storage: Arc<dyn Storage> = busy.clone();
        let options = EmbeddedOptions { lock_wait: Duration::from_secs(wait), storage, ..EmbeddedOptions::default() };
        let opened = EmbeddedStore::open(directory.path(), options);
        assert_eq!(opened.is_ok(), waits, "{:?}", opened.err());
        assert_eq!(busy.1.load(Ordering::Relaxed), if waits { -1 } else { 0 }, "attempts that are left");
    }
}

trait Next {
    fn next_for_test(self) -> Revision;
}

impl Next for Revision {
    fn next_for_test(self) -> Revision {
        Revision(self.0 + 1)
    }
}

#[test]
fn files_are_the_owners_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = TempDir::new();
    let path = directory.path().join("data/store");
    drop(open(&path, Arc::new(OsStorage::default())).unwrap());
    for (name, content, _) in contents(&directory.path().join("data")) {
        let expected = if content.is_some() { 0o600 } else { 0o700 };
        assert_eq!(name.metadata().unwrap().permissions().mode() & 0o777, expected, "{}", name.display());
    }
}
