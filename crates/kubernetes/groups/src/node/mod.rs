//! The `node.k8s.io` group: runtime classes.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::views::{rename, unwrap_into};
use pintle_resource::{GENERAL, Resource, Storage, Strategy};
use pintle_schema::Value;
use pintle_types::node::{v1, v1alpha1};

pub(crate) fn resources() -> Vec<Resource> {
    vec![runtime_classes()]
}

static RUNTIME_CLASS: Strategy = Strategy { unconditional_update: false, create_on_update: true, ..GENERAL };

fn runtime_classes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::RuntimeClass>(
            "node.k8s.io/v1",
            "RuntimeClass",
            "/registry/runtimeclasses/",
            "WQTu1GL3T2Q=",
        )),
        strategy: &RUNTIME_CLASS,
        ..Resource::cluster::<v1::RuntimeClass>("node.k8s.io", "v1", "runtimeclasses", "runtimeclass", "RuntimeClass")
    }
}

/// v1alpha1 has a spec around what its class is; the handler has another name there.
pub(crate) fn runtime_class_from_v1alpha1(object: &mut Value) {
    unwrap_into(object, v1alpha1::RuntimeClass::SPEC.name());
    rename(object, &[(v1alpha1::RuntimeClassSpec::RUNTIME_HANDLER.name(), v1::RuntimeClass::HANDLER.name())]);
}
