//! Handwritten rules of the apps group.
//!
//! One file for each kind, and one for the rules that they share; this one is the table.

pub mod controller_revision;
pub mod daemon_set;
pub mod deployment;
pub mod replica_set;
pub mod stateful_set;
pub mod workload;

use pintle_schema::ApiType;
use pintle_types::apps::v1::{
    ControllerRevision, DaemonSetSpec, DaemonSetUpdateStrategy, DeploymentSpec, DeploymentStrategy, ReplicaSetSpec,
    RollingUpdateDaemonSet, RollingUpdateDeployment, RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetSpec,
    StatefulSetUpdateStrategy,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Step::MetadataUpdate, Step::Metadata, Step::Rules],
        ..KindRules::of(ControllerRevision::schema)
    },
    KindRules { parts: &[("status", &[Step::Rules, Step::MetadataUpdate])], ..KindRules::of(StatefulSet::schema) },
];

static RULES: &[CustomRule] = &[
    at_field!(ControllerRevision::DATA, controller_revision::data, ON_CREATE),
    at_field!(ControllerRevision::DATA, controller_revision::data_is_fixed, ALWAYS | ON_UPDATE),
    at_field!(DaemonSetSpec::TEMPLATE, daemon_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(DaemonSetUpdateStrategy, daemon_set::strategy),
    at_type!(DaemonSetUpdateStrategy, daemon_set::rolling_update_alone, AFTER),
    at_type!(RollingUpdateDaemonSet, daemon_set::rolling_update, AFTER),
    at_field!(DeploymentSpec::SELECTOR, deployment::selector, AFTER),
    at_field!(DeploymentSpec::TEMPLATE, deployment::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(DeploymentSpec::TEMPLATE, deployment::template, AFTER),
    at_type!(DeploymentSpec, deployment::progress_deadline, AFTER),
    at_type!(DeploymentStrategy, deployment::strategy),
    at_type!(DeploymentStrategy, deployment::rolling_update_alone, AFTER),
    at_type!(RollingUpdateDeployment, deployment::rolling_update, AFTER),
    at_field!(ReplicaSetSpec::SELECTOR, replica_set::selector, AFTER),
    at_field!(ReplicaSetSpec::TEMPLATE, replica_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(ReplicaSetSpec::TEMPLATE, replica_set::template, AFTER),
    at_type!(StatefulSetUpdateStrategy, stateful_set::strategy),
    at_type!(StatefulSetUpdateStrategy, stateful_set::rolling_update_alone, AFTER),
    at_type!(RollingUpdateStatefulSetStrategy, stateful_set::rolling_update, AFTER),
    at_field!(StatefulSetSpec::SELECTOR, stateful_set::selector, AFTER),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::pods, AFTER),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::template, AFTER),
    at_type!(StatefulSetSpec, stateful_set::what_is_fixed, AFTER | ON_UPDATE),
];

#[cfg(test)]
mod tests;
