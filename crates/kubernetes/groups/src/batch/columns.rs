//! Columns of the group `batch`.
//!
//! The status of a job is the first of its true conditions, in a fixed order.

use crate::printing::cells::*;
use crate::printing::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, boolean, integer, printers, string};
use pintle_resource::Now;
use pintle_schema::{Value, View};
use pintle_types::batch::v1::{
    CronJob, CronJobSpec, CronJobStatus, Job, JobCondition, JobConditionType, JobSpec, JobStatus, JobTemplateSpec,
};
use pintle_types::core::v1::ConditionStatus;

printers! {
    JOB: Job |job, now| {
        NAME => name(job),
        string("Status", "Where the job is in its life.") => status(job),
        string("Completions", "How many pods succeeded, of how many.") => completions(job),
        string("Duration", "How long the job has run.") => duration(job, now),
        AGE => age(job, now),
        CONTAINERS => containers(job.to(Job::SPEC).to(JobSpec::TEMPLATE)),
        IMAGES => images(job.to(Job::SPEC).to(JobSpec::TEMPLATE)),
        SELECTOR => selector(job.to(Job::SPEC).to(JobSpec::SELECTOR)),
    }
    CRON_JOB: CronJob |cron, now| {
        NAME => name(cron),
        string("Schedule", "When jobs are started, as cron writes it.")
            => text(cron.to(CronJob::SPEC).to(CronJobSpec::SCHEDULE)),
        string("Timezone", "Time zone of the schedule.")
            => text_or(cron.to(CronJob::SPEC).to(CronJobSpec::TIME_ZONE), NONE),
        boolean("Suspend", "Whether no jobs are started for now.") => suspended(cron),
        integer("Active", "How many jobs are running.") => count(cron.to(CronJob::STATUS).to(CronJobStatus::ACTIVE)),
        string("Last Schedule", "How long ago a job was started.")
            => since_or(cron.to(CronJob::STATUS).to(CronJobStatus::LAST_SCHEDULE_TIME), now, NONE).into(),
        AGE => age(cron, now),
        CONTAINERS => containers(job_spec(cron).to(JobSpec::TEMPLATE)),
        IMAGES => images(job_spec(cron).to(JobSpec::TEMPLATE)),
        SELECTOR => selector(job_spec(cron).to(JobSpec::SELECTOR)),
    }
}

fn status(job: View<'_, Job>) -> Value {
    let conditions = job.to(Job::STATUS).to(JobStatus::CONDITIONS);
    let holds = |ty: &JobConditionType| {
        find(conditions, JobCondition::TYPE, ty.as_str())
            .is_some_and(|condition| condition.to(JobCondition::STATUS).get() == ConditionStatus::TRUE)
    };
    let finished = [JobConditionType::COMPLETE, JobConditionType::FAILED];
    let unfinished =
        [JobConditionType::SUSPENDED, JobConditionType::FAILURE_TARGET, JobConditionType::SUCCESS_CRITERIA_MET];
    if let Some(ty) = finished.iter().find(|ty| holds(ty)) {
        ty.as_str().into()
    } else if deleted(job) {
        "Terminating".into()
    } else {
        unfinished.iter().find(|ty| holds(ty)).map_or("Running".into(), |ty| ty.as_str().into())
    }
}

fn completions(job: View<'_, Job>) -> Value {
    let succeeded = int_of(job.to(Job::STATUS).to(JobStatus::SUCCEEDED));
    let parallelism = int_of(job.to(Job::SPEC).to(JobSpec::PARALLELISM));
    match job.to(Job::SPEC).to(JobSpec::COMPLETIONS).get() {
        Some(completions) => format!("{succeeded}/{completions}").into(),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}").into(),
        None => format!("{succeeded}/1").into(),
    }
}

fn duration(job: View<'_, Job>, now: &Now) -> Value {
    let status = job.to(Job::STATUS);
    match status.to(JobStatus::START_TIME).seconds() {
        Some(start) => {
            let end = status.to(JobStatus::COMPLETION_TIME).seconds();
            end.map_or(*now, Now::At).since(start).into()
        }
        None => "".into(),
    }
}

/// A text although the column is a boolean: kube-apiserver prints it so.
fn suspended(cron: View<'_, CronJob>) -> Value {
    match cron.to(CronJob::SPEC).to(CronJobSpec::SUSPEND).get() {
        Some(true) => "True".into(),
        Some(false) => "False".into(),
        None => UNSET.into(),
    }
}

fn job_spec(cron: View<'_, CronJob>) -> View<'_, JobSpec> {
    cron.to(CronJob::SPEC).to(CronJobSpec::JOB_TEMPLATE).to(JobTemplateSpec::SPEC)
}
