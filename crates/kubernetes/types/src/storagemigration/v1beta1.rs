//! Types of `storagemigration.k8s.io/v1beta1`: requests to store existing objects in a new version.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::{Condition, GroupResource, ListMeta, ObjectMeta, TypeMeta};

/// Request to rewrite stored objects of a resource in the latest storage version.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storagemigration.k8s.io", plural = "storageversionmigrations", cluster))]
pub struct StorageVersionMigration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Resource to rewrite.
    #[k8s(proto = 2, optional)]
    pub spec: StorageVersionMigrationSpec,
    /// Progress of the rewriting.
    #[k8s(proto = 3, optional)]
    pub status: StorageVersionMigrationStatus,
}

/// What gets migrated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionMigrationSpec {
    /// Group and resource whose objects get rewritten; immutable.
    #[k8s(proto = 1, always)]
    pub resource: GroupResource,
}

string_type! {
    /// Stage of a migration reported by a condition.
    pub MigrationConditionType {
        /// Rewriting is going on.
        RUNNING = "Running",
        /// Every object was rewritten.
        SUCCEEDED = "Succeeded",
        /// Rewriting gave up with an error.
        FAILED = "Failed",
    }
}

/// Progress of a storage migration.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionMigrationStatus {
    /// Latest observations on the migration.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
    /// Resource version up to which objects are covered.
    #[k8s(proto = 2)]
    pub resource_version: String,
}

/// Collection of storage version migrations.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StorageVersionMigrationList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The StorageVersionMigration objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<StorageVersionMigration>,
}
