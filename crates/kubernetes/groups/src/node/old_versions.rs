//! Versions of this group that are registered and not served: objects may have been stored in them by an older
//! kube-apiserver. Each leads to the storage version, fields that nothing reads any more excepted.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static RUNTIME_CLASSES: &[Unserved] = &[
    Unserved::converted::<types::node::v1alpha1::RuntimeClass>(
        "node.k8s.io/v1alpha1",
        super::runtime_class_from_v1alpha1,
    ),
    Unserved::same::<types::node::v1beta1::RuntimeClass>("node.k8s.io/v1beta1"),
];
