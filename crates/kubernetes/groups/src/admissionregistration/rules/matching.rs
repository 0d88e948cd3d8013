//! Rules of what webhooks and policies are about: operations, groups, resources.

use crate::rules::items;
use pintle_schema::{Value, View, names};
use pintle_types::admissionregistration::v1::{
    MatchResources, NamedRuleWithOperations, OperationType, RuleWithOperations,
};
use pintle_validation::{At, ValidationContext};
use std::collections::HashSet;

const ANY: &str = "*";

fn texts<T>(list: View<'_, Vec<T>>) -> impl Iterator<Item = &str> + Clone {
    items(list).iter().map(|item| item.as_str().unwrap_or_default())
}

/// A wildcard is the only item.
fn alone<T>(list: At<'_, Vec<T>>, of: &str, cx: &mut ValidationContext<'_>) {
    let mut all = texts(list.new);
    if items(list.new).len() > 1 && all.any(|text| text == ANY) {
        let detail = format!("if '*' is present, must not specify other {of}");
        cx.errors.invalid(list.path, list.new.value().clone(), detail);
    }
}

pub fn operations(operations: At<'_, Vec<OperationType>>, cx: &mut ValidationContext<'_>) {
    const OPERATIONS: &[&str] = &[ANY, "CONNECT", "CREATE", "DELETE", "UPDATE"];
    alone(operations, "operations", cx);
    for (at, operation) in texts(operations.new).enumerate() {
        if !OPERATIONS.contains(&operation) {
            cx.errors.unknown_name(operations.path.index(at), operation, OPERATIONS);
        }
    }
}

/// Mutating webhooks and policies cannot match deletes.
pub fn mutable_operations(matching: At<'_, Option<MatchResources>>, cx: &mut ValidationContext<'_>) {
    const OPERATIONS: &[&str] = &[ANY, "CONNECT", "CREATE", "UPDATE"];
    let path = matching.path.to(MatchResources::RESOURCE_RULES);
    for rule in matching.new.or_zero().field(MatchResources::RESOURCE_RULES).iter() {
        let rule = rule.field(NamedRuleWithOperations::RULE_WITH_OPERATIONS);
        for operation in texts(rule.field(RuleWithOperations::OPERATIONS)) {
            if !OPERATIONS.contains(&operation) {
                cx.errors.unknown_name(path.to(RuleWithOperations::OPERATIONS), operation, OPERATIONS);
            }
        }
    }
}

pub fn api_groups(groups: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(groups, "API groups", cx);
}

pub fn api_versions(versions: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    alone(versions, "API versions", cx);
}

/// Resources and subresources, none of which an earlier one includes.
pub fn resources(resources: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let (mut with_any_part, mut parts_of_any) = (HashSet::new(), HashSet::new());
    // Only the last one without a subresource counts, as for kube-apiserver.
    let (mut has_any, mut has_other) = (false, false);
    for (at, resource) in texts(resources.new).enumerate() {
        let path = resources.path.index(at);
        if resource.is_empty() {
            cx.errors.required(path, "");
            continue;
        }
        has_any |= resource == ANY;
        let Some((name, part)) = resource.split_once('/') else {
            has_other = resource != ANY;
            continue;
        };
        if with_any_part.contains(name) {
            let detail = format!("if '{name}/*' is present, must not specify {resource}");
            cx.errors.invalid(resources.path.index(at), resource, detail);
        }
        if parts_of_any.contains(part) {
            let detail = format!("if '*/{part}' is present, must not specify {resource}");
            cx.errors.invalid(path, resource, detail);
        }
        if part == ANY {
            with_any_part.insert(name);
        }
        if name == ANY {
            parts_of_any.insert(part);
        }
    }
    if items(resources.new).len() > 1 && texts(resources.new).any(|resource| resource == "*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        cx.errors.invalid(resources.path, resources.new.value().clone(), detail);
    }
    if has_any && has_other {
        let detail = "if '*' is present, must not specify other resources without subresources";
        cx.errors.invalid(resources.path, resources.new.value().clone(), detail);
    }
}

/// Names, each once.
pub fn resource_names(list: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let mut seen = HashSet::new();
    for (at, name) in texts(list.new).enumerate() {
        cx.errors.invalid_each(list.path.index(at), &Value::from(name), names::path_segment_name(name));
        if !seen.insert(name) {
            cx.errors.duplicate(list.path.index(at), name);
        }
    }
}
