//! Types of `batch/v1beta1`: jobs and cron jobs.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, same_as};

use crate::batch::v1::JobSpec;
use crate::core::v1::ObjectReference;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1::{ConcurrencyPolicy, CronJob, CronJobList, CronJobStatus, JobTemplateSpec} }

/// Desired state of a CronJob.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CronJobSpec {
    /// When to run, in the five-field cron format, such as "*/15 `*` `*` `*` *", or a macro like
    /// "@hourly".
    #[k8s(proto = 1, published = required, always)]
    pub schedule: String,
    /// Time zone of the schedule by its tz database name, such as "Europe/Paris"; absent uses the
    /// local zone of the controller.
    #[k8s(proto = 8, optional)]
    pub time_zone: Option<String>,
    /// Seconds a run may start late; runs missed by more are skipped. Absent sets no deadline.
    #[k8s(proto = 2, optional)]
    pub starting_deadline_seconds: Option<i64>,
    /// What happens when a run is due while the last one is still active: "Allow" (the default),
    /// "Forbid" or "Replace".
    #[k8s(proto = 3, optional)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// True starts no further runs and leaves active ones alone; defaults to false.
    #[k8s(proto = 4, optional)]
    pub suspend: Option<bool>,
    /// Template for the Job made for every run.
    #[k8s(proto = 5, always)]
    pub job_template: JobTemplateSpec,
    /// Number of successful finished Jobs to keep; defaults to 3.
    #[k8s(proto = 6, optional)]
    pub successful_jobs_history_limit: Option<i32>,
    /// Number of failed finished Jobs to keep; defaults to 1.
    #[k8s(proto = 7, optional)]
    pub failed_jobs_history_limit: Option<i32>,
}
