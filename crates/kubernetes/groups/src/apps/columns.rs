//! Columns of the group `apps`.
//!
//! Numbers of pods, and the containers and images of their template.

use crate::printing::cells::*;
use crate::printing::{AGE, CONTAINERS, IMAGES, NAME, SELECTOR, integer, printers, string};
use pintle_schema::{Value, View};
use pintle_types::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetStatus, Deployment, DeploymentSpec, DeploymentStatus,
    ReplicaSet, ReplicaSetSpec, ReplicaSetStatus, StatefulSet, StatefulSetSpec, StatefulSetStatus,
};
use pintle_types::core::v1::{PodSpec, PodTemplateSpec};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};

printers! {
    DEPLOYMENT: Deployment |deployment, now| {
        NAME => name(deployment),
        string("Ready", "How many pods are ready, of how many.") => ready_of(
            deployment.to(Deployment::STATUS).to(DeploymentStatus::READY_REPLICAS),
            deployment.to(Deployment::SPEC).to(DeploymentSpec::REPLICAS),
        ),
        string("Up-to-date", "How many pods are of the newest template.")
            => number(deployment.to(Deployment::STATUS).to(DeploymentStatus::UPDATED_REPLICAS)),
        string("Available", "How many pods have been ready for long enough.")
            => number(deployment.to(Deployment::STATUS).to(DeploymentStatus::AVAILABLE_REPLICAS)),
        AGE => age(deployment, now),
        CONTAINERS => containers(deployment.to(Deployment::SPEC).to(DeploymentSpec::TEMPLATE)),
        IMAGES => images(deployment.to(Deployment::SPEC).to(DeploymentSpec::TEMPLATE)),
        // Unlike other workloads, it shows an empty selector.
        SELECTOR => selector_text(deployment.to(Deployment::SPEC).to(DeploymentSpec::SELECTOR))
            .map_or("<invalid>".into(), Value::from),
    }
    REPLICA_SET: ReplicaSet |set, now| {
        NAME => name(set),
        integer("Desired", "How many pods there should be.")
            => number(set.to(ReplicaSet::SPEC).to(ReplicaSetSpec::REPLICAS)),
        integer("Current", "How many pods there are.")
            => number(set.to(ReplicaSet::STATUS).to(ReplicaSetStatus::REPLICAS)),
        integer("Ready", "How many pods are ready.")
            => number(set.to(ReplicaSet::STATUS).to(ReplicaSetStatus::READY_REPLICAS)),
        AGE => age(set, now),
        CONTAINERS => containers(set.to(ReplicaSet::SPEC).to(ReplicaSetSpec::TEMPLATE)),
        IMAGES => images(set.to(ReplicaSet::SPEC).to(ReplicaSetSpec::TEMPLATE)),
        SELECTOR => selector(set.to(ReplicaSet::SPEC).to(ReplicaSetSpec::SELECTOR)),
    }
    DAEMON_SET: DaemonSet |set, now| {
        NAME => name(set),
        integer("Desired", "How many nodes should run a pod.")
            => number(set.to(DaemonSet::STATUS).to(DaemonSetStatus::DESIRED_NUMBER_SCHEDULED)),
        integer("Current", "How many nodes run a pod.")
            => number(set.to(DaemonSet::STATUS).to(DaemonSetStatus::CURRENT_NUMBER_SCHEDULED)),
        integer("Ready", "How many nodes run a pod that is ready.")
            => number(set.to(DaemonSet::STATUS).to(DaemonSetStatus::NUMBER_READY)),
        integer("Up-to-date", "How many nodes run a pod of the newest template.")
            => number(set.to(DaemonSet::STATUS).to(DaemonSetStatus::UPDATED_NUMBER_SCHEDULED)),
        integer("Available", "How many nodes run a pod that has been ready for long enough.")
            => number(set.to(DaemonSet::STATUS).to(DaemonSetStatus::NUMBER_AVAILABLE)),
        string("Node Selector", "Labels of the nodes that run a pod.") => labels(
            set.to(DaemonSet::SPEC).to(DaemonSetSpec::TEMPLATE).to(PodTemplateSpec::SPEC).to(PodSpec::NODE_SELECTOR),
        ),
        AGE => age(set, now),
        CONTAINERS => containers(set.to(DaemonSet::SPEC).to(DaemonSetSpec::TEMPLATE)),
        IMAGES => images(set.to(DaemonSet::SPEC).to(DaemonSetSpec::TEMPLATE)),
        SELECTOR => selector(set.to(DaemonSet::SPEC).to(DaemonSetSpec::SELECTOR)),
    }
    STATEFUL_SET: StatefulSet |set, now| {
        NAME => name(set),
        string("Ready", "How many pods are ready, of how many.") => ready_of(
            set.to(StatefulSet::STATUS).to(StatefulSetStatus::READY_REPLICAS),
            set.to(StatefulSet::SPEC).to(StatefulSetSpec::REPLICAS),
        ),
        AGE => age(set, now),
        CONTAINERS => containers(set.to(StatefulSet::SPEC).to(StatefulSetSpec::TEMPLATE)),
        IMAGES => images(set.to(StatefulSet::SPEC).to(StatefulSetSpec::TEMPLATE)),
    }
    CONTROLLER_REVISION: ControllerRevision |revision, now| {
        NAME => name(revision),
        string("Controller", "Object whose state it keeps.") => controller(revision),
        string("Revision", "Number of the revision.") => number(revision.to(ControllerRevision::REVISION)),
        AGE => age(revision, now),
    }
}

fn ready_of(ready: View<'_, i32>, wanted: View<'_, Option<i32>>) -> Value {
    format!("{}/{}", int_of(ready), int_of(wanted)).into()
}

fn controller(revision: View<'_, ControllerRevision>) -> Value {
    let mut owners = metadata(revision).to(ObjectMeta::OWNER_REFERENCES).iter();
    match owners.find(|owner| owner.to(OwnerReference::CONTROLLER).get() == Some(true)) {
        Some(owner) => {
            let group = str_of(owner.to(OwnerReference::API_VERSION)).rsplit_once('/').map_or("", |(group, _)| group);
            let (kind, name) = (str_of(owner.to(OwnerReference::KIND)), str_of(owner.to(OwnerReference::NAME)));
            qualified(&kind.to_lowercase(), &group.to_lowercase(), name).into()
        }
        None => NONE.into(),
    }
}
