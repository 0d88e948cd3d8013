//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static RUNTIME_CLASSES: &[Unserved] = &[
    Unserved::converted::<types::node::v1alpha1::RuntimeClass>(
        "node.k8s.io/v1alpha1",
        super::runtime_class_from_v1alpha1,
    ),
    Unserved::same::<types::node::v1beta1::RuntimeClass>("node.k8s.io/v1beta1"),
];
