//! The files that the embedded store is made of, as a trait, and the operating system's files behind it.
//! Guarantees that every directory and file made here is readable by its owner alone from the moment it exists.
//! Must never sync, retry or reorder anything by itself: what is durable, and when, is decided by the log.

use std::fmt;
use std::fs::{DirBuilder, File, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;
use std::sync::Arc;

/// A file system, as far as the log needs one. A test can stand in for it and lose what was not synced.
pub trait Storage: Send + Sync + 'static {
    /// Makes a directory and the missing ones above it, for the owner alone. One that exists is left as it is.
    fn create_dir(&self, path: &Path) -> io::Result<()>;
    /// Makes an empty file for the owner alone; an error if there is one already.
    fn create(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;
    /// Opens a file that exists, for reading and for writing in place.
    fn open(&self, path: &Path) -> io::Result<Arc<dyn StorageFile>>;
    /// Gives a file or directory another name; a file of that name is replaced in one step.
    fn rename(&self, from: &Path, to: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&self, path: &Path) -> io::Result<()>;
    /// Removes a directory with everything in it.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;
    /// The names in a directory.
    fn list(&self, path: &Path) -> io::Result<Vec<String>>;
    /// Whether there is a file or directory of this name.
    fn exists(&self, path: &Path) -> io::Result<bool>;
    /// Makes the names in a directory durable.
    fn sync_dir(&self, path: &Path) -> io::Result<()>;
    /// Locks a file against other processes until the answer is dropped. [`io::ErrorKind::WouldBlock`] if another has it.
    fn lock(&self, path: &Path) -> io::Result<Box<dyn Send + Sync>>;
    /// The permission bits of a directory that lets others than its owner in.
    fn open_to_others(&self, _path: &Path) -> Option<u32> {
        None
    }
}

/// An open file.
pub trait StorageFile: Send + Sync {
    /// Reads at an offset; fewer bytes than asked for only at the end of the file.
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> io::Result<usize>;
    /// Writes all bytes at an offset.
    fn write_at(&self, bytes: &[u8], offset: u64) -> io::Result<()>;
    /// Makes the content and the length durable.
    fn sync(&self) -> io::Result<()>;
    /// The length in bytes.
    fn len(&self) -> io::Result<u64>;
    /// Whether the file has no bytes.
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
    /// Files that can be read, and no byte or name of which can be changed.
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

    fn open_to_others(&self, path: &Path) -> Option<u32> {
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

    fn len(&self) -> io::Result<u64> {
        Ok(self.0.metadata()?.len())
    }
}

impl fmt::Debug for dyn Storage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Storage")
    }
}

/// Makes `path` hold `bytes`, in one step as far as any reader or any crash can tell.
pub(crate) fn replace(storage: &dyn Storage, path: &Path, bytes: &[u8]) -> io::Result<()> {
    let new = path.with_extension("new");
    // A file of that name was left by a crash or by a failed attempt. It is not written to again: after a failed sync
    // nobody knows what the operating system makes of it.
    match storage.remove(&new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let file = storage.create(&new)?;
    file.write_at(bytes, 0)?;
    file.sync()?;
    storage.rename(&new, path)?;
    sync_parent(storage, path)
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
