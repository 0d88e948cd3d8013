//! The `storage.k8s.io` group: storage classes, drivers and attachments.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod defaults;
pub(crate) mod rules;

use crate::core;
use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::next_generation;
use pintle_resource::{
    Context, GENERAL, Group, Resource, STATUS_ALONE, Served, Storage, Strategy, Subresource, Unserved, WITH_STATUS,
    same,
};
use pintle_schema::{Str, Value, View, ViewMut};
use pintle_types::storage::{v1, v1alpha1, v1beta1};

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
    Storage::of::<v1::VolumeAttributesClass>()
}

fn csi_drivers() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSIDriver>()),
        strategy: &CSI_DRIVER,
        printer: printer(&columns::CSI_DRIVER),
        warn: Some(rules::driver::warn),
        unserved: vec![Unserved::same::<v1beta1::CSIDriver>()],
        ..Resource::of::<v1::CSIDriver>()
    }
}

fn csi_nodes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSINode>()),
        strategy: &CSI_NODE,
        printer: printer(&columns::CSI_NODE),
        unserved: vec![Unserved::same::<v1beta1::CSINode>()],
        ..Resource::of::<v1::CSINode>()
    }
}

fn csi_storage_capacities() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::CSIStorageCapacity>()),
        strategy: &CSI_STORAGE_CAPACITY,
        warn: Some(rules::class::warn_of_capacity),
        unserved: vec![
            Unserved::same::<v1alpha1::CSIStorageCapacity>(),
            Unserved::same::<v1beta1::CSIStorageCapacity>(),
        ],
        ..Resource::of::<v1::CSIStorageCapacity>()
    }
}

fn storage_classes() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::StorageClass>()),
        strategy: &STORAGE_CLASS,
        printer: printer(&columns::STORAGE_CLASS),
        warn: Some(rules::class::warn),
        unserved: vec![Unserved::same::<v1beta1::StorageClass>()],
        ..Resource::of::<v1::StorageClass>()
    }
}

fn volume_attachments() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::VolumeAttachment>()),
        subresources: vec![Subresource::status::<v1::VolumeAttachment>(&STATUS_ALONE)],
        strategy: &VOLUME_ATTACHMENT,
        printer: printer(&columns::VOLUME_ATTACHMENT),
        unserved: vec![Unserved::same::<v1alpha1::VolumeAttachment>(), Unserved::same::<v1beta1::VolumeAttachment>()],
        ..Resource::of::<v1::VolumeAttachment>()
    }
}

fn volume_attributes_classes() -> Resource {
    Resource {
        storage: Some(volume_attributes_class_storage()),
        strategy: &VOLUME_ATTRIBUTES_CLASS,
        printer: printer(&columns::VOLUME_ATTRIBUTES_CLASS),
        unserved: vec![Unserved::same::<v1alpha1::VolumeAttributesClass>()],
        introduced: 34,
        ..Resource::of::<v1::VolumeAttributesClass>()
    }
}

fn volume_attributes_classes_v1beta1() -> Resource {
    Resource {
        served: Served::OnRequest,
        storage: Some(volume_attributes_class_storage()),
        strategy: &VOLUME_ATTRIBUTES_CLASS,
        deprecation: Str::new_static(
            "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+; use storage.k8s.io/v1 VolumeAttributesClass",
        ),
        printer: printer(&columns::VOLUME_ATTRIBUTES_CLASS),
        unserved: vec![Unserved::same::<v1alpha1::VolumeAttributesClass>()],
        ..Resource::of::<v1beta1::VolumeAttributesClass>()
    }
}

fn count_csi_driver(new: &mut Value, old: &Value, _: &mut Context) {
    let (new, old) = (ViewMut::<v1::CSIDriver>::new(new), View::<v1::CSIDriver>::new(old));
    if !same(new.view().field(v1::CSIDriver::SPEC).value(), old.field(v1::CSIDriver::SPEC).value()) {
        next_generation(new.field(v1::CSIDriver::METADATA), old.field(v1::CSIDriver::METADATA));
    }
}
