//! The `batch` group: jobs and their schedules.
//!
//! A job without `manualSelector` gets generated labels and a generated selector when it is created.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;
mod warnings;

use crate::core;
use crate::core::pod_spec;
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{
    Context, GarbageCollection, Group, Resource, SPEC_PATHS, STATUS, Selectable, Storage, Strategy, Subresource,
    Unserved, WITH_STATUS,
};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::batch::{v1, v1beta1};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use v1::{CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default()
        .rules(&[&rules::GROUP])
        .defaults(defaults::RULES)
        .rules(core::rules::ALL)
        .defaults(&core::defaults::ALL.concat());
    Group {
        name: Str::new_static("batch"),
        priority: Some(17400),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![cron_jobs(), jobs()]),
        internal: Vec::new(),
    }
}

fn cron_jobs() -> Resource {
    Resource {
        storage: Some(Storage::of::<CronJob>()),
        subresources: vec![Subresource::status::<CronJob>(&STATUS)],
        strategy: &CRON_JOB,
        printer: printer(&columns::CRON_JOB),
        warn: Some(warnings::cron_job),
        unserved: vec![Unserved::same::<v1beta1::CronJob>()],
        ..Resource::of::<CronJob>()
    }
}

fn jobs() -> Resource {
    Resource {
        storage: Some(Storage::of::<Job>()),
        subresources: vec![Subresource::status::<Job>(&STATUS)],
        selectable: vec![Selectable::path("status.successful", &["status", "succeeded"])],
        selector_refusal: Str::new_static("field label \"{label}\" not supported for Job"),
        strategy: &JOB,
        printer: printer(&columns::JOB),
        warn: Some(warnings::job),
        ..Resource::of::<Job>()
    }
}

static CRON_JOB: Strategy =
    Strategy { generation: Some(SPEC_PATHS), normalize: Some(normalize_cron_job), ..WITH_STATUS };

static JOB: Strategy = Strategy {
    garbage_collection: GarbageCollection::Orphan,
    orphan_warning: "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to \
                     remove them or set propagationPolicy=Orphan to suppress this warning",
    generation: Some(SPEC_PATHS),
    prepare_create: Some(choose_pods),
    normalize: Some(|object| {
        let spec = ViewMut::<Job>::new(object).field(Job::SPEC);
        pod_spec::normalize_template(spec.field(JobSpec::TEMPLATE));
    }),
    ..WITH_STATUS
};

const JOB_NAME_LABELS: [&str; 2] = ["job-name", "batch.kubernetes.io/job-name"];
const CONTROLLER_UID_LABEL: &str = "batch.kubernetes.io/controller-uid";
const CONTROLLER_UID_LABELS: [&str; 2] = ["controller-uid", CONTROLLER_UID_LABEL];

fn normalize_cron_job(object: &mut Value) {
    let spec = ViewMut::<CronJob>::new(object).field(CronJob::SPEC);
    let job = spec.field(CronJobSpec::JOB_TEMPLATE).field(JobTemplateSpec::SPEC);
    pod_spec::normalize_template(job.field(JobSpec::TEMPLATE));
}

/// Labels the template with the job's uid, and selects by it. Labels of the client are kept: validation reports
/// conflicts.
fn choose_pods(object: &mut Value, context: &mut Context) {
    let mut job = ViewMut::<Job>::new(object);
    let metadata = job.view().field(Job::METADATA);
    let (name, uid) = (metadata.field(ObjectMeta::NAME).get(), metadata.field(ObjectMeta::UID).get());
    let own_labels = metadata.field(ObjectMeta::LABELS).get();
    let mut spec = job.by_ref().field(Job::SPEC);
    if spec.view().field(JobSpec::MANUAL_SELECTOR).get() == Some(true) {
        return;
    }
    let template = spec.by_ref().field(JobSpec::TEMPLATE).field(PodTemplateSpec::METADATA);
    // A job that has its labels from its template by default shares them, and with them what is added to those.
    let shared = !context.sent_labels && !own_labels.is_empty();
    let labels = template.field(ObjectMeta::LABELS).raw().make_map();
    let wanted = JOB_NAME_LABELS.iter().map(|label| (label, &name));
    for (label, value) in wanted.chain(CONTROLLER_UID_LABELS.iter().map(|label| (label, &uid))) {
        if !labels.contains_key(label) {
            labels.set(*label, value.as_str());
        }
    }
    let labels = labels.clone();
    let selector = spec.field(JobSpec::SELECTOR).or_zero().field(LabelSelector::MATCH_LABELS).raw().make_map();
    if !selector.contains_key(CONTROLLER_UID_LABEL) {
        selector.set(CONTROLLER_UID_LABEL, uid);
    }
    if shared {
        *job.field(Job::METADATA).field(ObjectMeta::LABELS).raw() = Value::Map(labels);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::value;

    #[test]
    fn a_job_chooses_its_pods() {
        let job = created(
            &jobs(),
            value!({
                "metadata": {"name": "a", "uid": "u"},
                "spec": {"template": {"metadata": {"labels": {"job-name": "mine"}}}}
            }),
        );
        let labels = value!({
            "batch.kubernetes.io/controller-uid": "u", "batch.kubernetes.io/job-name": "a", "controller-uid": "u",
            "job-name": "mine"
        });
        assert_eq!(job.at(&["spec", "template", "metadata", "labels"]), Some(&labels));
        let selector = value!({"matchLabels": {"batch.kubernetes.io/controller-uid": "u"}});
        assert_eq!(job.at(&["spec", "selector"]), Some(&selector));
    }

    #[test]
    fn unless_told_not_to() {
        let job = created(&jobs(), value!({"metadata": {"name": "a", "uid": "u"}, "spec": {"manualSelector": true}}));
        assert_eq!(job.at(&["spec", "selector"]), None);
    }
}
