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
    ReplicaSetStatus, RollingUpdateDaemonSet, RollingUpdateDeployment, RollingUpdateStatefulSetStrategy, StatefulSet,
    StatefulSetSpec, StatefulSetStatus, StatefulSetUpdateStrategy,
};
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Replacement, Skip, at_field, at_type, field_order, replace, skip,
    skip_inside,
};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group {
    kinds: KINDS,
    custom_rules: RULES,
    orders: ORDERS,
    skips: SKIPS,
    replacements: REPLACEMENTS,
    ..Group::NONE
};

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Pass::MetadataUpdate, Pass::Metadata, Pass::Rules],
        ..KindRules::of(ControllerRevision::schema)
    },
    KindRules { parts: &[("status", &[Pass::Rules, Pass::MetadataUpdate])], ..KindRules::of(StatefulSet::schema) },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(DaemonSetSpec: [SELECTOR, TEMPLATE, MIN_READY_SECONDS]),
    field_order!(StatefulSetSpec: [
        POD_MANAGEMENT_POLICY, UPDATE_STRATEGY, PERSISTENT_VOLUME_CLAIM_RETENTION_POLICY, VOLUME_CLAIM_TEMPLATES,
        REPLICAS, MIN_READY_SECONDS, ORDINALS, SERVICE_NAME
    ]),
    field_order!(StatefulSetStatus: [
        REPLICAS, READY_REPLICAS, CURRENT_REPLICAS, UPDATED_REPLICAS, AVAILABLE_REPLICAS
    ]),
    field_order!(ReplicaSetStatus: [
        REPLICAS, FULLY_LABELED_REPLICAS, READY_REPLICAS, AVAILABLE_REPLICAS, OBSERVED_GENERATION
    ]),
    field_order!(ControllerRevision: [REVISION]),
];

static SKIPS: &[Skip] = &[
    skip_inside!(DaemonSetUpdateStrategy::ROLLING_UPDATE, workload::is_not_rolling),
    skip_inside!(DeploymentStrategy::ROLLING_UPDATE, workload::is_not_rolling),
    skip_inside!(StatefulSetUpdateStrategy::ROLLING_UPDATE, workload::is_not_rolling),
    skip!(DeploymentSpec::TEMPLATE, deployment::has_wrong_selector),
    skip!(ReplicaSetSpec::TEMPLATE, replica_set::has_wrong_selector),
    // What a StatefulSet never allows in a template is reported even then.
    skip_inside!(StatefulSetSpec::TEMPLATE, stateful_set::has_wrong_selector),
    // Nothing is reported for a claim or a service but that it may not change.
    skip!(StatefulSetSpec::VOLUME_CLAIM_TEMPLATES, stateful_set::is_fixed),
    skip!(StatefulSetSpec::SERVICE_NAME, stateful_set::is_fixed),
];

static REPLACEMENTS: &[Replacement] = &[replace!(StatefulSetSpec::TEMPLATE, stateful_set::as_pods_get_it)];

static RULES: &[CustomRule] = &[
    at_field!(ControllerRevision::DATA, controller_revision::data, ON_CREATE),
    at_field!(ControllerRevision::DATA, controller_revision::data_is_fixed, ALWAYS | ON_UPDATE),
    at_field!(DaemonSetSpec::TEMPLATE, daemon_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(DaemonSetUpdateStrategy, daemon_set::strategy),
    at_type!(RollingUpdateDaemonSet, daemon_set::rolling_update, phase = After),
    at_field!(DeploymentSpec::SELECTOR, deployment::selector, phase = After),
    at_field!(DeploymentSpec::TEMPLATE, deployment::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(DeploymentSpec, deployment::progress_deadline, phase = After),
    at_type!(DeploymentStrategy, deployment::strategy),
    at_type!(RollingUpdateDeployment, deployment::rolling_update, phase = After),
    at_field!(ReplicaSetSpec::SELECTOR, replica_set::selector, phase = After),
    at_field!(ReplicaSetSpec::TEMPLATE, replica_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_type!(StatefulSetUpdateStrategy, stateful_set::strategy),
    at_type!(RollingUpdateStatefulSetStrategy, stateful_set::rolling_update, phase = After),
    at_field!(StatefulSetSpec::SELECTOR, stateful_set::selector, phase = After),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::labels_match, ALWAYS | ON_CREATE | ON_UPDATE),
    at_field!(StatefulSetSpec::TEMPLATE, stateful_set::pods, phase = After),
    at_type!(StatefulSetSpec, stateful_set::what_is_fixed, phase = After, ON_UPDATE),
];

#[cfg(test)]
mod tests;
