//! `ApiResource`: under which group, version and names a kind is served, as constants of its type.
//! Guarantees that they are known when the program is compiled.
//! Must never say how a resource is stored or what it does.

use crate::api_value::ApiType;

/// The group, the version and the names of a resource, and its scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResourceNames {
    /// The API group; "" is the core group.
    pub group: &'static str,
    pub version: &'static str,
    pub kind: &'static str,
    /// The plural name in paths.
    pub plural: &'static str,
    pub singular: &'static str,
    pub short_names: &'static [&'static str],
    pub categories: &'static [&'static str],
    pub namespaced: bool,
}

impl ResourceNames {
    /// A namespaced kind without short names and categories.
    pub const fn namespaced(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
    ) -> Self {
        ResourceNames { group, version, kind, plural, singular, short_names: &[], categories: &[], namespaced: true }
    }

    /// The same for a kind without namespace.
    pub const fn cluster(
        group: &'static str,
        version: &'static str,
        plural: &'static str,
        singular: &'static str,
        kind: &'static str,
    ) -> Self {
        ResourceNames { namespaced: false, ..ResourceNames::namespaced(group, version, plural, singular, kind) }
    }

    /// Group and version as in `apiVersion`.
    pub fn api_version(&self) -> String {
        match self.group {
            "" => self.version.to_owned(),
            group => format!("{group}/{}", self.version),
        }
    }

    /// Whether this is what `apiVersion` says.
    pub fn is_api_version(&self, api_version: &str) -> bool {
        (self.group, self.version) == api_version.split_once('/').unwrap_or(("", api_version))
    }
}

/// A kind that is served as a resource; the derive implements it for a struct with the tag `resource`.
pub trait ApiResource: ApiType {
    const NAMES: ResourceNames;
}

/// The version that a module's path names: its last segment that begins with `v` and a digit.
pub const fn version_in(module: &'static str) -> &'static str {
    let path = module.as_bytes();
    let mut end = path.len();
    let mut at = end;
    while at > 0 {
        at -= 1;
        let begins = at == 0 || path[at - 1] == b':';
        if begins && at + 1 < end && path[at] == b'v' && path[at + 1].is_ascii_digit() {
            let (before, _) = module.split_at(end);
            let (_, version) = before.split_at(at);
            return version;
        }
        if path[at] == b':' {
            end = at;
        }
    }
    panic!("no module of the path has the name of a version: write `version = \"..\"` in `resource`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_modules() {
        for (module, version) in [
            ("pintle_types::batch::v1", "v1"),
            ("pintle_types::resource::v1beta2::claim", "v1beta2"),
            ("frobber::v7beta1", "v7beta1"),
            ("v2", "v2"),
            ("v2::virtual::v", "v2"),
        ] {
            assert_eq!(version_in(module), version, "{module}");
        }
    }

    #[test]
    fn api_versions() {
        for (group, api_version) in [("", "v1"), ("batch", "batch/v1")] {
            let names = ResourceNames::namespaced(group, "v1", "jobs", "job", "Job");
            assert_eq!(names.api_version(), api_version);
            assert!(names.is_api_version(api_version));
            assert!(!names.is_api_version("batch/v2") && !names.is_api_version("v2"));
        }
    }
}
