//! LimitRanges and ResourceQuotas.
//!
//! Only what is stored; admission applies them.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{GENERAL, STATUS, Strategy, WITH_STATUS};
use pintle_types::core::v1;

pub(super) static LIMIT_RANGES: Resource = Resource {
    short_names: &["limits"],
    storage: Some(Storage::of::<v1::LimitRange>("v1", "LimitRange", "/registry/limitranges/", "EBKMFVe6cwo=")),
    strategy: &Strategy { create_on_update: true, ..GENERAL },
    ..Resource::namespaced::<v1::LimitRange>("", "v1", "limitranges", "limitrange", "LimitRange")
};

pub(super) static RESOURCE_QUOTAS: Resource = Resource {
    short_names: &["quota"],
    storage: Some(Storage::of::<v1::ResourceQuota>("v1", "ResourceQuota", "/registry/resourcequotas/", "8uhSgffRX6w=")),
    subresources: &[Subresource::status::<v1::ResourceQuota>("ResourceQuota", &STATUS)],
    strategy: &Strategy { delete_answers_object: true, ..WITH_STATUS },
    ..Resource::namespaced::<v1::ResourceQuota>("", "v1", "resourcequotas", "resourcequota", "ResourceQuota")
};
