//! `RuntimeConfig`: which versions of resources `--runtime-config` turns on or off besides the defaults.

use pintle_resource::{Resource, Served};

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
