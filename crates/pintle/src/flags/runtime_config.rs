//! The flag `--runtime-config`, which enables and disables APIs. Guarantees that an unknown name is rejected with
//! kube-apiserver's message. Must never decide what is served by default: the resources do.

use super::config::Config;
use super::{FlagError, values};
use pintle_handlers::known_kinds;
use std::collections::BTreeSet;

const ALL: &str = "api/all";
/// The keys that stand for several versions.
const STAGES: [&str; 4] = [ALL, "api/ga", "api/beta", "api/alpha"];

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
        config.runtime_config.0.push((name.to_owned(), value));
    }
    Ok(())
}

/// # Errors
/// kube-apiserver does not know a group or a version, or nothing remains to be served.
pub fn check(config: &Config) -> Result<(), FlagError> {
    let items = &config.runtime_config.0;
    let refused = |sentence: String| Err(FlagError::Combination(sentence));
    if items.iter().all(|(name, _)| name == ALL) && items.last().is_some_and(|(_, on)| !on) {
        return refused(format!("invalid runtime-config with only {ALL}=false"));
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
    match unknown {
        Some(version) => refused(format!("group version {version} that has not been registered")),
        None => Ok(()),
    }
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
