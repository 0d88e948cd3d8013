//! LimitRanges and ResourceQuotas.
//!
//! Admission plugins apply them.

use crate::printing::printer;
use pintle_resource::{Context, GENERAL, Resource, STATUS, Storage, Strategy, Subresource, WITH_STATUS};
use pintle_schema::{Value, ViewMut};
use pintle_types::core::v1;
use pintle_types::meta::v1::ObjectMeta;

pub(super) fn limit_ranges() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::LimitRange>()),
        strategy: &Strategy { create_on_update: true, prepare_create: Some(name_limits), ..GENERAL },
        ..Resource::of::<v1::LimitRange>()
    }
}

pub(super) fn resource_quotas() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::ResourceQuota>()),
        subresources: vec![Subresource::status::<v1::ResourceQuota>(&STATUS)],
        strategy: &Strategy { delete_answers_object: true, ..WITH_STATUS },
        printer: printer(&super::columns::RESOURCE_QUOTA),
        warn: Some(super::rules::quota::resource_quota::warn),
        ..Resource::of::<v1::ResourceQuota>()
    }
}

/// Limits without a name get a random one.
fn name_limits(object: &mut Value, context: &mut Context) {
    let metadata = ViewMut::<v1::LimitRange>::new(object).field(v1::LimitRange::METADATA);
    let name = metadata.field(ObjectMeta::NAME);
    if name.view().as_str().is_empty() {
        name.set(context.environment.new_uid());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::created;
    use pintle_schema::value;

    #[test]
    fn limits_have_a_name() {
        let name = |given: Value| created(&limit_ranges(), given).str_at(&["metadata", "name"]).to_owned();
        assert_eq!(name(value!({})), "a-uid");
        assert_eq!(name(value!({"metadata": {"name": "own"}})), "own");
    }
}
