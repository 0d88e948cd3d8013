//! The flag `--runtime-config`, which enables and disables APIs. Guarantees that an unknown name is rejected with
//! kube-apiserver's message. Must never decide what is served by default: the resources do.

use super::config::Config;
use super::table::Flag;
use super::{FlagError, values};
use pintle_handlers::known_kinds;
use pintle_resource::Resource;
use std::collections::BTreeSet;

const ALL: &str = "api/all";
/// The keys that stand for several versions.
const STAGES: [&str; 4] = [ALL, "api/ga", "api/beta", "api/alpha"];

/// The flags of APIs and feature gates.
pub static API_FLAGS: &[Flag] = &[
    Flag::read(
        "runtime-config",
        "API=true|false,...",
        "APIs to turn on or off: group/version, group/version/resource, api/all, api/ga, api/beta, api/alpha.",
        read,
    ),
    Flag::read(
        "feature-gates",
        "GATE=true|false,...",
        "Feature gates to turn on or off. Those without effect are listed below.",
        feature_gates,
    ),
];

fn feature_gates(config: &mut Config, value: &str) -> Result<(), String> {
    config.gate_items.extend(values::list(value).map(str::to_owned));
    Ok(())
}

/// Adds items: group-versions, resources, or keys that stand for several versions.
///
/// # Errors
/// An item has another form.
pub fn read(config: &mut Config, value: &str) -> Result<(), String> {
    for item in values::list(value) {
        let (name, value) = item.split_once('=').unwrap_or((item, ""));
        let value = match value {
            "true" => true,
            "false" => false,
            value if STAGES.contains(&name) => return Err(format!("invalid value {name}={value}")),
            "" => true,
            value => values::boolean(value).map_err(|reason| format!("{name} {reason}"))?,
        };
        // The core group may have its empty name.
        let name = name.strip_prefix('/').unwrap_or(name);
        let parts: Vec<&str> = name.split('/').collect();
        if parts.len() > 3 || parts.contains(&"") {
            return Err(format!("{name} is no API group, version or resource"));
        }
        config.runtime_config.items.push((name.to_owned(), value));
    }
    Ok(())
}

/// # Errors
/// kube-apiserver does not know a group or a version, or nothing remains to be served.
pub fn check(config: &Config) -> Result<(), FlagError> {
    let items = &config.runtime_config.items;
    let refused = |sentence: String| Err(FlagError::Combination(sentence));
    if items.iter().all(|(name, _)| name == ALL) && items.last().is_some_and(|(_, on)| !on) {
        return refused(format!("invalid runtime-config with only {ALL}=false"));
    }
    if let Some(name) = without_flow_control(config) {
        return refused(format!("--runtime-config={name}=false conflicts with --enable-priority-and-fairness=true"));
    }
    let (mut of_unknown_groups, mut unknown) = (BTreeSet::new(), None);
    for (name, _) in items.iter().filter(|(name, _)| !STAGES.contains(&name.as_str())) {
        let (version, resource) = split(name);
        match version.split_once('/') {
            _ if is_version(version) => {}
            None => return refused(format!("runtime-config invalid key {name}")),
            Some((group, _)) if !is_group(group) => _ = of_unknown_groups.insert(version),
            Some(_) => _ = unknown.get_or_insert(version),
        }
        if let Some(resource) = resource.filter(|resource| resource.chars().any(char::is_uppercase)) {
            return refused(format!(
                "invalid key {name}: group/version/resource and resource is always lowercase plural, not {resource:?}"
            ));
        }
    }
    if !of_unknown_groups.is_empty() {
        let names: Vec<&str> = of_unknown_groups.into_iter().collect();
        return refused(format!("unknown api groups {}", names.join(",")));
    }
    if let Some(version) = unknown {
        return refused(format!("group version {version} that has not been registered"));
    }
    introduced(config).map_or(Ok(()), refused)
}

/// The item that turns off the API with which priority and fairness is configured, if it is on. The first of the names
/// that is given decides.
fn without_flow_control(config: &Config) -> Option<&'static str> {
    if !config.settings.priority_and_fairness {
        return None;
    }
    let last = |wanted: &str| config.runtime_config.items.iter().rev().find(|(name, _)| name == wanted);
    let names = ["flowcontrol.apiserver.k8s.io/v1", "api/ga", ALL].into_iter();
    let (name, is_on) = names.filter_map(|name| last(name).map(|(_, on)| (name, *on))).next()?;
    (!is_on).then_some(name)
}

/// Why items may not turn on what they name: the emulated version does not have it.
fn introduced(config: &Config) -> Option<String> {
    const ADVICE: &str = "Consider setting --runtime-config-emulation-forward-compatible=true";
    let runtime_config = &config.runtime_config;
    let gates = &config.feature_gates;
    let emulated = format!("1.{}", runtime_config.version.emulated_minor);
    for group in pintle_groups::groups() {
        // The last version first, as the API server looks at them.
        for version in group.versions.iter().rev() {
            let is_left = |resource: &Resource| !runtime_config.is_removed(resource);
            let of_version =
                || group.resources.iter().filter(|it| it.version == version.name).filter(|it| is_left(it.as_ref()));
            let mut enabled = of_version().filter(|resource| runtime_config.enables(resource, gates)).peekable();
            let is_enabled = enabled.peek().is_some();
            let is_served = |resource: &Resource| runtime_config.serves(resource, Some(group), gates);
            let mut named = enabled.filter(|resource| !is_served(resource) && runtime_config.names_resource(resource));
            if let Some(resource) = named.next() {
                let (api_version, plural, since) = (resource.api_version(), &resource.plural, resource.introduced);
                return Some(format!(
                    "cannot enable resource {api_version}, Resource={plural} in runtime-config because it is introduced at 1.{since} \
                     after the current version {emulated}. {ADVICE}"
                ));
            }
            let Some(api_version) = of_version().next().map(|resource| resource.api_version()) else { continue };
            if is_enabled && runtime_config.names_version(&api_version) && !of_version().any(|it| is_served(it)) {
                return Some(format!(
                    "cannot enable version {api_version} in runtime-config because all the resources have been introduced after \
                     the current version {emulated}. {ADVICE}"
                ));
            }
        }
    }
    None
}

/// Whether a version is served, or was served by a former release.
fn is_version(api_version: &str) -> bool {
    known_kinds::is_version(api_version) || pintle_groups::all().any(|resource| resource.api_version() == api_version)
}

/// The same for a group.
fn is_group(name: &str) -> bool {
    known_kinds::is_group(name) || pintle_groups::groups().iter().any(|group| group.name == name)
}

/// Splits a name into its version and, if it has one, its resource: `v1`, `v1/pods`, `apps/v1`, `apps/v1/deployments`.
fn split(name: &str) -> (&str, Option<&str>) {
    match name.rsplit_once('/') {
        Some((version, resource)) if version.contains('/') || is_version(version) => (version, Some(resource)),
        _ => (name, None),
    }
}
