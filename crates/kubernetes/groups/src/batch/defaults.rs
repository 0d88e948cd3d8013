//! Defaults of the batch group that depend on other fields of a job.
//!
//! They are defaults of `Job`, not of its spec: the template of a cron job is defaulted when a job is created from it.

use crate::defaulting::Rule;
use crate::defaulting::fields::{is_null, put, set_if_null};
use pintle_schema::{ApiType, Value, View};
use pintle_types::batch::v1::{CompletionMode, Job, JobSpec, PodReplacementPolicy};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::ObjectMeta;

pub const RULES: &[Rule] = &[(Job::schema, job_spec), (Job::schema, job_labels)];

fn job_spec(job: &mut Value) {
    let spec = job.map_entry(Job::SPEC.name());
    if is_null(spec, JobSpec::COMPLETIONS) && is_null(spec, JobSpec::PARALLELISM) {
        set_if_null(spec, JobSpec::COMPLETIONS, 1);
    }
    set_if_null(spec, JobSpec::PARALLELISM, 1);
    // With a limit per index the limit of the whole must not come first.
    let backoff_limit = if is_null(spec, JobSpec::BACKOFF_LIMIT_PER_INDEX) { 6 } else { i32::MAX };
    set_if_null(spec, JobSpec::BACKOFF_LIMIT, backoff_limit);
    set_if_null(spec, JobSpec::COMPLETION_MODE, CompletionMode::NON_INDEXED);
    set_if_null(spec, JobSpec::SUSPEND, false);
    let replacement = match is_null(spec, JobSpec::POD_FAILURE_POLICY) {
        true => PodReplacementPolicy::TERMINATING_OR_FAILED,
        false => PodReplacementPolicy::FAILED,
    };
    set_if_null(spec, JobSpec::POD_REPLACEMENT_POLICY, replacement);
    set_if_null(spec, JobSpec::MANUAL_SELECTOR, false);
}

fn job_labels(job: &mut Value) {
    let view = View::<Job>::new(job);
    let template = view.field(Job::SPEC).field(JobSpec::TEMPLATE).field(PodTemplateSpec::METADATA);
    let labels = template.field(ObjectMeta::LABELS).value();
    if labels.is_zero() || !view.field(Job::METADATA).field(ObjectMeta::LABELS).value().is_zero() {
        return;
    }
    let labels = labels.clone();
    put(job.map_entry(Job::METADATA.name()), ObjectMeta::LABELS, labels);
}
