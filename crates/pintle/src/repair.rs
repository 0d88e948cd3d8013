//! Repairs of the addresses of services while the server runs, and the events that tell of them.
//! Guarantees that all services are looked at where no request waits for it, and that only what was done is told.
//! Must never be what gives addresses out.

use crate::presence::now;
use pintle_registry::allocation::addresses::{InLine, Repair};
use pintle_registry::environment::new_uid;
use pintle_registry::{Registry, Result, Status, WriteOptions};
use pintle_schema::{ApiValue, names};
use pintle_storage::{CommitError, Transaction};
use pintle_types::core::v1::{Event, ObjectReference};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::sync::Arc;

const REPORTER: &str = "ipallocator-repair-controller";

/// Where events of what has no namespace are.
const NAMESPACE: &str = "default";

/// Brings addresses in line with services; with the answer nothing is looked at until something changes.
///
/// # Errors
/// The store fails, or a service cannot be read.
pub async fn addresses(registry: &Arc<Registry>, host: &str, in_line: Option<InLine>) -> Result<Option<InLine>> {
    let looking = registry.clone();
    let looked = tokio::task::spawn_blocking(move || looking.address_repairs(in_line)).await;
    let (repairs, in_line) = looked.map_err(Status::internal)??;
    for repair in repairs {
        match registry.store.commit(Transaction { writes: vec![repair.write.clone()] }).await {
            // An event that is lost changes nothing.
            Ok(_) => drop(tell(registry, host, &repair).await),
            // Somebody else is at it.
            Err(CommitError::Conflict { .. }) => {}
            Err(error) => return Err(Status::internal(error)),
        }
    }
    Ok(in_line)
}

async fn tell(registry: &Registry, host: &str, repair: &Repair) -> Result<()> {
    let of = |path: &[&str]| repair.regarding.str_at(path).to_owned();
    let regarding = ObjectReference {
        kind: of(&["kind"]),
        namespace: of(&["metadata", "namespace"]),
        name: of(&["metadata", "name"]),
        uid: of(&["metadata", "uid"]),
        api_version: of(&["apiVersion"]),
        resource_version: of(&["metadata", "resourceVersion"]),
        ..ObjectReference::default()
    };
    let time = now();
    let named = match names::dns1123_subdomain(&regarding.name).is_empty() {
        true => regarding.name.clone(),
        false => new_uid(registry.environment.as_ref()),
    };
    let nanos = time.seconds.unsigned_abs().saturating_mul(1_000_000_000).saturating_add(time.nanos.into());
    let namespace = if regarding.namespace.is_empty() { NAMESPACE.to_owned() } else { regarding.namespace.clone() };
    let name = format!("{named}.{nanos:x}");
    let events = pintle_kinds::find("", "v1", "events");
    let Some(target) = events.and_then(|events| registry.target(events, &namespace, &name)) else { return Ok(()) };
    let event = Event {
        type_meta: TypeMeta { kind: "Event".to_owned(), api_version: "v1".to_owned() },
        metadata: ObjectMeta { name, namespace, ..ObjectMeta::default() },
        involved_object: regarding,
        reason: repair.reason.to_owned(),
        message: repair.note.clone(),
        r#type: "Warning".to_owned(),
        event_time: time,
        action: repair.action.to_owned(),
        reporting_component: REPORTER.to_owned(),
        reporting_instance: format!("{REPORTER}-{host}"),
        ..Event::default()
    };
    registry.create(&target, event.to_value(), &WriteOptions::of_server("kube-apiserver")).await.map(drop)
}
