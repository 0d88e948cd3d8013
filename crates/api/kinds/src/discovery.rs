//! The `discovery.k8s.io` group: endpoint slices.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage};
use crate::strategy::{GENERAL, Strategy};
use pintle_types::discovery::{v1};

pub(crate) static RESOURCES: &[&Resource] = &[&ENDPOINT_SLICES];

static ENDPOINT_SLICE_STRATEGY: Strategy = Strategy {
    generation: Some(&[&["addressType"], &["endpoints"], &["ports"], &["metadata", "labels"]]),
    // TODO prepareCreate: deprecatedTopology cleared for v1
    // TODO prepareUpdate: generation +1 when anything outside metadata, or labels, differs
    // TODO prepareUpdate: v1: old deprecated topology hostname becomes nodeName where nodeName is unset
    ..GENERAL
};

static ENDPOINT_SLICES: Resource = Resource {
    storage: Some(Storage::of::<v1::EndpointSlice>("discovery.k8s.io/v1", "EndpointSlice", "/registry/endpointslices/", "qgS0xkrxYAI=")),
    strategy: &ENDPOINT_SLICE_STRATEGY,
    ..Resource::namespaced::<v1::EndpointSlice>("discovery.k8s.io", "v1", "endpointslices", "endpointslice", "EndpointSlice")
};
