//! Rules of LimitRange and ResourceQuota, and of the names of the resources that they limit.

mod limit_range;
pub mod resource_quota;

use super::resource_names;
use pintle_schema::{ApiType, Map, Value};
use pintle_types::core::v1::{
    LimitRange, LimitRangeItem, LimitRangeSpec, ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus,
    ScopedResourceSelectorRequirement,
};
use pintle_validation::{CustomRule, Group, KindRules, Pass, at_field, at_type};

/// The rules of limits and quotas.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, ..Group::NONE };

static KINDS: &[KindRules] =
    &[KindRules { update: &[Pass::Metadata, Pass::Rules], ..KindRules::of(LimitRange::schema) }];

static RULES: &[CustomRule] = &[
    at_field!(LimitRangeSpec::LIMITS, limit_range::distinct_types, phase = Inside(2)),
    at_type!(LimitRangeItem, limit_range::names_of_resources, phase = After),
    at_type!(LimitRangeItem, limit_range::amounts, phase = After),
    at_field!(ResourceQuotaSpec::HARD, resource_quota::amounts),
    at_field!(ResourceQuotaSpec::SCOPES, resource_quota::scopes, ALWAYS),
    at_type!(ScopedResourceSelectorRequirement, resource_quota::selected, ALWAYS),
    at_type!(ScopedResourceSelectorRequirement, resource_quota::requirement),
    at_type!(ResourceQuotaSpec, resource_quota::selector, phase = After),
    at_type!(ResourceQuota, resource_quota::keeps_scopes, phase = After, ON_UPDATE),
    at_field!(ResourceQuotaStatus::HARD, resource_quota::amounts),
    at_field!(ResourceQuotaStatus::USED, resource_quota::amounts),
];

/// Whether a quota can have a resource of the system's own.
fn is_of_quota(name: &str) -> bool {
    resource_names::is_standard(name) && name != "storage"
}

/// The amounts of a list of resources, by name.
fn entries(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list.as_map().into_iter().flat_map(Map::iter).map(|(name, amount)| (&**name, amount))
}
