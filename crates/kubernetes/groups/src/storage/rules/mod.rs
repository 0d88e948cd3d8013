//! Handwritten rules of the group `storage.k8s.io`.

mod attachment;
pub mod class;
pub mod driver;

use pintle_schema::ApiType;
use pintle_types::core::v1::TopologySelectorTerm;
use pintle_types::storage::v1::{
    CSIDriver, CSIDriverSpec, CSINode, CSINodeDriver, CSINodeSpec, CSIStorageCapacity, StorageClass, VolumeAttachment,
    VolumeAttachmentSource, VolumeAttachmentStatus, VolumeAttributesClass, VolumeError,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type, step};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Step::Metadata, Step::Rules, Step::MetadataUpdate, step!(StorageClass, class::keeps)],
        ..KindRules::of(StorageClass::schema)
    },
    KindRules {
        update: &[
            Step::MetadataUpdate,
            step!(VolumeAttributesClass, class::keeps_attributes),
            Step::Metadata,
            Step::Rules,
        ],
        ..KindRules::of(VolumeAttributesClass::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules, step!(VolumeAttachment, attachment::keeps_spec)],
        parts: &[("status", &[Step::Metadata, Step::Rules])],
        ..KindRules::of(VolumeAttachment::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules, step!(CSINode, driver::keeps_drivers)],
        ..KindRules::of(CSINode::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules, Step::MetadataUpdate, step!(CSIStorageCapacity, driver::keeps_place)],
        ..KindRules::of(CSIStorageCapacity::schema)
    },
    KindRules {
        update: &[Step::MetadataUpdate, Step::Rules, step!(CSIDriver, driver::keeps_modes)],
        ..KindRules::of(CSIDriver::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_field!(StorageClass::PARAMETERS, class::parameters),
    at_field!(StorageClass::RECLAIM_POLICY, class::reclaim_policy),
    at_field!(TopologySelectorTerm::MATCH_LABEL_EXPRESSIONS, class::distinct_labels, AFTER),
    at_field!(StorageClass::ALLOWED_TOPOLOGIES, class::distinct_topologies, AFTER),
    at_field!(VolumeAttributesClass::PARAMETERS, class::some_parameters),
    at_type!(VolumeAttachmentSource, attachment::one_source),
    at_type!(VolumeAttachment, attachment::volume_name, AFTER),
    at_field!(VolumeAttachmentStatus::ATTACHMENT_METADATA, attachment::metadata),
    at_type!(VolumeError, attachment::failure),
    at_type!(CSIDriverSpec, driver::has_answers),
    at_type!(CSIDriverSpec, driver::modes_and_tokens, AFTER),
    at_field!(CSINodeDriver::NODE_ID, driver::node_id),
    at_type!(CSINodeDriver, driver::topology_keys, AFTER),
    at_field!(CSINodeSpec::DRIVERS, driver::distinct, AFTER),
    at_field!(CSIStorageCapacity::CAPACITY, driver::free_space),
];
