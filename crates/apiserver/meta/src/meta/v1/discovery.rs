//! Types of `meta.k8s.io/v1`: the lists of groups, versions and resources.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::ApiType;

use super::TypeMeta;

/// The versions of the core API, served at "/api".
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIVersions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Versions of the core group that this server offers.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub versions: Vec<String>,
    /// Server addresses to use depending on the network the client comes from.
    #[k8s(proto = 2, name = "serverAddressByClientCIDRs", always, list_type = atomic)]
    pub server_address_by_client_cidrs: Vec<ServerAddressByClientCIDR>,
}

/// The API groups of this server, as listed at "/apis".
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIGroupList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// All API groups that this server offers, apart from the core group.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub groups: Vec<APIGroup>,
}

/// One API group together with its served versions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIGroup {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Name of the group, such as "apps".
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Versions of the group that are served.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub versions: Vec<GroupVersionForDiscovery>,
    /// The version clients should choose when they have no preference of their own.
    #[k8s(proto = 3, optional)]
    pub preferred_version: GroupVersionForDiscovery,
    /// Server addresses to use depending on the network the client comes from; absent means any
    /// address works.
    #[k8s(proto = 4, name = "serverAddressByClientCIDRs", optional, list_type = atomic)]
    pub server_address_by_client_cidrs: Vec<ServerAddressByClientCIDR>,
}

/// Associates a client network with the server address its clients should use.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServerAddressByClientCIDR {
    /// Client network in CIDR form that this entry applies to.
    #[k8s(proto = 1, name = "clientCIDR", always)]
    pub client_cidr: String,
    /// Address of the server, as host, IP or host:port, for clients in that network.
    #[k8s(proto = 2, always)]
    pub server_address: String,
}

/// One version of a group, both in full and in short form.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupVersionForDiscovery {
    /// Group and version joined as "group/version".
    #[k8s(proto = 1, always)]
    pub group_version: String,
    /// The version alone, such as "v1".
    #[k8s(proto = 2, always)]
    pub version: String,
}

/// Describes one resource or subresource that the server offers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIResource {
    /// Plural name used in URLs; subresources are written as "pods/status".
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Singular name for use on command lines and in messages; may be empty.
    #[k8s(proto = 6, always)]
    pub singular_name: String,
    /// True when objects of this resource live in namespaces, false when they are cluster-wide.
    #[k8s(proto = 2, always)]
    pub namespaced: bool,
    /// API group of the resource's kind when it differs from the group of the enclosing list.
    #[k8s(proto = 8)]
    pub group: String,
    /// Version of the resource's kind when it differs from the version of the enclosing list.
    #[k8s(proto = 9)]
    pub version: String,
    /// Kind of the objects, such as "Pod".
    #[k8s(proto = 3, always)]
    pub kind: String,
    /// Actions the resource supports, such as get, list, watch, create or delete.
    #[k8s(proto = 4, always)]
    pub verbs: Verbs,
    /// Abbreviations accepted by command-line tools, such as "po" for pods.
    #[k8s(proto = 5, list_type = atomic)]
    pub short_names: Vec<String>,
    /// Groupings the resource belongs to, such as "all".
    #[k8s(proto = 7, list_type = atomic)]
    pub categories: Vec<String>,
    /// Changes when the version used for storage changes; only meaningful when compared for
    /// equality.
    #[k8s(proto = 10, optional)]
    pub storage_version_hash: String,
}

/// List of API actions, such as "get" or "patch".
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
pub struct Verbs {
    /// The values, in order.
    #[k8s(proto = 1)]
    pub items: Vec<String>,
}

/// The resources of one group and version.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct APIResourceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Group and version the resources belong to, as "group/version".
    #[k8s(proto = 1, always)]
    pub group_version: String,
    /// Resources and subresources offered in that version.
    #[k8s(proto = 2, always, list_type = atomic)]
    pub resources: Vec<APIResource>,
}

/// Lists the paths the server answers, as returned by "/".
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RootPaths {
    /// URL paths available on this server.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub paths: Vec<String>,
}
