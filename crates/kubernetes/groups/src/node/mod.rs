//! The `node.k8s.io` group: runtime classes.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::{rename, unwrap_into};
use pintle_resource::{GENERAL, Group, Resource, Storage, Strategy, Unserved};
use pintle_schema::{Str, Value};
use pintle_types::node::{v1, v1alpha1, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("node.k8s.io"),
        priority: Some(16300),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![runtime_classes()]),
        internal: Vec::new(),
    }
}

static RUNTIME_CLASS: Strategy = Strategy { unconditional_update: false, create_on_update: true, ..GENERAL };

fn runtime_classes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::RuntimeClass>()),
        strategy: &RUNTIME_CLASS,
        printer: printer(&columns::RUNTIME_CLASS),
        warn: Some(rules::runtime_class::warn),
        unserved: vec![
            Unserved::converted::<v1alpha1::RuntimeClass>(runtime_class_from_v1alpha1),
            Unserved::same::<v1beta1::RuntimeClass>(),
        ],
        ..Resource::of::<v1::RuntimeClass>()
    }
}

/// v1alpha1 has the fields of a class in a spec, and the handler under another name.
pub(crate) fn runtime_class_from_v1alpha1(object: &mut Value) {
    unwrap_into(object, v1alpha1::RuntimeClass::SPEC.name());
    rename(object, &[(v1alpha1::RuntimeClassSpec::RUNTIME_HANDLER.name(), v1::RuntimeClass::HANDLER.name())]);
}
