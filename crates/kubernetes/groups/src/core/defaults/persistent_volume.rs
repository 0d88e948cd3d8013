//! Defaults of persistent volumes.
//!
//! They belong to the volume, not to its spec: a spec inside a volume attachment is left as it is.

use crate::defaulting::Rule;
use crate::defaulting::fields::{set_if_null, set_if_zero};
use pintle_schema::{ApiType, Value};
use pintle_types::core::v1::{
    PersistentVolume, PersistentVolumeMode, PersistentVolumeReclaimPolicy, PersistentVolumeSpec,
};

pub const RULES: &[Rule] = &[(PersistentVolume::schema, persistent_volume)];

fn persistent_volume(volume: &mut Value) {
    let spec = volume.map_entry(PersistentVolume::SPEC.name());
    let reclaim = PersistentVolumeSpec::PERSISTENT_VOLUME_RECLAIM_POLICY;
    set_if_zero(spec, reclaim, PersistentVolumeReclaimPolicy::RETAIN);
    set_if_null(spec, PersistentVolumeSpec::VOLUME_MODE, PersistentVolumeMode::FILESYSTEM);
}
