//! Defaults of the storage group that are not constants: the spec of a CSI driver.
//!
//! Constant defaults are tags of the types.

use crate::defaulting::Rule;
use crate::defaulting::fields::{set_if_null, set_if_zero};
use pintle_schema::{ApiType, Value};
use pintle_types::storage::{v1, v1beta1};

pub const RULES: &[Rule] = &[(v1::CSIDriverSpec::schema, driver_v1), (v1beta1::CSIDriverSpec::schema, driver_v1beta1)];

fn driver_v1(spec: &mut Value) {
    set_if_zero(spec, v1::CSIDriverSpec::VOLUME_LIFECYCLE_MODES, vec![v1::VolumeLifecycleMode::PERSISTENT]);
    set_if_null(spec, v1::CSIDriverSpec::SE_LINUX_MOUNT, false);
}

fn driver_v1beta1(spec: &mut Value) {
    let persistent = vec![v1beta1::VolumeLifecycleMode::PERSISTENT];
    set_if_zero(spec, v1beta1::CSIDriverSpec::VOLUME_LIFECYCLE_MODES, persistent);
    set_if_null(spec, v1beta1::CSIDriverSpec::SE_LINUX_MOUNT, false);
}
