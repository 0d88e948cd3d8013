//! What a store on a disk tells about its space: whether it is full, and how large its reserve is.
//! Guarantees that a full store is recognised by the error that etcd and kube-apiserver give then.
//! Must never decide who may use the reserve: the log does.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::api::CommitError;

/// The error of a write that a full store refuses, with etcd's text, which kube-apiserver passes on with code 500.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("etcdserver: mvcc: database space exceeded")]
pub struct NoSpace;

/// The space of a store on a disk.
#[derive(Debug, Default)]
pub struct DiskSpace {
    full: AtomicBool,
    reserve_bytes: AtomicU64,
    refused: AtomicU64,
}

impl DiskSpace {
    /// Whether only deletions and writes that do not grow are accepted. It ends by itself when there is space again.
    pub fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// The bytes that are kept for deletions, and for the copies that free space.
    pub fn reserve_bytes(&self) -> u64 {
        self.reserve_bytes.load(Ordering::Relaxed)
    }

    /// How many transactions were refused for lack of space.
    pub fn refused(&self) -> u64 {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::Relaxed);
    }

    pub(crate) fn set_reserve(&self, bytes: u64) {
        self.reserve_bytes.store(bytes, Ordering::Relaxed);
    }

    /// Counts a transaction that was refused.
    pub(crate) fn count<T>(&self, outcome: &Result<T, CommitError>) {
        if matches!(outcome, Err(CommitError::Storage(why)) if why.is::<NoSpace>()) {
            self.refused.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Whether an operation failed because the disk, a quota or a limit on the size of files leaves no space.
pub(crate) fn is_out_of_space(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}
