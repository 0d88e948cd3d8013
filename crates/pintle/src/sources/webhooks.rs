//! Metrics of admission webhooks, under the names that kube-apiserver gives them. Must never change
//! what is counted.

use pintle_admission_webhooks::WebhookMetrics;
use pintle_metrics::{Exposition, Family};

const DURATION: Family = Family::histogram(
    "apiserver_admission_webhook_admission_duration_seconds",
    "Admission webhook latency histogram in seconds, identified by name and broken out for each operation and API resource and \
     type (validate or admit).",
)
.stable();
const REQUESTS: Family = Family::counter(
    "apiserver_admission_webhook_request_total",
    "Admission webhook request total, identified by name and broken out for each admission type (validating or mutating) and \
     operation. Additional labels specify whether the request was rejected or not and an HTTP status code. Codes greater than \
     600 are truncated to 600, to keep the metrics cardinality bounded.",
);
const REJECTIONS: Family = Family::counter(
    "apiserver_admission_webhook_rejection_count",
    "Admission webhook rejection count, identified by name and broken out for each admission type (validating or admit) and \
     operation. Additional labels specify an error type (calling_webhook_error or apiserver_internal_error if an error \
     occurred; no_error otherwise) and optionally a non-zero rejection code if the webhook rejects the request with an HTTP \
     status code (honored by the apiserver when the code is greater or equal to 400). Codes greater than 600 are truncated to \
     600, to keep the metrics cardinality bounded.",
);
const FAILED_OPEN: Family = Family::counter(
    "apiserver_admission_webhook_fail_open_count",
    "Admission webhook fail open count, identified by name and broken out for each admission type (validating or admit).",
);
pub fn render(metrics: &WebhookMetrics, out: &mut Exposition) {
    let text = |rejected: bool| if rejected { "true" } else { "false" };
    out.family(&DURATION);
    for ((name, kind, operation, rejected), durations) in metrics.durations.sorted() {
        let labels = [("name", name.as_str()), ("operation", operation), ("rejected", text(rejected)), ("type", kind)];
        out.histogram(DURATION.name, &labels, &durations);
    }
    out.family(&REQUESTS);
    for (((name, kind, operation, rejected), code), count) in metrics.requests.sorted() {
        let code = code.to_string();
        let labels = [
            ("code", code.as_str()),
            ("name", &name),
            ("operation", operation),
            ("rejected", text(rejected)),
            ("type", kind),
        ];
        out.sample(REQUESTS.name, &labels, count.get());
    }
    out.family(&REJECTIONS);
    for ((name, kind, operation, error_type, code), count) in metrics.rejections.sorted() {
        let code = code.to_string();
        let labels = [
            ("error_type", error_type),
            ("name", name.as_str()),
            ("operation", operation),
            ("rejection_code", &code),
            ("type", kind),
        ];
        out.sample(REJECTIONS.name, &labels, count.get());
    }
    out.family(&FAILED_OPEN);
    for ((name, kind), count) in metrics.failed_open.sorted() {
        out.sample(FAILED_OPEN.name, &[("name", &name), ("type", kind)], count.get());
    }
}
