//! Common parts of the whole-server tests: a server in this process or the real binary, and a small HTTP client. Guarantees
//! that nothing outlives a test: servers are stopped and directories removed when they are dropped. Must never depend on
//! timing: waits are for a condition, with a deadline that only a failure reaches.

// Each test file uses its part of this module.
#![allow(dead_code)]

pub mod clock;
pub mod credentials;
pub mod etcd;
pub mod fixture;
pub mod grpc;
pub mod history;
pub mod http;
pub mod in_process;
pub mod kubectl;
pub mod kubelet;
pub mod process;
pub mod raw;
pub mod reference;
pub mod schemas;
pub mod stores;
pub mod streams;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

/// How long a condition may take before the test gives up: longer than anything takes on a machine that does much else.
pub const DEADLINE: Duration = Duration::from_secs(300);

/// Calls `check` until it gives something.
///
/// # Panics
/// Nothing came within the deadline.
pub fn wait_for<T>(what: &str, mut check: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(found) = check() {
            return found;
        }
        assert!(start.elapsed() < DEADLINE, "still waiting for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A directory of a test, removed when dropped.
pub struct Scratch(PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("pintle-test-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Scratch(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file and returns its path.
    pub fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, text).expect("a file written");
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What cannot be removed is left to the system's own cleaning.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The resourceVersion of an object or a list.
pub fn resource_version(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no resourceVersion in {object}"))
}

/// The name of an object.
pub fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_else(|| panic!("no name in {object}"))
}
