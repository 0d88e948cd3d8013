//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static INGRESSES: &[Unserved] = &[
    Unserved::converted::<types::extensions::v1beta1::Ingress>("extensions/v1beta1", super::ingress_from_v1beta1),
    Unserved::converted::<types::networking::v1beta1::Ingress>(
        "networking.k8s.io/v1beta1",
        super::ingress_from_v1beta1,
    ),
];

pub(crate) static INGRESS_CLASSES: &[Unserved] =
    &[Unserved::same::<types::networking::v1beta1::IngressClass>("networking.k8s.io/v1beta1")];

pub(crate) static NETWORK_POLICIES: &[Unserved] =
    &[Unserved::same::<types::extensions::v1beta1::NetworkPolicy>("extensions/v1beta1")];
