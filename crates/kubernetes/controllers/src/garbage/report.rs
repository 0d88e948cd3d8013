//! The event about an owner reference into another namespace, as in kube-controller-manager. Guarantees that a failure
//! to write it has no other effect. Must never decide about the object.

use crate::requests::Requests;
use pintle_cache::Object;
use pintle_registry::Target;
use pintle_registry::environment::Environment;
use pintle_schema::{ApiValue, Time};
use pintle_types::core::v1::{Event, EventSource, ObjectReference};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};

const COMPONENT: &str = "garbage-collector-controller";
const REASON: &str = "OwnerRefInvalidNamespace";
/// The namespace of events about cluster-scoped objects.
const DEFAULT_NAMESPACE: &str = "default";

/// Writes the event about an object that names an owner of another namespace.
pub async fn misplaced(requests: &Requests<'_>, target: &Target, object: &Object, owner: &OwnerReference) {
    let registry = &requests.index.registry;
    let namespace = Some(object.namespace()).filter(|namespace| !namespace.is_empty()).unwrap_or(DEFAULT_NAMESPACE);
    let events = pintle_groups::find("", "v1", "events").and_then(|events| registry.target(events, namespace, ""));
    let Some(events) = events else { return };
    let event = event(target, object, owner, namespace, registry.environment.as_ref());
    // Best effort: the decision about the object does not depend on it.
    let _ = registry.create(&events, event.to_value(), &requests.write_options()).await;
}

fn event(
    target: &Target,
    object: &Object,
    owner: &OwnerReference,
    namespace: &str,
    environment: &dyn Environment,
) -> Event {
    let now = Time::from_seconds(environment.now_unix());
    let mut suffix = [0u8; 8];
    environment.random(&mut suffix);
    Event {
        metadata: ObjectMeta {
            name: format!("{}.{:x}", object.name(), u64::from_be_bytes(suffix)),
            namespace: namespace.to_owned(),
            ..ObjectMeta::default()
        },
        involved_object: ObjectReference {
            kind: target.resource.kind.to_string(),
            namespace: object.namespace().to_owned(),
            name: object.name().to_owned(),
            uid: object.encoded.uid().to_owned(),
            api_version: target.resource.api_version(),
            ..ObjectReference::default()
        },
        reason: REASON.to_owned(),
        message: format!(
            "ownerRef [{}/{}, namespace: {}, name: {}, uid: {}] does not exist in namespace {:?}",
            owner.api_version,
            owner.kind,
            object.namespace(),
            owner.name,
            owner.uid,
            object.namespace()
        ),
        source: EventSource { component: COMPONENT.to_owned(), ..EventSource::default() },
        first_timestamp: now,
        last_timestamp: now,
        count: 1,
        r#type: "Warning".to_owned(),
        reporting_component: COMPONENT.to_owned(),
        ..Event::default()
    }
}
