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

use crate::group::{TypeFunctions, version};
use pintle_resource::Group;
use pintle_schema::Str;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(rules::ALL).defaults(&defaults::ALL.concat());
    Group {
        name: Str::new_static(""),
        priority: Some(18000),
        built_in: true,
        versions: vec![version("v1", 1)],
        resources: functions.complete(vec![
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
        ]),
        internal: internal::internal().cloned().collect(),
    }
}
