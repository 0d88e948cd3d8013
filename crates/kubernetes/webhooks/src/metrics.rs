//! Metrics of admission webhooks, under kube-apiserver's names. Guarantees that a call is counted once, and that series are
//! bounded by the existing webhooks. Must never change what is measured.

use crate::Kind;
use crate::failure::Failure;
use crate::hook::Hook;
use pintle_metrics::{Counter, Histogram, Keyed, Layout};
use pintle_registry::Operation;
use std::time::Duration;

static DURATIONS: Layout = Layout::seconds(&[0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10.0, 25.0]);

/// Name, type and operation of a call, and whether it was rejected.
type Called = (String, &'static str, &'static str, bool);

/// Counts and times of all webhooks.
#[derive(Default)]
pub struct WebhookMetrics {
    /// Times of calls.
    pub durations: Keyed<Called, Histogram>,
    /// Calls by the code of their response.
    pub requests: Keyed<(Called, u16), Counter>,
    /// Rejections by name, type, operation, type of error and code.
    pub rejections: Keyed<(String, &'static str, &'static str, &'static str, u16), Counter>,
    /// Failures that were ignored, by name and type.
    pub failed_open: Keyed<(String, &'static str), Counter>,
}

impl WebhookMetrics {
    pub(crate) fn called(
        &self,
        kind: Kind,
        hook: &Hook,
        operation: Operation,
        failure: Option<&Failure>,
        took: Duration,
    ) {
        let (error_type, code) = match failure {
            None => ("", 200),
            Some(Failure::Call { code, .. }) => ("calling_webhook_error", *code),
            Some(Failure::Denied(status)) => ("no_error", status.code),
            // kube-apiserver counts no code for its own failures.
            Some(Failure::Refused(_)) => ("apiserver_internal_error", 0),
        };
        let (kind, operation) = (kind.metric_type(), operation.name());
        let is_open = hook.ignores_failures && matches!(failure, Some(Failure::Call { .. }));
        let is_rejected = failure.is_some() && !is_open;
        let called = (hook.name.clone(), kind, operation, is_rejected);
        self.durations.get(&called, || Histogram::new(&DURATIONS)).observe_duration(took);
        self.requests.get(&(called, code.min(600)), Counter::default).increment();
        if is_rejected {
            let rejection = (hook.name.clone(), kind, operation, error_type, code.min(600));
            self.rejections.get(&rejection, Counter::default).increment();
        }
    }

    pub(crate) fn failed_open(&self, kind: Kind, hook: &Hook) {
        self.failed_open.get(&(hook.name.clone(), kind.metric_type()), Counter::default).increment();
    }
}
