//! IP families of services: determined from the service's spec and the families of the cluster.
//!
//! Clients that do not set families get one address; a service gains or loses an address only if its policy changes.
//! This module allocates nothing.

use pintle_schema::names::ip::parse_ip_sloppy;
use pintle_schema::{ApiValue, Value};
use pintle_types::core::v1::{IPFamily, IPFamilyPolicy, ServiceSpec, ServiceType};
use pintle_validation::ErrorList;

use super::range::family;

/// The `clusterIP` of services without addresses.
pub const NONE: &str = "None";

const CLUSTER_IPS: &str = "spec.clusterIPs";
const POLICY: &str = "spec.ipFamilyPolicy";

/// The properties of the cluster that decide about families.
pub struct Cluster {
    /// The families that the cluster has, the preferred one first.
    pub families: Vec<IPFamily>,
}

/// The other family.
pub fn other(family: &IPFamily) -> IPFamily {
    if *family == IPFamily::IPV4 { IPFamily::IPV6 } else { IPFamily::IPV4 }
}

/// Whether the service is headless.
pub fn is_headless(spec: &ServiceSpec) -> bool {
    spec.cluster_ips.first().is_some_and(|ip| ip == NONE)
}

/// Fills in `ipFamilyPolicy` and `ipFamilies`; `fits` validates addresses, families and policy as written.
///
/// # Errors
/// The spec contradicts itself, or the cluster lacks a family.
pub fn settle(
    spec: &mut ServiceSpec,
    old: Option<&ServiceSpec>,
    cluster: &Cluster,
    fits: impl FnOnce() -> ErrorList,
) -> Result<(), ErrorList> {
    if spec.r#type == ServiceType::EXTERNAL_NAME || old.is_some_and(|old| keeps_preference(spec, old)) {
        return Ok(());
    }
    let selectorless = spec.cluster_ip == NONE && spec.selector.is_empty();
    if spec.ip_family_policy.is_none() {
        let default = if selectorless { IPFamilyPolicy::REQUIRE_DUAL_STACK } else { IPFamilyPolicy::SINGLE_STACK };
        let before = old.and_then(|old| old.ip_family_policy.clone());
        spec.ip_family_policy = Some(before.unwrap_or(default));
    }
    refused(fits())?;
    let mut errors = ErrorList::default();
    if let Some(old) = old {
        follow_policy(spec, old, &mut errors);
    }
    check_single(spec, &mut errors);
    infer_from_addresses(spec, cluster, &mut errors);
    refused(errors)?;
    if !selectorless {
        refused(check_configured(spec, cluster))?;
    }
    if spec.ip_families.is_empty() {
        spec.ip_families.extend(cluster.families.first().cloned());
    }
    // Endpoints that users maintain may be of families that the cluster does not route.
    if !is_single(spec) && spec.ip_families.len() == 1 && (selectorless || cluster.families.len() == 2) {
        spec.ip_families.extend(spec.ip_families.first().map(other));
    }
    Ok(())
}

/// Whether a service that prefers dual stack and is unchanged keeps its families, even if those of the cluster have
/// changed.
pub fn keeps_preference(spec: &ServiceSpec, old: &ServiceSpec) -> bool {
    let prefers = Some(IPFamilyPolicy::PREFER_DUAL_STACK);
    spec.ip_family_policy == prefers
        && (old.ip_family_policy.is_none() || old.ip_family_policy == prefers)
        && spec.r#type == old.r#type
        && spec.r#type != ServiceType::EXTERNAL_NAME
        && spec.cluster_ips == old.cluster_ips
        && spec.ip_families == old.ip_families
}

fn refused(errors: ErrorList) -> Result<(), ErrorList> {
    if errors.is_empty() { Ok(()) } else { Err(errors) }
}

fn is_single(spec: &ServiceSpec) -> bool {
    spec.ip_family_policy == Some(IPFamilyPolicy::SINGLE_STACK)
}

fn cluster_ips(spec: &ServiceSpec) -> Value {
    spec.cluster_ips.to_value()
}

fn policy(spec: &ServiceSpec) -> Value {
    spec.ip_family_policy.to_value()
}

fn family_of(ip: &str) -> Option<IPFamily> {
    parse_ip_sloppy(ip).map(family)
}

/// Keeps policy and families consistent: an update to single stack removes the second family, and an update that
/// removes it must set single stack.
fn follow_policy(spec: &mut ServiceSpec, old: &ServiceSpec, errors: &mut ErrorList) {
    if is_single(spec) {
        if spec.cluster_ips == old.cluster_ips {
            spec.cluster_ips.truncate(1);
        }
        if spec.ip_families == old.ip_families {
            spec.ip_families.truncate(1);
        }
        return;
    }
    let is_reduced = |new: usize, old: usize| (1..old).contains(&new);
    if is_reduced(spec.cluster_ips.len(), old.cluster_ips.len()) {
        errors.invalid(POLICY, policy(spec), "must be 'SingleStack' to release the secondary cluster IP");
    }
    if is_reduced(spec.ip_families.len(), old.ip_families.len()) {
        errors.invalid(POLICY, policy(spec), "must be 'SingleStack' to release the secondary IP family");
    }
}

fn check_single(spec: &ServiceSpec, errors: &mut ErrorList) {
    if !is_single(spec) {
        return;
    }
    for (count, what) in [(spec.cluster_ips.len(), "cluster IPs"), (spec.ip_families.len(), "IP families")] {
        if count == 2 {
            let detail = format!("must be 'RequireDualStack' or 'PreferDualStack' when multiple {what} are specified");
            errors.invalid(POLICY, policy(spec), detail);
        }
    }
}

fn infer_from_addresses(spec: &mut ServiceSpec, cluster: &Cluster, errors: &mut ErrorList) {
    if is_headless(spec) {
        return;
    }
    for (at, ip) in spec.cluster_ips.iter().enumerate().skip(spec.ip_families.len()) {
        let Some(family) = family_of(ip) else { continue };
        if cluster.families.contains(&family) {
            spec.ip_families.push(family);
        } else {
            let detail = format!("{} is not configured on this cluster", family.as_str());
            errors.invalid(format!("{CLUSTER_IPS}[{at}]"), cluster_ips(spec), detail);
        }
    }
}

fn check_configured(spec: &ServiceSpec, cluster: &Cluster) -> ErrorList {
    let mut errors = ErrorList::default();
    if spec.ip_family_policy == Some(IPFamilyPolicy::REQUIRE_DUAL_STACK) && cluster.families.len() < 2 {
        errors.invalid(POLICY, policy(spec), "this cluster is not configured for dual-stack services");
    }
    for (at, family) in spec.ip_families.iter().enumerate() {
        if !cluster.families.contains(family) {
            errors.invalid(format!("spec.ipFamilies[{at}]"), family.to_value(), "not configured on this cluster");
        }
    }
    errors
}
