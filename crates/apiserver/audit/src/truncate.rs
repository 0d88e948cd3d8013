//! Events that are too large lose their objects, or are left out; batches that are too large are split.
//! Guarantees that no event of more than the limit reaches the backend behind it. Must never change an event that fits.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use crate::kept::TRUNCATED;
use crate::policy::Level;
use futures_util::future::BoxFuture;
use std::sync::Arc;

/// Limits in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TruncateOptions {
    pub max_event_bytes: u64,
    pub max_batch_bytes: u64,
}

/// A backend that is given no more than it may get.
pub struct Truncate {
    pub backend: Arc<dyn Backend>,
    pub options: TruncateOptions,
    pub stats: Arc<Stats>,
}

impl Truncate {
    /// The event, truncated if necessary, and its size.
    fn fitting(&self, event: Arc<Event>) -> Option<(Arc<Event>, u64)> {
        let (limit, size) = (self.options.max_event_bytes, size(&event));
        if size <= limit {
            return Some((event, size));
        }
        if event.level >= Level::Request {
            let cut = Arc::new(without_objects(&event));
            let size = self::size(&cut);
            if size <= limit {
                return Some((cut, size));
            }
        }
        self.stats.lost(Plugin::Truncate, &"event is too large even after truncating", &[event]);
        None
    }

    /// The events as they may go on, in batches that may.
    fn batches(&self, events: Vec<Arc<Event>>) -> Vec<Vec<Arc<Event>>> {
        let (mut batches, mut batch, mut batch_bytes) = (Vec::new(), Vec::new(), 0);
        for (event, bytes) in events.into_iter().filter_map(|event| self.fitting(event)) {
            if !batch.is_empty() && batch_bytes + bytes > self.options.max_batch_bytes {
                batches.push(std::mem::take(&mut batch));
                batch_bytes = 0;
            }
            batch_bytes += bytes;
            batch.push(event);
        }
        if !batch.is_empty() {
            batches.push(batch);
        }
        batches
    }
}

fn size(event: &Event) -> u64 {
    event.json_line().len() as u64
}

fn without_objects(event: &Event) -> Event {
    let mut event = event.clone();
    event.details.request_object = None;
    event.details.response_object = None;
    event.details.annotations.insert(TRUNCATED.into(), "true".to_owned());
    event
}

impl Backend for Truncate {
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let mut success = true;
            for batch in self.batches(events) {
                success &= self.backend.process(batch).await;
            }
            success
        })
    }

    fn hand_over(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            for batch in self.batches(events) {
                self.backend.hand_over(batch).await;
            }
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        self.backend.shutdown()
    }
}
