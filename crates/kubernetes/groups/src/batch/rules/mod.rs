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
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order, pass};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        create: &[
            pass!(Job, job::metadata_of_new),
            pass!(Job, job::generated_selector),
            Pass::Rules,
            pass!(Job, job::names_of_pods),
        ],
        // kube-apiserver validates the spec once as a new job's and once more as a changed one's: each cause stands
        // twice.
        update: &[
            Pass::Metadata,
            pass!(Job, job::generated_selector),
            Pass::Rules,
            pass!(Job, job::names_of_pods),
            Pass::MetadataUpdate,
            Pass::Field(Job::SPEC.name()),
            pass!(Job, job::what_is_fixed),
        ],
        ..KindRules::of(Job::schema)
    },
    // kube-apiserver validates nothing of a status.
    KindRules { parts: &[("status", &[])], ..KindRules::of(CronJob::schema) },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(PodFailurePolicyOnExitCodesRequirement: [OPERATOR]),
    field_order!(JobSpec: [
        PARALLELISM, COMPLETIONS, ACTIVE_DEADLINE_SECONDS, BACKOFF_LIMIT, TTL_SECONDS_AFTER_FINISHED,
        BACKOFF_LIMIT_PER_INDEX, MAX_FAILED_INDEXES, MANAGED_BY, COMPLETION_MODE, POD_FAILURE_POLICY, SUCCESS_POLICY,
        POD_REPLACEMENT_POLICY, TEMPLATE
    ]),
    field_order!(JobStatus: [ACTIVE, SUCCEEDED, FAILED, READY, TERMINATING]),
    field_order!(CronJobSpec: [SCHEDULE, STARTING_DEADLINE_SECONDS, TIME_ZONE]),
];

static RULES: &[CustomRule] = &[
    at_field!(JobSpec::MANAGED_BY, job_spec::manager),
    at_field!(JobSpec::COMPLETION_MODE, job_spec::fits_mode, phase = After, ALWAYS),
    at_field!(JobSpec::POD_FAILURE_POLICY, pod_failure_policy::fails_known_indexes, ALWAYS),
    at_field!(JobSpec::TEMPLATE, job_spec::restart_policy, phase = After, ALWAYS),
    at_type!(PodFailurePolicyRule, pod_failure_policy::one_requirement, phase = After),
    at_field!(PodFailurePolicyOnExitCodesRequirement::CONTAINER_NAME, pod_failure_policy::container_name, ALWAYS),
    at_field!(PodFailurePolicyOnExitCodesRequirement::VALUES, pod_failure_policy::exit_codes, phase = After),
    at_type!(JobSpec, job_spec::success_policy, phase = After),
    at_field!(Job::SPEC, job::selects_its_pods, phase = After, ON_CREATE | ON_UPDATE),
    at_type!(JobStatus, job_status::counted_once, phase = After, ON_PART),
    at_type!(JobStatus, job_status::is_consistent, phase = After, ON_PART),
    at_field!(Job::STATUS, job_status::moves_forward, phase = After, ON_PART),
    at_field!(CronJobSpec::SCHEDULE, cron_job::one_time_zone, phase = After, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(JobTemplateSpec, cron_job::selects_automatically, phase = After),
    at_type!(CronJob, cron_job::short_name, phase = After, ON_CREATE),
];

#[cfg(test)]
mod tests;
