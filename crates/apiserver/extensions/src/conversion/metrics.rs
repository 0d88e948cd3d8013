//! Counts and times of conversions by webhooks. All servers of a process share them. Must never name the metrics: who
//! renders them does.

use pintle_metrics::{Counter, Histogram, Keyed, Layout, exponential};
use std::sync::LazyLock;
use std::time::Duration;

static CALL_SECONDS: Layout =
    Layout::seconds(&[0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0]);
static DEFINITION_BOUNDS: [f64; 15] = exponential(0.001, 2.0);
static DEFINITION_SECONDS: Layout = Layout::seconds(&DEFINITION_BOUNDS);

/// Why a conversion failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The webhook was not reached, or its response is none.
    Call,
    /// Not as many objects were returned as were sent.
    PartialResponse,
    /// What was returned is not JSON.
    MalformedResponse,
    /// What was returned is not the object that was sent, in the wanted version.
    InvalidObject,
}

impl Failure {
    /// The value of the label `failure_type`.
    fn name(self) -> &'static str {
        match self {
            Failure::Call => "conversion_webhook_call_failure",
            Failure::PartialResponse => "conversion_webhook_partial_response_failure",
            Failure::MalformedResponse => "conversion_webhook_malformed_response_failure",
            Failure::InvalidObject => "conversion_webhook_invalid_converted_object_failure",
        }
    }
}

/// Calls with the same outcome.
#[derive(Debug)]
pub struct Calls {
    pub count: Counter,
    pub seconds: Histogram,
}

/// The name of a definition, the versions from and to which its objects were converted, and whether that succeeded.
pub type ConversionKey = (String, String, String, bool);

/// All conversions by webhooks.
#[derive(Default)]
pub struct ConversionMetrics {
    /// By the type of failure, which is empty for calls that succeeded.
    pub calls: Keyed<&'static str, Calls>,
    /// Seconds.
    pub definitions: Keyed<ConversionKey, Histogram>,
}

pub static CONVERSIONS: LazyLock<ConversionMetrics> = LazyLock::new(ConversionMetrics::default);

impl ConversionMetrics {
    /// Counts a call that converted objects of a definition between two versions, with their group.
    pub(crate) fn observe(&self, definition: &str, (from, to): (&str, &str), failure: Option<Failure>, took: Duration) {
        let of_call = || Calls { count: Counter::new(), seconds: Histogram::new(&CALL_SECONDS) };
        let calls = self.calls.get(&failure.map_or("", Failure::name), of_call);
        calls.count.increment();
        calls.seconds.observe_duration(took);
        let version = |of: &str| of.rsplit('/').next().unwrap_or(of).to_owned();
        let key = (definition.to_owned(), version(from), version(to), failure.is_none());
        self.definitions.get(&key, || Histogram::new(&DEFINITION_SECONDS)).observe_duration(took);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_by_outcome_and_definition() {
        let metrics = ConversionMetrics::default();
        let observe = |failure| metrics.observe("foos.e.com", ("e.com/v1", "e.com/v2"), failure, Duration::ZERO);
        observe(None);
        observe(Some(Failure::Call));
        observe(Some(Failure::Call));
        let calls = metrics.calls.sorted();
        let calls: Vec<_> = calls.iter().map(|(failure, calls)| (*failure, calls.count.get())).collect();
        assert_eq!(calls, [("", 1), ("conversion_webhook_call_failure", 2)]);
        let counts: Vec<_> =
            metrics.definitions.sorted().into_iter().map(|(key, times)| (key.3, times.count())).collect();
        assert_eq!(counts, [(false, 2), (true, 1)]);
    }
}
