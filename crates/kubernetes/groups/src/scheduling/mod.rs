//! The `scheduling.k8s.io` group: priority classes, workloads and pod groups.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_gates as gates;
use pintle_resource::{
    GENERAL, Group, Resource, STATUS_ALONE, STATUS_PATHS, Served, Storage, Strategy, Subresource, Unserved,
};
use pintle_schema::Str;
use pintle_types::scheduling::{v1, v1alpha2, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("scheduling.k8s.io"),
        priority: Some(16600),
        built_in: true,
        versions: vec![version("v1", 15), version("v1alpha2", 2)],
        resources: functions.complete(vec![priority_classes(), pod_groups(), workloads()]),
        internal: Vec::new(),
    }
}

static PRIORITY_CLASS: Strategy =
    Strategy { generation: Some(&[]), undeletable: (&SYSTEM_CLASSES, NOT_DELETED), ..GENERAL };

/// Classes that the server makes.
const SYSTEM_CLASSES: [&str; 2] = ["system-node-critical", "system-cluster-critical"];
const NOT_DELETED: &str = "this is a system priority class and cannot be deleted";

static POD_GROUP: Strategy = Strategy { create_clears: STATUS_PATHS, update_keeps: STATUS_PATHS, ..GENERAL };

fn priority_classes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::PriorityClass>()),
        strategy: &PRIORITY_CLASS,
        printer: printer(&columns::PRIORITY_CLASS),
        unserved: vec![Unserved::same::<v1beta1::PriorityClass>()],
        ..Resource::of::<v1::PriorityClass>()
    }
}

fn pod_groups() -> Resource {
    Resource {
        served: Served::Gated(&gates::GENERIC_WORKLOAD),
        storage: Some(Storage::of::<v1alpha2::PodGroup>()),
        subresources: vec![Subresource::status::<v1alpha2::PodGroup>(&STATUS_ALONE)],
        strategy: &POD_GROUP,
        printer: printer(&columns::POD_GROUP),
        introduced: 36,
        ..Resource::of::<v1alpha2::PodGroup>()
    }
}

fn workloads() -> Resource {
    Resource {
        served: Served::Gated(&gates::GENERIC_WORKLOAD),
        storage: Some(Storage::of::<v1alpha2::Workload>()),
        printer: printer(&columns::WORKLOAD),
        introduced: 36,
        ..Resource::of::<v1alpha2::Workload>()
    }
}
