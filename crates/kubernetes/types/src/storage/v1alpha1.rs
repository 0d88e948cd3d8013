//! Types of `storage.k8s.io/v1alpha1`: storage classes, drivers and volume attachments.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time, same_as};

use crate::core::v1::PersistentVolumeSpec;
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        CSIStorageCapacity, CSIStorageCapacityList, VolumeAttachment, VolumeAttachmentList, VolumeAttachmentSource,
        VolumeAttachmentSpec, VolumeAttachmentStatus, VolumeAttributesClassList, VolumeError
    }
}

/// Named set of changeable volume properties, such as performance.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "storage.k8s.io", plural = "volumeattributesclasses", short_names("vac"), cluster))]
pub struct VolumeAttributesClass {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// CSI driver understanding the parameters.
    #[k8s(proto = 2, always)]
    pub driver_name: String,
    /// Property values handed to the driver; immutable, up to 512 entries.
    #[k8s(proto = 3)]
    pub parameters: BTreeMap<String, String>,
}
