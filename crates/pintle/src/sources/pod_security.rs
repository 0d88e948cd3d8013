//! Metrics of the pod security standards, under the names that kube-apiserver gives them. Guarantees that common series
//! exist from the start, with zero. Must never change what is counted.

use pintle_metrics::{Exposition, Family};
use pintle_plugins::configuration::{Counted, PodSecurityCounts};

const EVALUATIONS: Family = Family::counter(
    "pod_security_evaluations_total",
    "Number of policy evaluations that occurred, not counting ignored or exempt requests.",
);
const EXEMPTIONS: Family = Family::counter(
    "pod_security_exemptions_total",
    "Number of exempt requests, not counting ignored or out of scope requests.",
);
const ERRORS: Family = Family::counter(
    "pod_security_errors_total",
    "Number of errors preventing normal evaluation. Non-fatal errors may result in the latest restricted profile being used \
     for evaluation.",
);

pub fn render(counts: &PodSecurityCounts, out: &mut Exposition) {
    fn of(request: &Counted) -> [(&'static str, &str); 3] {
        let Counted { operation, resource, subresource } = request;
        [("request_operation", operation), ("resource", resource), ("subresource", subresource)]
    }
    out.family(&EVALUATIONS);
    for (evaluation, count) in counts.evaluations() {
        let [operation, resource, subresource] = of(&evaluation.request);
        let labels = [
            ("decision", evaluation.decision),
            ("mode", evaluation.mode),
            ("policy_level", evaluation.level),
            ("policy_version", evaluation.version.as_str()),
            operation,
            resource,
            subresource,
        ];
        out.sample(EVALUATIONS.name, &labels, count.get());
    }
    out.family(&EXEMPTIONS);
    for (request, count) in counts.exemptions() {
        out.sample(EXEMPTIONS.name, &of(&request), count.get());
    }
    let errors = counts.errors();
    if !errors.is_empty() {
        out.family(&ERRORS);
    }
    for (request, count) in errors {
        let [operation, resource, subresource] = of(&request);
        out.sample(ERRORS.name, &[("fatal", "false"), operation, resource, subresource], count.get());
    }
}
