//! Events in the core version, in which they are stored, and their conversion from and to `events.k8s.io`.
//!
//! Events expire. Fields have other names in the newer group; conversion loses nothing.

use crate::printing::printer;
use crate::views::rename;
use pintle_resource::{
    FieldValue, GENERAL, GarbageCollection, NOT_SUPPORTED, Resource, Selectable, Storage, Strategy, Unserved,
};
use pintle_schema::{Value, View};
use pintle_types::core::v1;
use pintle_types::events;

/// Events live for an hour.
pub(crate) const TTL_SECONDS: u32 = 3600;

pub(crate) fn storage() -> Storage {
    Storage::of::<v1::Event>()
}

pub(crate) static EVENT_STRATEGY: Strategy =
    Strategy { create_on_update: true, garbage_collection: GarbageCollection::Unsupported, ..GENERAL };

/// The version that an older kube-apiserver may have stored events in.
pub(crate) const UNSERVED: Unserved = Unserved::converted::<events::v1beta1::Event>(to_core);

pub(super) fn events() -> Resource {
    Resource {
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
        unserved: vec![UNSERVED],
        ..Resource::of::<v1::Event>()
    }
}

/// The fields whose names differ: in the newer group, and here.
const NAMES: [(&str, &str); 7] = [
    (events::v1::Event::REGARDING.name(), v1::Event::INVOLVED_OBJECT.name()),
    (events::v1::Event::NOTE.name(), v1::Event::MESSAGE.name()),
    (events::v1::Event::REPORTING_CONTROLLER.name(), v1::Event::REPORTING_COMPONENT.name()),
    (events::v1::Event::DEPRECATED_SOURCE.name(), v1::Event::SOURCE.name()),
    (events::v1::Event::DEPRECATED_FIRST_TIMESTAMP.name(), v1::Event::FIRST_TIMESTAMP.name()),
    (events::v1::Event::DEPRECATED_LAST_TIMESTAMP.name(), v1::Event::LAST_TIMESTAMP.name()),
    (events::v1::Event::DEPRECATED_COUNT.name(), v1::Event::COUNT.name()),
];

pub(crate) fn to_core(object: &mut Value) {
    rename(object, &NAMES);
}

pub(crate) fn from_core(object: &mut Value) {
    rename(object, &NAMES.map(|(there, here)| (here, there)));
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
