//! Metrics of admission policies, under the names that kube-apiserver gives them. Must never change
//! what is counted.

use pintle_metrics::{Exposition, Family};
use pintle_policies::{Check, Checks};
use std::sync::Arc;

const MUTATING: [Family; 2] = [
    Family::counter(
        "apiserver_mutating_admission_policy_check_total",
        "Checks of mutating admission policies by policy, binding and type of error.",
    ),
    Family::histogram(
        "apiserver_mutating_admission_policy_check_duration_seconds",
        "Time of a mutation by policy, binding and type of error.",
    ),
];
const VALIDATING: [Family; 2] = [
    Family::counter(
        "apiserver_validating_admission_policy_check_total",
        "Checks of validating admission policies by policy, binding and what was enforced.",
    )
    .beta(),
    Family::histogram(
        "apiserver_validating_admission_policy_check_duration_seconds",
        "Time of a validation by policy, binding and what was enforced.",
    )
    .beta(),
];

/// Checks of mutating and of validating policies.
pub fn render([mutating, validating]: &[Arc<Checks>; 2], out: &mut Exposition) {
    for (checks, [totals, seconds]) in [(mutating, MUTATING), (validating, VALIDATING)] {
        let all = checks.sorted();
        if all.is_empty() {
            continue;
        }
        out.family(&totals);
        for (check, stats) in &all {
            out.sample(totals.name, labels(check).as_slice(), stats.count.get());
        }
        out.family(&seconds);
        for (check, stats) in &all {
            out.histogram(seconds.name, labels(check).as_slice(), &stats.seconds);
        }
    }
}

/// Mutations have no action.
fn labels(check: &Check) -> Vec<(&'static str, &str)> {
    let action = [("enforcement_action", check.action)].into_iter().filter(|(_, action)| !action.is_empty());
    let others = [("error_type", check.error), ("policy", &check.policy), ("policy_binding", &check.binding)];
    action.chain(others).collect()
}
