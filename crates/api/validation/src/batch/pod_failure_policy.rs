//! Rules of the policies that say what failures of a job's pods mean.

use super::job_spec::invalid_without_value;
use crate::shared::{Repeats, invalid_each, items, too_many};
use pintle_schema::{Value, View, names};
use pintle_types::batch::v1::{
    JobSpec, PodFailurePolicy, PodFailurePolicyOnExitCodesRequirement, PodFailurePolicyOnPodConditionsPattern,
    PodFailurePolicyRule,
};
use pintle_types::core::v1::{Container, PodSpec, PodTemplateSpec};
use pintle_validation::{At, Cx};

const MOST_RULES: usize = 20;
const MOST_EXIT_CODES: usize = 255;
const MOST_PATTERNS: usize = 20;

/// Each rule has one action and one way to match.
pub fn policy(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let Some(policy) = spec.new.field(JobSpec::POD_FAILURE_POLICY).some() else { return };
    let path = spec.path.to(JobSpec::POD_FAILURE_POLICY);
    let path = path.to(PodFailurePolicy::RULES);
    let rules = policy.field(PodFailurePolicy::RULES);
    too_many(rules, MOST_RULES, &path, cx);
    At { new: rules, old: None, path: &path }.each(|rule| failure_rule(rule, spec.new, cx));
}

fn failure_rule(rule: At<'_, PodFailurePolicyRule>, spec: View<'_, JobSpec>, cx: &mut Cx<'_>) {
    type Rule = PodFailurePolicyRule;
    let action = rule.path.to(Rule::ACTION);
    match rule.new.field(Rule::ACTION).value().as_str().unwrap_or_default() {
        "" => cx.errors.required(action, r#"valid values: ["Count" "FailIndex" "FailJob" "Ignore"]"#),
        "FailIndex" if !spec.field(JobSpec::BACKOFF_LIMIT_PER_INDEX).is_set() => {
            cx.errors.invalid(action, "FailIndex", "requires the backoffLimitPerIndex to be set");
        }
        "Count" | "FailIndex" | "FailJob" | "Ignore" => {}
        other => cx.errors.not_supported(action, other, &["Count", "FailIndex", "FailJob", "Ignore"]),
    }
    let codes = rule.new.field(Rule::ON_EXIT_CODES).some();
    if let Some(codes) = codes {
        let path = rule.path.to(Rule::ON_EXIT_CODES);
        exit_codes(At { new: codes, old: None, path: &path }, spec, cx);
    }
    let patterns = rule.new.field(Rule::ON_POD_CONDITIONS);
    let has_patterns = !patterns.value().is_zero();
    if has_patterns {
        let path = rule.path.to(Rule::ON_POD_CONDITIONS);
        too_many(patterns, MOST_PATTERNS, &path, cx);
        At { new: patterns, old: None, path: &path }.each(|pattern| condition(pattern, cx));
    }
    match (codes.is_some(), has_patterns) {
        (true, true) => {
            invalid_without_value(rule.path, "specifying both OnExitCodes and OnPodConditions is not supported", cx);
        }
        (false, false) => {
            invalid_without_value(rule.path, "specifying one of OnExitCodes and OnPodConditions is required", cx);
        }
        _ => {}
    }
}

fn exit_codes(codes: At<'_, PodFailurePolicyOnExitCodesRequirement>, spec: View<'_, JobSpec>, cx: &mut Cx<'_>) {
    type Codes = PodFailurePolicyOnExitCodesRequirement;
    let path = codes.path.to(Codes::OPERATOR);
    let operator = codes.new.field(Codes::OPERATOR).value().as_str().unwrap_or_default();
    match operator {
        "" => cx.errors.required(path, r#"valid values: ["In" "NotIn"]"#),
        "In" | "NotIn" => {}
        other => cx.errors.not_supported(path, other, &["In", "NotIn"]),
    }
    if let Some(name) = codes.new.field(Codes::CONTAINER_NAME).some() {
        let name = name.value().as_str().unwrap_or_default();
        if !has_container(spec, name) {
            let detail = "must be one of the container or initContainer names in the pod template";
            cx.errors.invalid(codes.path.to(Codes::CONTAINER_NAME), name, detail);
        }
    }
    let values = codes.new.field(Codes::VALUES);
    let path = codes.path.to(Codes::VALUES);
    let list = items(values);
    if list.is_empty() {
        cx.errors.invalid(path, Value::Null, "at least one value is required");
    }
    too_many(values, MOST_EXIT_CODES, &path, cx);
    let code = |at: usize| list.get(at).and_then(Value::as_i64).unwrap_or_default();
    let mut repeats = Repeats::new(list.len(), code);
    for at in 0..list.len() {
        if operator == "In" && code(at) == 0 {
            cx.errors.invalid(path.index(at), 0, "must not be 0 for the In operator");
        }
        if repeats.is_repeated(at) {
            cx.errors.duplicate(path.index(at), code(at));
        }
    }
    if (1..list.len()).any(|at| code(at - 1) > code(at)) {
        cx.errors.invalid(path, values.value().clone(), "must be ordered");
    }
}

fn has_container(spec: View<'_, JobSpec>, name: &str) -> bool {
    let pod = spec.field(JobSpec::TEMPLATE).field(PodTemplateSpec::SPEC);
    let of = |containers: View<'_, Vec<Container>>| {
        containers.iter().any(|container| container.field(Container::NAME).as_str() == name)
    };
    of(pod.field(PodSpec::CONTAINERS)) || of(pod.field(PodSpec::INIT_CONTAINERS))
}

fn condition(pattern: At<'_, PodFailurePolicyOnPodConditionsPattern>, cx: &mut Cx<'_>) {
    type Pattern = PodFailurePolicyOnPodConditionsPattern;
    let kind = pattern.new.field(Pattern::TYPE).value().as_str().unwrap_or_default();
    invalid_each(kind, names::label_key(kind), &pattern.path.to(Pattern::TYPE), cx);
    let path = pattern.path.to(Pattern::STATUS);
    match pattern.new.field(Pattern::STATUS).value().as_str().unwrap_or_default() {
        "" => cx.errors.required(path, r#"valid values: ["False" "True" "Unknown"]"#),
        "False" | "True" | "Unknown" => {}
        other => cx.errors.not_supported(path, other, &["False", "True", "Unknown"]),
    }
}
