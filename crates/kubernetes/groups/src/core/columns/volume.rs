//! Persistent volumes and claims to them.
//!
//! The annotation of old that names the storage class still stands before the field.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string, wide};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{
    ObjectReference, PersistentVolume, PersistentVolumeAccessMode, PersistentVolumeClaim, PersistentVolumeClaimSpec,
    PersistentVolumeClaimStatus, PersistentVolumeSpec, PersistentVolumeStatus, ResourceList,
};

printers! {
    PERSISTENT_VOLUME: PersistentVolume |volume, now| {
        NAME => name(volume),
        string("Capacity", "How much the volume holds.")
            => storage(volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::CAPACITY), "0"),
        string("Access Modes", "How the volume can be mounted.")
            => access_modes(volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::ACCESS_MODES)),
        string("Reclaim Policy", "What becomes of the volume when its claim is gone.")
            => text(volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::PERSISTENT_VOLUME_RECLAIM_POLICY)),
        string("Status", "Where the volume is in its life.")
            => phase(volume, volume.to(PersistentVolume::STATUS).to(PersistentVolumeStatus::PHASE)),
        string("Claim", "Claim that the volume is bound to.") => claim(volume),
        string("StorageClass", "Class of the volume.")
            => class(volume, volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::STORAGE_CLASS_NAME)),
        string("VolumeAttributesClass", "Class of the volume's attributes.")
            => text_or(volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::VOLUME_ATTRIBUTES_CLASS_NAME), UNSET),
        string("Reason", "Why the volume is in its status.")
            => text(volume.to(PersistentVolume::STATUS).to(PersistentVolumeStatus::REASON)),
        AGE => age(volume, now),
        wide("VolumeMode", "Whether it is a file system or a block device.")
            => text_or(volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::VOLUME_MODE), UNSET),
    }
    PERSISTENT_VOLUME_CLAIM: PersistentVolumeClaim |claim, now| {
        NAME => name(claim),
        string("Status", "Whether the claim is bound.")
            => phase(claim, claim.to(PersistentVolumeClaim::STATUS).to(PersistentVolumeClaimStatus::PHASE)),
        string("Volume", "Volume that the claim is bound to.") => text(volume_name(claim)),
        string("Capacity", "How much the volume holds.")
            => when_bound(claim, storage(claim.to(PersistentVolumeClaim::STATUS).to(PersistentVolumeClaimStatus::CAPACITY), "0")),
        string("Access Modes", "How the volume can be mounted.")
            => when_bound(claim, access_modes(claim.to(PersistentVolumeClaim::STATUS).to(PersistentVolumeClaimStatus::ACCESS_MODES))),
        string("StorageClass", "Class of the volume that is claimed.")
            => class(claim, claim.to(PersistentVolumeClaim::SPEC).to(PersistentVolumeClaimSpec::STORAGE_CLASS_NAME)),
        string("VolumeAttributesClass", "Class of the volume's attributes.")
            => text_or(claim.to(PersistentVolumeClaim::SPEC).to(PersistentVolumeClaimSpec::VOLUME_ATTRIBUTES_CLASS_NAME), UNSET),
        AGE => age(claim, now),
        wide("VolumeMode", "Whether it is a file system or a block device.")
            => text_or(claim.to(PersistentVolumeClaim::SPEC).to(PersistentVolumeClaimSpec::VOLUME_MODE), UNSET),
    }
}

const CLASS_ANNOTATION: &str = "volume.beta.kubernetes.io/storage-class";

fn storage(amounts: View<'_, ResourceList>, stand_in: &str) -> Value {
    entry(amounts, "storage").unwrap_or(stand_in).into()
}

fn access_modes(modes: View<'_, Vec<PersistentVolumeAccessMode>>) -> Value {
    let known = [
        (PersistentVolumeAccessMode::READ_WRITE_ONCE, "RWO"),
        (PersistentVolumeAccessMode::READ_ONLY_MANY, "ROX"),
        (PersistentVolumeAccessMode::READ_WRITE_MANY, "RWX"),
        (PersistentVolumeAccessMode::READ_WRITE_ONCE_POD, "RWOP"),
    ];
    let present = known.iter().filter(|(mode, _)| strings(modes).any(|text| text == mode.as_str()));
    join(present.map(|(_, short)| short), ",").into()
}

fn phase<T, F>(object: View<'_, T>, phase: View<'_, F>) -> Value {
    if deleted(object) { "Terminating".into() } else { text(phase) }
}

fn claim(volume: View<'_, PersistentVolume>) -> Value {
    match volume.to(PersistentVolume::SPEC).to(PersistentVolumeSpec::CLAIM_REF).some() {
        Some(claim) => {
            let namespace = str_of(claim.to(ObjectReference::NAMESPACE));
            format!("{namespace}/{}", str_of(claim.to(ObjectReference::NAME))).into()
        }
        None => "".into(),
    }
}

fn class<T, F>(object: View<'_, T>, field: View<'_, F>) -> Value {
    annotation(object, CLASS_ANNOTATION).unwrap_or(str_of(field)).into()
}

fn volume_name(claim: View<'_, PersistentVolumeClaim>) -> View<'_, String> {
    claim.to(PersistentVolumeClaim::SPEC).to(PersistentVolumeClaimSpec::VOLUME_NAME)
}

fn when_bound(claim: View<'_, PersistentVolumeClaim>, cell: Value) -> Value {
    if volume_name(claim).as_str().is_empty() { "".into() } else { cell }
}
