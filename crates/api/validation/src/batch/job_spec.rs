//! Rules of the spec of jobs, their own and those that cron jobs make.

use super::indexes;
use crate::shared::{non_negative, too_many};
use crate::shown::in_full;
use pintle_schema::names::{self, Fault};
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{JobSpec, SuccessPolicy, SuccessPolicyRule};
use pintle_types::core::v1::{PodSpec, PodTemplateSpec};
use pintle_validation::{At, Cx, ErrorKind};

/// Beyond so many completions, failures are kept track of for few indexes only.
const MANY_COMPLETIONS: i32 = 100_000;
const MOST_WITH_MANY: i32 = 10_000;
const MOST_OF_INDEXED: i32 = 100_000;
const MOST_RULES: usize = 20;
const MANAGED_BY_BYTES: usize = 63;
const INDEXES_BYTES: usize = 65_536;

const NEEDS_INDEXES: &str = "requires indexed completion mode";

pub(super) fn number(spec: View<'_, JobSpec>, field: pintle_schema::FieldName<JobSpec, Option<i32>>) -> Option<i32> {
    spec.field(field).some().map(View::get)
}

/// Whether the pods of a job are numbered.
pub fn is_indexed(spec: View<'_, JobSpec>) -> bool {
    spec.field(JobSpec::COMPLETION_MODE).value().as_str() == Some("Indexed")
}

/// Failures are counted by index only where a bound is set for each. Also: who manages the job.
pub fn retries(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let per_index = number(spec.new, JobSpec::BACKOFF_LIMIT_PER_INDEX);
    let most_failed = number(spec.new, JobSpec::MAX_FAILED_INDEXES);
    for (count, field) in [(per_index, JobSpec::BACKOFF_LIMIT_PER_INDEX), (most_failed, JobSpec::MAX_FAILED_INDEXES)] {
        non_negative(count.unwrap_or_default().into(), &spec.path.to(field), cx);
    }
    if most_failed.is_some() && per_index.is_none() {
        cx.errors.required(spec.path.to(JobSpec::BACKOFF_LIMIT_PER_INDEX), "when maxFailedIndexes is specified");
    }
    let Some(manager) = spec.new.field(JobSpec::MANAGED_BY).some() else { return };
    let path = spec.path.to(JobSpec::MANAGED_BY);
    for fault in names::domain_prefixed_path(manager.as_str()) {
        match fault {
            Fault::Required => cx.errors.required(path, ""),
            Fault::Invalid { value, detail } => cx.errors.invalid(path, value, detail),
        }
    }
    if manager.as_str().len() > MANAGED_BY_BYTES {
        cx.errors.too_long(path, MANAGED_BY_BYTES);
    }
}

/// What numbered pods need, and what other pods cannot have.
pub fn completion_mode(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let mode = spec.new.field(JobSpec::COMPLETION_MODE).some();
    let text = mode.map_or("NonIndexed", |mode| mode.value().as_str().unwrap_or_default());
    match text {
        "Indexed" => indexed(spec, cx),
        "NonIndexed" => {
            for field in [JobSpec::BACKOFF_LIMIT_PER_INDEX, JobSpec::MAX_FAILED_INDEXES] {
                if let Some(count) = number(spec.new, field) {
                    cx.errors.invalid(spec.path.to(field), count, NEEDS_INDEXES);
                }
            }
        }
        other => {
            let path = spec.path.to(JobSpec::COMPLETION_MODE);
            cx.errors.not_supported(path, other, &["NonIndexed", "Indexed"]);
        }
    }
}

fn indexed(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let completions = number(spec.new, JobSpec::COMPLETIONS);
    let parallelism = number(spec.new, JobSpec::PARALLELISM).unwrap_or_default();
    let most_failed = number(spec.new, JobSpec::MAX_FAILED_INDEXES);
    let (parallel, failed) = (spec.path.to(JobSpec::PARALLELISM), spec.path.to(JobSpec::MAX_FAILED_INDEXES));
    if completions.is_none() {
        cx.errors.required(spec.path.to(JobSpec::COMPLETIONS), "when completion mode is Indexed");
    }
    if parallelism > MOST_OF_INDEXED {
        let detail = format!("must be less than or equal to {MOST_OF_INDEXED} when completion mode is Indexed");
        cx.errors.invalid(parallel, parallelism, detail);
    }
    if let (Some(most), Some(completions)) = (most_failed, completions)
        && most > completions
    {
        cx.errors.invalid(failed, most, "must be less than or equal to completions");
    }
    if let Some(most) = most_failed.filter(|most| *most > MOST_OF_INDEXED) {
        cx.errors.invalid(failed, most, format!("must be less than or equal to {MOST_OF_INDEXED}"));
    }
    let by_index = spec.new.field(JobSpec::BACKOFF_LIMIT_PER_INDEX).is_set();
    if completions.unwrap_or_default() <= MANY_COMPLETIONS || !by_index {
        return;
    }
    if most_failed.is_none() {
        cx.errors.required(failed, format!("must be specified when completions is above {MANY_COMPLETIONS}"));
    }
    let detail = || {
        format!(
            "must be less than or equal to {MOST_WITH_MANY} when completions are above {MANY_COMPLETIONS} and used \
             with backoff limit per index"
        )
    };
    if parallelism > MOST_WITH_MANY {
        cx.errors.invalid(parallel, parallelism, detail());
    }
    if let Some(most) = most_failed.filter(|most| *most > MOST_WITH_MANY) {
        cx.errors.invalid(failed, most, detail());
    }
}

/// Early success is told by indexes.
pub fn success_policy(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let Some(policy) = spec.new.field(JobSpec::SUCCESS_POLICY).some() else { return };
    let path = spec.path.to(JobSpec::SUCCESS_POLICY);
    if !is_indexed(spec.new) {
        cx.errors.invalid(path, in_full(policy), NEEDS_INDEXES);
        return;
    }
    let completions = number(spec.new, JobSpec::COMPLETIONS).unwrap_or_default();
    let rules = policy.field(SuccessPolicy::RULES);
    let path = path.to(SuccessPolicy::RULES);
    if rules.value().is_zero() {
        cx.errors.required(path, "at least one rules must be specified when the successPolicy is specified");
    }
    too_many(rules, MOST_RULES, &path, cx);
    At { new: rules, old: None, path: &path }.each(|rule| success_rule(rule, completions.into(), cx));
}

fn success_rule(rule: At<'_, SuccessPolicyRule>, completions: i64, cx: &mut Cx<'_>) {
    let indexes = rule.new.field(SuccessPolicyRule::SUCCEEDED_INDEXES).some();
    let count = rule.new.field(SuccessPolicyRule::SUCCEEDED_COUNT).some().map(|count| i64::from(count.get()));
    if indexes.is_none() && count.is_none() {
        let detail = "at least one of succeededCount or succeededIndexes must be specified";
        cx.errors.required(rule.path, detail);
    }
    let mut named = None;
    if let Some(indexes) = indexes {
        let path = rule.path.to(SuccessPolicyRule::SUCCEEDED_INDEXES);
        let text = indexes.value().as_str().unwrap_or_default();
        if text.len() > INDEXES_BYTES {
            cx.errors.too_long(path, INDEXES_BYTES);
        }
        named = Some(indexes::count(text, completions).unwrap_or_else(|why| {
            cx.errors.invalid(path, text, format!("error parsing succeededIndexes: {why}"));
            0
        }));
    }
    let Some(count) = count else { return };
    let path = rule.path.to(SuccessPolicyRule::SUCCEEDED_COUNT);
    non_negative(count, &path, cx);
    if count > completions {
        let detail = format!("must be less than or equal to {completions} (the number of specified completions)");
        cx.errors.invalid(path, count, detail);
    }
    if let Some(named) = named.filter(|named| count > *named) {
        let detail = format!(
            "must be less than or equal to {named} (the number of indexes in the specified succeededIndexes field)"
        );
        cx.errors.invalid(path, count, detail);
    }
}

/// With a policy for failures, only pods that have ended in one are replaced.
pub fn replacement(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let Some(policy) = spec.new.field(JobSpec::POD_REPLACEMENT_POLICY).some() else { return };
    let known: &[&str] = match spec.new.field(JobSpec::POD_FAILURE_POLICY).is_set() {
        true => &["Failed"],
        false => &["Failed", "TerminatingOrFailed"],
    };
    let text = policy.value().as_str().unwrap_or_default();
    if !known.contains(&text) {
        cx.errors.not_supported(spec.path.to(JobSpec::POD_REPLACEMENT_POLICY), text, known);
    }
}

/// Pods of a job end, and where failures are told apart they are not started again in place.
pub fn restarts(spec: At<'_, JobSpec>, cx: &mut Cx<'_>) {
    let failures = spec.new.field(JobSpec::POD_FAILURE_POLICY).is_set();
    spec.field(JobSpec::TEMPLATE, |template| {
        template.field(PodTemplateSpec::SPEC, |pod| {
            let path = pod.path.to(PodSpec::RESTART_POLICY);
            match pod.new.field(PodSpec::RESTART_POLICY).value().as_str().unwrap_or_default() {
                "" | "Always" => cx.errors.required(path, "valid values: \"OnFailure\", \"Never\""),
                "OnFailure" if failures => {
                    let detail = "only \"Never\" is supported when podFailurePolicy is specified";
                    cx.errors.invalid(path, "OnFailure", detail);
                }
                "OnFailure" | "Never" => {}
                other => cx.errors.not_supported(path, other, &["OnFailure", "Never"]),
            }
        });
    });
}

/// An error that shows no value.
pub(super) fn invalid_without_value(path: impl ToString, detail: &str, cx: &mut Cx<'_>) {
    cx.errors.push(ErrorKind::Invalid, path, None::<Value>, detail);
}
