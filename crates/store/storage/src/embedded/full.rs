//! The log on a disk without space: who may write, what is given back, and when there is space again.
//! Guarantees that growth is refused before anything of it is written, and that deletions, updates and the copies that free
//! space each have their part of the reserve. Must never fail because the reserve is missing: it is filled when there is space.

use std::io;
use std::sync::Arc;
use std::time::Instant;

use tracing::warn;

use super::format;
use super::log::Log;
use crate::committer::{BackendError, Claim};
use crate::files::ReplaceError;
use crate::limits;
use crate::space::{NoSpace, is_out_of_space};

impl Log {
    /// Ensures that a frame with entries of this size can be written, without changing anything that was written.
    pub(super) fn make_room(&mut self, bytes: u64, claim: Claim) -> Result<(), BackendError> {
        if let Some(error) = &self.ended {
            return Err(error.clone());
        }
        if let Some((since, error)) = &self.failed {
            if since.elapsed() < self.options.retry_after {
                return Err(error.clone());
            }
            self.failed = None;
        }
        if claim == Claim::Growth {
            if self.full {
                return Err(self.refuse());
            }
            // Less than this would be no reason to say that there is space again.
            let wanted = bytes.saturating_add(format::FRAME_OVERHEAD + self.options.fill());
            self.wanted = wanted.min(self.options.segment_bytes / limits::WANTED_PART);
        }
        // On a full disk the segment becomes longer instead.
        if self.active.point.offset >= self.options.segment_bytes && !self.full {
            self.sync()?;
            match self.roll(self.active.point, Claim::Growth) {
                Ok(()) => {}
                Err(ReplaceError::Before(error)) => self.no_room(error, claim)?,
                Err(ReplaceError::Unknown(error)) => {
                    let error = self.fail(error);
                    self.ended = Some(error.clone());
                    return Err(error);
                }
            }
        }
        let end = self.active.point.offset.saturating_add(bytes).saturating_add(format::FRAME_OVERHEAD);
        if end <= self.active.allocated { Ok(()) } else { self.extend(end, claim) }
    }

    /// Extends the last segment to at least `end`.
    fn extend(&mut self, end: u64, claim: Claim) -> Result<(), BackendError> {
        let fill = self.options.fill();
        loop {
            // First the reserve, so that it is whole whenever the log grows.
            let filled = match claim {
                Claim::Growth => self.reserve.fill(self.reserve_target(), fill),
                _ => Ok(()),
            };
            let ahead = if self.full { fill / 8 } else { fill };
            let Err(error) = filled.and_then(|()| self.active.allocate(end + ahead)) else { return Ok(()) };
            let is_out_of_space = is_out_of_space(&error);
            self.no_room(error, claim)?;
            if !is_out_of_space || !self.release(fill.max(end - self.active.point.offset), claim) {
                return Err(self.refuse());
            }
        }
    }

    /// Handles an error of an operation that makes room. Claims other than growth may then go on.
    fn no_room(&mut self, error: io::Error, claim: Claim) -> Result<(), BackendError> {
        if !is_out_of_space(&error) {
            return Err(self.fail(error));
        }
        self.set_full(&error);
        if claim == Claim::Growth { Err(self.refuse()) } else { Ok(()) }
    }

    pub(super) fn refuse(&self) -> BackendError {
        Arc::new(NoSpace)
    }

    pub(super) fn set_full(&mut self, error: &io::Error) {
        self.probe_after = Instant::now().checked_add(self.options.retry_after);
        if !self.full {
            warn!(err = %error, "the store has no space, and accepts only what does not grow");
            self.full = true;
            self.changed = true;
            self.space.set_full(true);
        }
    }

    /// Gives a part of the reserve to the file system.
    pub(super) fn release(&mut self, bytes: u64, claim: Claim) -> bool {
        let target = self.reserve_target();
        self.reserve.release(bytes.max(limits::RELEASE_BYTES_MIN), target, claim)
    }

    /// The size of the reserve: that of the log, but not more than a segment.
    fn reserve_target(&self) -> u64 {
        let (segment, fill) = (self.options.segment_bytes, self.options.fill());
        let log: u64 = self.sealed.iter().map(|it| it.end.offset).sum::<u64>() + self.active.allocated;
        (log.div_ceil(fill) * fill).clamp(segment / limits::RESERVE_PART_MIN, segment.max(1))
    }

    /// Looks whether there is space again, or something to be rewritten that was not before. Returns whether anything has
    /// changed.
    pub(super) fn look_for_space(&mut self) -> bool {
        let fill = self.options.fill();
        if !self.full {
            // A store that has little room ahead, or used its reserve, may have become full before the last start.
            let is_first = self.probe_after.is_none();
            self.probe_after = Some(Instant::now());
            let is_short = self.active.allocated.saturating_sub(self.active.point.offset) < fill / 2;
            let target = if is_first { self.reserve_target() } else { 0 };
            let filled = self.reserve.fill(target, fill).map_err(|error| self.no_room(error, Claim::Growth));
            return (filled.is_err() || is_short && self.make_room(fill, Claim::Growth).is_err()) && self.full;
        }
        if self.probe_after.is_some_and(|after| Instant::now() < after) {
            return false;
        }
        let is_long = self.active.point.offset >= self.options.segment_bytes;
        let gives = self.active.contents.entry_bytes >= fill && self.active.contents.is_worth_a_copy();
        if (is_long || gives) && self.roll_when_full() {
            return true;
        }
        let target = self.reserve_target();
        let filled = self.reserve.fill(target, fill);
        let end = self.active.point.offset + fill.max(self.wanted);
        match filled.and_then(|()| self.active.allocate(end)) {
            Ok(()) => {
                self.full = false;
                self.space.set_full(false);
                self.changed = true;
                warn!("the store has space again");
            }
            Err(error) => self.set_full(&error),
        }
        !self.full
    }

    /// Begins a new segment: what is dead in the last one gives its space back when it is not the last one any more.
    fn roll_when_full(&mut self) -> bool {
        let point = self.active.point;
        match self.sync().map(|()| self.roll(point, Claim::Internal)) {
            Ok(Ok(())) => true,
            Ok(Err(ReplaceError::Unknown(error))) => {
                self.ended = Some(self.fail(error));
                false
            }
            Ok(Err(ReplaceError::Before(_))) | Err(_) => false,
        }
    }
}
