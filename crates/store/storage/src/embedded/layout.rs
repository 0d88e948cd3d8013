//! The directory of a log: its name and the files in it, and how an empty log is made.
//! Guarantees that the names of what was made are durable. Must never touch a log that is open.

use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::active::{Active, HeadFile};
use super::format::{HEAD, LOG, MANIFEST, Manifest, SegmentInfo, StoreId};
use super::recovery::Files;
use crate::api::Revision;
use crate::files::{self, Storage};

/// Creates an empty log in the directory `log`, which is cleared, with history beginning after `base`.
pub(crate) fn create(storage: &Arc<dyn Storage>, log: &Path, base: Revision) -> io::Result<()> {
    if storage.exists(log)? {
        storage.remove_dir(log)?;
    }
    make_dir(storage.as_ref(), log)?;
    let files = Files { storage: storage.clone(), log: log.to_owned(), store: new_id() };
    let first = SegmentInfo { number: 1, base, end: None };
    let active = Active::create(&files, first)?;
    storage.sync_dir(log)?;
    HeadFile::create(&files, &active)?;
    let manifest = Manifest { store: files.store, next: 2, compacted: base, marks: Vec::new(), segments: vec![first] };
    Ok(files::replace(storage.as_ref(), &log.join(MANIFEST), &manifest.encode())?)
}

/// Sixteen bytes that no other store has. The standard library seeds its hashers with the system's randomness.
fn new_id() -> StoreId {
    let mut id = [0; 16];
    for half in id.chunks_exact_mut(8) {
        half.copy_from_slice(&RandomState::new().hash_one(0).to_le_bytes());
    }
    id
}

/// Creates a directory and its missing parents, and makes their names durable.
pub(crate) fn make_dir(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    let mut missing = Vec::new();
    let mut above = Some(path);
    while let Some(directory) = above.filter(|directory| !directory.as_os_str().is_empty()) {
        if storage.exists(directory)? {
            break;
        }
        missing.push(directory);
        above = directory.parent();
    }
    storage.create_dir(path)?;
    sync_names(storage, missing.into_iter())
}

/// Makes the names of directories durable.
pub(crate) fn sync_names<'a>(storage: &dyn Storage, directories: impl Iterator<Item = &'a Path>) -> io::Result<()> {
    for directory in directories.filter(|directory| !directory.as_os_str().is_empty()) {
        let parent = directory.parent().map(|it| if it.as_os_str().is_empty() { Path::new(".") } else { it });
        match parent.map_or(Ok(()), |parent| storage.sync_dir(parent)) {
            // A parent directory that can be traversed but not read, or not written, was not created here.
            Err(error)
                if !matches!(error.kind(), io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem) =>
            {
                return Err(error);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The directory of a store's log.
pub(crate) fn directory(store: &Path) -> PathBuf {
    store.join(LOG)
}

/// Whether a directory contains a log, that is, a manifest.
pub(crate) fn exists(storage: &dyn Storage, log: &Path) -> io::Result<bool> {
    storage.exists(&log.join(MANIFEST))
}

/// The name of the head file.
pub(super) fn head_path(files: &Files) -> PathBuf {
    files.log.join(HEAD)
}
