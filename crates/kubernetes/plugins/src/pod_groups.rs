//! PodGroupProtection, PodGroupWorkloadExists and JobValidation: consistency of pods that are scheduled together.
//! Guarantees that a pod group has a template that exists, is not removed before its pods, and that the parallelism of
//! a gang-scheduled job does not change. Must never remove a finalizer.

use crate::fields::push;
use crate::plugin::{Plugin, Requests};
use crate::request::{Kind, Request};
use pintle_gates as gates;
use pintle_registry::metadata;
use pintle_registry::status::Result;
use pintle_schema::{Value, View, ViewMut};
use pintle_types::batch::v1::{Job, JobSpec};
use pintle_types::core::v1::{PodSchedulingGroup, PodSpec, PodTemplateSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::scheduling::v1alpha2::{PodGroup, PodGroupSpec, PodGroupTemplateReference, Workload};

pub const PROTECTION: Plugin = Plugin::on(&[Requests::create(GROUP, "podgroups")]).mutating(protect);

pub const WORKLOAD_EXISTS: Plugin = Plugin::on(&[Requests::create(GROUP, "podgroups")]).validating(require_workload);

pub const JOB_VALIDATION: Plugin = Plugin::on(&[Requests::update("batch", "jobs", "")]).validating(keep_gang);

const GROUP: &str = "scheduling.k8s.io";
const POD_GROUPS: Kind<PodGroup> = Kind::of_version(GROUP, "v1alpha2", "podgroups");
const WORKLOADS: Kind<Workload> = Kind::of_version(GROUP, "v1alpha2", "workloads");

const FINALIZER: &str = "scheduling.k8s.io/podgroup-protection";

fn protect(request: &Request<'_>, object: &mut Value, _: &mut Vec<String>) -> Result<()> {
    let finalizers = ViewMut::<PodGroup>::new(object).field(PodGroup::METADATA).field(ObjectMeta::FINALIZERS);
    let is_there = finalizers.view().iter().any(|own| own.as_str() == FINALIZER);
    if request.environment().gates().is_on(&gates::GENERIC_WORKLOAD) && !is_there {
        push(finalizers, &FINALIZER.to_owned());
    }
    Ok(())
}

fn require_workload(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let reference = View::<PodGroup>::new(object).field(PodGroup::SPEC).field(PodGroupSpec::POD_GROUP_TEMPLATE_REF);
    let named = reference.or_zero().field(PodGroupTemplateReference::WORKLOAD).get();
    let Some(named) = named.filter(|_| request.environment().gates().is_on(&gates::GENERIC_WORKLOAD)) else {
        return Ok(());
    };
    let (workload, template) = (&named.workload_name, &named.pod_group_template_name);
    let why = match request.find(&WORKLOADS, request.namespace(), workload)? {
        None => format!("PodGroup rejected: Workload {workload:?} not found"),
        Some(found) if found.metadata.deletion_timestamp.is_some() => {
            format!("PodGroup rejected: Workload {workload:?} is being deleted")
        }
        Some(found) if found.spec.pod_group_templates.iter().any(|own| own.name == *template) => return Ok(()),
        Some(_) => format!("PodGroup rejected: PodGroupTemplate {template:?} not found in Workload {workload:?}"),
    };
    Err(request.forbidden(object, why))
}

fn keep_gang(request: &Request<'_>, object: &Value, _: &mut Vec<String>) -> Result<()> {
    let is_on = |gate| request.environment().gates().is_on(gate);
    let Some(old) = request.old().filter(|_| is_on(&gates::GENERIC_WORKLOAD) || is_on(&gates::WORKLOAD_WITH_JOB))
    else {
        return Ok(());
    };
    let [parallelism, old_parallelism] =
        [object, old].map(|job| View::<Job>::new(job).field(Job::SPEC).field(JobSpec::PARALLELISM).get());
    if parallelism == old_parallelism {
        return Ok(());
    }
    let pods = View::<Job>::new(old).field(Job::SPEC).field(JobSpec::TEMPLATE).field(PodTemplateSpec::SPEC);
    let named = pods.field(PodSpec::SCHEDULING_GROUP).or_zero().field(PodSchedulingGroup::POD_GROUP_NAME).get();
    let gang = match named {
        Some(name) => request.find(&POD_GROUPS, request.namespace(), &name)?.filter(is_gang),
        None => {
            let uid = metadata::text(old, "uid");
            let all = request.all(&POD_GROUPS, request.namespace())?;
            all.into_iter().find(|group| is_gang(group) && is_controlled_by(group, uid))
        }
    };
    let Some(gang) = gang else { return Ok(()) };
    let name = gang.metadata.name;
    let why = format!("cannot change parallelism for a Job referencing gang-scheduled PodGroup {name:?}");
    Err(request.forbidden(object, why))
}

fn is_gang(group: &PodGroup) -> bool {
    group.spec.scheduling_policy.gang.is_some()
}

fn is_controlled_by(group: &PodGroup, uid: &str) -> bool {
    group.metadata.owner_references.iter().any(|owner| owner.controller == Some(true) && owner.uid == uid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Cluster;
    use pintle_schema::value;

    async fn cluster() -> Cluster {
        let cluster = Cluster::new();
        let workload = |name: &str| {
            value!({
                "metadata": {"name": name, "namespace": "ns"},
                "spec": {"podGroupTemplates": [{"name": "t", "schedulingPolicy": {"basic": {}}}]}
            })
        };
        cluster.store(GROUP, "workloads", workload("w")).await;
        let group = |name: &str, policy: Value, owner: &str| {
            value!({
                "metadata": {"name": name, "namespace": "ns", "ownerReferences": [
                    {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": owner, "controller": true}
                ]},
                "spec": {"schedulingPolicy": policy}
            })
        };
        cluster.store(GROUP, "podgroups", group("gang", value!({"gang": {"minCount": 2}}), "job")).await;
        cluster.store(GROUP, "podgroups", group("basic", value!({"basic": {}}), "other")).await;
        cluster
    }

    fn group(workload: &str, template: &str) -> Value {
        value!({
            "metadata": {"name": "g", "namespace": "ns", "finalizers": ["own/f"]},
            "spec": {
                "podGroupTemplateRef": {
                    "workload": {"workloadName": workload, "podGroupTemplateName": template}
                },
                "schedulingPolicy": {"basic": {}}
            }
        })
    }

    #[tokio::test]
    async fn a_group_is_protected_and_made_from_a_template() {
        let cluster = cluster().await;
        let made = cluster.create(GROUP, "podgroups", group("w", "t")).await.expect("made");
        assert_eq!(metadata::finalizers(&made), ["own/f", FINALIZER]);
        let rows = [
            ("nobody", "t", "Workload \"nobody\" not found"),
            ("w", "other", "PodGroupTemplate \"other\" not found in Workload \"w\""),
        ];
        for (workload, template, why) in rows {
            let refused = cluster.create(GROUP, "podgroups", group(workload, template)).await.expect_err("refused");
            let message = format!("podgroups.scheduling.k8s.io \"g\" is forbidden: PodGroup rejected: {why}");
            assert_eq!(refused.message, message);
        }
    }

    #[tokio::test]
    async fn a_gang_keeps_its_size() {
        let cluster = cluster().await;
        let job = |uid: &str, parallelism: i64, group: &str| {
            let mut job = value!({
                "metadata": {"name": "j", "namespace": "ns", "uid": uid},
                "spec": {"parallelism": parallelism, "template": {"spec": {}}}
            });
            if !group.is_empty() {
                job.set_at(&["spec", "template", "spec", "schedulingGroup", "podGroupName"], group);
            }
            job
        };
        let rows = [
            ("job", 2, "", true),
            ("job", 1, "", false),
            ("other", 2, "", false),
            ("other", 2, "gang", true),
            ("job", 2, "basic", false),
            ("job", 2, "nobody", false),
        ];
        for (uid, parallelism, named, refused) in rows {
            let (old, new) = (job(uid, 1, named), job(uid, parallelism, named));
            let outcome = cluster.update(("batch", "jobs", ""), &old, new, "alice").err().map(|status| status.message);
            let why = "jobs.batch \"j\" is forbidden: cannot change parallelism for a Job referencing gang-scheduled \
                       PodGroup \"gang\"";
            assert_eq!(outcome.as_deref(), refused.then_some(why), "{uid} {parallelism} {named}");
        }
    }
}
