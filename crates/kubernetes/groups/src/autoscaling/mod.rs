//! The `autoscaling` group: horizontal pod autoscalers.
//!
//! They are stored as `v2`. Fields that `v1` lacks are annotations there; see `convert`.

pub(crate) mod columns;
mod convert;
pub(crate) mod defaults;
mod metrics;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{Group, Resource, STATUS, Storage, Subresource, WITH_STATUS};
use pintle_schema::Str;
use pintle_types::autoscaling::{v1, v2};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]).defaults(defaults::RULES);
    Group {
        name: Str::new_static("autoscaling"),
        priority: Some(17500),
        built_in: true,
        versions: vec![version("v2", 30), version("v1", 15)],
        resources: functions.complete(vec![horizontal_pod_autoscalers(), horizontal_pod_autoscalers_v1()]),
        internal: Vec::new(),
    }
}

fn horizontal_pod_autoscaler_storage() -> Storage {
    Storage::of::<v2::HorizontalPodAutoscaler>()
}

fn horizontal_pod_autoscalers() -> Resource {
    Resource {
        storage: Some(horizontal_pod_autoscaler_storage()),
        subresources: vec![Subresource::status::<v2::HorizontalPodAutoscaler>(&STATUS)],
        strategy: &WITH_STATUS,
        printer: printer(&columns::HORIZONTAL_POD_AUTOSCALER),
        ..Resource::of::<v2::HorizontalPodAutoscaler>()
    }
}

fn horizontal_pod_autoscalers_v1() -> Resource {
    Resource {
        storage: Some(horizontal_pod_autoscaler_storage().converting(convert::to_v2, convert::from_v2).defaulted()),
        subresources: vec![Subresource::status::<v1::HorizontalPodAutoscaler>(&STATUS)],
        strategy: &WITH_STATUS,
        printer: printer(&columns::HORIZONTAL_POD_AUTOSCALER),
        ..Resource::of::<v1::HorizontalPodAutoscaler>()
    }
}
