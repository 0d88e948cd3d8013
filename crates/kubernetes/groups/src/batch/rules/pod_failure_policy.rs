//! Rules of the policies for failed pods of a job.

use crate::rules::items;
use pintle_schema::View;
use pintle_types::batch::v1::{
    CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec, PodFailurePolicy, PodFailurePolicyRule,
};
use pintle_types::core::v1::{Container, PodSpec, PodTemplateSpec};
use pintle_validation::{At, ErrorKind, ValidationContext};

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
pub(super) fn job_spec<'a>(cx: &ValidationContext<'a>) -> View<'a, JobSpec> {
    let made = cx.root::<CronJob>().field(CronJob::SPEC).field(CronJobSpec::JOB_TEMPLATE);
    match made.value().is_null() {
        true => cx.root::<Job>().field(Job::SPEC),
        false => made.field(JobTemplateSpec::SPEC),
    }
}

/// A rule matches exit codes or conditions of pods.
pub fn one_requirement(rule: At<'_, PodFailurePolicyRule>, cx: &mut ValidationContext<'_>) {
    let by_exit_codes = rule.new.field(PodFailurePolicyRule::ON_EXIT_CODES).is_set();
    let by_conditions = rule.new.field(PodFailurePolicyRule::ON_POD_CONDITIONS).is_set();
    let detail = match (by_exit_codes, by_conditions) {
        (false, false) => "specifying one of OnExitCodes and OnPodConditions is required",
        (true, true) => "specifying both OnExitCodes and OnPodConditions is not supported",
        _ => return,
    };
    cx.errors.push(ErrorKind::Invalid, rule.path, None, detail);
}

/// Only jobs that count failures by index can fail an index.
pub fn fails_known_indexes(policy: At<'_, Option<PodFailurePolicy>>, cx: &mut ValidationContext<'_>) {
    let Some(policy) = policy.some() else { return };
    if job_spec(cx).field(JobSpec::BACKOFF_LIMIT_PER_INDEX).is_set() {
        return;
    }
    let list = policy.path.to(PodFailurePolicy::RULES);
    for (index, rule) in policy.new.field(PodFailurePolicy::RULES).iter().enumerate() {
        let action = rule.field(PodFailurePolicyRule::ACTION).value();
        if action.as_str() == Some("FailIndex") {
            let path = list.index(index);
            let detail = "requires the backoffLimitPerIndex to be set";
            cx.errors.invalid(path.to(PodFailurePolicyRule::ACTION), action.clone(), detail);
        }
    }
}

/// Exit codes are in order.
pub fn exit_codes(codes: At<'_, Vec<i32>>, cx: &mut ValidationContext<'_>) {
    if !items(codes.new).is_sorted_by_key(|code| code.as_i64().unwrap_or_default()) {
        cx.errors.invalid(codes.path, codes.new.value().clone(), "must be ordered");
    }
}
