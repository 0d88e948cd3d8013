//! Bootstrap objects: the objects that a new server creates and that later starts reconcile.
//!
//! Pure functions from settings to objects: no store, no clock, no identity. An administrator's changes must never be
//! overwritten, except where the API defines the server as owner.
//!
//! A server writes [`objects`] in one batch before it serves: missing ones as they are, existing ones as changed by
//! [`BootstrapObject::reconciled`]. The server fills in uid, timestamps and resource version, and applies defaults.

mod api_services;
mod cluster;
mod flow_control;
mod kubernetes_service;
mod object;
mod rbac;
pub mod reconcile;
mod service_range;
mod trust;

pub use kubernetes_service::servers;
pub use object::{BootstrapObject, SERVICE_HOOK};
pub use rbac::node_rules;
pub use reconcile::Reconcile;
pub use service_range::{RangeError, ServiceRange};

use pintle_schema::Time;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The settings of one server.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Addresses of services, one range per IP family, the primary family first. The `kubernetes` service takes the
    /// first address of the first range; without ranges there is no such service.
    pub service_ranges: Vec<ServiceRange>,
    /// The address at which the members of the cluster reach this server. Without one the service has no endpoints.
    pub advertise_address: Option<IpAddr>,
    /// The port behind that address.
    pub secure_port: u16,
    /// The authorities of clients and of the front proxy, for extension servers, by the keys of their config map;
    /// certificates as PEM, lists as JSON.
    pub authorities: BTreeMap<String, String>,
    /// The group-versions that this server serves itself and has an APIService for.
    pub api_services: Vec<LocalApiService>,
    /// The time, for conditions and dates inside objects, and for the end of certificates.
    pub now: Time,
}

/// A group-version that the server serves itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocalApiService {
    /// "" is the core group.
    pub group: String,
    pub version: String,
    pub group_priority: i32,
    pub version_priority: i32,
}

/// The objects that a running server restores within a minute if they are deleted or changed. The other objects are
/// restored only by a start, and addresses with their services.
pub fn kept_objects(settings: &Settings) -> Vec<BootstrapObject> {
    let mut out = Vec::with_capacity(64);
    cluster::namespaces(&mut out);
    flow_control::objects(settings, &mut out);
    out
}

/// The objects by which clients find the server, which it restores within seconds.
pub fn needed_objects(settings: &Settings) -> Vec<BootstrapObject> {
    let mut out = Vec::with_capacity(8);
    kubernetes_service::kept_objects(settings, &mut out);
    cluster::authorities(settings, &mut out);
    out
}

/// All bootstrap objects but the service's address, which the service is given when it is created: for writing them one by one.
pub fn objects_one_by_one(settings: &Settings) -> Vec<BootstrapObject> {
    let mut all = objects(settings);
    all.retain(|object| object.plural != "ipaddresses");
    all
}

/// The config map with the day since which uses of legacy service account tokens are recorded.
pub fn token_tracking(settings: &Settings) -> BootstrapObject {
    cluster::token_tracking(settings)
}

/// All bootstrap objects; an object follows those that it refers to.
pub fn objects(settings: &Settings) -> Vec<BootstrapObject> {
    let mut out = Vec::with_capacity(256);
    cluster::namespaces(&mut out);
    cluster::priority_classes(&mut out);
    rbac::objects(&mut out);
    flow_control::objects(settings, &mut out);
    kubernetes_service::objects(settings, &mut out);
    cluster::authorities(settings, &mut out);
    out.push(cluster::token_tracking(settings));
    api_services::objects(settings, &mut out);
    out
}

#[cfg(test)]
mod tests;
