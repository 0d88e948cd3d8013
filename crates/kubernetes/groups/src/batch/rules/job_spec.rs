//! Rules of the spec of jobs and of the job templates of cron jobs.

use super::{indexes, pod_failure_policy};
use crate::rules::domain_prefixed_path;
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{CompletionMode, JobSpec, SuccessPolicy, SuccessPolicyRule};
use pintle_types::core::v1::{PodSpec, PodTemplateSpec};
use pintle_validation::{At, ErrorKind, ErrorPath, FieldPath, ValidationContext};

/// Beyond so many completions, failures are kept track of for few indexes only.
const MANY_COMPLETIONS: i32 = 100_000;
const MOST_WITH_MANY: i32 = 10_000;

/// With numbered pods, so many run at once, and so many may fail.
const MOST_AT_ONCE: i32 = 100_000;
const MOST_FAILED: i32 = 100_000;

pub(super) fn number(spec: View<'_, JobSpec>, field: pintle_schema::FieldName<JobSpec, Option<i32>>) -> Option<i32> {
    spec.field(field).some().map(View::get)
}

/// Whether the pods of a job are numbered.
pub fn is_indexed(spec: View<'_, JobSpec>) -> bool {
    spec.field(JobSpec::COMPLETION_MODE).value().as_str() == Some("Indexed")
}

/// Who manages a job has a name in a domain.
pub fn manager(manager: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    manager.some().into_iter().for_each(|manager| domain_prefixed_path(manager, cx));
}

/// Pods of a job end. Those whose failures the job's policy handles are not restarted.
pub fn restart_policy(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let policy = template.new.field(PodTemplateSpec::SPEC).field(PodSpec::RESTART_POLICY).value();
    let policy = policy.as_str().unwrap_or_default();
    let path = template.path.to(PodTemplateSpec::SPEC);
    let path = path.to(PodSpec::RESTART_POLICY);
    match policy {
        _ if template.unchanged() => {}
        "" | "Always" => cx.errors.required(path, "valid values: \"OnFailure\", \"Never\""),
        "OnFailure" | "Never" => {}
        _ => cx.errors.unknown_name(path, policy, &["OnFailure", "Never"]),
    }
    if policy == "OnFailure" && pod_failure_policy::job_spec(cx).field(JobSpec::POD_FAILURE_POLICY).is_set() {
        cx.errors.invalid(path, policy, "only \"Never\" is supported when podFailurePolicy is specified");
    }
}

/// The numbers of a job fit its completion mode; kube-apiserver validates them with the mode.
pub fn fits_mode(mode: At<'_, Option<CompletionMode>>, cx: &mut ValidationContext<'_>) {
    let spec = pod_failure_policy::job_spec(cx);
    let path = mode.path.parent();
    match mode.new.value().as_str().unwrap_or_default() {
        "Indexed" => {
            indexed(spec, path, cx);
            many_completions(spec, path, cx);
        }
        "" | "NonIndexed" => {
            for field in [JobSpec::BACKOFF_LIMIT_PER_INDEX, JobSpec::MAX_FAILED_INDEXES] {
                if let Some(count) = number(spec, field) {
                    cx.errors.invalid(path.to(field), count, "requires indexed completion mode");
                }
            }
        }
        _ => {}
    }
}

fn indexed(spec: View<'_, JobSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let completions = number(spec, JobSpec::COMPLETIONS);
    if completions.is_none() {
        cx.errors.required(path.to(JobSpec::COMPLETIONS), "when completion mode is Indexed");
    }
    if let Some(pods) = number(spec, JobSpec::PARALLELISM).filter(|pods| *pods > MOST_AT_ONCE) {
        let detail = format!("must be less than or equal to {MOST_AT_ONCE} when completion mode is Indexed");
        cx.errors.invalid(path.to(JobSpec::PARALLELISM), pods, detail);
    }
    let Some(failed) = number(spec, JobSpec::MAX_FAILED_INDEXES) else { return };
    let path = path.to(JobSpec::MAX_FAILED_INDEXES);
    if completions.is_some_and(|completions| failed > completions) {
        cx.errors.invalid(path, failed, "must be less than or equal to completions");
    }
    if failed > MOST_FAILED {
        cx.errors.invalid(path, failed, format!("must be less than or equal to {MOST_FAILED}"));
    }
}

/// Where very many pods are numbered, failures are kept track of for few of them only.
fn many_completions(spec: View<'_, JobSpec>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let by_index = spec.field(JobSpec::BACKOFF_LIMIT_PER_INDEX).is_set();
    let completions = number(spec, JobSpec::COMPLETIONS).unwrap_or_default();
    if !by_index || completions <= MANY_COMPLETIONS {
        return;
    }
    if !spec.field(JobSpec::MAX_FAILED_INDEXES).is_set() {
        let detail = format!("must be specified when completions is above {MANY_COMPLETIONS}");
        cx.errors.required(path.to(JobSpec::MAX_FAILED_INDEXES), detail);
    }
    for field in [JobSpec::PARALLELISM, JobSpec::MAX_FAILED_INDEXES] {
        if let Some(count) = number(spec, field).filter(|count| *count > MOST_WITH_MANY) {
            let detail = format!(
                "must be less than or equal to {MOST_WITH_MANY} when completions are above {MANY_COMPLETIONS} and \
                 used with backoff limit per index"
            );
            cx.errors.invalid(path.to(field), count, detail);
        }
    }
}

/// The indexes that early success is decided by are indexes of the job.
pub fn success_policy(spec: At<'_, JobSpec>, cx: &mut ValidationContext<'_>) {
    let policy = spec.new.field(JobSpec::SUCCESS_POLICY).some().filter(|_| is_indexed(spec.new));
    let Some(policy) = policy else { return };
    let completions = number(spec.new, JobSpec::COMPLETIONS).unwrap_or_default();
    let path = spec.path.to(JobSpec::SUCCESS_POLICY);
    let path = path.to(SuccessPolicy::RULES);
    At { new: policy.field(SuccessPolicy::RULES), old: None, path: &path }
        .each(|rule| success_rule(rule, completions.into(), cx));
}

fn success_rule(rule: At<'_, SuccessPolicyRule>, completions: i64, cx: &mut ValidationContext<'_>) {
    let indexes = rule.new.field(SuccessPolicyRule::SUCCEEDED_INDEXES).some();
    let named = indexes.map(|indexes| {
        let text = indexes.value().as_str().unwrap_or_default();
        indexes::count(text, completions).unwrap_or_else(|why| {
            let path = rule.path.to(SuccessPolicyRule::SUCCEEDED_INDEXES);
            cx.errors.invalid(path, text, format!("error parsing succeededIndexes: {why}"));
            0
        })
    });
    let count = rule.new.field(SuccessPolicyRule::SUCCEEDED_COUNT).some().map(|count| i64::from(count.get()));
    let Some(count) = count else { return };
    let path = rule.path.to(SuccessPolicyRule::SUCCEEDED_COUNT);
    let limits = [
        Some((completions, "specified completions")),
        named.map(|named| (named, "indexes in the specified succeededIndexes field")),
    ];
    for (limit, what) in limits.into_iter().flatten().filter(|(limit, _)| count > *limit) {
        let detail = format!("must be less than or equal to {limit} (the number of {what})");
        cx.errors.invalid(path, count, detail);
    }
}

/// An error that shows no value.
pub(super) fn invalid_without_value(path: impl ErrorPath, detail: &str, cx: &mut ValidationContext<'_>) {
    cx.errors.push(ErrorKind::Invalid, path, None::<Value>, detail);
}
