//! A work queue of keys with delays: one worker at a time processes a key, however often it is added. Guarantees that a
//! key that is added while it is processed is processed again, and that retries back off. Must never hold its lock
//! across an await.

use crate::stats::{QueueSnapshot, Stats};
use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::Instant;

/// The wait after a first failure; it doubles with each further one.
const FIRST_RETRY: Duration = Duration::from_millis(10);
/// The longest wait: as long as kube-controller-manager's for namespaces.
const LAST_RETRY: Duration = Duration::from_secs(60);

/// The outcome of processing a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing more to do until something changes.
    Done,
    /// Process again after this delay.
    After(Duration),
    /// Failed; retry with backoff.
    Retry,
    /// Failed; retry with backoff, after this time at the latest.
    RetryWithin(Duration),
}

pub struct Queue<K> {
    stats: Stats,
    line: Mutex<Line<K>>,
    /// Notified when the first key of the queue has changed.
    changed: Notify,
    /// Held by the one worker that waits for the next key, so that the others need no timers.
    turn: tokio::sync::Mutex<()>,
}

struct Line<K> {
    due: BTreeSet<(Instant, K)>,
    times: HashMap<K, Instant>,
    running: HashMap<K, Running>,
    failures: HashMap<K, u32>,
}

/// A key in progress.
struct Running {
    since: Instant,
    /// When to process it again.
    again: Option<Instant>,
}

impl<K: Clone + Ord + Hash> Queue<K> {
    /// A queue with this name in metrics.
    pub fn new(name: &'static str) -> Self {
        let line =
            Line { due: BTreeSet::new(), times: HashMap::new(), running: HashMap::new(), failures: HashMap::new() };
        Queue {
            stats: Stats::new(name),
            line: Mutex::new(line),
            changed: Notify::new(),
            turn: tokio::sync::Mutex::new(()),
        }
    }

    fn line(&self) -> MutexGuard<'_, Line<K>> {
        // No code that holds the lock can panic.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a key with a delay; if it is queued already, the earlier time counts.
    pub fn add(&self, key: K, delay: Duration) {
        if self.line().add(key, Instant::now() + delay) {
            self.stats.added();
        }
        self.changed.notify_one();
    }

    /// Waits for a key to become due and takes it. The caller must call `finish` with it.
    pub async fn next(&self) -> K {
        let _turn = self.turn.lock().await;
        loop {
            let first = {
                let mut line = self.line();
                match line.due.first() {
                    Some((at, _)) if *at <= Instant::now() => match line.take() {
                        Some((key, waited)) => {
                            self.stats.taken(waited);
                            return key;
                        }
                        None => continue,
                    },
                    first => first.map(|(at, _)| *at),
                }
            };
            match first {
                // Whichever comes first; a timeout only means that a key is due.
                Some(at) => drop(tokio::time::timeout_at(at, self.changed.notified()).await),
                None => self.changed.notified().await,
            }
        }
    }

    /// Ends the processing of a key.
    pub fn finish(&self, key: K, outcome: Outcome) {
        let mut line = self.line();
        let now = Instant::now();
        let ended = line.running.remove(&key);
        if let Some(ended) = &ended {
            self.stats.finished(now - ended.since, outcome != Outcome::Done);
        }
        let again = ended.and_then(|ended| ended.again);
        let next = match outcome {
            Outcome::Retry | Outcome::RetryWithin(_) => {
                let failures = line.failures.entry(key.clone()).or_insert(0);
                let wait = FIRST_RETRY.saturating_mul(1 << (*failures).min(16)).min(LAST_RETRY);
                *failures = failures.saturating_add(1);
                let longest = if let Outcome::RetryWithin(longest) = outcome { longest } else { LAST_RETRY };
                Some(now + wait.min(longest))
            }
            outcome => {
                line.failures.remove(&key);
                match outcome {
                    Outcome::After(wait) => Some(now + wait),
                    _ => None,
                }
            }
        };
        if let Some(at) = again.into_iter().chain(next).min() {
            line.add(key, at);
            drop(line);
            self.stats.added();
            self.changed.notify_one();
        }
    }

    /// The queue's statistics.
    pub fn read(&self) -> QueueSnapshot<'_> {
        let (line, now) = (self.line(), Instant::now());
        let running = || line.running.values().map(|running| now - running.since);
        QueueSnapshot {
            stats: &self.stats,
            depth: line.due.iter().take_while(|(at, _)| *at <= now).count(),
            unfinished: running().sum(),
            longest: running().max().unwrap_or_default(),
        }
    }
}

impl<K: Clone + Ord + Hash> Line<K> {
    /// Returns whether the key was not queued already.
    fn add(&mut self, key: K, at: Instant) -> bool {
        if let Some(running) = self.running.get_mut(&key) {
            running.again = Some(running.again.map_or(at, |before| before.min(at)));
            return false;
        }
        let is_new = !self.times.contains_key(&key);
        match self.times.get(&key) {
            Some(before) if *before <= at => return false,
            Some(before) => drop(self.due.remove(&(*before, key.clone()))),
            None => {}
        }
        self.times.insert(key.clone(), at);
        self.due.insert((at, key));
        is_new
    }

    /// The first key, and for how long it has been due.
    fn take(&mut self) -> Option<(K, Duration)> {
        let (at, key) = self.due.pop_first()?;
        self.times.remove(&key);
        let since = Instant::now();
        self.running.insert(key.clone(), Running { since, again: None });
        Some((key, since - at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    #[tokio::test(start_paused = true)]
    async fn keys_come_when_they_are_due_and_once() {
        let queue = Queue::new("test");
        let start = Instant::now();
        queue.add("late", ms(300));
        queue.add("early", ms(200));
        queue.add("late", ms(500));
        queue.add("early", ms(100));
        assert_eq!((queue.next().await, start.elapsed().as_millis()), ("early", 100));
        assert_eq!((queue.next().await, start.elapsed().as_millis()), ("late", 300));
        assert!(tokio::time::timeout(ms(1000), queue.next()).await.is_err(), "nothing is left");
    }

    #[tokio::test(start_paused = true)]
    async fn a_key_in_work_waits_for_its_end() {
        let queue = Queue::new("test");
        queue.add("a", ms(0));
        let key = queue.next().await;
        queue.add("a", ms(5));
        assert!(tokio::time::timeout(ms(1000), queue.next()).await.is_err(), "it is in work");
        queue.finish(key, Outcome::Done);
        assert_eq!(queue.next().await, "a");
        queue.finish("a", Outcome::Done);
        assert!(tokio::time::timeout(ms(1000), queue.next()).await.is_err(), "nothing is left");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_come_back_ever_later() {
        let queue = Queue::new("test");
        queue.add("a", ms(0));
        let mut waits = Vec::new();
        for _ in 0..16 {
            let start = Instant::now();
            let key = queue.next().await;
            waits.push(start.elapsed().as_millis());
            queue.finish(key, Outcome::Retry);
        }
        assert_eq!(&waits[..5], [0, 10, 20, 40, 80]);
        assert_eq!(waits.last(), Some(&60_000));
        let key = queue.next().await;
        queue.finish(key, Outcome::After(ms(7)));
        let start = Instant::now();
        let key = queue.next().await;
        assert_eq!(start.elapsed().as_millis(), 7);
        queue.finish(key, Outcome::Retry);
        let start = Instant::now();
        queue.next().await;
        assert_eq!(start.elapsed().as_millis(), 10, "a success forgives");
    }
}
