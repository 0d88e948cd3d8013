//! Columns of the group `internal.apiserver.k8s.io`.
//!
//! Long lists are truncated, with the number of the other items.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string};
use pintle_schema::{Value, View};
use pintle_types::apiserverinternal::v1alpha1::{ServerStorageVersion, StorageVersion, StorageVersionStatus};

printers! {
    STORAGE_VERSION: StorageVersion |version, now| {
        NAME => name(version),
        string("CommonEncodingVersion", "Version that all servers write.")
            => text_or(version.to(StorageVersion::STATUS).to(StorageVersionStatus::COMMON_ENCODING_VERSION), UNSET),
        string("StorageVersions", "Version that each server writes.") => servers(version),
        AGE => age(version, now),
    }
}

fn servers(version: View<'_, StorageVersion>) -> Value {
    let server = |server: View<'_, ServerStorageVersion>| {
        let id = str_of(server.to(ServerStorageVersion::API_SERVER_ID));
        format!("{id}={}", str_of(server.to(ServerStorageVersion::ENCODING_VERSION)))
    };
    more3(version.to(StorageVersion::STATUS).to(StorageVersionStatus::STORAGE_VERSIONS).iter().map(server).collect())
}
