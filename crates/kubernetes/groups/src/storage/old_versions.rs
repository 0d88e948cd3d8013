//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static CSI_DRIVERS: &[Unserved] =
    &[Unserved::same::<types::storage::v1beta1::CSIDriver>("storage.k8s.io/v1beta1")];

pub(crate) static CSI_NODES: &[Unserved] =
    &[Unserved::same::<types::storage::v1beta1::CSINode>("storage.k8s.io/v1beta1")];

pub(crate) static CSI_STORAGE_CAPACITIES: &[Unserved] = &[
    Unserved::same::<types::storage::v1alpha1::CSIStorageCapacity>("storage.k8s.io/v1alpha1"),
    Unserved::same::<types::storage::v1beta1::CSIStorageCapacity>("storage.k8s.io/v1beta1"),
];

pub(crate) static STORAGE_CLASSES: &[Unserved] =
    &[Unserved::same::<types::storage::v1beta1::StorageClass>("storage.k8s.io/v1beta1")];

pub(crate) static VOLUME_ATTACHMENTS: &[Unserved] = &[
    Unserved::same::<types::storage::v1alpha1::VolumeAttachment>("storage.k8s.io/v1alpha1"),
    Unserved::same::<types::storage::v1beta1::VolumeAttachment>("storage.k8s.io/v1beta1"),
];

pub(crate) static VOLUME_ATTRIBUTES_CLASSES: &[Unserved] =
    &[Unserved::same::<types::storage::v1alpha1::VolumeAttributesClass>("storage.k8s.io/v1alpha1")];
