//! Reports to the other servers of a store in which version this server stores each resource, in `StorageVersion`
//! objects. Guarantees that a report names the version in which objects are written. Must never change another server's
//! report.

use crate::hooks::STORAGE_VERSIONS;
use futures_util::{StreamExt, TryStreamExt, stream};
use pintle_controllers::set_common_version;
use pintle_gates as gates;
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update};
use pintle_registry::{Registry, Result, Status, WriteOptions};
use pintle_resource::{StoredVersions, Verbs};
use pintle_schema::{ApiType, ApiValue, Gate, GateSet, Time, Value, View, ViewMut, canonicalize};
use pintle_types::apiserverinternal::v1alpha1::{ServerStorageVersion, StorageVersion, StorageVersionStatus};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::sync::Arc;

/// The gates of the reports.
const GATES: [&Gate; 2] = [&gates::STORAGE_VERSION_API, &gates::API_SERVER_IDENTITY];
/// The number of concurrent writes.
const AT_A_TIME: usize = 16;

/// Adds the hook of the reports, if their gates are on.
pub(crate) fn prepare(gates: &GateSet, hooks: &mut Vec<&'static str>) {
    hooks.extend(GATES.iter().all(|gate| gates.is_on(gate)).then_some(STORAGE_VERSIONS));
}

/// Whether servers report their storage versions.
pub fn is_enabled(registry: &Registry) -> bool {
    GATES.iter().all(|gate| registry.environment.gates().is_on(gate))
}

/// Writes the reports of a server with this identity.
///
/// # Errors
/// A write fails.
pub async fn report(registry: &Arc<Registry>, server: &str) -> Result<()> {
    let table = registry.resources.snapshot();
    let is_served = |group: &str, version: &str, plural: &str| {
        table.served().any(|it| it.group == group && it.version == version && it.plural == plural)
    };
    let built_in = table.all_stored().filter(|stored| stored.hub.custom.is_none() && stored.hub.verbs != Verbs::NONE);
    let reports: Vec<_> = built_in.filter_map(|stored| of(stored, server, &is_served)).collect();
    let writes: Vec<_> = reports.into_iter().map(|(name, report)| write(registry, name, report)).collect();
    stream::iter(writes).buffer_unordered(AT_A_TIME).try_collect::<()>().await
}

/// The name of the object of a resource, and the report; `None` if no version is served.
fn of(
    stored: &StoredVersions,
    server: &str,
    is_served: &dyn Fn(&str, &str, &str) -> bool,
) -> Option<(String, ServerStorageVersion)> {
    // A resource of several groups is reported under the first: events under the core group.
    let group = stored.versions.iter().map(|version| &version.group).min()?;
    let of_group = || stored.versions.iter().filter(|version| version.group == *group);
    let served = of_group().filter(|it| is_served(&it.group, &it.version, &it.plural));
    let served_versions: Vec<String> = served.map(|version| version.api_version()).collect();
    if served_versions.is_empty() {
        return None;
    }
    let storage = stored.hub.storage.as_ref()?;
    let encoding_version = storage.kept_as.as_ref().unwrap_or(&storage.api_version).to_string();
    let mut decodable: Vec<String> = of_group().map(|version| version.api_version()).collect();
    // The storage version may be one that is not served.
    let others = stored.versions.iter().map(|version| version.api_version()).chain([encoding_version.clone()]);
    let unserved = stored.hub.unserved.iter().map(|old| old.api_version());
    for version in others.chain(unserved) {
        if !decodable.contains(&version) {
            decodable.push(version);
        }
    }
    let report = ServerStorageVersion {
        api_server_id: server.to_owned(),
        encoding_version,
        decodable_versions: decodable,
        served_versions,
    };
    // The name has to be a subdomain.
    let group = if group.is_empty() { "core" } else { group.as_str() };
    Some((format!("{group}.{}", stored.hub.plural), report))
}

/// Adds a report to an object, or replaces the one of the same server.
async fn write(registry: &Arc<Registry>, name: String, report: ServerStorageVersion) -> Result<()> {
    let resource = ["internal.apiserver.k8s.io", "v1alpha1", "storageversions"];
    let target = registry.target_of(resource, "", &name).ok_or_else(|| Status::internal("no storage versions"))?;
    let options = WriteOptions::of_server("kube-apiserver");
    if target.cache.get(&target.key()).is_none() {
        match registry.create(&target, new(&name), &options).await {
            Err(status) if status.code != 409 => return Err(status),
            _ => {}
        }
    }
    let now = Time::from_seconds(registry.environment.now_unix());
    let change = |stored: Option<&Value>| {
        let mut object = stored.ok_or_else(|| target.not_found())?.clone();
        let before = View::<StorageVersion>::new(&object).field(StorageVersion::STATUS);
        let mut reports = before.field(StorageVersionStatus::STORAGE_VERSIONS).get();
        match reports.iter_mut().find(|known| known.api_server_id == report.api_server_id) {
            Some(known) => known.clone_from(&report),
            None => reports.push(report.clone()),
        }
        let status = ViewMut::<StorageVersion>::new(&mut object).field(StorageVersion::STATUS);
        status.field(StorageVersionStatus::STORAGE_VERSIONS).set(reports);
        set_common_version(&mut object, now);
        Ok(object)
    };
    let update = Update {
        change: &change,
        part: SubresourcePart::of(&target.resource, "status"),
        create: false,
        from_stored: true,
        owners: ManagedFieldsUpdate::Compute,
    };
    registry.update(&target, &update, &options).await.map(drop)
}

fn new(name: &str) -> Value {
    let mut object = StorageVersion {
        type_meta: TypeMeta {
            kind: "StorageVersion".to_owned(),
            api_version: "internal.apiserver.k8s.io/v1alpha1".to_owned(),
        },
        metadata: ObjectMeta { name: name.to_owned(), ..ObjectMeta::default() },
        ..StorageVersion::default()
    }
    .to_value();
    canonicalize(StorageVersion::schema(), &mut object);
    object
}
