//! How long history is kept: marks that say at which second the store was at which revision.
//! Guarantees that nothing younger than the retention is given up, over restarts and jumps of the clock too.
//! Must never grow without bound or order anything by time.

use std::collections::VecDeque;

use crate::api::Revision;
use crate::limits;

/// At this second the store was at this revision: whatever came after the revision came after the second.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub unix_seconds: u64,
    pub revision: Revision,
}

/// The marks, oldest first, and what they are for.
#[derive(Debug)]
pub(crate) struct Retention {
    marks: VecDeque<Mark>,
    retention_seconds: u64,
    interval_seconds: u64,
}

impl Retention {
    /// Goes on with `marks`, as they were made durable.
    pub fn new(retention_seconds: u64, marks: Vec<Mark>) -> Retention {
        let interval_seconds = limits::MARK_INTERVAL_SECONDS.max(retention_seconds / limits::MARKS_MAX);
        Retention { marks: marks.into(), retention_seconds, interval_seconds }
    }

    /// The marks to make durable, oldest first.
    pub fn marks(&self) -> Vec<Mark> {
        self.marks.iter().copied().collect()
    }

    /// Marks `current` if the last mark is old enough. Answers whether the marks changed.
    pub fn observe(&mut self, now: u64, current: Revision) -> bool {
        let mut changed = false;
        // The clock was set back. Marks of the future would hold history for as long as they lie ahead; taking them
        // as of now keeps it for the whole retention from here, which is never too short.
        while let Some(last) = self.marks.back().copied().filter(|last| last.unix_seconds > now) {
            self.marks.pop_back();
            if self.marks.back().is_none_or(|before| before.unix_seconds <= now) {
                self.marks.push_back(Mark { unix_seconds: now, revision: current.max(last.revision) });
            }
            changed = true;
        }
        let due = self.marks.back().is_none_or(|last| {
            last.revision < current && now >= last.unix_seconds.saturating_add(self.interval_seconds)
        });
        if due {
            self.marks.push_back(Mark { unix_seconds: now, revision: current });
        }
        changed || due
    }

    /// The newest revision whose history is older than the retention, with the older marks forgotten.
    pub fn expire(&mut self, now: u64) -> Option<Revision> {
        let mut expired = None;
        while let Some(mark) = self.marks.front().filter(|mark| self.expires_at(mark) <= now) {
            expired = Some(mark.revision);
            self.marks.pop_front();
        }
        expired
    }

    /// In how many seconds `observe` or `expire` will have something to do, if nothing is written until then.
    pub fn next_seconds(&self, now: u64, current: Revision) -> u64 {
        let expiry = self.marks.front().map(|mark| self.expires_at(mark));
        let mark = match self.marks.back() {
            Some(last) if last.revision >= current => None,
            Some(last) => Some(last.unix_seconds.saturating_add(self.interval_seconds)),
            None => Some(now),
        };
        expiry.into_iter().chain(mark).min().unwrap_or(now).saturating_sub(now)
    }

    fn expires_at(&self, mark: &Mark) -> u64 {
        mark.unix_seconds.saturating_add(self.retention_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second, the current revision, and the revision that has expired by then.
    type Moment = (u64, u64, Option<u64>);

    #[test]
    fn history_expires_after_the_retention_and_not_before() {
        let rows: &[(&str, &[Moment])] = &[
            ("in order", &[(100, 5, None), (399, 9, None), (400, 9, Some(5)), (698, 9, None), (699, 9, Some(9))]),
            ("marks are at least an interval apart", &[(100, 5, None), (102, 6, None), (400, 7, Some(5))]),
            (
                "idle: the last revision is marked late",
                &[(100, 5, None), (102, 6, None), (105, 6, None), (405, 6, Some(6))],
            ),
            ("clock set back", &[(1000, 5, None), (100, 6, None), (399, 6, None), (400, 6, Some(6))]),
            ("clock set ahead", &[(100, 5, None), (9000, 6, Some(5)), (9299, 6, None), (9300, 6, Some(6))]),
        ];
        for (name, steps) in rows {
            let mut retention = Retention::new(300, Vec::new());
            for (now, current, expected) in *steps {
                retention.observe(*now, Revision(*current));
                assert_eq!(retention.expire(*now), expected.map(Revision), "{name} at {now}");
            }
        }
    }

    #[test]
    fn marks_are_bounded_whatever_the_retention() {
        let mut retention = Retention::new(24 * 60 * 60, Vec::new());
        for second in 0..24 * 60 * 60 {
            retention.observe(second, Revision(second + 2));
            retention.expire(second);
        }
        assert!(retention.marks().len() as u64 <= limits::MARKS_MAX + 1, "{}", retention.marks().len());
    }

    #[test]
    fn sleeps_until_there_is_something_to_do() {
        let mut retention = Retention::new(300, Vec::new());
        assert_eq!(retention.next_seconds(100, Revision(2)), 0);
        retention.observe(100, Revision(2));
        assert_eq!(retention.next_seconds(100, Revision(2)), 300);
        assert_eq!(retention.next_seconds(103, Revision(3)), 2);
    }
}
