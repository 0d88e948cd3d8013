//! `RuntimeConfig`: which versions of resources are served: the defaults of the emulated release, and what
//! `--runtime-config` turns on or off besides.

use pintle_discovery::version::EffectiveVersion;
use pintle_resource::{Group, Resource, Served};
use pintle_schema::GateSet;

/// Which versions `--runtime-config` turns on or off besides the defaults of a release.
#[derive(Clone, Debug, Default)]
pub struct RuntimeConfig {
    /// Group-versions, resources, or `api/all`, `api/ga`, `api/beta`, `api/alpha`, in their order.
    pub items: Vec<(String, bool)>,
    /// The release whose APIs are served.
    pub version: EffectiveVersion,
    /// Whether later versions of a resource are served, too, if a version is that is not alpha.
    pub forward_compatible: bool,
    /// Whether items may turn on versions that are later than the release.
    pub items_forward_compatible: bool,
}

impl RuntimeConfig {
    /// Whether a resource is served under this configuration and these feature gates. The group has its other versions.
    pub fn serves(&self, resource: &Resource, group: Option<&Group>, gates: &GateSet) -> bool {
        if !self.enables(resource, gates) || self.is_removed(resource) {
            return false;
        }
        self.is_introduced(resource)
            || (self.items_forward_compatible && self.is_named(resource))
            || (self.forward_compatible && group.is_some_and(|group| self.serves_earlier(resource, group, gates)))
    }

    /// Whether the release has a version.
    pub fn is_introduced(&self, resource: &Resource) -> bool {
        resource.introduced <= self.version.emulated_minor
    }

    /// Whether the release serves a version no longer, whatever items say.
    pub fn is_removed(&self, resource: &Resource) -> bool {
        resource.removed != 0 && resource.removed <= self.version.emulated_minor
    }

    /// Whether an item names a resource.
    pub fn names_resource(&self, resource: &Resource) -> bool {
        self.last(&[&name(resource)]) == Some(true)
    }

    /// Whether an item names a version.
    pub fn names_version(&self, api_version: &str) -> bool {
        self.last(&[api_version]) == Some(true)
    }

    fn is_named(&self, resource: &Resource) -> bool {
        self.names_resource(resource) || self.names_version(&resource.api_version())
    }

    /// Whether a version of the resource is served that comes after it in the group's order and is not alpha.
    fn serves_earlier(&self, resource: &Resource, group: &Group, gates: &GateSet) -> bool {
        let rank = |version: &str| group.versions.iter().position(|known| known.name == version);
        let mut others = group.resources.iter().filter(|other| other.plural == resource.plural);
        others.any(|other| {
            let is_later_in_order = rank(&other.version) > rank(&resource.version);
            is_later_in_order && !other.version.contains("alpha") && self.serves(other, Some(group), gates)
        })
    }

    /// Whether a version is on: by an item, or by default.
    pub fn enables(&self, resource: &Resource, gates: &GateSet) -> bool {
        let by_default = match resource.served {
            Served::ByDefault => true,
            Served::OnRequest => false,
            Served::Gated(gate) if !gates.is_on(gate) => return false,
            Served::Gated(_) => false,
        };
        let stage = match () {
            () if resource.version.contains("alpha") => "api/alpha",
            () if resource.version.contains("beta") => "api/beta",
            () => "api/ga",
        };
        self.last(&[&name(resource)])
            .or_else(|| self.last(&[&resource.api_version()]))
            .or_else(|| self.last(&[stage]))
            .or_else(|| self.last(&["api/all"]))
            .unwrap_or(by_default)
    }

    /// The value of the last item with one of these keys.
    fn last(&self, keys: &[&str]) -> Option<bool> {
        self.items.iter().rev().find(|(key, _)| keys.contains(&key.as_str())).map(|(_, on)| *on)
    }
}

/// The key of an item that names a resource.
fn name(resource: &Resource) -> String {
    format!("{}/{}", resource.api_version(), resource.plural)
}
