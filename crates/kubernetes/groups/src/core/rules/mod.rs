//! Handwritten rules of the core group.
//!
//! One file for each kind or family of types; this one is the table.

pub mod cluster;
#[cfg(test)]
mod cluster_tests;
pub mod cluster_warnings;
pub mod config_map;
pub mod endpoints;
pub mod event;
pub mod key_pair;
pub mod namespace;
pub mod node;
pub mod node_labels;
pub mod pod;
pub mod pod_template;
pub mod quota;
pub mod replication_controller;
pub mod resource_names;
pub mod secret;
pub mod service;
pub mod template_warnings;
pub mod volume;

use pintle_schema::ApiType;
use pintle_types::core::v1::{ConfigMap, PodTemplateSpec, ReplicationControllerSpec};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, at_type, field_order, pass};

/// The rules of all types of the group.
pub static ALL: &[&Group] = &[&GROUP, &pod::GROUP, &cluster::GROUP, &quota::GROUP, &secret::GROUP, &volume::GROUP];

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

static KINDS: &[KindRules] = &[KindRules {
    update: &[Pass::MetadataUpdate, pass!(ConfigMap, config_map::keeps_immutable), Pass::Metadata, Pass::Rules],
    ..KindRules::of(ConfigMap::schema)
}];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] =
    &[field_order!(ReplicationControllerSpec: [MIN_READY_SECONDS, SELECTOR, REPLICAS, TEMPLATE])];

static RULES: &[CustomRule] = &[
    at_field!(ConfigMap::DATA, config_map::data),
    at_type!(ConfigMap, config_map::size, phase = After),
    at_type!(PodTemplateSpec, pod_template::metadata),
    at_field!(ReplicationControllerSpec::TEMPLATE, replication_controller::labels_match, ALWAYS),
];
