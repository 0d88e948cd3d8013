//! Rules of LimitRange and ResourceQuota, and of the names of resources that they limit.

mod limit_range;
mod resource_quota;

use super::pod::resources;
use super::resource_names::STANDARD;
use pintle_schema::{ApiType, Map, Value, names};
use pintle_types::core::v1::{LimitRange, LimitRangeItem, ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus};
use pintle_validation::{Cx, FieldPath, Group, Hand, KindRules, Step, at_field, at_type};

/// The rules of limits and quotas.
pub static GROUP: Group = Group { kinds: KINDS, hand: RULES };

static KINDS: &[KindRules] =
    &[KindRules { update: &[Step::Metadata, Step::Rules], ..KindRules::of(LimitRange::schema) }];

static RULES: &[Hand] = &[
    at_type!(LimitRangeItem, limit_range::names_of_resources),
    at_type!(LimitRangeItem, limit_range::amounts, AFTER),
    at_field!(ResourceQuotaSpec::HARD, resource_quota::amounts),
    at_type!(ResourceQuotaSpec, resource_quota::scopes, AFTER),
    at_type!(ResourceQuotaSpec, resource_quota::selector, AFTER),
    at_type!(ResourceQuota, resource_quota::keeps_scopes, AFTER | ON_UPDATE),
    at_field!(ResourceQuotaStatus::HARD, resource_quota::amounts),
    at_field!(ResourceQuotaStatus::USED, resource_quota::amounts),
];

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// Whether a quota can have a resource of the system's own.
fn is_of_quota(name: &str) -> bool {
    STANDARD.contains(&name) && name != "storage" || is_huge_page(name)
}

/// A resource has a name that everybody knows, or one with a domain.
fn resource_name(name: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let messages = names::label_key(name);
    if !messages.is_empty() {
        cx.errors.invalid_each(path, &Value::from(name), messages);
    } else if !name.contains('/') && !is_of_quota(name) && name != "storage" {
        cx.errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
}

/// A resource that a container can have.
fn resource_of_container(name: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    resource_name(name, path, cx);
    if !name.contains('/') {
        if !matches!(name, "cpu" | "memory" | "ephemeral-storage") && !name.starts_with("hugepages-") {
            cx.errors.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !resources::is_native(name) && !resources::is_extended(name) {
        cx.errors.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// The amounts of a list of resources, by name.
fn entries(list: &Value) -> impl Iterator<Item = (&str, &Value)> {
    list.as_map().into_iter().flat_map(Map::iter).map(|(name, amount)| (&**name, amount))
}
