//! The reserve: a file whose space is given back to the file system when the disk is full, for deletions, for writes
//! that do not grow, and for the copies that free space.
//! Guarantees that each use leaves the part of those that come after it. Must never hold data: its content is ignored.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use tracing::warn;

use super::recovery::Files;
use crate::committer::Claim;
use crate::files::StorageFile;
use crate::space::{DiskSpace, is_out_of_space};

/// The name of the file.
const NAME: &str = "reserve";

/// The file.
pub(crate) struct Reserve {
    files: Files,
    file: Option<Arc<dyn StorageFile>>,
    held: u64,
    space: Arc<DiskSpace>,
}

impl Reserve {
    /// The reserve as an earlier run left it. One that cannot be read is made anew.
    pub fn open(files: &Files, space: Arc<DiskSpace>) -> Reserve {
        let file = files.storage.open(&path(files)).ok();
        let held = file.as_ref().and_then(|file| file.len().ok()).unwrap_or(0);
        space.set_reserve(held);
        Reserve { files: files.clone(), file, held, space }
    }

    /// Fills it up to `target` bytes, at most `piece` at a time. Fails only for lack of space: without a reserve that cannot
    /// be written for another reason the store works as well.
    pub fn fill(&mut self, target: u64, piece: u64) -> io::Result<()> {
        match self.try_fill(target, piece) {
            Err(error) if !is_out_of_space(&error) => {
                warn!(err = %error, "the reserve of the store cannot be written");
                self.file = None;
                // A file that stays is opened again.
                let _ = self.files.storage.remove(&path(&self.files));
                self.set_held(0);
                Ok(())
            }
            other => other,
        }
    }

    fn try_fill(&mut self, target: u64, piece: u64) -> io::Result<()> {
        while self.held < target {
            let file = match &self.file {
                Some(file) => file.clone(),
                None => self.files.storage.create(&path(&self.files)).or_else(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => self.files.storage.open(&path(&self.files)),
                    _ => Err(error),
                })?,
            };
            self.file = Some(file.clone());
            let bytes = vec![0; (target - self.held).min(piece.max(1)) as usize];
            let written = file.write_at(&bytes, self.held);
            let end = self.held + bytes.len() as u64;
            let length = if written.is_ok() { end } else { file.len().unwrap_or(self.held).clamp(self.held, end) };
            self.set_held(length);
            written?;
        }
        Ok(())
    }

    /// The bytes that it holds.
    pub fn held(&self) -> u64 {
        self.held
    }

    fn set_held(&mut self, bytes: u64) {
        self.held = bytes;
        self.space.set_reserve(bytes);
    }

    /// Gives up to `bytes` back to the file system, but none of what is left for other uses. Returns whether it gave any.
    pub fn release(&mut self, bytes: u64, target: u64, claim: Claim) -> bool {
        let floor = match claim {
            Claim::Growth => return false,
            // Updates go on for ever, while deletions are as many as there are objects.
            Claim::Update => target / 4 * 3,
            Claim::Deletion => target / 2,
            Claim::Internal => 0,
        };
        let length = self.held.saturating_sub(bytes).max(floor);
        let Some(file) = self.file.as_ref().filter(|_| length < self.held) else { return false };
        let released = file.set_len(length).is_ok();
        if released {
            self.set_held(length);
        }
        released
    }
}

fn path(files: &Files) -> PathBuf {
    files.log.join(NAME)
}
