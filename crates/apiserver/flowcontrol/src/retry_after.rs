//! After how long a rejected client may come again: longer while a level goes on rejecting, shorter when it does no more.
//! Guarantees a number of seconds from 1 to 32, as clients expect it in `Retry-After`. Must never read a clock.

use std::collections::VecDeque;

/// The longest time in seconds.
const LONGEST: u64 = 32;

/// The rejections of a level in the last seconds, and what clients are asked to wait.
#[derive(Debug)]
pub struct RetryAfter {
    /// Seconds that are over, with their rejections.
    history: VecDeque<(u64, u64)>,
    current: (u64, u64),
    seconds: u64,
    raised: u64,
}

impl Default for RetryAfter {
    fn default() -> Self {
        RetryAfter { history: VecDeque::new(), current: (0, 0), seconds: 1, raised: 0 }
    }
}

impl RetryAfter {
    /// How many seconds the client of a request that is rejected now has to wait.
    pub fn rejected(&mut self, now_seconds: u64) -> u64 {
        if self.current.0 == now_seconds {
            self.current.1 += 1;
            return self.seconds;
        }
        self.history.push_back(self.current);
        let longest = (2 * self.seconds).min(LONGEST);
        while self.history.front().is_some_and(|(second, _)| now_seconds.saturating_sub(*second) > longest) {
            self.history.pop_front();
        }
        self.current = (now_seconds, 1);
        self.update(now_seconds);
        self.seconds
    }

    /// Doubles the time if as many as three requests a second were rejected in it, but only once in it; shortens it by a second
    /// if less than one was.
    fn update(&mut self, now: u64) {
        let is_recent = |second: u64| second < now && now - second <= self.seconds;
        let rejected: u64 = self.history.iter().filter(|(second, _)| is_recent(*second)).map(|(_, count)| count).sum();
        if rejected >= 3 * self.seconds && now.saturating_sub(self.raised) >= self.seconds {
            self.seconds = (2 * self.seconds).min(LONGEST);
            self.raised = now;
        } else if rejected < self.seconds && self.seconds > 1 {
            self.seconds -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::RetryAfter;

    /// What is answered to the last of so many rejections in each second.
    fn answers(retry: &mut RetryAfter, seconds: std::ops::Range<u64>, rejections: u64) -> Vec<u64> {
        let mut last = |second| (0..rejections).map(|_| retry.rejected(second)).last().unwrap_or_default();
        seconds.map(&mut last).collect()
    }

    #[test]
    fn clients_wait_longer_while_requests_are_rejected() {
        let mut retry = RetryAfter::default();
        assert_eq!(answers(&mut retry, 1000..1008, 10), [1, 2, 2, 4, 4, 4, 4, 8]);
        assert_eq!(answers(&mut retry, 1008..1100, 10).last(), Some(&32));
    }

    #[test]
    fn a_few_rejections_change_nothing_and_the_time_falls_again() {
        let mut retry = RetryAfter::default();
        assert_eq!(answers(&mut retry, 1000..1020, 2), [1; 20]);
        answers(&mut retry, 1020..1024, 10);
        assert_eq!(retry.seconds, 4);
        // One rejection at long intervals: nothing was rejected in between.
        let later: Vec<u64> = (0..5).map(|round| retry.rejected(2000 + 100 * round)).collect();
        assert_eq!(later, [3, 2, 1, 1, 1]);
    }
}
