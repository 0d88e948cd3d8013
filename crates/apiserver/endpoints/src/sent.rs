//! `SentBody`: the body of a response, and the observers of its request. Guarantees that their last moment is when the last
//! byte was taken, or the client has gone. Must never change the body.

use crate::body::Body;
use crate::observers::Observers;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use pintle_proxy::upgrade::Takeover;
use std::io;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

/// The body of a response, on its way to the client.
pub struct SentBody {
    body: Body,
    observed: Option<Box<Observed>>,
}

/// The observers of a response, and how much of it was sent.
struct Observed {
    observers: Observers,
    bytes: u64,
}

impl Drop for Observed {
    fn drop(&mut self) {
        self.observers.sent(self.bytes);
    }
}

impl SentBody {
    pub(crate) fn observed(body: Body, observers: Observers) -> Self {
        SentBody { body, observed: Some(Box::new(Observed { observers, bytes: 0 })) }
    }

    /// A body without observers.
    pub fn unobserved(body: Body) -> Self {
        SentBody { body, observed: None }
    }

    /// Whether it has no end of its own.
    pub fn is_long_running(&self) -> bool {
        self.body.is_long_running()
    }

    /// The task that takes the connection over, if the response is an upgrade. The response has been sent when the task
    /// ends.
    pub fn take_upgrade(&mut self) -> Option<Takeover> {
        match mem::replace(&mut self.body, Body::empty()) {
            Body::Upgrade(takeover) => {
                let observed = self.observed.take();
                Some(Box::new(move |connection| {
                    let done = takeover(connection);
                    Box::pin(async move {
                        done.await;
                        drop(observed);
                    })
                }))
            }
            body => {
                self.body = body;
                None
            }
        }
    }
}

impl http_body::Body for SentBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        let frame = ready!(Pin::new(&mut self.body).poll_frame(context));
        if let Some(observed) = &mut self.observed {
            let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()).and_then(Frame::data_ref);
            observed.bytes += data.map_or(0, |data| data.len() as u64);
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
