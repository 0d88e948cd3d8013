//! `Router`: from group, version and plural name to the resource.
//!
//! Built once from the resources that are served; looking up allocates nothing.

use pintle_kinds::resource::{Resource, Served};
use std::collections::HashMap;

/// The resources served, by where requests find them.
#[derive(Default)]
pub struct Router {
    groups: HashMap<&'static str, HashMap<&'static str, HashMap<&'static str, &'static Resource>>>,
}

/// What a path's group and version lead to.
pub enum Found {
    Resource(&'static Resource),
    /// The group is served, the version or the resource is not.
    NoResource,
    NoGroup,
}

impl Router {
    pub fn new(resources: impl IntoIterator<Item = &'static Resource>) -> Self {
        let mut router = Router::default();
        for resource in resources {
            let versions = router.groups.entry(resource.group).or_default();
            versions.entry(resource.version).or_default().insert(resource.plural, resource);
        }
        router
    }

    pub fn find(&self, group: &str, version: &str, plural: &str) -> Found {
        let Some(versions) = self.groups.get(group) else { return Found::NoGroup };
        let found = versions.get(version).and_then(|resources| resources.get(plural));
        found.map_or(Found::NoResource, |resource| Found::Resource(resource))
    }

    pub fn resources(&self) -> impl Iterator<Item = &'static Resource> {
        self.groups.values().flat_map(HashMap::values).flat_map(HashMap::values).copied()
    }
}

/// Which versions `--runtime-config` turns on or off besides the defaults.
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig(pub Vec<(String, bool)>);

impl RuntimeConfig {
    /// Whether a resource is served under this configuration and these feature gates.
    pub fn serves(&self, resource: &Resource, gate: &dyn Fn(&str) -> bool) -> bool {
        let by_default = match resource.served {
            Served::ByDefault => true,
            Served::OnRequest => false,
            Served::Gated(name) if !gate(name) => return false,
            Served::Gated(_) => false,
        };
        let version = resource.api_version();
        let named = [version.clone(), format!("{version}/{}", resource.plural)];
        let stage = match () {
            () if resource.version.contains("alpha") => "api/alpha",
            () if resource.version.contains("beta") => "api/beta",
            () => "api/ga",
        };
        let last = |keys: &[&str]| self.0.iter().rev().find(|(key, _)| keys.contains(&key.as_str())).map(|(_, on)| *on);
        last(&[&named[1]])
            .or_else(|| last(&[&named[0]]))
            .or_else(|| last(&[stage]))
            .or_else(|| last(&["api/all"]))
            .unwrap_or(by_default)
    }
}
