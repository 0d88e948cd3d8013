//! The core group: pods, services, nodes and what they are made of; one module per subject.
//!
//! Only the list of the resources stands here; what a kind does stands with the kind.

mod app_armor;
mod config;
pub(crate) mod event;
mod match_label_keys;
mod namespace;
mod node;
mod pod;
mod pod_parts;
pub(crate) mod pod_spec;
pub mod qos;
mod quota;
mod service;
mod service_account;
mod service_update;
mod volume;
mod workload;

use crate::resource::Resource;

pub(crate) static RESOURCES: &[&Resource] = &[
    &pod::BINDINGS,
    &node::COMPONENT_STATUSES,
    &config::CONFIG_MAPS,
    &service::ENDPOINTS,
    &event::EVENTS,
    &quota::LIMIT_RANGES,
    &namespace::NAMESPACES,
    &node::NODES,
    &volume::PERSISTENT_VOLUME_CLAIMS,
    &volume::PERSISTENT_VOLUMES,
    &pod::PODS,
    &workload::POD_TEMPLATES,
    &workload::REPLICATION_CONTROLLERS,
    &quota::RESOURCE_QUOTAS,
    &config::SECRETS,
    &service_account::SERVICE_ACCOUNTS,
    &service::SERVICES,
];
