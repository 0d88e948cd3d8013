//! Files that change while the server runs, as certificates do that expire.
//! Guarantees that a change is seen within seconds, and that a fault in it is reported once.
//! Must never outlive what was made of the files.

use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// The interval of checks for changed files; kube-apiserver checks once a minute in addition to file notifications.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Looks at files for as long as somebody uses what was made of them. A look takes over what has changed, or says why not.
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
        let (mut last, mut told) = (String::new(), String::new());
        loop {
            std::thread::sleep(LOOK_EVERY);
            let Some(used) = followed.upgrade() else { return };
            let fault = look(&used).err().unwrap_or_default();
            // Files that belong together do not change at one time: only what is still wrong at the next look is wrong.
            if fault == last && fault != told {
                told.clone_from(&fault);
                if !told.is_empty() {
                    warn!(err = told, "the {what} was not taken over");
                }
            }
            last = fault;
        }
    };
    std::thread::Builder::new().name(what.replace(' ', "-")).spawn(follow).map(drop)
}

/// A file's bytes, or why they cannot be had.
///
/// # Errors
/// It cannot be read.
pub fn read(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}
