//! Handwritten rules of the batch group.
//!
//! Files for jobs, for the spec that jobs and job templates share, and for cron jobs; this one is the table.

pub mod cron_job;
pub mod indexes;
pub mod job;
pub mod job_spec;
pub mod job_status;
pub mod pod_failure_policy;

use pintle_schema::ApiType;
use pintle_types::batch::v1::{
    CronJob, CronJobSpec, Job, JobSpec, JobStatus, JobTemplateSpec, PodFailurePolicyOnExitCodesRequirement,
    PodFailurePolicyRule,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        create: &[
            Step::Metadata,
            step!(Job, job::labels_of_its_own),
            step!(Job, job::generated_selector),
            Step::Rules,
            step!(Job, job::names_of_pods),
        ],
        // kube-apiserver validates the spec once as a new job's and once more as a changed one's: each cause stands
        // twice.
        update: &[
            Step::Metadata,
            step!(Job, job::generated_selector),
            Step::Rules,
            step!(Job, job::names_of_pods),
            Step::MetadataUpdate,
            Step::Field(Job::SPEC.name()),
            step!(Job, job::what_is_fixed),
        ],
        ..KindRules::of(Job::schema)
    },
    // kube-apiserver validates nothing of a status.
    KindRules { parts: &[("status", &[])], ..KindRules::of(CronJob::schema) },
];

static RULES: &[CustomRule] = &[
    at_field!(JobSpec::MANAGED_BY, job_spec::manager),
    at_field!(JobSpec::COMPLETION_MODE, job_spec::fits_mode, AFTER | ALWAYS),
    at_field!(JobSpec::POD_FAILURE_POLICY, pod_failure_policy::fails_known_indexes, ALWAYS),
    at_field!(JobSpec::TEMPLATE, job_spec::restart_policy, AFTER | ALWAYS),
    at_type!(PodFailurePolicyRule, pod_failure_policy::one_requirement, AFTER),
    at_field!(PodFailurePolicyOnExitCodesRequirement::CONTAINER_NAME, pod_failure_policy::container_name, ALWAYS),
    at_field!(PodFailurePolicyOnExitCodesRequirement::VALUES, pod_failure_policy::exit_codes, AFTER),
    at_type!(JobSpec, job_spec::success_policy, AFTER),
    at_field!(Job::SPEC, job::selects_its_pods, AFTER | ON_CREATE | ON_UPDATE),
    at_type!(JobStatus, job_status::counted_once, AFTER | ON_PART),
    at_type!(JobStatus, job_status::is_consistent, AFTER | ON_PART),
    at_field!(Job::STATUS, job_status::moves_forward, AFTER | ON_PART),
    at_field!(CronJobSpec::SCHEDULE, cron_job::one_time_zone, AFTER | ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(JobTemplateSpec, cron_job::selects_automatically, AFTER),
    at_type!(CronJob, cron_job::short_name, AFTER | ON_CREATE),
];

#[cfg(test)]
mod tests;
