//! Decides when history is compacted, by marks that record the revision of the store at a second.
//! Guarantees that superseded values are kept for at least one interval and, if the writer runs in time, for at most
//! two, as in kube-apiserver: each compaction removes what was superseded at the previous one. This holds across
//! restarts, and the lower bound also when the clock jumps.
//! Must never grow without bound or order anything by time.

use std::collections::VecDeque;

use crate::api::Revision;

/// The revision of the store at this second: later revisions were made after the second.
#[derive(Debug, Copy, Clone, PartialEq, Eq)]
pub(crate) struct Mark {
    pub unix_seconds: u64,
    pub revision: Revision,
}

/// The marks, oldest first, with their interval.
#[derive(Debug)]
pub(crate) struct Retention {
    marks: VecDeque<Mark>,
    /// Between two marks, and from a mark to the compaction up to its revision.
    interval_seconds: u64,
}

impl Retention {
    /// Continues with `marks`, as they were persisted.
    pub fn new(interval_seconds: u64, marks: Vec<Mark>) -> Retention {
        Retention { marks: marks.into(), interval_seconds: interval_seconds.max(1) }
    }

    /// The marks to persist, oldest first.
    pub fn marks(&self) -> Vec<Mark> {
        self.marks.iter().copied().collect()
    }

    /// Adds a mark for `current` if the last mark is old enough. Returns whether the marks changed.
    pub fn observe(&mut self, now: u64, current: Revision) -> bool {
        let mut changed = false;
        // The clock was set back. Marks in the future would retain history until then; moving them to the present
        // retains it for a whole interval from now, which is never too short.
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

    /// The newest revision whose mark is one interval old. That mark and older ones are removed.
    pub fn expire(&mut self, now: u64) -> Option<Revision> {
        let mut expired = None;
        while let Some(mark) = self.marks.front().filter(|mark| self.expires_at(mark) <= now) {
            expired = Some(mark.revision);
            self.marks.pop_front();
        }
        expired
    }

    /// In how many seconds `observe` or `expire` will have work, if nothing is written until then.
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
        mark.unix_seconds.saturating_add(self.interval_seconds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A second, the current revision, and the revision that has expired by then.
    type Moment = (u64, u64, Option<u64>);

    #[test]
    fn each_compaction_goes_up_to_where_the_one_before_found_the_store() {
        let rows: &[(&str, &[Moment])] = &[
            ("in order", &[(100, 5, None), (399, 9, None), (400, 9, Some(5)), (699, 12, None), (700, 12, Some(9))]),
            ("marks are an interval apart", &[(100, 5, None), (102, 6, None), (400, 7, Some(5)), (700, 7, Some(7))]),
            (
                "idle: the last revision is marked an interval after the mark before it",
                &[(100, 5, None), (102, 6, None), (400, 6, Some(5)), (699, 6, None), (700, 6, Some(6))],
            ),
            ("after idleness", &[(100, 5, None), (5000, 5, Some(5)), (5001, 6, None), (5301, 6, Some(6))]),
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
    fn history_is_kept_for_one_to_two_intervals() {
        // A revision per second, with occasional pauses.
        let mut current = 1;
        let mut at = vec![0];
        let mut retention = Retention::new(300, Vec::new());
        let mut compacted = 0;
        for now in 1..20_000_usize {
            current += u64::from(now % 2_000 < 1_100);
            at.push(current);
            retention.observe(now as u64, Revision(current));
            compacted = retention.expire(now as u64).map_or(compacted, |revision| revision.0.max(compacted));
            let one_ago = now.checked_sub(300).map_or(0, |then| at[then]);
            let two_ago = now.checked_sub(601).map_or(0, |then| at[then]);
            assert!((two_ago..=one_ago).contains(&compacted), "{two_ago} {compacted} {one_ago} at {now}");
            assert!(retention.marks().len() <= 2, "{:?}", retention.marks());
        }
    }

    #[test]
    fn sleeps_until_there_is_something_to_do() {
        let mut retention = Retention::new(300, Vec::new());
        assert_eq!(retention.next_seconds(100, Revision(2)), 0);
        retention.observe(100, Revision(2));
        assert_eq!(retention.next_seconds(100, Revision(2)), 300);
        assert_eq!(retention.next_seconds(103, Revision(3)), 297);
    }
}
