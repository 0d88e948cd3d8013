//! `ResourcePath`: the resource, object and subresource that the path of a request names.
//! Guarantees nothing about their existence. Must never be made of anything but a path.

/// A request that names a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ResourcePath {
    pub group: String,
    pub version: String,
    pub namespace: String,
    pub resource: String,
    pub name: String,
    pub subresource: String,
    /// What follows the subresource (proxy paths).
    pub rest: String,
    /// `/api/v1/watch/...`: the legacy form of a watch.
    pub legacy_watch: bool,
    /// `/api/v1/proxy/...`: a form that no resource has any more.
    pub legacy_proxy: bool,
    /// It goes through a namespace, which may be without a name; the path of a namespace itself does not.
    pub within_namespace: bool,
    /// More than is in a namespace, or a namespace in a namespace: no resource has such a path.
    pub malformed: bool,
    /// Its beginning has an empty segment, so that it is authorized as a resource's, but belongs to no API.
    pub outside_apis: bool,
}

impl ResourcePath {
    /// Whether it is but the beginning of those paths that say in front what is wanted.
    pub fn is_prefix_alone(&self) -> bool {
        matches!(self.resource.as_str(), "watch" | "proxy")
            && !self.legacy_watch
            && !self.legacy_proxy
            && !self.within_namespace
            && self.name.is_empty()
    }

    /// Whether it goes through a namespace that has a name; the path of a namespace itself does not.
    pub fn is_within_namespace(&self) -> bool {
        !self.namespace.is_empty() && self.resource != NAMESPACES
    }
}

/// The resource whose objects stand in front of what is in them.
pub const NAMESPACES: &str = "namespaces";
