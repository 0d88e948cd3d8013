//! Warnings of persistent volumes and of claims: sources that are gone, and sizes that are no whole number of bytes.
//!
//! Warnings never refuse; texts are kube-apiserver's.

use super::persistent::is_whole;
use crate::core::rules::node_labels::node_term;
use crate::rules::warnings::Written;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::{
    EphemeralVolumeSource, NodeSelector, PersistentVolume, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimTemplate, PersistentVolumeReclaimPolicy, PersistentVolumeSpec, ResourceList, ResourceName,
    Volume, VolumeNodeAffinity, VolumeResourceRequirements, VolumeSource,
};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::FieldPath;

/// The annotation from before there was a field for the class.
const CLASS: &str = "volume.beta.kubernetes.io/storage-class";

const MOUNT_OPTIONS: &str = "volume.beta.kubernetes.io/mount-options";

/// Sources of volumes that are gone: field, its name in texts, and since when.
pub const OLD_SOURCES: &[(&str, &str, &str)] = &[
    ("photonPersistentDisk", "photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+"),
    ("gitRepo", "gitRepo", "deprecated in v1.11, and disabled by default in v1.33+"),
    ("scaleIO", "scaleIO", "deprecated in v1.16, non-functional in v1.22+"),
    ("flocker", "flocker", "deprecated in v1.22, non-functional in v1.25+"),
    ("storageos", "storageOS", "deprecated in v1.22, non-functional in v1.25+"),
    ("quobyte", "quobyte", "deprecated in v1.22, non-functional in v1.25+"),
    ("glusterfs", "glusterfs", "deprecated in v1.25, non-functional in v1.26+"),
    ("cephfs", "cephfs", "deprecated in v1.28, non-functional in v1.31+"),
    ("rbd", "rbd", "deprecated in v1.28, non-functional in v1.31+"),
];

/// Sources that only volumes of pods are warned of.
const OF_PODS: &[&str] = &["gitRepo", "flocker", "quobyte"];

/// Warnings of a volume.
pub fn volume(written: &Written<'_>, warnings: &mut Vec<String>) {
    if !written.subresource.is_empty() {
        return;
    }
    let volume = written.view::<PersistentVolume>();
    let spec = volume.field(PersistentVolume::SPEC);
    let path = FieldPath::new(PersistentVolume::SPEC.name());
    let affinity = spec.field(PersistentVolumeSpec::NODE_AFFINITY).or_zero();
    let place = path.to(PersistentVolumeSpec::NODE_AFFINITY);
    let place = place.to(VolumeNodeAffinity::REQUIRED);
    let place = place.to(NodeSelector::NODE_SELECTOR_TERMS);
    let terms = affinity.field(VolumeNodeAffinity::REQUIRED).or_zero().field(NodeSelector::NODE_SELECTOR_TERMS);
    for (index, term) in terms.iter().enumerate() {
        node_term(term, false, &place.index(index), warnings);
    }
    let metadata = volume.field(PersistentVolume::METADATA);
    annotation(metadata, CLASS, "deprecated since v1.8; use \"storageClassName\" attribute instead", warnings);
    annotation(metadata, MOUNT_OPTIONS, "deprecated since v1.31; use \"mountOptions\" attribute instead", warnings);
    let policy = PersistentVolumeSpec::PERSISTENT_VOLUME_RECLAIM_POLICY;
    if spec.field(policy).get() == PersistentVolumeReclaimPolicy::RECYCLE {
        let detail = "The Recycle reclaim policy is deprecated. \
                      Instead, the recommended approach is to use dynamic provisioning.";
        warnings.push(format!("{}: {detail}", path.to(policy)));
    }
    for (field, name, text) in OLD_SOURCES.iter().filter(|(field, ..)| !OF_PODS.contains(field)) {
        if spec.value().get(field).is_some_and(|source| !source.is_null()) {
            warnings.push(format!("{}: {text}", path.child(name)));
        }
    }
}

/// Warnings of a claim.
pub fn claim(written: &Written<'_>, warnings: &mut Vec<String>) {
    if !written.subresource.is_empty() {
        return;
    }
    let claim = written.view::<PersistentVolumeClaim>();
    let text = "deprecated since v1.8; use \"storageClassName\" attribute instead";
    annotation(claim.field(PersistentVolumeClaim::METADATA), CLASS, text, warnings);
    of_claim_spec(claim.field(PersistentVolumeClaim::SPEC), &FieldPath::new("spec"), warnings);
}

/// Warnings of the requests of a claim.
pub fn of_claim_spec(spec: View<'_, PersistentVolumeClaimSpec>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let resources = spec.field(PersistentVolumeClaimSpec::RESOURCES);
    let path = path.to(PersistentVolumeClaimSpec::RESOURCES);
    for list in [VolumeResourceRequirements::REQUESTS, VolumeResourceRequirements::LIMITS] {
        fraction(resources.field(list), ResourceName::STORAGE.as_str(), &path.to(list), warnings);
    }
}

/// Warnings of the claim that is made for a pod's volume.
pub fn of_made_claim(volume: View<'_, Volume>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let source = volume.field(Volume::VOLUME_SOURCE).field(VolumeSource::EPHEMERAL).or_zero();
    let Some(template) = source.field(EphemeralVolumeSource::VOLUME_CLAIM_TEMPLATE).some() else { return };
    let path = path.to(VolumeSource::EPHEMERAL);
    let path = path.to(EphemeralVolumeSource::VOLUME_CLAIM_TEMPLATE);
    let path = path.to(PersistentVolumeClaimTemplate::SPEC);
    of_claim_spec(template.field(PersistentVolumeClaimTemplate::SPEC), &path, warnings);
}

/// Warns of an amount in bytes that is no whole number.
pub fn fraction(list: View<'_, ResourceList>, name: &str, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let Some(value) = list.value().get(name) else { return };
    let quantity: Quantity = View::new(value).get();
    if !is_whole(&quantity) {
        let detail = format!("fractional byte value \"{quantity}\" is invalid, must be an integer");
        warnings.push(format!("{}: {detail}", path.key(name)));
    }
}

fn annotation(metadata: View<'_, ObjectMeta>, key: &str, text: &str, warnings: &mut Vec<String>) {
    if metadata.field(ObjectMeta::ANNOTATIONS).value().get(key).is_some_and(|value| *value != Value::Null) {
        warnings.push(format!("metadata.annotations[{key}]: {text}"));
    }
}
