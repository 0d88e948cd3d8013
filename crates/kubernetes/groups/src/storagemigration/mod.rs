//! The `storagemigration.k8s.io` group: storage version migrations.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_gates as gates;
use pintle_resource::{Group, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_schema::Str;
use pintle_types::storagemigration::v1beta1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("storagemigration.k8s.io"),
        priority: Some(15800),
        built_in: true,
        versions: vec![version("v1beta1", 9)],
        resources: functions.complete(vec![storage_version_migrations()]),
        internal: Vec::new(),
    }
}

static STORAGE_VERSION_MIGRATION: Strategy = Strategy { unconditional_update: false, ..WITH_STATUS };

fn storage_version_migrations() -> Resource {
    Resource {
        served: Served::Gated(&gates::STORAGE_VERSION_MIGRATOR),
        storage: Some(Storage::of::<v1beta1::StorageVersionMigration>()),
        subresources: vec![Subresource::status::<v1beta1::StorageVersionMigration>(&STATUS_ALONE)],
        strategy: &STORAGE_VERSION_MIGRATION,
        printer: printer(&columns::STORAGE_VERSION_MIGRATION),
        introduced: 35,
        ..Resource::of::<v1beta1::StorageVersionMigration>()
    }
}
