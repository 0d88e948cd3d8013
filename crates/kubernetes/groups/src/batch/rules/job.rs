//! Rules of Job.

use super::job_spec::{is_indexed, number};
use crate::apps::rules::workload;
use crate::rules::internal_form::in_full_as_sent;
use crate::rules::label_selector;
use crate::rules::{immutable, label_selector as valid_selector};
use pintle_gates as gates;
use pintle_schema::{FieldName, Value, View, names, value};
use pintle_types::batch::v1::{Job, JobSpec, JobStatus};
use pintle_types::core::v1::{Affinity, Container, PodSpec, PodTemplateSpec, ResourceRequirements};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext, metadata as general, same, same_at};

const LEGACY_UID: &str = "controller-uid";
const LEGACY_NAME: &str = "job-name";
const UID: &str = "batch.kubernetes.io/controller-uid";
const NAME: &str = "batch.kubernetes.io/job-name";

/// The metadata of a new job. A job without labels gets those of its template when it is read again: generated ones are
/// validated in the template alone.
pub fn metadata_of_new(job: At<'_, Job>, cx: &mut ValidationContext<'_>) {
    let (metadata, labels) = (job.new.field(Job::METADATA), labels_of(job.new));
    let mut keys = labels.as_map().into_iter().flat_map(|map| map.keys());
    let is_generated = metadata.field(ObjectMeta::LABELS).value() == labels
        && keys.all(|key| [LEGACY_UID, LEGACY_NAME, UID, NAME].contains(&&**key));
    let (namespaced, name_check) = (cx.request.namespaced, cx.request.name_check);
    if is_generated {
        general::validate_create_but_labels(metadata.value(), namespaced, name_check, &mut cx.errors);
    } else {
        general::validate_create(metadata.value(), namespaced, name_check, &mut cx.errors);
        general::validate_kube_finalizers(metadata.value(), &mut cx.errors);
    }
}

/// Without `manualSelector`, the pods of a job have the labels of the job, and its selector matches them.
pub fn generated_selector(job: At<'_, Job>, cx: &mut ValidationContext<'_>) {
    let spec = job.new.field(Job::SPEC);
    if spec.field(JobSpec::MANUAL_SELECTOR).get() == Some(true) {
        return;
    }
    let Some(selector) = spec.field(JobSpec::SELECTOR).some() else { return };
    let metadata = job.new.field(Job::METADATA);
    let (uid, name) = (metadata.field(ObjectMeta::UID).as_str(), metadata.field(ObjectMeta::NAME).as_str());
    let prefixed = job.old.is_none_or(|old| {
        let labels = labels_of(old);
        labels.get(UID).is_some() && labels.get(NAME).is_some()
    });
    let labels = labels_of(job.new);
    let expected = [(LEGACY_UID, uid), (LEGACY_NAME, name), (UID, uid), (NAME, name)];
    let expected = &expected[..if prefixed { 4 } else { 2 }];
    for (key, value) in expected {
        let found = labels.get(key).and_then(Value::as_str);
        if found != Some(value) {
            let path = format!("spec.template.metadata.labels[{key}]");
            let detail = format!("must be '{value}'");
            match found {
                None => cx.errors.required(path, detail),
                Some(_) => cx.errors.invalid(path, labels.clone(), detail),
            }
        }
    }
    let mut own = Value::map();
    for (key, value) in expected {
        own.set_at(&[key], *value);
    }
    if label_selector::is_valid(selector) && !label_selector::selects(selector, &own) {
        cx.errors.invalid("spec.selector", selector.value().clone(), "`selector` not auto-generated");
    }
}

fn labels_of(job: View<'_, Job>) -> &Value {
    let template = job.field(Job::SPEC).field(JobSpec::TEMPLATE).field(PodTemplateSpec::METADATA);
    template.field(ObjectMeta::LABELS).value()
}

/// A job selects the pods that it makes.
pub fn selects_its_pods(spec: At<'_, JobSpec>, cx: &mut ValidationContext<'_>) {
    spec.field(JobSpec::SELECTOR, |selector| {
        selector.some().into_iter().for_each(|selector| valid_selector(selector, cx));
    });
    let selector = spec.new.field(JobSpec::SELECTOR);
    spec.field(JobSpec::TEMPLATE, |template| workload::labels_match(selector, template, cx));
}

/// The names that numbered pods get are names that pods can have.
pub fn names_of_pods(job: At<'_, Job>, cx: &mut ValidationContext<'_>) {
    let spec = job.new.field(Job::SPEC);
    let completions = number(spec, JobSpec::COMPLETIONS).unwrap_or_default();
    if !is_indexed(spec) || completions <= 0 {
        return;
    }
    let name = job.new.field(Job::METADATA).field(ObjectMeta::NAME).as_str();
    let last = format!("{name}-{}", completions - 1);
    if !names::dns1123_label(&last).is_empty() {
        let detail = format!("will not able to create pod with invalid DNS label: {last}");
        cx.errors.invalid("metadata.name", name, detail);
    }
}

/// The spec of a job is immutable, except for what elastic indexed jobs and suspended jobs may change.
pub fn what_is_fixed(job: At<'_, Job>, cx: &mut ValidationContext<'_>) {
    let Some(old) = job.old else { return };
    job.field(Job::SPEC, |spec| {
        completions(spec, old.field(Job::SPEC), cx);
        spec.field(JobSpec::SELECTOR, |selector| immutable(selector, cx));
        template(spec, old, cx);
        spec.field(JobSpec::COMPLETION_MODE, |mode| immutable(mode, cx));
        spec.field(JobSpec::POD_FAILURE_POLICY, |policy| {
            if !policy.unchanged() {
                let shown = in_full_as_sent(policy.new, cx.sent_empty_in(policy.path));
                cx.errors.immutable(policy.path, shown);
            }
        });
        spec.field(JobSpec::BACKOFF_LIMIT_PER_INDEX, |limit| immutable(limit, cx));
        spec.field(JobSpec::MANAGED_BY, |manager| immutable(manager, cx));
        spec.field(JobSpec::SUCCESS_POLICY, |policy| immutable(policy, cx));
    });
}

/// Numbered pods may become more or fewer when as many run at a time.
fn completions(spec: At<'_, JobSpec>, old: View<'_, JobSpec>, cx: &mut ValidationContext<'_>) {
    let (now, before) = (number(spec.new, JobSpec::COMPLETIONS), number(old, JobSpec::COMPLETIONS));
    if now == before {
        return;
    }
    if !is_indexed(spec.new) {
        spec.field(JobSpec::COMPLETIONS, |completions| immutable(completions, cx));
    } else if let Some(now) = now.filter(|now| Some(*now) != number(spec.new, JobSpec::PARALLELISM)) {
        let detail = format!("can only be modified in tandem with {}", spec.path.to(JobSpec::PARALLELISM));
        cx.errors.invalid(spec.path.to(JobSpec::COMPLETIONS), now, detail);
    }
}

fn template(spec: At<'_, JobSpec>, old: View<'_, Job>, cx: &mut ValidationContext<'_>) {
    spec.field(JobSpec::TEMPLATE, |template| {
        if template.unchanged() {
            return;
        }
        let (scheduling, resources) = what_is_open(old, cx);
        let mut expected = old.field(Job::SPEC).field(JobSpec::TEMPLATE).value().clone();
        if scheduling {
            open_scheduling(&mut expected, template.new.value());
        }
        if resources {
            let pod = PodTemplateSpec::SPEC.name();
            for containers in [PodSpec::CONTAINERS.name(), PodSpec::INIT_CONTAINERS.name()] {
                open_resources(&mut expected, template.new.value(), &[pod, containers]);
            }
            if !same_at(template.new.value(), &expected, pod) {
                template.field(PodTemplateSpec::SPEC, |spec| immutable(spec, cx));
            }
        } else if !same(template.new.value(), &expected) {
            immutable(template, cx);
        }
    });
}

/// Whether the scheduling directives of pods, and whether their resources, may change.
fn what_is_open(old: View<'_, Job>, cx: &ValidationContext<'_>) -> (bool, bool) {
    let suspended = old.field(Job::SPEC).field(JobSpec::SUSPEND).get() == Some(true);
    let status = old.field(Job::STATUS);
    let never_started = !status.field(JobStatus::START_TIME).is_set();
    let idle =
        status.field(JobStatus::ACTIVE).get() == 0 && (never_started || super::job_status::is_true(old, "Suspended"));
    let scheduling = suspended
        && if cx.enabled(&gates::MUTABLE_SCHEDULING_DIRECTIVES_FOR_SUSPENDED_JOBS) { idle } else { never_started };
    (scheduling, suspended && idle && cx.enabled(&gates::MUTABLE_POD_RESOURCES_FOR_SUSPENDED_JOBS))
}

fn open_scheduling(expected: &mut Value, now: &Value) {
    let (metadata, pod) = (PodTemplateSpec::METADATA.name(), PodTemplateSpec::SPEC.name());
    let mut open = |path: &[&str]| match now.at(path).filter(|value| !value.is_null()) {
        Some(value) => expected.set_at(path, value.clone()),
        None => drop(expected.remove_at(path)),
    };
    open(&[metadata, ObjectMeta::LABELS.name()]);
    open(&[metadata, ObjectMeta::ANNOTATIONS.name()]);
    open(&[pod, PodSpec::NODE_SELECTOR.name()]);
    open(&[pod, PodSpec::TOLERATIONS.name()]);
    open(&[pod, PodSpec::SCHEDULING_GATES.name()]);
    let affinity = [pod, PodSpec::AFFINITY.name()];
    if now.at(&[affinity[0], affinity[1], Affinity::NODE_AFFINITY.name()]).is_some() || now.at(&affinity).is_none() {
        open(&[affinity[0], affinity[1], Affinity::NODE_AFFINITY.name()]);
    }
    // An affinity that only spoke of nodes may go or come as a whole.
    if expected.at(&affinity).is_some_and(Value::is_zero) && now.at(&affinity).is_none() {
        expected.remove_at(&affinity);
    }
}

fn open_resources(expected: &mut Value, now: &Value, path: &[&str]) {
    let now = now.at(path).and_then(Value::as_list).unwrap_or_default();
    let old = expected.at_mut(path).and_then(Value::as_list_mut).map(Vec::as_mut_slice).unwrap_or_default();
    for (container, now) in old.iter_mut().zip(now) {
        let resources: FieldName<Container, ResourceRequirements> = Container::RESOURCES;
        container.set_at(&[resources.name()], now.get(resources.name()).cloned().unwrap_or_else(|| value!({})));
    }
}
