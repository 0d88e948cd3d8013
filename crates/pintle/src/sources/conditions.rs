//! Metrics of match conditions of webhooks and policies, under the names that kube-apiserver gives them. Must never change
//! what is counted.

use pintle_expressions::{ConditionMetrics, ConditionOwnerKey as Owner, ConditionStats};
use pintle_metrics::{Exposition, Family};

const DURATION: Family = Family::histogram(
    "apiserver_admission_match_condition_evaluation_seconds",
    "Admission match condition evaluation time in seconds, identified by name and broken out for each kind containing \
     matchConditions (webhook or policy), operation and type (validate or admit).",
);
const EXCLUSIONS: Family = Family::counter(
    "apiserver_admission_match_condition_exclusions_total",
    "Admission match condition evaluation exclusions count, identified by name of resource containing the match condition and \
     broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or \
     admit).",
);
const ERRORS: Family = Family::counter(
    "apiserver_admission_match_condition_evaluation_errors_total",
    "Admission match condition evaluation errors count, identified by name of resource containing the match condition and \
     broken out for each kind containing matchConditions (webhook or policy), operation and admission type (validate or \
     admit).",
);

pub fn render(metrics: &ConditionMetrics, out: &mut Exposition) {
    let all = metrics.sorted();
    if all.is_empty() {
        return;
    }
    out.family(&DURATION);
    for (owner, stats) in &all {
        out.histogram(DURATION.name, &labels(owner), &stats.durations);
    }
    for (family, count) in [(EXCLUSIONS, ConditionStats::exclusions as Count), (ERRORS, ConditionStats::errors)] {
        let counted: Vec<_> = all.iter().filter(|(_, stats)| count(stats) > 0).collect();
        if counted.is_empty() {
            continue;
        }
        out.family(&family);
        for (owner, stats) in counted {
            out.sample(family.name, &labels(owner), count(stats));
        }
    }
}

type Count = fn(&ConditionStats) -> u64;

fn labels((name, kind, admission_type, operation): &Owner) -> [(&'static str, &str); 4] {
    [("kind", kind), ("name", name), ("operation", operation), ("type", admission_type)]
}
