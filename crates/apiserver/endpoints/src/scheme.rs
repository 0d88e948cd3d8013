//! The kinds that bodies may name: those of the server's resources, and other known ones.
//!
//! Only messages depend on this: the error for a known kind differs from that for an unknown one.

use pintle_resource::{Resource, Resources};
use pintle_schema::names::quoted;
use std::sync::Arc;

/// The kinds that every version has.
const OF_VERSIONS: &[&str] =
    &["CreateOptions", "DeleteOptions", "GetOptions", "ListOptions", "PatchOptions", "UpdateOptions", "WatchEvent"];
/// The kinds whose version is ignored.
const UNVERSIONED: &[&str] = &["APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "Status"];

/// The scheme of delete options, whatever is deleted.
const OPTIONS_SCHEME: &str = "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme/register.go:27";
/// The options that this scheme knows in every version, beside those of a delete.
const OPTIONS_OF_ANY_VERSION: &[&str] = &["CreateOptions", "UpdateOptions"];
/// What all groups share.
const META: &str = "meta.k8s.io/v1";
const META_BETA: &str = "meta.k8s.io/v1beta1";
const META_KINDS: &[&str] = &["PartialObjectMetadata", "PartialObjectMetadataList", "Table", "TableOptions"];

/// Why an object is not the options of a delete; `None` if it is.
pub fn delete_options_mismatch(api_version: &str, kind: &str) -> Option<String> {
    if api_version.matches('/').count() > 1 {
        return Some(format!("unexpected GroupVersion string: {api_version}"));
    }
    if matches!(kind, "" | "DeleteOptions") {
        return None;
    }
    let version = if api_version.is_empty() { META } else { api_version };
    let is_known = UNVERSIONED.contains(&kind)
        || OPTIONS_OF_ANY_VERSION.contains(&kind)
        || version == META && OF_VERSIONS.contains(&kind)
        || [META, META_BETA].contains(&version) && META_KINDS.contains(&kind);
    if !is_known {
        let (kind, version) = (quoted(kind), quoted(version));
        return Some(format!("no kind {kind} is registered for version {version} in scheme \"{OPTIONS_SCHEME}\""));
    }
    // The other types are the same in both versions.
    let package = if (version, kind) == (META_BETA, "PartialObjectMetadataList") { "v1beta1" } else { "v1" };
    Some(format!("converting ({package}.{kind}) to (v1.DeleteOptions): unknown conversion"))
}

/// Known kinds that no resource has, and kube-apiserver's names of groups in messages.
pub trait KnownKinds: Send + Sync {
    /// Whether a kind is known in an `apiVersion` although no resource has it.
    fn is_known(&self, api_version: &str, kind: &str) -> bool;

    /// Whether a version is known although no resource has it.
    fn is_version(&self, api_version: &str) -> bool;

    /// The scheme that the kinds of a group are known in.
    fn scheme(&self, group: &str) -> &'static str;

    /// The group that a kind belongs to wherever it is served.
    fn home<'a>(&self, group: &'a str, kind: &str) -> &'a str;

    /// The package of a group's types.
    fn package<'a>(&self, group: &'a str) -> &'a str;
}

/// No kinds but those of resources.
impl KnownKinds for () {
    fn is_known(&self, _: &str, _: &str) -> bool {
        false
    }

    fn is_version(&self, _: &str) -> bool {
        false
    }

    fn scheme(&self, _: &str) -> &'static str {
        "pkg/runtime/scheme.go:110"
    }

    fn home<'a>(&self, group: &'a str, _: &str) -> &'a str {
        group
    }

    fn package<'a>(&self, group: &'a str) -> &'a str {
        group.split('.').next().unwrap_or(group)
    }
}

/// The kinds that a server knows.
pub struct Scheme {
    resources: Arc<Resources>,
    known: Box<dyn KnownKinds>,
}

impl Default for Scheme {
    fn default() -> Self {
        Scheme::new(Arc::default(), Box::new(()))
    }
}

/// The group of an `apiVersion`.
pub fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

impl Scheme {
    /// The kinds of these resources, at any time, and other known ones.
    pub fn new(resources: Arc<Resources>, known: Box<dyn KnownKinds>) -> Scheme {
        Scheme { resources, known }
    }

    /// The resource of a kind, served or not.
    pub fn resource(&self, api_version: &str, kind: &str) -> Option<Arc<Resource>> {
        let table = self.resources.read();
        table.all().find(|resource| resource.kind == kind && resource.api_version() == api_version).cloned()
    }

    /// Whether a scheme knows a kind in an `apiVersion`, as itself or as its list.
    fn knows(&self, scheme_name: &str, api_version: &str, kind: &str) -> bool {
        if UNVERSIONED.contains(&kind) || api_version == "v1" && OF_VERSIONS.contains(&kind) {
            return true;
        }
        self.known.scheme(group_of(api_version)) == scheme_name
            && (OF_VERSIONS.contains(&kind) && self.is_version(api_version)
                || [Some(kind), kind.strip_suffix("List")]
                    .into_iter()
                    .flatten()
                    .any(|kind| self.resource(api_version, kind).is_some() || self.known.is_known(api_version, kind)))
    }

    /// Whether there is a version, or was one that is still known.
    fn is_version(&self, api_version: &str) -> bool {
        self.known.is_version(api_version)
            || self.resources.read().all().any(|resource| resource.api_version() == api_version)
    }

    /// Whether an object of one version is one of the expected kind, but for its version.
    pub fn converts(&self, api_version: &str, kind: &str, expected_group: &str, expected_kind: &str) -> bool {
        let group = group_of(api_version);
        kind == expected_kind
            && self.known.home(group, kind) == self.known.home(expected_group, kind)
            && self.knows(self.known.scheme(expected_group), api_version, kind)
    }

    /// Why an object of a kind is not one of the expected kind.
    pub fn mismatch_message(&self, api_version: &str, kind: &str, expected_group: &str, expected_kind: &str) -> String {
        let scheme = self.known.scheme(expected_group);
        if !self.knows(scheme, api_version, kind) {
            let (kind, version) = (quoted(kind), quoted(api_version));
            return format!("no kind {kind} is registered for version {version} in scheme \"{scheme}\"");
        }
        let short = match OF_VERSIONS.contains(&kind) || UNVERSIONED.contains(&kind) {
            true => "v1",
            false => api_version.rsplit('/').next().unwrap_or(""),
        };
        format!("converting ({short}.{kind}) to ({}): unknown conversion", self.go_type(expected_group, expected_kind))
    }

    /// The type that kube-apiserver has for a kind of any version.
    pub fn go_type(&self, group: &str, kind: &str) -> String {
        format!("{}.{kind}", self.known.package(self.known.home(group, kind)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delete_options_are_of_the_scheme_of_options() {
        let unknown = |kind: &str, version: &str| {
            format!("no kind \"{kind}\" is registered for version \"{version}\" in scheme \"{OPTIONS_SCHEME}\"")
        };
        let converting = |found: &str| format!("converting ({found}) to (v1.DeleteOptions): unknown conversion");
        for (version, kind, expected) in [
            ("", "", None),
            ("apps/v1", "", None),
            ("none/v1", "DeleteOptions", None),
            ("a/b/c", "DeleteOptions", Some("unexpected GroupVersion string: a/b/c".to_owned())),
            ("", "Pod", Some(unknown("Pod", "meta.k8s.io/v1"))),
            ("v1", "Pod", Some(unknown("Pod", "v1"))),
            ("apps/v1", "ListOptions", Some(unknown("ListOptions", "apps/v1"))),
            ("", "ListOptions", Some(converting("v1.ListOptions"))),
            ("apps/v1", "CreateOptions", Some(converting("v1.CreateOptions"))),
            ("v1", "Status", Some(converting("v1.Status"))),
            ("v1", "Table", Some(unknown("Table", "v1"))),
            ("meta.k8s.io/v1beta1", "Table", Some(converting("v1.Table"))),
            ("meta.k8s.io/v1beta1", "PartialObjectMetadataList", Some(converting("v1beta1.PartialObjectMetadataList"))),
        ] {
            assert_eq!(delete_options_mismatch(version, kind), expected, "{version} {kind}");
        }
    }

    #[test]
    fn a_server_without_kinds_knows_what_every_server_knows() {
        let scheme = Scheme::default();
        let refused = scheme.mismatch_message("v1", "Status", "fun.example.com", "Frobber");
        assert_eq!(refused, "converting (v1.Status) to (fun.Frobber): unknown conversion");
        let refused = scheme.mismatch_message("v1", "Pod", "fun.example.com", "Frobber");
        assert!(refused.starts_with("no kind \"Pod\" is registered for version \"v1\""), "{refused}");
        assert!(!scheme.converts("fun.example.com/v1", "Frobber", "fun.example.com", "Frobber"));
    }
}
