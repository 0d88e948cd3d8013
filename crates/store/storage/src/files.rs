//! The file system of the embedded store as a trait, and its implementation for the operating system.
//! Guarantees that every directory and file created here is readable only by its owner from the moment it exists.
//! Must never sync, retry or reorder anything by itself: the log decides what is durable, and when.

use std::fmt;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// The file system operations that the log needs. A test can replace them and lose what was not synced.
pub trait Storage: Send + Sync + 'static {
    /// Creates a directory and its missing parents, accessible only by the owner. An existing one is left unchanged.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Creates an empty file, accessible only by the owner; an error if it exists.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;
    /// Opens an existing file for reading and writing.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;
    /// Renames a file or directory; an existing file of that name is replaced atomically.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory and its content.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whether a file or directory of this name exists.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Locks a file against other processes until the result is dropped. [`io::ErrorKind::WouldBlock`] if another
    /// process has locked it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// The permission bits of a directory that others than its owner can access.
    fn has_access_for_others(&self, _path: &Path) -> Option<u32> {
        None
    }
}

/// An open file.
pub trait StorageFile: Send + Sync {
    /// Reads at an offset; fewer bytes than requested only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all bytes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the content and the length durable.
    fn sync(&self) -> io::Result<()>;
    /// Shortens the file, which gives its space back to the file system.
    fn set_len(&self, bytes: u64) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file is empty.
    fn is_empty(&self) -> io::Result<bool> {
        self.len().map(|length| length == 0)
    }
}

/// The operating system's files.
#[derive(Debug, Default, Clone, Copy)]
pub struct OsStorage {
    read_only: bool,
}

impl OsStorage {
    /// The operating system's files, read-only.
    #[must_use]
    pub fn read_only() -> OsStorage {
        OsStorage { read_only: true }
    }

    fn writable(self) -> io::Result<()> {
        if self.read_only { Err(io::ErrorKind::ReadOnlyFilesystem.into()) } else { Ok(()) }
    }
}

impl Storage for OsStorage {
    fn create_dir(&self, path: &Path) -> io::Result<()> {
        self.writable()?;
        DirBuilder::new().recursive(true).mode(0o700).create(path)
    }

    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        self.writable()?;
        let file = File::options().read(true).write(true).create_new(true).mode(0o600).open(path)?;
        Ok(Arc::new(OsFile(file)))
    }

    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>> {
        Ok(Arc::new(OsFile(File::options().read(true).write(!self.read_only).open(path)?)))
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        self.writable()?;
        std::fs::rename(from, to)
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.writable()?;
        std::fs::remove_file(path)
    }

    fn remove_dir(&self, path: &Path) -> io::Result<()> {
        self.writable()?;
        std::fs::remove_dir_all(path)
    }

    fn list(&self, path: &Path) -> io::Result<Vec<String>> {
        let names = std::fs::read_dir(path)?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
        names.collect()
    }

    fn exists(&self, path: &Path) -> io::Result<bool> {
        path.try_exists()
    }

    fn sync_dir(&self, path: &Path) -> io::Result<()> {
        self.writable()?;
        File::open(path)?.sync_all()
    }

    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>> {
        let mut options = File::options();
        if self.read_only {
            options.read(true);
        } else {
            options.write(true).create(true).truncate(false).mode(0o600);
        }
        let file = options.open(path)?;
        let locked = if self.read_only { file.try_lock_shared() } else { file.try_lock() };
        match locked {
            Ok(()) => Ok(Box::new(file)),
            Err(TryLockError::WouldBlock) => Err(io::ErrorKind::WouldBlock.into()),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }

    fn has_access_for_others(&self, path: &Path) -> Option<u32> {
        let mode = std::fs::metadata(path).ok()?.permissions().mode() & 0o777;
        (mode & 0o077 != 0).then_some(mode)
    }
}

struct OsFile(File);

impl StorageFile for OsFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut done = 0;
        while let Some(rest) = buffer.get_mut(done..).filter(|rest| !rest.is_empty()) {
            match self.0.read_at(rest, offset + done as u64) {
                Ok(0) => break,
                Ok(read) => done += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()> {
        self.0.write_all_at(bytes, offset)
    }

    fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }

    fn set_len(&self, bytes: u64) -> io::Result<()> {
        self.0.set_len(bytes)
    }

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

impl fmt::Debug for dyn Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

/// Why a file was not replaced.
#[derive(Debug)]
pub(crate) enum ReplaceError {
    /// The previous content is there, and nothing else.
    Before(io::Error),
    /// The previous or the new content is there after a crash.
    Unknown(io::Error),
}

impl From<ReplaceError> for io::Error {
    fn from(error: ReplaceError) -> io::Error {
        match error {
            ReplaceError::Before(error) | ReplaceError::Unknown(error) => error,
        }
    }
}

/// Replaces the content of `path` with `bytes`, atomically for readers and crashes.
pub(crate) fn replace(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> Result<(), ReplaceError> {
    let new = path.with_extension("new");
    // A crash or failed attempt left a file of that name. It is not reused: after a failed sync its state in the
    // operating system is unknown.
    match storage.remove(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(ReplaceError::Before(error)),
        _ => {}
    }
    let written = storage.create(&new).and_then(|file| file.write_at(bytes, 0).and_then(|()| file.sync()));
    if let Err(error) = written {
        // Its space may be needed. If it stays, the next attempt removes it.
        let _ = storage.remove(&new);
        return Err(ReplaceError::Before(error));
    }
    storage.rename(&new, path).and_then(|()| sync_parent(storage, path)).map_err(ReplaceError::Unknown)
}

/// Makes the name `path` durable.
pub(crate) fn sync_parent(storage: &dyn Storage, path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |parent| storage.sync_dir(parent))
}

/// Reads a whole file, or the beginning of one that is longer than `limit`.
pub(crate) fn read(storage: &dyn Storage, path: &Path, limit: u64) -> io::Result<Vec<u8>> {
    let file = storage.open(path)?;
    let mut bytes = vec![0; usize::try_from(file.len()?.min(limit)).unwrap_or(usize::MAX)];
    let read = file.read_at(&mut bytes, 0)?;
    bytes.truncate(read);
    Ok(bytes)
}
