//! Columns of the group `storage.k8s.io`; capacities have no columns of their own.
//!
//! Defaults are applied here too: objects of old servers may lack them.

use crate::printing::cells::*;
use crate::printing::{AGE, Column, NAME, boolean, integer, printers, string};
use pintle_schema::{Value, View};
use pintle_types::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeSpec, StorageClass, TokenRequest, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentSpec, VolumeAttachmentStatus, VolumeAttributesClass,
};

printers! {
    STORAGE_CLASS: StorageClass |class, now| {
        NAME => default_name(class, DEFAULT_CLASS),
        string("Provisioner", "Who makes the volumes.") => text(class.to(StorageClass::PROVISIONER)),
        string("ReclaimPolicy", "What becomes of volumes when their claim is gone.")
            => text_or(class.to(StorageClass::RECLAIM_POLICY), "Delete"),
        string("VolumeBindingMode", "When volumes are made and bound.")
            => text_or(class.to(StorageClass::VOLUME_BINDING_MODE), "Immediate"),
        string("AllowVolumeExpansion", "Whether volumes can be made larger.")
            => flag(class.to(StorageClass::ALLOW_VOLUME_EXPANSION)),
        AGE => age(class, now),
    }
    VOLUME_ATTRIBUTES_CLASS: VolumeAttributesClass |class, now| {
        NAME => name(class),
        string("DriverName", "Driver that knows the attributes.") => text(class.to(VolumeAttributesClass::DRIVER_NAME)),
        AGE => age(class, now),
    }
    VOLUME_ATTACHMENT: VolumeAttachment |attachment, now| {
        NAME => name(attachment),
        Column { format: "name", ..string("Attacher", "Driver that attaches the volume.") }
            => text(attachment.to(VolumeAttachment::SPEC).to(VolumeAttachmentSpec::ATTACHER)),
        string("PV", "Volume that is attached.") => text(
            attachment.to(VolumeAttachment::SPEC).to(VolumeAttachmentSpec::SOURCE).to(VolumeAttachmentSource::PERSISTENT_VOLUME_NAME),
        ),
        string("Node", "Node that it is attached to.")
            => text(attachment.to(VolumeAttachment::SPEC).to(VolumeAttachmentSpec::NODE_NAME)),
        boolean("Attached", "Whether it is attached now.")
            => flag(attachment.to(VolumeAttachment::STATUS).to(VolumeAttachmentStatus::ATTACHED)),
        AGE => age(attachment, now),
    }
    CSI_NODE: CSINode |node, now| {
        NAME => name(node),
        integer("Drivers", "How many drivers the node has.") => count(node.to(CSINode::SPEC).to(CSINodeSpec::DRIVERS)),
        AGE => age(node, now),
    }
    CSI_DRIVER: CSIDriver |driver, now| {
        NAME => name(driver),
        boolean("AttachRequired", "Whether volumes are attached before they are mounted.")
            => flag_or(driver.to(CSIDriver::SPEC).to(CSIDriverSpec::ATTACH_REQUIRED), true),
        boolean("PodInfoOnMount", "Whether the driver is told about the pod.")
            => flag(driver.to(CSIDriver::SPEC).to(CSIDriverSpec::POD_INFO_ON_MOUNT)),
        boolean("StorageCapacity", "Whether the scheduler considers free capacity.")
            => flag(driver.to(CSIDriver::SPEC).to(CSIDriverSpec::STORAGE_CAPACITY)),
        string("TokenRequests", "Audiences of the tokens that the driver gets.") => audiences(driver),
        boolean("RequiresRepublish", "Whether volumes are published again and again.")
            => flag(driver.to(CSIDriver::SPEC).to(CSIDriverSpec::REQUIRES_REPUBLISH)),
        string("Modes", "Kinds of volumes that the driver serves.")
            => or(join(strings(driver.to(CSIDriver::SPEC).to(CSIDriverSpec::VOLUME_LIFECYCLE_MODES)), ","), NONE),
        AGE => age(driver, now),
    }
}

const DEFAULT_CLASS: &[&str] =
    &["storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class"];

fn audiences(driver: View<'_, CSIDriver>) -> Value {
    let requests = driver.to(CSIDriver::SPEC).to(CSIDriverSpec::TOKEN_REQUESTS);
    if !requests.is_set() {
        return UNSET.into();
    }
    join(requests.iter().map(|request| str_of(request.to(TokenRequest::AUDIENCE))), ",").into()
}
