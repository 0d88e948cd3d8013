//! Rules of the apps group that tags cannot say.
//!
//! One file for each kind, and one for what the kinds that run pods have in common; this one is the table.

pub mod controller_revision;
pub mod daemon_set;
pub mod deployment;
pub mod replica_set;
pub mod stateful_set;
pub mod workload;

use pintle_schema::ApiType;
use pintle_types::apps::v1::{
    ControllerRevision, DaemonSet, DaemonSetSpec, DaemonSetUpdateStrategy, Deployment, DeploymentSpec,
    DeploymentStatus, DeploymentStrategy, ReplicaSetSpec, ReplicaSetStatus, RollingUpdateDaemonSet,
    RollingUpdateDeployment, RollingUpdateStatefulSetStrategy, StatefulSet,
    StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy,
};
use pintle_validation::{Group, Hand, KindRules, Step, at_field, at_type};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Step::MetadataUpdate, Step::Metadata, Step::Rules],
        ..KindRules::of(ControllerRevision::schema)
    },
    KindRules { parts: &[("status", &[Step::Rules, Step::MetadataUpdate])], ..KindRules::of(StatefulSet::schema) },
];

static RULES: &[Hand] = &[
    at_field!(ControllerRevision::DATA, controller_revision::data, ON_CREATE),
    at_field!(ControllerRevision::DATA, controller_revision::data_is_fixed, ALWAYS | ON_UPDATE),
    at_field!(DaemonSetSpec::SELECTOR, daemon_set::selector, AFTER),
    at_field!(DaemonSetSpec::TEMPLATE, daemon_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(DaemonSetSpec::TEMPLATE, daemon_set::pods, AFTER),
    at_type!(DaemonSetSpec, daemon_set::selector_is_fixed, ON_UPDATE),
    at_type!(DaemonSetUpdateStrategy, daemon_set::strategy),
    at_type!(RollingUpdateDaemonSet, daemon_set::rolling_update, AFTER),
    at_field!(DaemonSet::STATUS, daemon_set::clashes_add_up, AFTER | ON_PART),
    at_field!(DeploymentSpec::SELECTOR, deployment::selector, AFTER),
    at_field!(DeploymentSpec::TEMPLATE, deployment::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(DeploymentSpec::TEMPLATE, deployment::pods, AFTER),
    at_field!(DeploymentSpec::PROGRESS_DEADLINE_SECONDS, deployment::deadline, AFTER | ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(DeploymentSpec, deployment::selector_is_fixed, AFTER | ON_UPDATE),
    at_type!(DeploymentStrategy, deployment::strategy),
    at_type!(RollingUpdateDeployment, deployment::rolling_update, AFTER),
    at_type!(DeploymentStatus, deployment::counts, AFTER),
    at_field!(Deployment::STATUS, deployment::clashes_add_up, AFTER | ON_PART),
    at_field!(ReplicaSetSpec::SELECTOR, replica_set::selector, AFTER),
    at_field!(ReplicaSetSpec::TEMPLATE, replica_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ReplicaSetSpec::TEMPLATE, replica_set::pods, AFTER),
    at_type!(ReplicaSetSpec, replica_set::selector_is_fixed, AFTER | ON_UPDATE),
    at_type!(ReplicaSetStatus, replica_set::counts, AFTER),
    at_field!(StatefulSetSpec::POD_MANAGEMENT_POLICY, stateful_set::pod_management),
    at_type!(StatefulSetUpdateStrategy, stateful_set::strategy),
    at_type!(RollingUpdateStatefulSetStrategy, stateful_set::rolling_update, AFTER),
    at_type!(StatefulSetPersistentVolumeClaimRetentionPolicy, stateful_set::claim_retention),
    at_field!(StatefulSetSpec::SELECTOR, stateful_set::selector, AFTER),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::pods, AFTER),
    at_type!(StatefulSetSpec, stateful_set::what_is_fixed, AFTER | ON_UPDATE),
    at_type!(StatefulSetStatus, stateful_set::counts, AFTER),
    at_field!(StatefulSet::STATUS, stateful_set::clashes_add_up, AFTER | ON_PART),
];

#[cfg(test)]
mod tests;
