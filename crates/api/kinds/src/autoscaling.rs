//! The `autoscaling` group: horizontal pod autoscalers.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{Part, STATUS, WITH_STATUS};
use pintle_types::autoscaling::{v1, v2};

pub(crate) static RESOURCES: &[&Resource] = &[&HORIZONTAL_POD_AUTOSCALERS, &HORIZONTAL_POD_AUTOSCALERS_V1];

const HORIZONTAL_POD_AUTOSCALER_STORAGE: Storage = Storage::of::<v2::HorizontalPodAutoscaler>("autoscaling/v2", "HorizontalPodAutoscaler", "/registry/horizontalpodautoscalers/", "qwQve8ut294=");

static HORIZONTAL_POD_AUTOSCALER_STATUS: Part = Part { keeps: &[&["metadata", "annotations", "autoscaling.alpha.kubernetes.io/behavior"], &["metadata", "annotations", "autoscaling.alpha.kubernetes.io/metrics"], &["spec"]], ..STATUS };

static HORIZONTAL_POD_AUTOSCALERS: Resource = Resource {
    short_names: &["hpa"],
    categories: &["all"],
    storage: Some(HORIZONTAL_POD_AUTOSCALER_STORAGE),
    subresources: &[
        Subresource::status::<v2::HorizontalPodAutoscaler>("HorizontalPodAutoscaler", &STATUS),
    ],
    strategy: &WITH_STATUS,
    ..Resource::namespaced::<v2::HorizontalPodAutoscaler>("autoscaling", "v2", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler")
};

static HORIZONTAL_POD_AUTOSCALERS_V1: Resource = Resource {
    short_names: &["hpa"],
    categories: &["all"],
    storage: Some(HORIZONTAL_POD_AUTOSCALER_STORAGE),
    subresources: &[
        Subresource::status::<v1::HorizontalPodAutoscaler>("HorizontalPodAutoscaler", &HORIZONTAL_POD_AUTOSCALER_STATUS),
    ],
    strategy: &WITH_STATUS,
    ..Resource::namespaced::<v1::HorizontalPodAutoscaler>("autoscaling", "v1", "horizontalpodautoscalers", "horizontalpodautoscaler", "HorizontalPodAutoscaler")
};
