//! Rules of Role and ClusterRole.

use crate::rules::label_selector;
use pintle_schema::Value;
use pintle_types::meta::v1::LabelSelector;
use pintle_types::rbac::v1::PolicyRule;
use pintle_validation::{At, ValidationContext};

/// Non-resource URLs are in rules without resources, and only in cluster roles.
pub fn non_resource_urls(rule: At<'_, PolicyRule>, cx: &mut ValidationContext<'_>) {
    let urls = rule.new.field(PolicyRule::NON_RESOURCE_URLS).value();
    if urls.is_zero() {
        return;
    }
    let path = rule.path.to(PolicyRule::NON_RESOURCE_URLS);
    if cx.request.namespaced {
        cx.errors.invalid(path, urls.clone(), "namespaced rules cannot apply to non-resource URLs");
    }
    let resources = [PolicyRule::API_GROUPS, PolicyRule::RESOURCES, PolicyRule::RESOURCE_NAMES];
    if resources.into_iter().any(|field| !rule.new.field(field).value().is_zero()) {
        let detail = "rules cannot apply to both regular resources and non-resource URLs";
        cx.errors.invalid(path, urls.clone(), detail);
    }
}

/// Roles are collected by selectors that can be used.
pub fn selectors(selectors: At<'_, Vec<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    for (index, selector) in selectors.new.iter().enumerate() {
        if !label_selector::is_valid(selector) {
            cx.errors.invalid(selectors.path.index(index), Value::Null, "invalid label selector.");
        }
    }
}
