//! Progress of work that may take long: what is done, how fast, and how long the rest may take.
//! Guarantees that work which takes less than two seconds says nothing. Must never slow the work down: the clock is looked
//! at once in many steps.

use bytes::Bytes;
use pintle_storage::{
    CommitFuture, CompactFuture, Observer, Record, Revision, Started, Store, StoreError, Transaction, Unreadable,
};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The interval of reports, and the time before the first one.
const INTERVAL: Duration = Duration::from_secs(2);
/// Steps between two looks at the clock.
const STEPS: u64 = 256;
const MEGABYTE: f64 = 1e6;

/// How much there is to do, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Total {
    Unknown,
    Objects(u64),
    /// More than is to be read: what is obsolete is in it too.
    BytesAtMost(u64),
}

/// Work on objects.
pub struct Progress {
    what: String,
    total: Total,
    objects: u64,
    bytes: u64,
    began: Instant,
    reported_at: Instant,
    report: fn(&str),
}

impl Progress {
    /// Begins work. `report` is given lines.
    pub fn new(what: impl Into<String>, total: Total, report: fn(&str)) -> Progress {
        let now = Instant::now();
        Progress { what: what.into(), total, objects: 0, bytes: 0, began: now, reported_at: now, report }
    }

    /// An object is done.
    pub fn object(&mut self, bytes: usize) {
        self.objects += 1;
        self.bytes += bytes as u64;
        if self.objects.is_multiple_of(STEPS) && self.reported_at.elapsed() >= INTERVAL {
            self.reported_at = Instant::now();
            (self.report)(&self.line(self.began.elapsed()));
        }
    }

    /// The line of a report after this time.
    fn line(&self, took: Duration) -> String {
        let seconds = took.as_secs_f64().max(f64::MIN_POSITIVE);
        let rate = self.objects as f64 / seconds;
        let left = |share: f64| seconds / share.clamp(f64::MIN_POSITIVE, 1.0) - seconds;
        let Progress { what, objects, bytes, .. } = self;
        match self.total {
            Total::Unknown => format!("{what}: {objects} objects, {rate:.0} a second"),
            Total::Objects(total) => {
                let left = left(*objects as f64 / total.max(1) as f64);
                format!("{what}: {objects} of {total} objects, {rate:.0} a second, about {left:.0} s left")
            }
            Total::BytesAtMost(total) => {
                let left = left(*bytes as f64 / total.max(1) as f64);
                let [done, total] = [*bytes, total].map(|bytes| bytes as f64 / MEGABYTE);
                format!(
                    "{what}: {objects} objects, {done:.0} MB of at most {total:.0} MB, {rate:.0} objects a second, at most \
                     {left:.0} s left"
                )
            }
        }
    }
}

/// The size of the files in a directory and those below it; what cannot be read counts for nothing.
pub fn directory_bytes(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let size = |entry: std::fs::DirEntry| match entry.metadata() {
        Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
        Ok(metadata) => metadata.len(),
        Err(_) => 0,
    };
    entries.map(size).sum()
}

/// Reports the growth of a directory until it is dropped.
pub struct DirectoryProgress {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl DirectoryProgress {
    /// Starts to observe. `bytes` is the approximate final size of the directory; without a directory only the time is reported.
    pub fn new(what: String, directory: Option<PathBuf>, bytes: u64, report: fn(&str)) -> DirectoryProgress {
        let is_over = Arc::new(AtomicBool::new(false));
        let (ended, began) = (is_over.clone(), Instant::now());
        let thread = std::thread::spawn(move || {
            loop {
                std::thread::park_timeout(INTERVAL);
                if ended.load(Ordering::Acquire) {
                    return;
                }
                let seconds = began.elapsed().as_secs_f64();
                let Some(directory) = &directory else {
                    report(&format!("{what}: {seconds:.0} s so far"));
                    continue;
                };
                let done = directory_bytes(directory).min(bytes) as f64;
                let left = seconds * (bytes as f64 / done.max(1.0) - 1.0);
                let [done, all] = [done, bytes as f64].map(|bytes| bytes / MEGABYTE);
                let rate = done / seconds;
                report(&format!(
                    "{what}: {done:.0} of about {all:.0} MB, {rate:.0} MB a second, about {left:.0} s left"
                ));
            }
        });
        DirectoryProgress { is_over, thread: Some(thread) }
    }
}

impl Drop for DirectoryProgress {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Release);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // It only tells.
            let _ = thread.join();
        }
    }
}

/// A store that tells the progress of its start.
pub struct ReportingStore {
    store: Arc<dyn Store>,
    what: String,
    total: Total,
    report: fn(&str),
}

impl ReportingStore {
    pub fn new(store: Arc<dyn Store>, what: String, total: Total, report: fn(&str)) -> ReportingStore {
        ReportingStore { store, what, total, report }
    }
}

/// The observer of such a store.
struct Reporting {
    observer: Box<dyn Observer>,
    progress: Progress,
}

impl Observer for Reporting {
    fn replay(&mut self, record: Record, history: bool) {
        self.progress.object(record.key.len() + record.value.as_ref().map_or(0, Bytes::len));
        self.observer.replay(record, history);
    }

    fn replayed(&mut self, started: Started) {
        self.observer.replayed(started);
    }

    fn publish(&mut self, records: &[Record], revision: Revision) {
        self.observer.publish(records, revision);
    }

    fn replace(&mut self, records: Vec<Record>, revision: Revision) {
        self.observer.replace(records, revision);
    }

    fn unreadable(&mut self, unreadable: Unreadable) {
        self.observer.unreadable(unreadable);
    }

    fn restored(&mut self, records: Vec<Record>) {
        self.observer.restored(records);
    }

    fn compacted(&mut self, revision: Revision) {
        self.observer.compacted(revision);
    }
}

impl Store for ReportingStore {
    fn start(&self, observer: Box<dyn Observer>) -> Result<Started, StoreError> {
        let progress = Progress::new(self.what.as_str(), self.total, self.report);
        self.store.start(Box::new(Reporting { observer, progress }))
    }

    fn commit(&self, transaction: Transaction) -> CommitFuture {
        self.store.commit(transaction)
    }

    fn compact(&self, revision: Revision) -> CompactFuture {
        self.store.compact(revision)
    }

    fn inner(&self) -> Option<&dyn Store> {
        Some(self.store.as_ref())
    }

    fn close(&self) {
        self.store.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_the_rate_and_the_time_left() {
        let line = |total| {
            let mut progress = Progress::new("reading", total, |_| panic!("too early"));
            (0..1000).for_each(|_| progress.object(1000));
            progress.line(Duration::from_secs(4))
        };
        assert_eq!(line(Total::Unknown), "reading: 1000 objects, 250 a second");
        assert_eq!(line(Total::Objects(3000)), "reading: 1000 of 3000 objects, 250 a second, about 8 s left");
        assert_eq!(
            line(Total::BytesAtMost(4_000_000)),
            "reading: 1000 objects, 1 MB of at most 4 MB, 250 objects a second, at most 12 s left"
        );
        assert!(line(Total::Objects(10)).ends_with("about 0 s left"), "more than was expected");
    }

    #[test]
    fn progress_is_reported_after_a_while() {
        use std::sync::atomic::AtomicUsize;
        static REPORTS: AtomicUsize = AtomicUsize::new(0);
        let report: fn(&str) = |_| {
            REPORTS.fetch_add(1, Ordering::Relaxed);
        };
        let mut progress = Progress::new("reading", Total::Unknown, report);
        (0..STEPS).for_each(|_| progress.object(1));
        assert_eq!(REPORTS.load(Ordering::Relaxed), 0);
        progress.reported_at = Instant::now().checked_sub(INTERVAL).expect("a time");
        (0..2 * STEPS).for_each(|_| progress.object(1));
        assert_eq!(REPORTS.load(Ordering::Relaxed), 1);
    }
}
