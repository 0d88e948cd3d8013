//! The `storage.k8s.io` group: storage classes, drivers and attachments.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::views::next_generation;
use pintle_resource::{
    Context, GENERAL, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS, same, texts,
};
use pintle_schema::{Str, Value, View, ViewMut};
use pintle_types::storage::{v1, v1beta1};

pub(crate) fn resources() -> Vec<Resource> {
    vec![
        csi_drivers(),
        csi_nodes(),
        csi_storage_capacities(),
        storage_classes(),
        volume_attachments(),
        volume_attributes_classes(),
        volume_attributes_classes_v1beta1(),
    ]
}

/// Generations of drivers start at 0, so they are not counted the usual way.
static CSI_DRIVER: Strategy = Strategy {
    unconditional_update: false,
    delete_answers_object: true,
    prepare_update: Some(count_csi_driver),
    ..GENERAL
};

static CSI_NODE: Strategy = Strategy { unconditional_update: false, delete_answers_object: true, ..GENERAL };

static CSI_STORAGE_CAPACITY: Strategy = Strategy { unconditional_update: false, ..GENERAL };

static STORAGE_CLASS: Strategy = Strategy { delete_answers_object: true, ..GENERAL };

static VOLUME_ATTACHMENT: Strategy =
    Strategy { unconditional_update: false, delete_answers_object: true, ..WITH_STATUS };

static VOLUME_ATTRIBUTES_CLASS: Strategy = Strategy { delete_answers_object: true, ..GENERAL };

fn volume_attributes_class_storage() -> Storage {
    Storage::of::<v1::VolumeAttributesClass>(
        "storage.k8s.io/v1",
        "VolumeAttributesClass",
        "/registry/volumeattributesclasses/",
        "tIjydgKBC5w=",
    )
}

fn csi_drivers() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSIDriver>(
            "storage.k8s.io/v1",
            "CSIDriver",
            "/registry/csidrivers/",
            "hL6j/rwBV5w=",
        )),
        strategy: &CSI_DRIVER,
        ..Resource::cluster::<v1::CSIDriver>("storage.k8s.io", "v1", "csidrivers", "csidriver", "CSIDriver")
    }
}

fn csi_nodes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSINode>(
            "storage.k8s.io/v1",
            "CSINode",
            "/registry/csinodes/",
            "Pe62DkZtjuo=",
        )),
        strategy: &CSI_NODE,
        ..Resource::cluster::<v1::CSINode>("storage.k8s.io", "v1", "csinodes", "csinode", "CSINode")
    }
}

fn csi_storage_capacities() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSIStorageCapacity>(
            "storage.k8s.io/v1",
            "CSIStorageCapacity",
            "/registry/csistoragecapacities/",
            "xeVl+2Ly1kE=",
        )),
        strategy: &CSI_STORAGE_CAPACITY,
        ..Resource::namespaced::<v1::CSIStorageCapacity>(
            "storage.k8s.io",
            "v1",
            "csistoragecapacities",
            "csistoragecapacity",
            "CSIStorageCapacity",
        )
    }
}

fn storage_classes() -> Resource {
    Resource {
        short_names: texts(&["sc"]),
        storage: Some(Storage::of::<v1::StorageClass>(
            "storage.k8s.io/v1",
            "StorageClass",
            "/registry/storageclasses/",
            "K+m6uJwbjGY=",
        )),
        strategy: &STORAGE_CLASS,
        ..Resource::cluster::<v1::StorageClass>(
            "storage.k8s.io",
            "v1",
            "storageclasses",
            "storageclass",
            "StorageClass",
        )
    }
}

fn volume_attachments() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::VolumeAttachment>(
            "storage.k8s.io/v1",
            "VolumeAttachment",
            "/registry/volumeattachments/",
            "tJx/ezt6UDU=",
        )),
        subresources: vec![Subresource::status::<v1::VolumeAttachment>("VolumeAttachment", &STATUS_ALONE)],
        strategy: &VOLUME_ATTACHMENT,
        ..Resource::cluster::<v1::VolumeAttachment>(
            "storage.k8s.io",
            "v1",
            "volumeattachments",
            "volumeattachment",
            "VolumeAttachment",
        )
    }
}

fn volume_attributes_classes() -> Resource {
    Resource {
        short_names: texts(&["vac"]),
        storage: Some(volume_attributes_class_storage()),
        strategy: &VOLUME_ATTRIBUTES_CLASS,
        ..Resource::cluster::<v1::VolumeAttributesClass>(
            "storage.k8s.io",
            "v1",
            "volumeattributesclasses",
            "volumeattributesclass",
            "VolumeAttributesClass",
        )
    }
}

fn volume_attributes_classes_v1beta1() -> Resource {
    Resource {
        short_names: texts(&["vac"]),
        served: Served::OnRequest,
        storage: Some(volume_attributes_class_storage()),
        strategy: &VOLUME_ATTRIBUTES_CLASS,
        deprecation: Str::new_static(
            "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass",
        ),
        ..Resource::cluster::<v1beta1::VolumeAttributesClass>(
            "storage.k8s.io",
            "v1beta1",
            "volumeattributesclasses",
            "volumeattributesclass",
            "VolumeAttributesClass",
        )
    }
}

fn count_csi_driver(new: &mut Value, old: &Value, _: &mut Context) {
    let (new, old) = (ViewMut::<v1::CSIDriver>::new(new), View::<v1::CSIDriver>::new(old));
    if !same(new.view().field(v1::CSIDriver::SPEC).value(), old.field(v1::CSIDriver::SPEC).value()) {
        next_generation(new.field(v1::CSIDriver::METADATA), old.field(v1::CSIDriver::METADATA));
    }
}
