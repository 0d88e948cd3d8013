//! The core group: pods, services, nodes and what they are made of; one module per subject.
//!
//! Only the list of the resources stands here; what a kind does stands with the kind.

mod app_armor;
pub(crate) mod columns;
mod config;
pub(crate) mod defaults;
pub(crate) mod event;
pub mod internal;
mod match_label_keys;
mod namespace;
mod node;
mod pod;
mod pod_parts;
pub(crate) mod pod_spec;
pub mod qos;
mod quota;
pub(crate) mod rules;
mod service;
mod service_account;
mod service_update;
mod volume;
mod workload;

use pintle_resource::Resource;

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        pod::bindings(),
        node::component_statuses(),
        config::config_maps(),
        service::endpoints(),
        event::events(),
        quota::limit_ranges(),
        namespace::namespaces(),
        node::nodes(),
        volume::persistent_volume_claims(),
        volume::persistent_volumes(),
        pod::pods(),
        workload::pod_templates(),
        workload::replication_controllers(),
        quota::resource_quotas(),
        config::secrets(),
        service_account::service_accounts(),
        service::services(),
    ]
}
