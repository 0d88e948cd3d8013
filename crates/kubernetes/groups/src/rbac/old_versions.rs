//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static CLUSTER_ROLES: &[Unserved] = &[
    Unserved::same::<types::rbac::v1alpha1::ClusterRole>("rbac.authorization.k8s.io/v1alpha1"),
    Unserved::same::<types::rbac::v1beta1::ClusterRole>("rbac.authorization.k8s.io/v1beta1"),
];

pub(crate) static CLUSTER_ROLE_BINDINGS: &[Unserved] = &[
    Unserved::converted::<types::rbac::v1alpha1::ClusterRoleBinding>(
        "rbac.authorization.k8s.io/v1alpha1",
        super::binding_from_v1alpha1,
    ),
    Unserved::same::<types::rbac::v1beta1::ClusterRoleBinding>("rbac.authorization.k8s.io/v1beta1"),
];

pub(crate) static ROLES: &[Unserved] = &[
    Unserved::same::<types::rbac::v1alpha1::Role>("rbac.authorization.k8s.io/v1alpha1"),
    Unserved::same::<types::rbac::v1beta1::Role>("rbac.authorization.k8s.io/v1beta1"),
];

pub(crate) static ROLE_BINDINGS: &[Unserved] = &[
    Unserved::converted::<types::rbac::v1alpha1::RoleBinding>(
        "rbac.authorization.k8s.io/v1alpha1",
        super::binding_from_v1alpha1,
    ),
    Unserved::same::<types::rbac::v1beta1::RoleBinding>("rbac.authorization.k8s.io/v1beta1"),
];
