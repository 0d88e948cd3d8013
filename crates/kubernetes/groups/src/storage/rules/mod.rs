//! Handwritten rules of the group `storage.k8s.io`.

mod attachment;
pub mod class;
pub mod driver;

use pintle_schema::ApiType;
use pintle_types::core::v1::{TopologySelectorLabelRequirement, TopologySelectorTerm};
use pintle_types::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity, StorageClass, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentStatus, VolumeAttributesClass, VolumeError,
};
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Skip, at_field, at_type, field_order, pass, skip,
};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate, pass!(StorageClass, class::keeps)],
        ..KindRules::of(StorageClass::schema)
    },
    KindRules {
        update: &[
            Pass::MetadataUpdate,
            pass!(VolumeAttributesClass, class::keeps_attributes),
            Pass::Metadata,
            Pass::Rules,
        ],
        ..KindRules::of(VolumeAttributesClass::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, pass!(VolumeAttachment, attachment::keeps_spec)],
        parts: &[("status", &[Pass::Metadata, Pass::Rules])],
        ..KindRules::of(VolumeAttachment::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, pass!(CSINode, driver::keeps_drivers)],
        ..KindRules::of(CSINode::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules, Pass::MetadataUpdate, pass!(CSIStorageCapacity, driver::keeps_place)],
        ..KindRules::of(CSIStorageCapacity::schema)
    },
    KindRules {
        update: &[Pass::MetadataUpdate, Pass::Rules, pass!(CSIDriver, driver::keeps_modes)],
        ..KindRules::of(CSIDriver::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] =
    &[field_order!(TopologySelectorLabelRequirement: [VALUES]), field_order!(CSIDriverSpec: [FS_GROUP_POLICY])];

static SKIPS: &[Skip] = &[skip!(VolumeAttachmentSource::INLINE_VOLUME_SPEC, attachment::is_named)];

static RULES: &[CustomRule] = &[
    at_field!(StorageClass::PARAMETERS, class::parameters),
    at_field!(StorageClass::RECLAIM_POLICY, class::reclaim_policy),
    at_field!(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS, class::distinct_labels, phase = Inside(1)),
    at_field!(StorageClass::ALLOWED_TOPOLOGIES, class::distinct_topologies, phase = After),
    at_field!(VolumeAttributesClass::PARAMETERS, class::some_parameters),
    at_type!(VolumeAttachmentSource, attachment::one_source),
    at_type!(VolumeAttachment, attachment::volume_name, phase = After),
    at_field!(VolumeAttachmentStatus::ATTACHMENT_METADATA, attachment::metadata),
    at_type!(VolumeError, attachment::failure),
    at_type!(CSIDriverSpec, driver::has_answers),
    at_type!(CSIDriverSpec, driver::modes_and_tokens, phase = After),
    at_field!(CSINodeDriver::NODE_ID, driver::node_id),
    at_type!(CSINodeDriver, driver::topology_keys, phase = After),
    at_field!(CSINodeSpec::DRIVERS, driver::distinct, phase = After),
    at_field!(CSIStorageCapacity::CAPACITY, driver::free_space),
];
