//! The bytes that one watch holds: what was asked for with it, and the events that were joined to be sent and have not been taken.
//! Guarantees that they count until the watch ends, or until the events are taken. Must never lock where an event is sent alone.

use super::shares::ShareGuard;

/// Joined events of up to this size are not counted: as many as watches take less than their other memory.
const UNCOUNTED_BYTES: u64 = 4 << 10;

/// What a watch holds.
pub(crate) struct WatchBytes {
    /// `None` for a user without limits.
    held: Option<ShareGuard>,
    /// Those of them that are joined events.
    joined: u64,
}

impl WatchBytes {
    pub(super) fn of(held: ShareGuard) -> WatchBytes {
        WatchBytes { held: Some(held), joined: 0 }
    }

    /// Those of a user without limits.
    pub(super) fn uncounted() -> WatchBytes {
        WatchBytes { held: None, joined: 0 }
    }

    /// Whether events may be joined; otherwise they have to be sent one by one, which takes no memory of their own.
    pub fn may_join(&self) -> bool {
        self.held.as_ref().is_none_or(ShareGuard::has_room)
    }

    /// Counts joined events in place of those before, which have been taken.
    pub fn joined(&mut self, bytes: usize) {
        let bytes = Some(bytes as u64).filter(|bytes| *bytes > UNCOUNTED_BYTES).unwrap_or(0);
        if let Some(held) = self.held.as_mut().filter(|_| bytes != self.joined) {
            held.exchange(self.joined, bytes);
            self.joined = bytes;
        }
    }
}
