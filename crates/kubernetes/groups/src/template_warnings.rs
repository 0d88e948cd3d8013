//! Warnings of the kinds that hold a template of pods: of the template, and of what such a kind adds.
//!
//! Warnings never refuse; texts are the reference's.

use crate::core::rules::pod::warnings::{name_for_host, of_template};
use crate::core::rules::volume::warnings::of_claim_spec;
use crate::rules::warnings::Written;
use pintle_schema::{Value, View};
use pintle_types::apps::v1::{
    DaemonSet, DaemonSetSpec, Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec, StatefulSet, StatefulSetSpec,
};
use pintle_types::batch::v1::{CompletionMode, CronJob, CronJobSpec, Job, JobSpec, JobTemplateSpec};
use pintle_types::core::v1::{
    PersistentVolumeClaim, Pod, PodTemplate, ReplicationController, ReplicationControllerSpec,
};
use pintle_validation::{FieldPath, same};

/// A job with more completions than this, and more pods at once than the other, may lose track of them.
const MANY_COMPLETIONS: i32 = 100_000;
const MANY_PODS: i32 = 10_000;

pub fn pod_template(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.has_new_generation() {
        template_in(written.object, &[PodTemplate::TEMPLATE.name()], warnings);
    }
}

pub fn deployment(written: &Written<'_>, warnings: &mut Vec<String>) {
    names_pods(written, warnings);
    if has_new_spec(written) {
        template_in(written.object, &[Deployment::SPEC.name(), DeploymentSpec::TEMPLATE.name()], warnings);
    }
}

pub fn replica_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    names_pods(written, warnings);
    if has_new_spec(written) {
        template_in(written.object, &[ReplicaSet::SPEC.name(), ReplicaSetSpec::TEMPLATE.name()], warnings);
    }
}

/// Of a changed controller the reference judges the template that is replaced.
pub fn replication_controller(written: &Written<'_>, warnings: &mut Vec<String>) {
    names_pods(written, warnings);
    if has_new_spec(written) {
        let fields = [ReplicationController::SPEC.name(), ReplicationControllerSpec::TEMPLATE.name()];
        template_in(written.old.unwrap_or(written.object), &fields, warnings);
    }
}

/// The generation of a daemon set counts more than its template.
pub fn daemon_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    let fields = [DaemonSet::SPEC.name(), DaemonSetSpec::TEMPLATE.name()];
    let template = |object: &Value| object.at(&fields).cloned().unwrap_or_default();
    let is_new = written.old.is_none_or(|old| !same(&template(old), &template(written.object)));
    if is_new && written.subresource.is_empty() {
        template_in(written.object, &fields, warnings);
    }
}

/// Warnings of the pods of a stateful set, of the claims that it makes for them, and of a history without an end.
pub fn stateful_set(written: &Written<'_>, warnings: &mut Vec<String>) {
    if has_new_spec(written) {
        template_in(written.object, &[StatefulSet::SPEC.name(), StatefulSetSpec::TEMPLATE.name()], warnings);
    }
    if !written.subresource.is_empty() {
        return;
    }
    let spec = written.view::<StatefulSet>().field(StatefulSet::SPEC);
    let path = FieldPath::new(StatefulSet::SPEC.name());
    let list = path.to(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES);
    for (index, claim) in spec.field(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES).iter().enumerate() {
        let claim = claim.field(PersistentVolumeClaim::SPEC);
        let place = list.index(index);
        // The reference names no field of a new claim, and one with a capital of another.
        if written.is_new() {
            of_claim_spec(claim, &place, warnings);
        } else {
            of_claim_spec(claim, &place.child("Spec"), warnings);
        }
    }
    if spec.field(StatefulSetSpec::REVISION_HISTORY_LIMIT).get().is_some_and(|limit| limit < 0) {
        let detail = "a negative value retains all historical revisions; a value >= 0 is recommended";
        warnings.push(format!("{}: {detail}", path.to(StatefulSetSpec::REVISION_HISTORY_LIMIT)));
    }
}

pub fn job(written: &Written<'_>, warnings: &mut Vec<String>) {
    names_pods(written, warnings);
    if has_new_spec(written) {
        job_spec(written.object, &[Job::SPEC.name()], warnings);
    }
}

pub fn cron_job(written: &Written<'_>, warnings: &mut Vec<String>) {
    names_pods(written, warnings);
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

/// Whether it is new, or changed in what its generation counts.
fn has_new_spec(written: &Written<'_>) -> bool {
    written.subresource.is_empty() && written.has_new_generation()
}

/// Warns of a name that is no host's name.
fn names_pods(written: &Written<'_>, warnings: &mut Vec<String>) {
    if written.is_new() {
        // Metadata stands at the same place in every object.
        let metadata = written.view::<Pod>().field(Pod::METADATA);
        name_for_host(metadata, "this is used in Pod names and hostnames", warnings);
    }
}

fn template_in(object: &Value, fields: &[&str], warnings: &mut Vec<String>) {
    if let Some(template) = object.at(fields) {
        of_template(View::new(template), &FieldPath::ROOT, fields, warnings);
    }
}
