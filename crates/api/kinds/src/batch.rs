//! The `batch` group: jobs and their schedules.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Selectable, Storage, Subresource};
use crate::strategy::{GarbageCollection, SPEC_PATHS, STATUS, Strategy, WITH_STATUS};
use pintle_types::batch::{v1};

pub(crate) static RESOURCES: &[&Resource] = &[&CRON_JOBS, &JOBS];

static CRON_JOB_STRATEGY: Strategy = Strategy {
    generation: Some(SPEC_PATHS),
    ..WITH_STATUS
};

static JOB_STRATEGY: Strategy = Strategy {
    garbage_collection: GarbageCollection::Orphan,
    generation: Some(SPEC_PATHS),
    // TODO prepareCreate: manualSelector not true: template labels job-name, batch.kubernetes.io/job-name = metadata.name and controller-uid, batch.kubernetes.io/controller-uid = metadata.uid added where missing; selector.matchLabels["batch.kubernetes.io/controller-uid"] = uid added where missing
    ..WITH_STATUS
};

static CRON_JOBS: Resource = Resource {
    short_names: &["cj"],
    categories: &["all"],
    storage: Some(Storage::of::<v1::CronJob>("batch/v1", "CronJob", "/registry/cronjobs/", "sd5LIXh4Fjs=")),
    subresources: &[
        Subresource::status::<v1::CronJob>("CronJob", &STATUS),
    ],
    strategy: &CRON_JOB_STRATEGY,
    ..Resource::namespaced::<v1::CronJob>("batch", "v1", "cronjobs", "cronjob", "CronJob")
};

static JOBS: Resource = Resource {
    categories: &["all"],
    storage: Some(Storage::of::<v1::Job>("batch/v1", "Job", "/registry/jobs/", "mudhfqk/qZY=")),
    subresources: &[
        Subresource::status::<v1::Job>("Job", &STATUS),
    ],
    selectable: &[
        Selectable::path("status.successful", &["status", "successful"]),
    ],
    selector_refusal: "field label \"{label}\" not supported for Job",
    strategy: &JOB_STRATEGY,
    ..Resource::namespaced::<v1::Job>("batch", "v1", "jobs", "job", "Job")
};
