//! The `flowcontrol.apiserver.k8s.io` group: flow schemas and priority levels.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{SPEC_PATHS, STATUS_ALONE, Strategy, WITH_STATUS};
use pintle_types::flowcontrol::v1;

pub(crate) static RESOURCES: &[&Resource] = &[&FLOW_SCHEMAS, &PRIORITY_LEVEL_CONFIGURATIONS];

static FLOW_SCHEMA: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

static PRIORITY_LEVEL_CONFIGURATION: Strategy = Strategy { generation: Some(SPEC_PATHS), ..WITH_STATUS };

static FLOW_SCHEMAS: Resource = Resource {
    storage: Some(Storage::of::<v1::FlowSchema>(
        "flowcontrol.apiserver.k8s.io/v1",
        "FlowSchema",
        "/registry/flowschemas/",
        "GJVAJZSZBIw=",
    )),
    subresources: &[Subresource::status::<v1::FlowSchema>("FlowSchema", &STATUS_ALONE)],
    strategy: &FLOW_SCHEMA,
    ..Resource::cluster::<v1::FlowSchema>(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "flowschemas",
        "flowschema",
        "FlowSchema",
    )
};

static PRIORITY_LEVEL_CONFIGURATIONS: Resource = Resource {
    storage: Some(Storage::of::<v1::PriorityLevelConfiguration>(
        "flowcontrol.apiserver.k8s.io/v1",
        "PriorityLevelConfiguration",
        "/registry/prioritylevelconfigurations/",
        "Kir5PVfvNeI=",
    )),
    subresources: &[Subresource::status::<v1::PriorityLevelConfiguration>("PriorityLevelConfiguration", &STATUS_ALONE)],
    strategy: &PRIORITY_LEVEL_CONFIGURATION,
    ..Resource::cluster::<v1::PriorityLevelConfiguration>(
        "flowcontrol.apiserver.k8s.io",
        "v1",
        "prioritylevelconfigurations",
        "prioritylevelconfiguration",
        "PriorityLevelConfiguration",
    )
};
