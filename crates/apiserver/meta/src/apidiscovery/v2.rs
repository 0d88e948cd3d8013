//! Types of `apidiscovery.k8s.io/v2`: the aggregated list of everything a server serves.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::{GroupVersionKind, ListMeta, ObjectMeta, TypeMeta};

/// All API groups of a server in a single discovery document.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIGroupDiscoveryList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The groups, in the order in which the server ranks them.
    #[k8s(proto = 2, always)]
    pub items: Vec<APIGroupDiscovery>,
}

/// One API group and its versions; named after the group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIGroupDiscovery {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Versions of the group, most preferred first.
    #[k8s(proto = 2, list_type = map, list_map_keys("version"))]
    pub versions: Vec<APIVersionDiscovery>,
}

/// One version of a group and its resources.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIVersionDiscovery {
    /// Name of the version, such as v1.
    #[k8s(proto = 1, always)]
    pub version: String,
    /// Resources served in this version.
    #[k8s(proto = 2, list_type = map, list_map_keys("resource"))]
    pub resources: Vec<APIResourceDiscovery>,
    /// Whether the data is current or left over from an unreachable server.
    #[k8s(proto = 3)]
    pub freshness: DiscoveryFreshness,
}

/// One resource and what can be done with it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIResourceDiscovery {
    /// Plural name as used in URLs.
    #[k8s(proto = 1, always)]
    pub resource: String,
    /// Kind the resource returns.
    #[k8s(proto = 2)]
    pub response_kind: Option<GroupVersionKind>,
    /// Whether it is namespaced or cluster-wide.
    #[k8s(proto = 3, always)]
    pub scope: ResourceScope,
    /// Singular name for use on the command line.
    #[k8s(proto = 4, always)]
    pub singular_resource: String,
    /// Operations supported, such as get or watch.
    #[k8s(proto = 5, always, list_type = set)]
    pub verbs: Vec<String>,
    /// Abbreviations accepted on the command line.
    #[k8s(proto = 6, list_type = set)]
    pub short_names: Vec<String>,
    /// Groups of resources it belongs to, such as all.
    #[k8s(proto = 7, list_type = set)]
    pub categories: Vec<String>,
    /// Subresources it offers.
    #[k8s(proto = 8, list_type = map, list_map_keys("subresource"))]
    pub subresources: Vec<APISubresourceDiscovery>,
}

string_type! {
    /// Scope of a resource.
    pub ResourceScope {
        /// Objects exist once in the cluster.
        CLUSTER = "Cluster",
        /// Objects live in namespaces.
        NAMESPACE = "Namespaced",
    }
}

string_type! {
    /// Age of discovery data.
    pub DiscoveryFreshness {
        /// The data was refreshed recently.
        CURRENT = "Current",
        /// The responsible server could not be reached, data may be old.
        STALE = "Stale",
    }
}

/// One subresource and what can be done with it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APISubresourceDiscovery {
    /// Name of the subresource, such as status.
    #[k8s(proto = 1, always)]
    pub subresource: String,
    /// Kind the subresource returns; may be absent.
    #[k8s(proto = 2)]
    pub response_kind: Option<GroupVersionKind>,
    /// Kinds the subresource takes as input.
    #[k8s(proto = 3, list_type = map, list_map_keys("group", "version", "kind"))]
    pub accepted_types: Vec<GroupVersionKind>,
    /// Operations supported.
    #[k8s(proto = 4, always, list_type = set)]
    pub verbs: Vec<String>,
}
