//! Columns of the group `storagemigration.k8s.io`.
//!
//! The status is the type of the last condition that is true.

use crate::printing::cells::*;
use crate::printing::{Column, NAME, printers, string};
use pintle_schema::{Value, View};
use pintle_types::meta::v1::{Condition, GroupResource};
use pintle_types::storagemigration::v1beta1::{
    StorageVersionMigration, StorageVersionMigrationSpec, StorageVersionMigrationStatus,
};

printers! {
    STORAGE_VERSION_MIGRATION: StorageVersionMigration |migration, now| {
        Column { format: "", ..NAME } => name(migration),
        string("Resource", "Resource whose objects are written anew.") => resource(migration),
        string("Status", "How far the migration is.") => status(migration),
    }
}

fn resource(migration: View<'_, StorageVersionMigration>) -> Value {
    let resource = migration.to(StorageVersionMigration::SPEC).to(StorageVersionMigrationSpec::RESOURCE);
    let parts = [str_of(resource.to(GroupResource::RESOURCE)), str_of(resource.to(GroupResource::GROUP))];
    join(parts.iter().filter(|part| !part.is_empty()), ".").into()
}

fn status(migration: View<'_, StorageVersionMigration>) -> Value {
    let conditions = migration.to(StorageVersionMigration::STATUS).to(StorageVersionMigrationStatus::CONDITIONS);
    let holding = conditions.iter().filter(|condition| str_of(condition.to(Condition::STATUS)) == "True");
    let types = holding.map(|condition| str_of(condition.to(Condition::TYPE)));
    types.filter(|ty| ["Running", "Failed", "Succeeded"].contains(ty)).last().unwrap_or("Unknown").into()
}
