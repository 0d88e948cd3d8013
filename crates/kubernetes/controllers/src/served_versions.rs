//! Maintains an APIService for each version that definitions serve. Guarantees that one is deleted only if no
//! definition serves its version and this controller created it. Must never change an APIService of another client.

use crate::requests::Requests;
use pintle_registry::{Result, Status, Target};
use pintle_schema::{Value, value};

/// The label of automatically managed APIServices.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

fn target(requests: &Requests<'_>, group: &str, version: &str) -> Option<Target> {
    let of = ["apiregistration.k8s.io", "v1", "apiservices"];
    requests.world.registry.target_of(of, "", &format!("{version}.{group}"))
}

/// Creates the APIService of a version, unless it exists.
///
/// # Errors
/// It cannot be written.
pub async fn register(requests: &Requests<'_>, group: &str, version: &str) -> Result<()> {
    let Some(target) = target(requests, group, version) else { return Ok(()) };
    if target.get().is_ok() {
        return Ok(());
    }
    let mut labels = Value::map();
    labels.set_at(&[AUTOMANAGED], "true");
    let service = value!({
        "kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1",
        "metadata": {"name": (target.name.as_str()), "labels": labels},
        "spec": {"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100},
    });
    match requests.world.registry.create(&target, service, &requests.write_options()).await {
        Ok(_) | Err(Status { code: 409, .. }) => Ok(()),
        Err(status) => Err(status),
    }
}

/// Deletes the APIService of a version that no definition serves any more.
///
/// # Errors
/// It cannot be deleted.
pub async fn deregister(requests: &Requests<'_>, group: &str, version: &str) -> Result<()> {
    let Some(target) = target(requests, group, version) else { return Ok(()) };
    let Ok(stored) = target.get() else { return Ok(()) };
    if stored.encoded.label(AUTOMANAGED) != Some("true") {
        return Ok(());
    }
    requests.delete(&target, &requests.delete_options(pintle_registry::options::Propagation::Background)).await
}
