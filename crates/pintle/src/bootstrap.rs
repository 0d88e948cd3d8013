//! Bootstrap objects: an empty store gets them in one transaction, a later start adds the missing ones, and a running
//! server recreates deleted ones. Must never change what belongs to administrators: each object's reconciliation mode
//! says what that is.

use crate::advertised::{AdvertisedServer, EndpointReconciler};
use pintle_bootstrap::{BootstrapObject, LocalApiService, ServiceRange, Settings};
use pintle_registry::update::{ManagedFieldsUpdate, SubresourcePart, Update};
use pintle_registry::{DeleteOptions, Registry, Status, Target, WriteOptions};
use pintle_schema::Time;
use std::sync::PoisonError;

/// The maximum number of attempts when other servers start at the same time.
const ATTEMPTS: usize = 20;

/// The settings of the first objects of a server that listens on a port.
pub fn settings(
    registry: &Registry,
    service_ranges: Vec<ServiceRange>,
    server: &AdvertisedServer,
    secure_port: u16,
) -> Settings {
    let table = registry.resources.snapshot();
    let is_served = |group: &str, version: &str| {
        table.served().any(|resource| resource.group == group && resource.version == version)
    };
    // With several servers, each has a lease, and the endpoints are the addresses of all leases.
    let is_alone = !registry.is_shared() && server.endpoint_reconciler == EndpointReconciler::Lease;
    Settings {
        service_ranges,
        advertise_address: server.address.filter(|_| is_alone),
        secure_port,
        authorities: server.authorities.read().unwrap_or_else(PoisonError::into_inner).clone(),
        api_services: api_services(is_served),
        now: Time::from_seconds(registry.environment.now_unix()),
    }
}

/// Creates the missing objects and reconciles the others.
///
/// # Errors
/// An object is rejected, or the store fails.
pub async fn ensure(registry: &Registry, settings: &Settings) -> Result<(), Status> {
    for _ in 1..ATTEMPTS {
        let since = registry.revisions();
        match ensure_once(registry, settings).await {
            // Another server has created the missing objects.
            Err(_) if registry.has_learned_any(&since).await => {}
            outcome => return outcome,
        }
    }
    ensure_once(registry, settings).await
}

async fn ensure_once(registry: &Registry, settings: &Settings) -> Result<(), Status> {
    reconcile(registry, pintle_bootstrap::objects(settings)).await
}

/// Creates the missing ones of these objects and reconciles the others.
///
/// # Errors
/// An object is refused, or the store fails.
pub async fn reconcile(registry: &Registry, objects: impl IntoIterator<Item = BootstrapObject>) -> Result<(), Status> {
    // The objects that others were split from are read before they are reconciled.
    let objects = objects.into_iter().map(|object| split(registry, object)).collect::<Result<Vec<_>, _>>()?;
    let mut missing = Vec::new();
    for object in objects {
        let Some(target) = target(registry, &object) else { continue };
        let options = WriteOptions::of_server(object.manager());
        if !exists(registry, &target, &object, &options).await? {
            missing.push((target, object.value, options));
        }
    }
    registry.create_all(missing).await
}

/// A missing object with the content that it inherits from the object that it was split from.
///
/// # Errors
/// That object cannot be decoded.
pub fn split(registry: &Registry, object: BootstrapObject) -> Result<BootstrapObject, Status> {
    let Some(source) = object.split_from else { return Ok(object) };
    let own = target(registry, &object).filter(|target| target.cache.get(&target.key()).is_none());
    let Some(source) = own.map(|own| Target { name: source.to_owned(), ..own }) else { return Ok(object) };
    match source.cache.get(&source.key()) {
        Some(stored) => Ok(BootstrapObject { value: object.split(&registry.decode(&source, &stored)?), ..object }),
        None => Ok(object),
    }
}

/// Recreates a missing object, or reconciles an existing one.
///
/// # Errors
/// The object is rejected (another service may have its address now), or the store fails.
pub async fn restore(registry: &Registry, object: BootstrapObject) -> Result<(), Status> {
    let Some(target) = target(registry, &object) else { return Ok(()) };
    let options = WriteOptions::of_server(object.manager());
    if exists(registry, &target, &object, &options).await? {
        return Ok(());
    }
    match registry.allocates(&target.resource) {
        true => registry.create(&target, object.value, &options).await.map(drop),
        false => registry.create_all(vec![(target, object.value, options)]).await,
    }
}

/// Whether an object exists; an existing object is reconciled.
async fn exists(
    registry: &Registry,
    target: &Target,
    object: &BootstrapObject,
    options: &WriteOptions,
) -> Result<bool, Status> {
    let Some(stored) = target.cache.get(&target.key()) else {
        let status = target.missing();
        return if status.code == 404 { Ok(false) } else { Err(status) };
    };
    let existing = registry.decode(target, &stored)?;
    if object.must_go(&existing) {
        let options = DeleteOptions { uid: Some(stored.encoded.uid().to_owned()), ..DeleteOptions::default() };
        return registry.delete(target, &options).await.map(|deleted| !deleted.gone);
    }
    if let Some(wanted) = object.reconciled(&existing) {
        let change = move |_: Option<&pintle_schema::Value>| Ok(wanted.clone());
        let part = SubresourcePart::of(&target.resource, object.reconcile.subresource());
        let update =
            Update { change: &change, part, create: false, from_stored: true, owners: ManagedFieldsUpdate::Compute };
        match registry.update(target, &update, options).await {
            // An object that many servers have added to is reset to what this server needs.
            Err(status) if object.reconcile.starts_anew() && is_too_large(&status) => {
                registry.delete(target, &DeleteOptions::default()).await?;
                return Ok(false);
            }
            outcome => outcome?,
        };
    }
    Ok(true)
}

fn is_too_large(status: &Status) -> bool {
    status.code == 413 || status.code == 422 && status.message.contains("Too long")
}

/// The group-versions that get an APIService: those that are served, except that of APIService itself.
pub fn api_services(serves: impl Fn(&str, &str) -> bool) -> Vec<LocalApiService> {
    let mut found = Vec::new();
    for group in pintle_groups::groups() {
        let Some(priority) = group.priority else { continue };
        for version in group.versions.iter().filter(|version| serves(&group.name, &version.name)) {
            found.push(LocalApiService {
                group: group.name.to_string(),
                version: version.name.to_string(),
                group_priority: priority,
                version_priority: version.priority,
            });
        }
    }
    found
}

fn target(registry: &Registry, object: &BootstrapObject) -> Option<Target> {
    let resource = pintle_groups::find(object.group, object.version, object.plural)?;
    registry.target(resource, object.namespace, object.value.str_at(&["metadata", "name"]))
}
