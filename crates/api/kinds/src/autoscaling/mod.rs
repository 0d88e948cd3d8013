//! The `autoscaling` group: horizontal pod autoscalers.
//!
//! Stored in v2; what v1 cannot say travels in annotations, see `convert`.

mod convert;
mod metrics;

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{STATUS, WITH_STATUS};
use pintle_types::autoscaling::{v1, v2};

pub(crate) static RESOURCES: &[&Resource] = &[&HORIZONTAL_POD_AUTOSCALERS, &HORIZONTAL_POD_AUTOSCALERS_V1];

const HORIZONTAL_POD_AUTOSCALER_STORAGE: Storage = Storage::of::<v2::HorizontalPodAutoscaler>(
    "autoscaling/v2",
    "HorizontalPodAutoscaler",
    "/registry/horizontalpodautoscalers/",
    "qwQve8ut294=",
);

static HORIZONTAL_POD_AUTOSCALERS: Resource = Resource {
    short_names: &["hpa"],
    categories: &["all"],
    storage: Some(HORIZONTAL_POD_AUTOSCALER_STORAGE),
    subresources: &[Subresource::status::<v2::HorizontalPodAutoscaler>("HorizontalPodAutoscaler", &STATUS)],
    strategy: &WITH_STATUS,
    ..Resource::namespaced::<v2::HorizontalPodAutoscaler>(
        "autoscaling",
        "v2",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        "HorizontalPodAutoscaler",
    )
};

static HORIZONTAL_POD_AUTOSCALERS_V1: Resource = Resource {
    short_names: &["hpa"],
    categories: &["all"],
    storage: Some(HORIZONTAL_POD_AUTOSCALER_STORAGE.converting(convert::to_v2, convert::from_v2).defaulted()),
    subresources: &[Subresource::status::<v1::HorizontalPodAutoscaler>("HorizontalPodAutoscaler", &STATUS)],
    strategy: &WITH_STATUS,
    ..Resource::namespaced::<v1::HorizontalPodAutoscaler>(
        "autoscaling",
        "v1",
        "horizontalpodautoscalers",
        "horizontalpodautoscaler",
        "HorizontalPodAutoscaler",
    )
};
