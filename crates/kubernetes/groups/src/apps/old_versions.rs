//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static CONTROLLER_REVISIONS: &[Unserved] = &[
    Unserved::same::<types::apps::v1beta1::ControllerRevision>("apps/v1beta1"),
    Unserved::same::<types::apps::v1beta2::ControllerRevision>("apps/v1beta2"),
];

pub(crate) static DAEMON_SETS: &[Unserved] = &[
    Unserved::same::<types::apps::v1beta2::DaemonSet>("apps/v1beta2"),
    Unserved::converted::<types::extensions::v1beta1::DaemonSet>("extensions/v1beta1", super::daemon_set_from_v1beta1),
];

pub(crate) static DEPLOYMENTS: &[Unserved] = &[
    Unserved::converted::<types::apps::v1beta1::Deployment>("apps/v1beta1", super::deployment_from_v1beta1),
    Unserved::same::<types::apps::v1beta2::Deployment>("apps/v1beta2"),
    Unserved::converted::<types::extensions::v1beta1::Deployment>("extensions/v1beta1", super::deployment_from_v1beta1),
];

pub(crate) static REPLICA_SETS: &[Unserved] = &[
    Unserved::same::<types::apps::v1beta2::ReplicaSet>("apps/v1beta2"),
    Unserved::same::<types::extensions::v1beta1::ReplicaSet>("extensions/v1beta1"),
];

pub(crate) static STATEFUL_SETS: &[Unserved] = &[
    Unserved::same::<types::apps::v1beta1::StatefulSet>("apps/v1beta1"),
    Unserved::same::<types::apps::v1beta2::StatefulSet>("apps/v1beta2"),
];
