//! The `storagemigration.k8s.io` group: storage version migrations.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

pub(crate) mod columns;
pub(crate) mod rules;

use pintle_resource::{Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_types::storagemigration::v1beta1;

pub(crate) fn resources() -> Vec<Resource> {
    vec![storage_version_migrations()]
}

static STORAGE_VERSION_MIGRATION: Strategy = Strategy { unconditional_update: false, ..WITH_STATUS };

fn storage_version_migrations() -> Resource {
    Resource {
        served: Served::Gated("StorageVersionMigrator"),
        storage: Some(Storage::of::<v1beta1::StorageVersionMigration>(
            "storagemigration.k8s.io/v1beta1",
            "StorageVersionMigration",
            "/registry/storageversionmigrations/",
            "pCjmmKOkLy4=",
        )),
        subresources: vec![Subresource::status::<v1beta1::StorageVersionMigration>(
            "StorageVersionMigration",
            &STATUS_ALONE,
        )],
        strategy: &STORAGE_VERSION_MIGRATION,
        ..Resource::cluster::<v1beta1::StorageVersionMigration>(
            "storagemigration.k8s.io",
            "v1beta1",
            "storageversionmigrations",
            "storageversionmigration",
            "StorageVersionMigration",
        )
    }
}
