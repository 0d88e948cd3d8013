//! The end of a log at start: data that is not known to be synced is made durable before anything is appended.
//! Guarantees that a full disk does not prevent a start. Must never change what the log contains.

use std::io;

use super::active::Active;
use super::format::{Point, SegmentInfo};
use super::frames::Next;
use super::log::Log;
use crate::api::StoreError;
use crate::committer::Claim;
use crate::limits;
use crate::space::is_out_of_space;

impl Log {
    /// Copies the complete frames beyond the synced offset to a new segment, which becomes the last one. On a full disk it
    /// uses the reserve.
    pub(super) fn secure_tail(&mut self, last: SegmentInfo, end: Point) -> io::Result<()> {
        loop {
            match self.try_copy_tail(last, end) {
                Err(error) if is_out_of_space(&error) => {
                    self.set_full(&error);
                    if !self.release(u64::MAX, Claim::Internal) {
                        return self.rewrite_tail(end);
                    }
                }
                other => return other,
            }
        }
    }

    /// Writes the frames beyond the synced offset, and zeros after them, to the same place again, and syncs them, where there
    /// is no space for a copy.
    fn rewrite_tail(&mut self, end: Point) -> io::Result<()> {
        let (file, mut at) = (self.active.file.clone(), self.active.point.offset);
        let length = file.len()?;
        let mut buffer = vec![0; limits::REWRITE_FRAME_BYTES];
        while at < length {
            let until = if at < end.offset { end.offset } else { length };
            let bytes = (until - at).min(buffer.len() as u64) as usize;
            let part = buffer.get_mut(..bytes).unwrap_or_default();
            part.fill(0);
            if at < end.offset && file.read_at(part, at)? < bytes {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            file.write_at(part, at)?;
            at += bytes as u64;
        }
        file.sync()?;
        self.active.point = end;
        self.active.synced = end;
        self.active.allocated = length;
        self.head.write(&self.active);
        Ok(())
    }

    fn try_copy_tail(&mut self, last: SegmentInfo, end: Point) -> io::Result<()> {
        let durable = self.active.point;
        let info = SegmentInfo { number: self.take_number(), base: durable.revision, end: None };
        match self.copied_tail(last, info, end) {
            Ok(mut active) => {
                // The exact distribution of the entries over the two is unknown; only the share of dead ones matters.
                active.contents.entry_bytes = self.active.contents.entry_bytes;
                Ok(self.switch(active, durable)?)
            }
            Err(error) => {
                self.discard(self.files.path(info.number));
                Err(error)
            }
        }
    }

    fn copied_tail(&mut self, last: SegmentInfo, info: SegmentInfo, end: Point) -> io::Result<Active> {
        let durable = self.active.point;
        let mut active = Active::create(&self.files, info)?;
        let corrupt = |_| io::Error::other("the log has changed while it was opened");
        let mut reader = self.files.read(last).map_err(corrupt)?;
        while reader.point().offset < end.offset {
            let Next::Frame(frame) = reader.next()? else { return Err(corrupt(StoreError::AlreadyStarted)) };
            if frame.at >= durable.offset {
                active.copy(&mut self.buffer, &frame)?;
            }
        }
        active.sync()?;
        self.files.storage.sync_dir(&self.files.log)?;
        Ok(active)
    }
}
