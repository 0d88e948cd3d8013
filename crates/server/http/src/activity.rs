//! What a connection does: requests in flight, when the last one ended, and whether it was handed over. Guarantees that a
//! request counts until its response is sent or abandoned. Must never close a connection.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hyper::upgrade::OnUpgrade;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::send_progress::SendProgress;
use crate::upgrade::Takeover;

/// The activity of a connection: requests in flight, and when the last one ended.
pub(crate) struct Activity {
    start: Instant,
    requests: AtomicUsize,
    so_far: AtomicU64,
    /// It speaks HTTP no more, or will not in a moment.
    upgraded: AtomicBool,
    last_end_ms: AtomicU64,
    /// Set by a 101 response, after which no request follows.
    handed_over: Mutex<Option<(Takeover, OnUpgrade)>>,
    /// Notifies the connection to ask its client to reconnect.
    pub(crate) leave: Notify,
    /// The progress of HTTP/1 responses, one after the other.
    pub(crate) sending: Arc<SendProgress>,
}

impl Default for Activity {
    fn default() -> Activity {
        Activity {
            start: Instant::now(),
            requests: AtomicUsize::new(0),
            so_far: AtomicU64::new(0),
            upgraded: AtomicBool::new(false),
            last_end_ms: AtomicU64::new(0),
            handed_over: Mutex::default(),
            leave: Notify::new(),
            sending: Arc::default(),
        }
    }
}

impl Activity {
    /// Takes over the connection after an upgrade.
    pub(crate) fn handed_over(&self) -> Option<(Takeover, OnUpgrade)> {
        self.handed_over.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether a request is in flight, or the connection was upgraded.
    pub(crate) fn is_busy(&self) -> bool {
        self.requests.load(Ordering::Acquire) > 0 || self.upgraded.load(Ordering::Acquire)
    }

    /// How many requests there have been.
    pub(crate) fn requests_so_far(&self) -> u64 {
        self.so_far.load(Ordering::Relaxed)
    }

    fn end_request(&self) {
        let now_ms = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.last_end_ms.store(now_ms, Ordering::Relaxed);
        self.requests.fetch_sub(1, Ordering::Release);
    }

    /// When the connection will have been idle for `timeout`; `None` while a request is in flight.
    pub(crate) fn idle_at(&self, timeout: Duration) -> Option<Instant> {
        let idle = self.requests.load(Ordering::Acquire) == 0;
        let last_end = Duration::from_millis(self.last_end_ms.load(Ordering::Relaxed));
        idle.then(|| self.start + last_end + timeout)
    }
}

/// Counts a request from its arrival until its response is sent or abandoned: until this is dropped.
pub(crate) struct Counted(Arc<Activity>);

impl Counted {
    pub(crate) fn new(activity: &Arc<Activity>) -> Counted {
        activity.requests.fetch_add(1, Ordering::Relaxed);
        activity.so_far.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(activity))
    }

    /// Asks the client to reconnect; requests received until then are served.
    pub(crate) fn leave_after(&self) {
        self.0.leave.notify_one();
    }

    /// Hands the connection over once the response is sent.
    pub(crate) fn hand_over(&self, takeover: Takeover, upgrade: OnUpgrade) {
        let mut slot = self.0.handed_over.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = Some((takeover, upgrade));
        self.0.upgraded.store(true, Ordering::Release);
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.end_request();
    }
}
