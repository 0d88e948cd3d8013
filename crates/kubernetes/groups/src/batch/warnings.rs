//! Warnings of jobs: those of the pod template, and those of the job.
//!
//! Warnings never reject a request. Texts are kube-apiserver's.

use crate::core::rules::template_warnings::{has_new_spec, name_for_pods, template_in};
use crate::rules::warnings::Written;
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{CompletionMode, CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};

/// A job with more completions than this, and more pods at once than the other, may lose track of them.
const MANY_COMPLETIONS: i32 = 100_000;
const MANY_PODS: i32 = 10_000;

pub fn job(written: &Written<'_>, warnings: &mut Vec<String>) {
    name_for_pods(written, warnings);
    if has_new_spec(written) {
        job_spec(written.object, &[Job::SPEC.name()], warnings);
    }
}

pub fn cron_job(written: &Written<'_>, warnings: &mut Vec<String>) {
    name_for_pods(written, warnings);
    let (spec, of_job) = (CronJob::SPEC.name(), JobTemplateSpec::SPEC.name());
    if has_new_spec(written) {
        job_spec(written.object, &[spec, CronJobSpec::JOB_TEMPLATE.name(), of_job], warnings);
    }
    let schedule = written.view::<CronJob>().field(CronJob::SPEC).field(CronJobSpec::SCHEDULE);
    if !written.is_new() && written.subresource.is_empty() && schedule.as_str().contains("TZ") {
        warnings.push(
            "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
             https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                .to_owned(),
        );
    }
}

fn job_spec(object: &Value, fields: &[&str], warnings: &mut Vec<String>) {
    let Some(spec) = object.at(fields) else { return };
    let spec = View::<JobSpec>::new(spec);
    let is_indexed = spec.field(JobSpec::COMPLETION_MODE).get() == Some(CompletionMode::INDEXED);
    let count = |count: Option<i32>| count.unwrap_or_default();
    if is_indexed
        && count(spec.field(JobSpec::COMPLETIONS).get()) > MANY_COMPLETIONS
        && count(spec.field(JobSpec::PARALLELISM).get()) > MANY_PODS
    {
        warnings.push(format!(
            "{}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail",
            fields.join(".")
        ));
    }
    template_in(object, &[fields, &[JobSpec::TEMPLATE.name()]].concat(), warnings);
}
