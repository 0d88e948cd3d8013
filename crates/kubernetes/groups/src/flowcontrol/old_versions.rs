//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static FLOW_SCHEMAS: &[Unserved] = &[
    Unserved::same::<types::flowcontrol::v1beta1::FlowSchema>("flowcontrol.apiserver.k8s.io/v1beta1"),
    Unserved::same::<types::flowcontrol::v1beta2::FlowSchema>("flowcontrol.apiserver.k8s.io/v1beta2"),
    Unserved::same::<types::flowcontrol::v1beta3::FlowSchema>("flowcontrol.apiserver.k8s.io/v1beta3"),
];

pub(crate) static PRIORITY_LEVEL_CONFIGURATIONS: &[Unserved] = &[
    Unserved::converted::<types::flowcontrol::v1beta1::PriorityLevelConfiguration>(
        "flowcontrol.apiserver.k8s.io/v1beta1",
        super::priority_level_from_v1beta1,
    ),
    Unserved::converted::<types::flowcontrol::v1beta2::PriorityLevelConfiguration>(
        "flowcontrol.apiserver.k8s.io/v1beta2",
        super::priority_level_from_v1beta1,
    ),
    Unserved::converted::<types::flowcontrol::v1beta3::PriorityLevelConfiguration>(
        "flowcontrol.apiserver.k8s.io/v1beta3",
        super::priority_level_from_v1beta3,
    ),
];
