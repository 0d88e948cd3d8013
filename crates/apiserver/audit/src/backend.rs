//! `Backend`: a receiver of events; and the counters of all backends. Guarantees that a failure is counted and logged with the
//! affected events. Must never make a request fail by itself: a backend reports whether it accepted the events, and the
//! request's mode decides.

use crate::event::Event;
use futures_util::future::BoxFuture;
use pintle_metrics::Counter;
use std::fmt::Display;
use std::sync::Arc;
use tracing::error;

/// At most so many affected events are logged with a failure.
const LOGGED_EVENTS: usize = 20;

/// Takes events.
pub trait Backend: Send + Sync {
    /// Writes or sends events, or buffers them. Returns whether they were accepted.
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool>;

    /// Takes events that need not be written before a later call of `process` returns, whose events are written after
    /// them. Failures have no effect but that they are counted.
    fn hand_over(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.process(events).await;
        })
    }

    /// Writes or sends everything that was taken.
    fn shutdown(&self) -> BoxFuture<'_, ()>;
}

/// A backend and how its failures affect requests.
pub struct Target {
    pub backend: Arc<dyn Backend>,
    /// Whether a request fails whose first event was not taken.
    pub is_strict: bool,
}

/// The parts of a backend that can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plugin {
    Buffered,
    Log,
    Truncate,
    Webhook,
}

impl Plugin {
    /// All parts, sorted by name.
    pub const ALL: [Plugin; 4] = [Plugin::Buffered, Plugin::Log, Plugin::Truncate, Plugin::Webhook];

    /// The name in metrics and logs.
    pub fn name(self) -> &'static str {
        match self {
            Plugin::Buffered => "buffered",
            Plugin::Log => "log",
            Plugin::Truncate => "truncate",
            Plugin::Webhook => "webhook",
        }
    }
}

/// Counters.
#[derive(Debug, Default)]
pub struct Stats {
    /// Events that were given to the backends.
    pub events: Counter,
    /// Events that a part of a backend lost.
    failed: [Counter; 4],
    /// Requests by level, the least first.
    pub levels: [Counter; 4],
    /// Requests that failed because their event was not accepted.
    pub rejected: Counter,
}

impl Stats {
    /// How many events each part of the backends lost, of those that lost any.
    pub fn failed(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let counted = Plugin::ALL.into_iter().map(|plugin| (plugin.name(), self.failed[plugin as usize].get()));
        counted.filter(|(_, count)| *count > 0)
    }

    /// Counts and logs events that are lost.
    pub(crate) fn lost(&self, plugin: Plugin, why: &dyn Display, events: &[Arc<Event>]) {
        self.failed[plugin as usize].add(events.len() as u64);
        let lines: Vec<String> = events.iter().take(LOGGED_EVENTS).map(|event| event.text()).collect();
        let (err, impacted) = (why.to_string(), lines.join("\n"));
        error!(err, impacted, "Error in audit plugin '{}' affecting {} audit events", plugin.name(), events.len());
    }
}
