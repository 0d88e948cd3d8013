//! Follows files that change while the server runs, such as certificates. Guarantees that a change is seen within seconds, and
//! that an error is reported once. Must never outlive its user.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// The interval of checks for changed files; kube-apiserver checks once a minute in addition to file notifications.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Polls files as long as their user exists. Each poll applies changes, or returns an error.
///
/// # Errors
/// The system has no thread to spare.
pub fn follow<T: Send + Sync + 'static>(
    what: &'static str,
    used: &Arc<T>,
    mut look: impl FnMut(&T) -> Result<(), String> + Send + 'static,
) -> io::Result<()> {
    let followed = Arc::downgrade(used);
    let follow = move || {
        let (mut last, mut logged) = (String::new(), String::new());
        loop {
            std::thread::sleep(POLL_INTERVAL);
            let Some(used) = followed.upgrade() else { return };
            // A panic must not end this thread: the files would not be followed any more.
            let outcome = catch_unwind(AssertUnwindSafe(|| look(&used)));
            let fault = outcome.unwrap_or_else(|_| Err("internal error".to_owned())).err().unwrap_or_default();
            // Related files do not change at the same time: only an error that persists at the next poll is
            // reported.
            if fault == last && fault != logged {
                logged.clone_from(&fault);
                if !logged.is_empty() {
                    warn!(err = logged, "the {what} was not taken over");
                }
            }
            last = fault;
        }
    };
    std::thread::Builder::new().name(what.replace(' ', "-")).spawn(follow).map(drop)
}

/// Reads a file.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
