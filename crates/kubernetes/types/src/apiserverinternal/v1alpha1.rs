//! Types of `internal.apiserver.k8s.io/v1alpha1`: the storage versions that servers agree on.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Records in which version API servers store a resource; for internal use.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "internal.apiserver.k8s.io", plural = "storageversions", cluster))]
pub struct StorageVersion {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, published = required)]
    pub metadata: ObjectMeta,
    /// Always empty.
    #[k8s(proto = 2, optional, always)]
    pub spec: StorageVersionSpec,
    /// What every server reported.
    #[k8s(proto = 3, optional, always)]
    pub status: StorageVersionStatus,
}

/// Empty; storage versions have nothing to configure.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionSpec {}

/// Reported storage versions of all servers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionStatus {
    /// One report for each API server.
    #[k8s(proto = 1, optional, list_type = map, list_map_keys("apiServerID"), distinct_with_absent(apiServerID))]
    pub storage_versions: Vec<ServerStorageVersion>,
    /// Version shared by all servers; unset while they differ.
    #[k8s(proto = 2, optional)]
    pub common_encoding_version: Option<String>,
    /// Latest observations on agreement among servers.
    #[k8s(proto = 3, optional, list_type = map, list_map_keys("type"))]
    pub conditions: Vec<StorageVersionCondition>,
}

/// Storage report of one API server.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServerStorageVersion {
    /// Identity of the reporting server.
    #[k8s(proto = 1, name = "apiServerID", published = required, format = "dns1123-subdomain")]
    pub api_server_id: String,
    /// Version it writes objects in.
    #[k8s(proto = 2, published = required)]
    pub encoding_version: String,
    /// Versions it is able to read from storage.
    #[k8s(proto = 3, published = required, list_type = set)]
    pub decodable_versions: Vec<String>,
    /// Versions it offers to clients; all of them readable.
    #[k8s(proto = 4, optional, list_type = set)]
    pub served_versions: Vec<String>,
}

string_type! {
    /// Aspect of a storage version reported by a condition.
    pub StorageVersionConditionType {
        /// All servers write the same version.
        ALL_ENCODING_VERSIONS_EQUAL = "AllEncodingVersionsEqual",
    }
}

string_type! {
    /// Truth value of a condition.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It is unknown whether the condition holds.
        UNKNOWN = "Unknown",
    }
}

/// One observation on a storage version.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionCondition {
    /// Aspect described.
    #[k8s(proto = 1, published = required, always)]
    pub r#type: StorageVersionConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2, published = required, always)]
    pub status: ConditionStatus,
    /// Generation the observation belongs to.
    #[k8s(proto = 3, optional)]
    pub observed_generation: i64,
    /// When the status last flipped.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 5, published = required, always)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 6, published = required)]
    pub message: String,
}

/// Collection of storage versions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The StorageVersion objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<StorageVersion>,
}
