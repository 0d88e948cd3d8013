//! Maintains an APIService for each version that definitions serve. Guarantees that one is deleted only if no
//! definition serves its version and this controller created it, and that those that it created say what it wrote. Must never change an
//! APIService of another client.

use crate::requests::Requests;
use pintle_cache::Event;
use pintle_registry::{Registry, Result, Status, Target};
use pintle_schema::{Value, value};

/// The label of automatically managed APIServices.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

fn target(requests: &Requests<'_>, group: &str, version: &str) -> Option<Target> {
    let of = ["apiregistration.k8s.io", "v1", "apiservices"];
    requests.index.registry.target_of(of, "", &format!("{version}.{group}"))
}

/// What the APIService of a version says.
fn wanted(group: &str, version: &str) -> Value {
    value!({"group": group, "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100})
}

/// Whether the APIService of a version is maintained here, and says something else.
fn is_changed(service: &Value, group: &str, version: &str) -> bool {
    let is_maintained = service.str_at(&["metadata", "labels", AUTOMANAGED]) == "true";
    is_maintained && service.get("spec").is_none_or(|spec| !pintle_resource::same(spec, &wanted(group, version)))
}

/// Whether the APIService of a version has to be written after this change of it.
pub fn is_to_be_written(registry: &Registry, target: &Target, event: &Event, group: &str, version: &str) -> bool {
    let decoded = || registry.decode(target, &event.object);
    event.removed || decoded().is_ok_and(|service| is_changed(&service, group, version))
}

/// Creates the APIService of a version, or has it say again what this controller wrote.
///
/// # Errors
/// It cannot be written.
pub async fn register(requests: &Requests<'_>, group: &str, version: &str) -> Result<()> {
    let Some(target) = target(requests, group, version) else { return Ok(()) };
    if let Ok(stored) = target.get() {
        let is_same = |service: Value| !is_changed(&service, group, version);
        if requests.index.registry.decode(&target, &stored).is_ok_and(is_same) {
            return Ok(());
        }
        let change = |service: &mut Value| {
            if is_changed(service, group, version) {
                service.set_at(&["spec"], wanted(group, version));
            }
        };
        return requests.change(&target, "", change).await;
    }
    let mut labels = Value::map();
    labels.set_at(&[AUTOMANAGED], "true");
    let service = value!({
        "kind": "APIService", "apiVersion": "apiregistration.k8s.io/v1",
        "metadata": {"name": (target.name.as_str()), "labels": labels},
        "spec": (wanted(group, version)),
    });
    match requests.index.registry.create(&target, service, &requests.write_options()).await {
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
