//! The `events.k8s.io` group: events in their newer version.
//!
//! Events are stored in the core version; `core::event` converts them.

use crate::core;
use crate::core::event::{EVENT_STRATEGY, TTL_SECONDS, UNSERVED, from_core, storage, to_core};
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{Group, NOT_SUPPORTED, Resource, Selectable};
use pintle_schema::Str;
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
        unserved: vec![UNSERVED],
        ..Resource::of::<v1::Event>()
    }
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
