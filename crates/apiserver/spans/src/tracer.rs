//! `Tracer`: which requests are sampled, the ids of their spans, and the queue of spans that have ended.
//! Guarantees that the same trace is sampled by every server with the same rate, and that the queue is bounded. Must never
//! wait.

use crate::context::SpanContext;
use crate::span::Span;
use pintle_metrics::Counter;
use ring::rand::{SecureRandom, SystemRandom};
use tokio::sync::mpsc;

/// Spans that wait for the collector, as in the OpenTelemetry SDKs.
const QUEUE: usize = 2048;
const MILLION: u64 = 1_000_000;

/// How a span begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decision {
    pub context: SpanContext,
    pub parent: Option<[u8; 8]>,
    pub link: Option<SpanContext>,
}

/// Samples requests and keeps their spans until they are sent.
#[derive(Debug)]
pub struct Tracer {
    /// Traces whose id is below are sampled.
    threshold: u64,
    queue: mpsc::Sender<Span>,
    /// Spans for which there was no room.
    pub dropped: Counter,
}

impl Tracer {
    /// A tracer that samples so many of a million requests, beside those whose callers are traced; and the spans to send.
    pub fn new(rate_per_million: u32) -> (Tracer, mpsc::Receiver<Span>) {
        let (queue, spans) = mpsc::channel(QUEUE);
        let rate = u64::from(rate_per_million).min(MILLION);
        // A share of the 63 bits that the ids of traces are compared by.
        let threshold = (1 << 63) / MILLION * rate;
        let threshold = if rate == MILLION { 1 << 63 } else { threshold };
        (Tracer { threshold, queue, dropped: Counter::new() }, spans)
    }

    /// Begins the span of a request. The trace of a trusted caller is continued, whether it is sampled or not; that of
    /// others is linked to. `None` when the system has no random numbers.
    pub fn begin(&self, caller: Option<SpanContext>, is_trusted: bool) -> Option<Decision> {
        let span_id = random()?;
        if let Some(caller) = caller.filter(|_| is_trusted) {
            let context = SpanContext { span_id, ..caller };
            return Some(Decision { context, parent: Some(caller.span_id), link: None });
        }
        let trace_id: [u8; 16] = random()?;
        let is_sampled = self.samples(&trace_id);
        Some(Decision { context: SpanContext { trace_id, span_id, is_sampled }, parent: None, link: caller })
    }

    fn samples(&self, trace_id: &[u8; 16]) -> bool {
        let [_, _, _, _, _, _, _, _, last @ ..] = trace_id;
        u64::from_be_bytes(*last) >> 1 < self.threshold
    }

    /// The ids of a part of a span. `None` when the system has no random numbers.
    pub fn part(&self, of: SpanContext) -> Option<SpanContext> {
        Some(SpanContext { span_id: random()?, ..of })
    }

    /// Passes on a span that has ended, if it is sampled.
    pub fn ended(&self, span: Span) {
        if span.context.is_sampled && self.queue.try_send(span).is_err() {
            self.dropped.increment();
        }
    }
}

/// An id, which is not zero.
fn random<const N: usize>() -> Option<[u8; N]> {
    let mut id = [0; N];
    SystemRandom::new().fill(&mut id).ok()?;
    if id == [0; N] {
        id[N - 1] = 1;
    }
    Some(id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_decides_about_requests_of_callers_that_are_not_traced() {
        for (rate, low, high) in [(0, 0, 0), (500_000, 800, 1200), (1_000_000, 2000, 2000)] {
            let (tracer, _spans) = Tracer::new(rate);
            let sampled = (0..2000).filter(|_| tracer.begin(None, true).expect("ids").context.is_sampled).count();
            assert!((low..=high).contains(&sampled), "{rate}: {sampled}");
        }
        let (tracer, _spans) = Tracer::new(1_000_000);
        assert!(tracer.samples(&[0xff; 16]));
    }

    #[test]
    fn only_trusted_callers_decide_and_are_continued() {
        let caller = SpanContext { trace_id: [1; 16], span_id: [2; 8], is_sampled: true };
        let (tracer, _spans) = Tracer::new(0);
        let trusted = tracer.begin(Some(caller), true).expect("ids");
        assert_eq!((trusted.context.trace_id, trusted.parent, trusted.link), ([1; 16], Some([2; 8]), None));
        assert!(trusted.context.is_sampled && trusted.context.span_id != caller.span_id);
        let other = tracer.begin(Some(caller), false).expect("ids");
        assert_ne!(other.context.trace_id, caller.trace_id);
        assert_eq!((other.parent, other.link, other.context.is_sampled), (None, Some(caller), false));
    }
}
