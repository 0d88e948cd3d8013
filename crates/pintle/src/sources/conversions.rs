//! Metrics of conversion webhooks, under the names that kube-apiserver gives them. Must never change what is counted.

use pintle_extensions::ConversionMetrics;
use pintle_metrics::{Exposition, Family};

const REQUESTS: Family = Family::counter(
    "apiserver_conversion_webhook_request_total",
    "Counter for conversion webhook requests with success/failure and failure error type",
);
const SECONDS: Family =
    Family::histogram("apiserver_conversion_webhook_duration_seconds", "Conversion webhook request latency");
const OF_DEFINITIONS: Family = Family::histogram(
    "apiserver_crd_conversion_webhook_duration_seconds",
    "CRD webhook conversion duration in seconds",
);

pub fn render(metrics: &ConversionMetrics, out: &mut Exposition) {
    let calls = metrics.calls.sorted();
    if calls.is_empty() {
        return;
    }
    let labels = |failure: &'static str| {
        let result = if failure.is_empty() { "success" } else { "failure" };
        [("failure_type", failure), ("result", result)]
    };
    out.family(&REQUESTS);
    for (failure, calls) in &calls {
        out.sample(REQUESTS.name, &labels(failure), calls.count.get());
    }
    out.family(&SECONDS);
    for (failure, calls) in &calls {
        out.histogram(SECONDS.name, &labels(failure), &calls.seconds);
    }
    out.family(&OF_DEFINITIONS);
    for ((definition, from, to, succeeded), seconds) in metrics.definitions.sorted() {
        let succeeded = if succeeded { "true" } else { "false" };
        let labels =
            [("crd_name", definition.as_str()), ("from_version", &from), ("succeeded", succeeded), ("to_version", &to)];
        out.histogram(OF_DEFINITIONS.name, &labels, &seconds);
    }
}
