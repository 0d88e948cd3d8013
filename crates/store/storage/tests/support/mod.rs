//! Shared by the tests: a recording observer, a temporary directory, a small seeded generator.
//! Guarantees repeatability: no test depends on time or on another test.
//! Must never be used outside of tests.

#![allow(dead_code)]

pub mod model;
pub mod script;
pub mod sim;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use pintle_storage::{Observer, Record, Revision};

/// Everything that an observer received.
#[derive(Debug, Default)]
pub struct Seen {
    pub base: Vec<Record>,
    pub history: Vec<Record>,
    pub published: Vec<Record>,
    pub revision: Revision,
}

/// An observer that the test can inspect.
#[derive(Debug, Clone, Default)]
pub struct Watcher(pub Arc<Mutex<Seen>>);

impl Observer for Watcher {
    fn replay(&mut self, record: Record, history: bool) {
        let mut seen = self.0.lock().unwrap();
        if history {
            seen.history.push(record);
        } else {
            assert!(seen.history.is_empty(), "base state after history");
            seen.base.push(record);
        }
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        let mut seen = self.0.lock().unwrap();
        assert!(records.iter().map(|record| record.revision).is_sorted());
        assert_eq!(records.last().map(|record| record.revision), Some(revision));
        assert!(records[0].revision > seen.revision);
        seen.published.extend_from_slice(records);
        seen.revision = revision;
    }
}

/// A directory that is removed when the value is dropped.
pub struct TempDir(pub PathBuf);

impl TempDir {
    pub fn new() -> TempDir {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("pintle-storage-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        // On an in-memory file system syncs cost nothing; their meaning for a killed process is the same.
        let memory = PathBuf::from("/dev/shm");
        let path = if memory.is_dir() { memory } else { std::env::temp_dir() }.join(name);
        std::fs::create_dir_all(&path).unwrap();
        TempDir(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A generator of numbers (xorshift), the same for the same seed.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }
}
