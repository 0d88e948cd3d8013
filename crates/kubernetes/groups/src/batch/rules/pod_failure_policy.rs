//! Rules of the policies for failed pods of a job.

use crate::rules::items;
use pintle_schema::View;
use pintle_types::batch::v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use pintle_types::core::v1::{Container, PodSpec, PodTemplateSpec};
use pintle_validation::{At, ValidationContext};

/// Exit codes of one container are those of a container that there is.
pub fn container_name(name: At<'_, Option<String>>, cx: &mut ValidationContext<'_>) {
    let Some(name) = name.some() else { return };
    let text = name.new.as_str();
    let pod = job_spec(cx).field(JobSpec::TEMPLATE).field(PodTemplateSpec::SPEC);
    let is_one_of = |containers: View<'_, Vec<Container>>| {
        containers.iter().any(|container| container.field(Container::NAME).as_str() == text)
    };
    if !is_one_of(pod.field(PodSpec::CONTAINERS)) && !is_one_of(pod.field(PodSpec::INIT_CONTAINERS)) {
        let detail = "must be one of the container or initContainer names in the pod template";
        cx.errors.invalid(name.path, text, detail);
    }
}

/// The spec of the job that is validated, or of the jobs that a cron job makes.
fn job_spec<'a>(cx: &ValidationContext<'a>) -> View<'a, JobSpec> {
    let made = cx.root::<CronJob>().field(CronJob::SPEC).field(CronJobSpec::JOB_TEMPLATE);
    match made.value().is_null() {
        true => cx.root::<Job>().field(Job::SPEC),
        false => made.field(JobTemplateSpec::SPEC),
    }
}

/// Exit codes are in order.
pub fn exit_codes(codes: At<'_, Vec<i32>>, cx: &mut ValidationContext<'_>) {
    if !items(codes.new).is_sorted_by_key(|code| code.as_i64().unwrap_or_default()) {
        cx.errors.invalid(codes.path, codes.new.value().clone(), "must be ordered");
    }
}
