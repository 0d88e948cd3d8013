//! The `storage.k8s.io` group: storage classes, drivers and attachments.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
mod old_versions;
pub(crate) mod rules;

use crate::core;
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::next_generation;
use pintle_resource::{
    Context, GENERAL, Group, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, WITH_STATUS, same, texts,
};
use pintle_schema::{Str, Value, View, ViewMut};
use pintle_types::storage::{v1, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default()
        .rules(&[&rules::GROUP])
        .defaults(defaults::RULES)
        .rules(core::rules::ALL)
        .defaults(&core::defaults::ALL.concat());
    Group {
        name: Str::new_static("storage.k8s.io"),
        priority: Some(16800),
        built_in: true,
        versions: vec![version("v1", 15), version("v1beta1", 9)],
        resources: functions.complete(vec![
            csi_drivers(),
            csi_nodes(),
            csi_storage_capacities(),
            storage_classes(),
            volume_attachments(),
            volume_attributes_classes(),
            volume_attributes_classes_v1beta1(),
        ]),
        internal: Vec::new(),
    }
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
        printer: printer(&columns::CSI_DRIVER),
        warn: Some(rules::driver::warn),
        unserved: old_versions::CSI_DRIVERS.iter().collect(),
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
        printer: printer(&columns::CSI_NODE),
        unserved: old_versions::CSI_NODES.iter().collect(),
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
        warn: Some(rules::class::warn_of_capacity),
        unserved: old_versions::CSI_STORAGE_CAPACITIES.iter().collect(),
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
        printer: printer(&columns::STORAGE_CLASS),
        warn: Some(rules::class::warn),
        unserved: old_versions::STORAGE_CLASSES.iter().collect(),
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
        printer: printer(&columns::VOLUME_ATTACHMENT),
        unserved: old_versions::VOLUME_ATTACHMENTS.iter().collect(),
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
        printer: printer(&columns::VOLUME_ATTRIBUTES_CLASS),
        unserved: old_versions::VOLUME_ATTRIBUTES_CLASSES.iter().collect(),
        introduced: 34,
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
        printer: printer(&columns::VOLUME_ATTRIBUTES_CLASS),
        unserved: old_versions::VOLUME_ATTRIBUTES_CLASSES.iter().collect(),
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
