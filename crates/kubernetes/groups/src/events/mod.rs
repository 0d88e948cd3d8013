//! The `events.k8s.io` group: events in their newer version.
//!
//! Events are stored in the core version, in which fields have other names. Conversion loses nothing.

pub(crate) mod old_versions;

use crate::core;
use crate::core::event::{EVENT_STRATEGY, TTL_SECONDS, storage};
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::rename;
use pintle_resource::{Group, NOT_SUPPORTED, Resource, Selectable, texts};
use pintle_schema::{Str, Value};
use pintle_types::core::v1 as core_v1;
use pintle_types::events::v1;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(core::rules::ALL).defaults(&core::defaults::ALL.concat());
    Group {
        name: Str::new_static("events.k8s.io"),
        priority: Some(17750),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![events()]),
        internal: Vec::new(),
    }
}

fn events() -> Resource {
    Resource {
        short_names: texts(&["ev"]),
        storage: Some(storage().converting(to_core, from_core)),
        selectable: vec![
            Selectable::path("reason", &["reason"]),
            Selectable::path("type", &["type"]),
            Selectable::path("regarding.apiVersion", &["involvedObject", "apiVersion"]),
            Selectable::path("regarding.fieldPath", &["involvedObject", "fieldPath"]),
            Selectable::path("regarding.kind", &["involvedObject", "kind"]),
            Selectable::path("regarding.name", &["involvedObject", "name"]),
            Selectable::path("regarding.namespace", &["involvedObject", "namespace"]),
            Selectable::path("regarding.resourceVersion", &["involvedObject", "resourceVersion"]),
            Selectable::path("regarding.uid", &["involvedObject", "uid"]),
            Selectable::path("reportingController", &["reportingComponent"]),
        ],
        selector_refusal: NOT_SUPPORTED,
        strategy: &EVENT_STRATEGY,
        ttl_seconds: TTL_SECONDS,
        printer: printer(&crate::core::columns::event::EVENT),
        unserved: old_versions::EVENTS.iter().collect(),
        ..Resource::namespaced::<v1::Event>("events.k8s.io", "v1", "events", "event", "Event")
    }
}

/// The fields whose names differ: here, and in the core group.
const NAMES: [(&str, &str); 7] = [
    (v1::Event::REGARDING.name(), core_v1::Event::INVOLVED_OBJECT.name()),
    (v1::Event::NOTE.name(), core_v1::Event::MESSAGE.name()),
    (v1::Event::REPORTING_CONTROLLER.name(), core_v1::Event::REPORTING_COMPONENT.name()),
    (v1::Event::DEPRECATED_SOURCE.name(), core_v1::Event::SOURCE.name()),
    (v1::Event::DEPRECATED_FIRST_TIMESTAMP.name(), core_v1::Event::FIRST_TIMESTAMP.name()),
    (v1::Event::DEPRECATED_LAST_TIMESTAMP.name(), core_v1::Event::LAST_TIMESTAMP.name()),
    (v1::Event::DEPRECATED_COUNT.name(), core_v1::Event::COUNT.name()),
];

pub(crate) fn to_core(object: &mut Value) {
    rename(object, &NAMES);
}

fn from_core(object: &mut Value) {
    rename(object, &NAMES.map(|(here, there)| (there, here)));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::round_trip;
    use pintle_schema::value;

    #[test]
    fn names_differ() {
        let newer = value!({
            "metadata": {"name": "a"}, "note": "n", "regarding": {"kind": "Pod"}, "reportingController": "c",
            "deprecatedCount": 2, "deprecatedSource": {"host": "h"}, "reason": "r", "type": "Normal"
        });
        let stored = value!({
            "metadata": {"name": "a"}, "message": "n", "involvedObject": {"kind": "Pod"}, "reportingComponent": "c",
            "count": 2, "source": {"host": "h"}, "reason": "r", "type": "Normal"
        });
        round_trip(&events(), newer, stored);
    }
}
