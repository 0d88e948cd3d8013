//! The webhook backend: events are posted as an `EventList`.
//! Guarantees that a batch which fails is sent again a few times, whatever the failure. Must never keep events.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use pintle_webhook::{Backoff, Call, CallError, Client};
use std::sync::Arc;
use std::time::Duration;

/// How long a call may take.
const TIMEOUT: Duration = Duration::from_secs(30);
/// The content of the response is ignored.
const MAX_ANSWER_BYTES: usize = 1 << 20;

/// The webhook backend.
pub struct Webhook {
    pub client: Client,
    pub backoff: Backoff,
    pub stats: Arc<Stats>,
}

fn event_list(events: &[Arc<Event>]) -> Bytes {
    let mut body = Vec::with_capacity(128 + 1024 * events.len());
    body.extend_from_slice(br#"{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":["#);
    for (index, event) in events.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        event.write_json(false, &mut body);
    }
    body.extend_from_slice(b"]}\n");
    body.into()
}

impl Backend for Webhook {
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let body = event_list(&events);
            let call = || {
                let call = Call {
                    body: body.clone(),
                    timeout: TIMEOUT,
                    shown_timeout: TIMEOUT,
                    max_answer_bytes: MAX_ANSWER_BYTES,
                };
                async {
                    match self.client.post(call).await {
                        // An empty response is expected.
                        Ok(_) | Err(CallError::Empty(_)) => Ok(()),
                        Err(error) => Err(error),
                    }
                }
            };
            let sent = self.backoff.run(|_| true, call).await;
            if let Err(error) = &sent {
                self.stats.lost(Plugin::Webhook, error, &events);
            }
            sent.is_ok()
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
