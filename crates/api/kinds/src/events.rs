//! The `events.k8s.io` group: events in their newer form.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{NOT_SUPPORTED, Resource, Selectable, Storage};
use crate::strategy::{GENERAL, GarbageCollection, Strategy};
use pintle_types::events::{v1};

pub(crate) static RESOURCES: &[&Resource] = &[&EVENTS];

static EVENT_STRATEGY: Strategy = Strategy {
    create_on_update: true,
    garbage_collection: GarbageCollection::Unsupported,
    ..GENERAL
};

static EVENTS: Resource = Resource {
    short_names: &["ev"],
    storage: Some(Storage::of::<v1::Event>("v1", "Event", "/registry/events/", "r2yiGXH7wu8=")),
    selectable: &[
        Selectable::path("reason", &["reason"]),
        Selectable::path("type", &["type"]),
        Selectable::alias("regarding.apiVersion", "involvedObject.apiVersion"),
        Selectable::alias("regarding.fieldPath", "involvedObject.fieldPath"),
        Selectable::alias("regarding.kind", "involvedObject.kind"),
        Selectable::alias("regarding.name", "involvedObject.name"),
        Selectable::alias("regarding.namespace", "involvedObject.namespace"),
        Selectable::alias("regarding.resourceVersion", "involvedObject.resourceVersion"),
        Selectable::alias("regarding.uid", "involvedObject.uid"),
        Selectable::alias("reportingController", "reportingComponent"),
    ],
    selector_refusal: NOT_SUPPORTED,
    strategy: &crate::core::EVENT_STRATEGY,
    ttl_seconds: 3600,
    ..Resource::namespaced::<v1::Event>("events.k8s.io", "v1", "events", "event", "Event")
};
