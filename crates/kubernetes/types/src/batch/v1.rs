//! Types of `batch/v1`: jobs and cron jobs.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::core::v1::{ConditionStatus, ObjectReference, PodConditionType, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Runs pods until a given number of them has finished successfully.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "batch", plural = "jobs", categories("all"), namespaced))]
pub struct Job {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods and rules for completion and failure.
    #[k8s(proto = 2, optional, last(subfield(selector)(required)))]
    pub spec: JobSpec,
    /// Last observed progress; may lag behind.
    #[k8s(proto = 3, optional, last(subfield(failed)(monotonic = "cannot decrease the failed counter")))]
    pub status: JobStatus,
}

/// A list of Jobs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JobList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Job objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Job>,
}

string_type! {
    /// How the completions of a Job are counted.
    #[closed]
    pub CompletionMode {
        /// Any successful pods count, until there are enough of them.
        NON_INDEXED = "NonIndexed",
        /// Every index from 0 to completions minus 1 needs one successful pod.
        INDEXED = "Indexed",
    }
}

string_type! {
    /// What is done when a failed pod matches a rule.
    #[closed]
    pub PodFailurePolicyAction {
        /// The whole Job fails and its running pods are stopped.
        FAIL_JOB = "FailJob",
        /// The pod's index fails for good and is not retried; needs backoffLimitPerIndex.
        FAIL_INDEX = "FailIndex",
        /// The failure does not count toward the backoff limit; the pod is replaced.
        IGNORE = "Ignore",
        /// The failure counts toward the backoff limit, as without any rule.
        COUNT = "Count",
    }
}

string_type! {
    /// How a container's exit code is compared with the listed codes.
    #[closed]
    pub PodFailurePolicyOnExitCodesOperator {
        /// The exit code is one of the values.
        IN = "In",
        /// The exit code is none of the values.
        NOT_IN = "NotIn",
    }
}

string_type! {
    /// When a replacement for a pod is created.
    #[closed]
    pub PodReplacementPolicy {
        /// As soon as the pod is being deleted or has failed.
        TERMINATING_OR_FAILED = "TerminatingOrFailed",
        /// Only once the pod has fully ended in phase Failed.
        FAILED = "Failed",
    }
}

/// Matches failed pods by the exit codes of their containers; containers that exited with 0 are
/// left out.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodFailurePolicyOnExitCodesRequirement {
    /// Restricts the check to the container or init container of this name; absent checks all of
    /// them.
    #[k8s(proto = 1, optional)]
    pub container_name: Option<String>,
    /// How exit codes are compared with values: "In" or "NotIn".
    #[k8s(proto = 2, always, required = "valid values: [\"In\" \"NotIn\"]", enum)]
    pub operator: PodFailurePolicyOnExitCodesOperator,
    /// Exit codes to compare with, sorted and without repeats, from 1 to 255 entries. The code 0 is
    /// not allowed with "In".
    #[k8s(
        proto = 3,
        always,
        list_type = set,
        message(invalid = "at least one value is required")(min_items = 1),
        max_items = 255,
        when(operator = "In")(each_val(message(invalid = "must not be 0 for the In operator")(neq = 0))),
        unique
    )]
    pub values: Vec<i32>,
}

/// Matches failed pods by one of their conditions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodFailurePolicyOnPodConditionsPattern {
    /// Pod condition to look for, by exact name.
    #[k8s(proto = 1, always, format = "k8s-label-key")]
    pub r#type: PodConditionType,
    /// Status the condition must have; defaults to "True".
    #[k8s(
        proto = 2,
        published = optional,
        always,
        default = "True",
        required = "valid values: [\"False\" \"True\" \"Unknown\"]",
        enum("False", "True", "Unknown")
    )]
    pub status: ConditionStatus,
}

/// One way of handling failed pods; exactly one of onExitCodes and onPodConditions has to be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodFailurePolicyRule {
    /// What to do with a matching failure: "FailJob", "FailIndex", "Ignore" or "Count".
    #[k8s(proto = 1, always, required = "valid values: [\"Count\" \"FailIndex\" \"FailJob\" \"Ignore\"]", enum)]
    pub action: PodFailurePolicyAction,
    /// Matches by the exit codes of the pod's containers.
    #[k8s(proto = 2, optional)]
    pub on_exit_codes: Option<PodFailurePolicyOnExitCodesRequirement>,
    /// Matches when any of these patterns fits a condition of the pod; at most 20.
    #[k8s(proto = 3, optional, list_type = atomic, max_items = 20)]
    pub on_pod_conditions: Vec<PodFailurePolicyOnPodConditionsPattern>,
}

/// Rules that decide how failed pods affect the Job.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodFailurePolicy {
    /// Rules tried in order, of which the first match decides; pods matching none count toward the
    /// backoff limit. At most 20.
    #[k8s(proto = 1, always, list_type = atomic, max_items = 20)]
    pub rules: Vec<PodFailurePolicyRule>,
}

/// Rules by which a Job may be declared successful before all indexes are done.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SuccessPolicy {
    /// Rules tried in order; the first one met makes the Job succeed and stops its remaining pods.
    /// Between 1 and 20.
    #[k8s(
        proto = 1,
        always,
        list_type = atomic,
        required = "at least one rules must be specified when the successPolicy is specified",
        max_items = 20
    )]
    pub rules: Vec<SuccessPolicyRule>,
}

/// One criterion for early success; at least one of its fields has to be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    message(detail = "at least one of succeededCount or succeededIndexes must be specified")(
        at_least_one("succeededIndexes", "succeededCount")
    )
)]
pub struct SuccessPolicyRule {
    /// Indexes that count, as numbers and ranges such as "1,3-5". Without succeededCount all of
    /// them must succeed.
    #[k8s(proto = 1, optional, max_bytes = 65_536)]
    pub succeeded_indexes: Option<String>,
    /// Number of successful indexes needed, among succeededIndexes when given, otherwise among all.
    /// Must be positive.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub succeeded_count: Option<i32>,
}

/// Desired state of a Job.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "failedPodsLimit"))]
#[k8s(
    subfield(max_failed_indexes)(minimum = 0),
    subfield(backoff_limit_per_index)(when_set(max_failed_indexes)(required = "when maxFailedIndexes is specified"))
)]
pub struct JobSpec {
    /// Largest number of pods to run at a time; defaults to 1, and 0 pauses the Job.
    #[k8s(proto = 1, optional, minimum = 0)]
    pub parallelism: Option<i32>,
    /// Number of successful pods needed; required for indexed Jobs. When absent, success of any one
    /// pod completes the Job.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub completions: Option<i32>,
    /// Seconds the Job may be active before it is failed and its pods are stopped; absent means no
    /// limit. Suspending and resuming restarts the clock.
    #[k8s(proto = 3, optional, minimum = 0)]
    pub active_deadline_seconds: Option<i64>,
    /// Rules for handling failed pods; absent counts every failure toward the backoff limit. Needs
    /// the pods' restartPolicy to be "Never".
    #[k8s(proto = 11, optional)]
    pub pod_failure_policy: Option<PodFailurePolicy>,
    /// Rules for declaring an indexed Job successful early; absent requires all completions.
    #[k8s(
        proto = 16,
        optional,
        unless(completion_mode = "Indexed")(message(invalid = "requires indexed completion mode")(forbidden))
    )]
    pub success_policy: Option<SuccessPolicy>,
    /// Number of pod failures tolerated before the whole Job fails; defaults to 6, or to no
    /// practical limit when backoffLimitPerIndex is set.
    #[k8s(proto = 7, optional, minimum = 0)]
    pub backoff_limit: Option<i32>,
    /// Number of failures tolerated for each index of an indexed Job before that index fails for
    /// good; cannot be changed.
    #[k8s(proto = 12, optional, minimum = 0)]
    pub backoff_limit_per_index: Option<i32>,
    /// Number of failed indexes tolerated before the whole Job fails; absent runs all indexes
    /// regardless. Requires backoffLimitPerIndex.
    #[k8s(proto = 13, optional)]
    pub max_failed_indexes: Option<i32>,
    /// Chooses the Job's pods by label. Normally generated by the server; set it only together with
    /// manualSelector.
    #[k8s(proto = 4, optional, opaque_type)]
    pub selector: Option<LabelSelector>,
    /// True uses your own labels and selector in place of generated unique ones; you must then make
    /// sure no other pods match.
    #[k8s(proto = 5, optional)]
    pub manual_selector: Option<bool>,
    /// Template for the Job's pods; their restartPolicy must be "Never" or "OnFailure".
    #[k8s(proto = 6, always)]
    pub template: PodTemplateSpec,
    /// Seconds after finishing until the Job may be removed automatically; 0 means right away,
    /// absent means never.
    #[k8s(proto = 8, optional, minimum = 0)]
    pub ttl_seconds_after_finished: Option<i32>,
    /// How completions are counted: "NonIndexed" (the default) or "Indexed".
    #[k8s(proto = 9, optional, enum("NonIndexed", "Indexed"))]
    pub completion_mode: Option<CompletionMode>,
    /// True stops the Job from running pods and deletes active ones; setting it back to false
    /// starts over. Defaults to false.
    #[k8s(proto = 10, optional)]
    pub suspend: Option<bool>,
    /// When replacements for pods are made: "TerminatingOrFailed" (the default) or "Failed", the
    /// only choice with a podFailurePolicy.
    #[k8s(
        proto = 14,
        optional,
        when_set(pod_failure_policy)(enum("Failed")),
        when_unset(pod_failure_policy)(enum("Failed", "TerminatingOrFailed"))
    )]
    pub pod_replacement_policy: Option<PodReplacementPolicy>,
    /// Controller responsible for the Job, as a domain-prefixed path such as "example.com/queue".
    /// Absent means the built-in controller; cannot be changed.
    #[k8s(proto = 15, optional, gate = pintle_gates::JOB_MANAGED_BY, last(max_bytes = 63))]
    pub managed_by: Option<String>,
}

/// Observed state of a Job.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JobStatus {
    /// Latest observed conditions; a Job is finished once "Complete" or "Failed" is True.
    #[k8s(proto = 1, optional, list_type = atomic, patch_strategy = "merge", patch_merge_key = "type")]
    pub conditions: Vec<JobCondition>,
    /// When the controller began working on the Job; reset whenever a suspended Job is resumed.
    #[k8s(proto = 2, optional)]
    pub start_time: Option<Time>,
    /// When the Job completed successfully; absent while running and after a failure.
    #[k8s(proto = 3, optional)]
    pub completion_time: Option<Time>,
    /// Number of pods that are pending or running and not being deleted.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub active: i32,
    /// Number of pods that ended successfully.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub succeeded: i32,
    /// Number of pods that ended in failure.
    #[k8s(proto = 6, optional, minimum = 0)]
    pub failed: i32,
    /// Number of pods being deleted that have not ended yet; absent when not tracked.
    #[k8s(proto = 11, optional, minimum = 0)]
    pub terminating: Option<i32>,
    /// Indexes that succeeded in an indexed Job, as numbers and ranges such as "1,3-5".
    #[k8s(proto = 7, optional)]
    pub completed_indexes: String,
    /// Indexes that failed for good, as numbers and ranges; present only with backoffLimitPerIndex.
    #[k8s(proto = 10, optional)]
    pub failed_indexes: Option<String>,
    /// EndedFuture pods that the counters do not include yet; bookkeeping for the controller.
    #[k8s(proto = 8, optional)]
    pub uncounted_terminated_pods: Option<UncountedTerminatedPods>,
    /// Number of active pods that are ready.
    #[k8s(proto = 9, minimum = 0)]
    pub ready: Option<i32>,
}

/// EndedFuture pods waiting to be added to the counters of a Job.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UncountedTerminatedPods {
    /// UIDs of pods that succeeded and are not counted yet.
    #[k8s(proto = 1, optional, list_type = set, each_val(message(invalid = "must not be empty")(neq = "")))]
    pub succeeded: Vec<String>,
    /// UIDs of pods that failed and are not counted yet.
    #[k8s(proto = 2, optional, list_type = set, each_val(message(invalid = "must not be empty")(neq = "")))]
    pub failed: Vec<String>,
}

string_type! {
    /// Type of a Job condition.
    pub JobConditionType {
        /// The Job is suspended.
        SUSPENDED = "Suspended",
        /// The Job finished successfully.
        COMPLETE = "Complete",
        /// The Job finished in failure.
        FAILED = "Failed",
        /// The Job is bound to fail; its pods are being stopped first.
        FAILURE_TARGET = "FailureTarget",
        /// The Job is bound to succeed; its pods are being stopped first.
        SUCCESS_CRITERIA_MET = "SuccessCriteriaMet",
    }
}

/// One observed aspect of the state of a Job.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JobCondition {
    /// Name of the aspect, such as "Complete" or "Failed".
    #[k8s(proto = 1, always)]
    pub r#type: JobConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the condition was last checked.
    #[k8s(proto = 3, optional)]
    pub last_probe_time: Time,
    /// When the status last changed.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the last change.
    #[k8s(proto = 5, optional)]
    pub reason: String,
    /// Explanation of the last change for people to read.
    #[k8s(proto = 6, optional)]
    pub message: String,
}

/// Template for Jobs created on a schedule.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct JobTemplateSpec {
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired state of each created Job.
    #[k8s(proto = 2, optional)]
    pub spec: JobSpec,
}

/// Creates Jobs repeatedly according to a schedule.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "batch", plural = "cronjobs", short_names("cj"), categories("all"), namespaced))]
pub struct CronJob {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Schedule and Job template.
    #[k8s(proto = 2, published = required)]
    pub spec: CronJobSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: CronJobStatus,
}

/// A list of CronJobs.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CronJobList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The CronJob objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<CronJob>,
}

/// Desired state of a CronJob.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CronJobSpec {
    /// When to run, in the five-field cron format, such as "*/15 `*` `*` `*` *", or a macro like
    /// "@hourly".
    #[k8s(proto = 1, always, required, format = "cron-schedule")]
    pub schedule: String,
    /// Time zone of the schedule by its tz database name, such as "Europe/Paris"; absent uses the
    /// local zone of the controller.
    #[k8s(proto = 8, optional, format = "time-zone")]
    pub time_zone: Option<String>,
    /// Seconds a run may start late; runs missed by more are skipped. Absent sets no deadline.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub starting_deadline_seconds: Option<i64>,
    /// What happens when a run is due while the last one is still active: "Allow" (the default),
    /// "Forbid" or "Replace".
    #[k8s(proto = 3, optional, default = "Allow", enum)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// True starts no further runs and leaves active ones alone; defaults to false.
    #[k8s(proto = 4, optional, default = false)]
    pub suspend: Option<bool>,
    /// Template for the Job made for every run.
    #[k8s(proto = 5, always)]
    pub job_template: JobTemplateSpec,
    /// Number of successful finished Jobs to keep; defaults to 3.
    #[k8s(proto = 6, optional, default = 3, minimum = 0)]
    pub successful_jobs_history_limit: Option<i32>,
    /// Number of failed finished Jobs to keep; defaults to 1.
    #[k8s(proto = 7, optional, default = 1, minimum = 0)]
    pub failed_jobs_history_limit: Option<i32>,
}

string_type! {
    /// How overlapping runs of a CronJob are treated.
    #[closed]
    pub ConcurrencyPolicy {
        /// Runs may overlap.
        ALLOW = "Allow",
        /// A run is skipped while the previous one is active.
        FORBID = "Forbid",
        /// The active run is cancelled and the new one takes its place.
        REPLACE = "Replace",
    }
}

/// Observed state of a CronJob.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct CronJobStatus {
    /// Jobs of this CronJob that are currently running.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub active: Vec<ObjectReference>,
    /// The scheduled time of the most recent run that was started.
    #[k8s(proto = 4, optional)]
    pub last_schedule_time: Option<Time>,
    /// When a run most recently completed successfully.
    #[k8s(proto = 5, optional)]
    pub last_successful_time: Option<Time>,
}
