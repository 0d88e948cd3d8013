//! The trace that the current task works for, which calls to other servers pass on.
//! Guarantees that a task outside of a traced request passes on nothing. Must never leave the task: work that is handed to
//! another task belongs to no trace.

use crate::context::{SpanContext, TRACE_PARENT, TRACE_STATE};
use http::{HeaderMap, HeaderValue};
use std::sync::{Arc, PoisonError, RwLock};

tokio::task_local! {
    static CURRENT: Arc<Current>;
}

/// What is known of the trace of a request. It is empty until the user is known.
#[derive(Debug, Default)]
pub struct Current(RwLock<Option<(SpanContext, Option<HeaderValue>)>>);

impl Current {
    /// Says which span calls to other servers belong to, and with which state of vendors.
    pub fn set(&self, span: SpanContext, state: Option<HeaderValue>) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = Some((span, state));
    }

    fn get(&self) -> Option<(SpanContext, Option<HeaderValue>)> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Works for a trace.
pub async fn within<T>(trace: Arc<Current>, work: impl Future<Output = T>) -> T {
    CURRENT.scope(trace, work).await
}

/// The span that calls of this task belong to.
pub fn current() -> Option<SpanContext> {
    CURRENT.try_with(|current| current.get()).ok().flatten().map(|(span, _)| span)
}

/// Adds the trace of this task to a request to another server, if there is one.
pub fn propagate(headers: &mut HeaderMap) {
    let Some((span, state)) = CURRENT.try_with(|current| current.get()).ok().flatten() else { return };
    if let Ok(value) = HeaderValue::try_from(span.to_string()) {
        headers.insert(TRACE_PARENT, value);
        match state {
            Some(state) => headers.insert(TRACE_STATE, state),
            None => headers.remove(TRACE_STATE),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn calls_pass_on_the_trace_that_they_are_made_for() {
        let span = SpanContext { trace_id: [1; 16], span_id: [2; 8], is_sampled: true };
        let mut headers = HeaderMap::new();
        headers.insert(TRACE_STATE, HeaderValue::from_static("of another"));
        propagate(&mut headers);
        assert_eq!((current(), headers.len()), (None, 1));
        let trace = Arc::new(Current::default());
        within(trace.clone(), async {
            propagate(&mut headers);
            assert_eq!(headers.len(), 1, "the user is not known");
            trace.set(span, None);
            propagate(&mut headers);
            assert_eq!(current(), Some(span));
        })
        .await;
        assert_eq!(headers.get(TRACE_PARENT).and_then(|value| value.to_str().ok()), Some(&*span.to_string()));
        assert_eq!(headers.get(TRACE_STATE), None);
    }
}
