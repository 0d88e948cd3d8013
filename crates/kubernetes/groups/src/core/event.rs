//! Events in the core version, in which they are stored.
//!
//! Events expire. The newer version is converted in `events`.

use crate::printing::printer;
use pintle_resource::{
    FieldValue, GENERAL, GarbageCollection, NOT_SUPPORTED, Resource, Selectable, Storage, Strategy, texts,
};
use pintle_schema::{Value, View};
use pintle_types::core::v1;

/// Events live for an hour.
pub(crate) const TTL_SECONDS: u32 = 3600;

pub(crate) fn storage() -> Storage {
    Storage::of::<v1::Event>("v1", "Event", "/registry/events/", "r2yiGXH7wu8=")
}

pub(crate) static EVENT_STRATEGY: Strategy =
    Strategy { create_on_update: true, garbage_collection: GarbageCollection::Unsupported, ..GENERAL };

pub(super) fn events() -> Resource {
    Resource {
        short_names: texts(&["ev"]),
        storage: Some(storage()),
        selectable: vec![
            Selectable::path("involvedObject.apiVersion", &["involvedObject", "apiVersion"]),
            Selectable::path("involvedObject.fieldPath", &["involvedObject", "fieldPath"]),
            Selectable::path("involvedObject.kind", &["involvedObject", "kind"]),
            Selectable::path("involvedObject.name", &["involvedObject", "name"]),
            Selectable::path("involvedObject.namespace", &["involvedObject", "namespace"]),
            Selectable::path("involvedObject.resourceVersion", &["involvedObject", "resourceVersion"]),
            Selectable::path("involvedObject.uid", &["involvedObject", "uid"]),
            Selectable::path("reason", &["reason"]),
            Selectable::path("reportingComponent", &["reportingComponent"]),
            Selectable::new("source", FieldValue::Function(source)),
            Selectable::path("type", &["type"]),
        ],
        selector_refusal: NOT_SUPPORTED,
        strategy: &EVENT_STRATEGY,
        ttl_seconds: TTL_SECONDS,
        printer: printer(&super::columns::event::EVENT),
        unserved: crate::events::old_versions::EVENTS.iter().collect(),
        ..Resource::namespaced::<v1::Event>("", "v1", "events", "event", "Event")
    }
}

/// Who reported the event, in whichever of its two places.
fn source(object: &Value) -> String {
    let event = View::<v1::Event>::new(object);
    let component = event.field(v1::Event::SOURCE).field(v1::EventSource::COMPONENT);
    match component.as_str() {
        "" => event.field(v1::Event::REPORTING_COMPONENT).get(),
        component => component.to_owned(),
    }
}
