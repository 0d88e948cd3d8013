//! The `scheduling.k8s.io` group: priority classes, workloads and pod groups.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Served, Storage, Subresource};
use crate::strategy::{GENERAL, STATUS_ALONE, STATUS_PATHS, Strategy};
use pintle_types::scheduling::{v1, v1alpha2};

pub(crate) static RESOURCES: &[&Resource] = &[&PRIORITY_CLASSES, &POD_GROUPS, &WORKLOADS];

static PRIORITY_CLASS: Strategy =
    Strategy { generation: Some(&[]), undeletable: (&SYSTEM_CLASSES, NOT_DELETED), ..GENERAL };

/// Classes that the server makes.
const SYSTEM_CLASSES: [&str; 2] = ["system-node-critical", "system-cluster-critical"];
const NOT_DELETED: &str = "this is a system priority class and cannot be deleted";

static POD_GROUP: Strategy = Strategy { create_clears: STATUS_PATHS, update_keeps: STATUS_PATHS, ..GENERAL };

static PRIORITY_CLASSES: Resource = Resource {
    short_names: &["pc"],
    storage: Some(Storage::of::<v1::PriorityClass>(
        "scheduling.k8s.io/v1",
        "PriorityClass",
        "/registry/priorityclasses/",
        "1QwjyaZjj3Y=",
    )),
    strategy: &PRIORITY_CLASS,
    ..Resource::cluster::<v1::PriorityClass>(
        "scheduling.k8s.io",
        "v1",
        "priorityclasses",
        "priorityclass",
        "PriorityClass",
    )
};

static POD_GROUPS: Resource = Resource {
    served: Served::Gated("GenericWorkload"),
    storage: Some(Storage::of::<v1alpha2::PodGroup>(
        "scheduling.k8s.io/v1alpha2",
        "PodGroup",
        "/registry/podgroups/",
        "YYgX3v5V204=",
    )),
    subresources: &[Subresource::status::<v1alpha2::PodGroup>("PodGroup", &STATUS_ALONE)],
    strategy: &POD_GROUP,
    ..Resource::namespaced::<v1alpha2::PodGroup>("scheduling.k8s.io", "v1alpha2", "podgroups", "podgroup", "PodGroup")
};

static WORKLOADS: Resource = Resource {
    served: Served::Gated("GenericWorkload"),
    storage: Some(Storage::of::<v1alpha2::Workload>(
        "scheduling.k8s.io/v1alpha2",
        "Workload",
        "/registry/workloads/",
        "vSX7gJe5Mx8=",
    )),
    ..Resource::namespaced::<v1alpha2::Workload>("scheduling.k8s.io", "v1alpha2", "workloads", "workload", "Workload")
};
