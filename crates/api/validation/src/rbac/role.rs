//! Rules of Role and ClusterRole.

use crate::meta::label_selector;
use pintle_schema::Value;
use pintle_types::meta::v1::LabelSelector;
use pintle_types::rbac::v1::PolicyRule;
use pintle_validation::{At, Cx};

/// A rule is either on resources or, for the whole cluster, on URLs.
pub fn resources_or_urls(rule: At<'_, PolicyRule>, cx: &mut Cx<'_>) {
    let none = |field| rule.new.field(field).value().is_zero();
    let urls = rule.new.field(PolicyRule::NON_RESOURCE_URLS).value();
    if urls.is_zero() {
        if none(PolicyRule::API_GROUPS) {
            let detail = "resource rules must supply at least one api group";
            cx.errors.required(rule.path.to(PolicyRule::API_GROUPS), detail);
        }
        if none(PolicyRule::RESOURCES) {
            let detail = "resource rules must supply at least one resource";
            cx.errors.required(rule.path.to(PolicyRule::RESOURCES), detail);
        }
        return;
    }
    let path = rule.path.to(PolicyRule::NON_RESOURCE_URLS);
    if cx.request.namespaced {
        cx.errors.invalid(path, urls.clone(), "namespaced rules cannot apply to non-resource URLs");
    }
    if ![PolicyRule::API_GROUPS, PolicyRule::RESOURCES, PolicyRule::RESOURCE_NAMES].into_iter().all(none) {
        cx.errors.invalid(path, urls.clone(), "rules cannot apply to both regular resources and non-resource URLs");
    }
}

/// Roles are collected by selectors that can be used.
pub fn selectors(selectors: At<'_, Vec<LabelSelector>>, cx: &mut Cx<'_>) {
    selectors.each(|selector| {
        crate::shared::label_selector(selector, cx);
        if !label_selector::is_valid(selector.new) {
            cx.errors.invalid(selector.path, Value::Null, "invalid label selector.");
        }
    });
}
