//! Roles and bindings: missing permissions are added, additional ones are kept.
//!
//! Nothing is removed from a role, except that a role with its own rules stops aggregating others.

use super::RBAC_AUTOUPDATE;
use pintle_schema::{ApiValue, Value, ViewMut};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::rbac::v1::{AggregationRule, ClusterRole, ClusterRoleBinding, PolicyRule};
use std::collections::BTreeMap;

/// Roles and cluster roles; the former have no aggregation.
pub(super) fn role(existing: &Value, wanted: &Value) -> Option<Value> {
    let old = ClusterRole::from_value(existing).ok()?;
    let wanted = ClusterRole::from_value(wanted).ok()?;
    if is_protected(&old.metadata) {
        return None;
    }
    let mut changed = existing.clone();
    let mut is_changed =
        add_metadata(ViewMut::new(&mut changed).field(ClusterRole::METADATA), &old.metadata, &wanted.metadata);

    let missing = missing_rules(&old.rules, &wanted.rules);
    if !missing.is_empty() {
        let rules: Vec<PolicyRule> = old.rules.into_iter().chain(missing).collect();
        ViewMut::new(&mut changed).field(ClusterRole::RULES).set(rules);
        is_changed = true;
    }
    if let Some(aggregation) = changed_aggregation(old.aggregation_rule, wanted.aggregation_rule) {
        ViewMut::new(&mut changed).field(ClusterRole::AGGREGATION_RULE).set(aggregation);
        is_changed = true;
    }
    is_changed.then_some(changed)
}

/// Bindings of both scopes. A binding's role reference is immutable, so one to another role is replaced: its subjects were not
/// chosen for the required role.
pub(super) fn binding(existing: &Value, wanted: &Value) -> Option<Value> {
    let old = ClusterRoleBinding::from_value(existing).ok()?;
    let wanted = ClusterRoleBinding::from_value(wanted).ok()?;
    if is_protected(&old.metadata) {
        return None;
    }
    let mut changed = existing.clone();
    let mut is_changed =
        add_metadata(ViewMut::new(&mut changed).field(ClusterRoleBinding::METADATA), &old.metadata, &wanted.metadata);
    if old.role_ref != wanted.role_ref {
        ViewMut::new(&mut changed).field(ClusterRoleBinding::ROLE_REF).set(wanted.role_ref);
        ViewMut::new(&mut changed).field(ClusterRoleBinding::SUBJECTS).set(wanted.subjects);
        return Some(changed);
    }
    let missing: Vec<_> = wanted.subjects.into_iter().filter(|subject| !old.subjects.contains(subject)).collect();
    if !missing.is_empty() {
        let subjects: Vec<_> = old.subjects.into_iter().chain(missing).collect();
        ViewMut::new(&mut changed).field(ClusterRoleBinding::SUBJECTS).set(subjects);
        is_changed = true;
    }
    is_changed.then_some(changed)
}

/// A role with the rules, labels and annotations of the one that it was split from, unless that aggregates others already.
pub(super) fn split_role(source: &Value, wanted: &Value) -> Option<Value> {
    let source = ClusterRole::from_value(source).ok()?;
    if source.aggregation_rule.is_some() {
        return None;
    }
    let mut split = wanted.clone();
    take_metadata(ViewMut::new(&mut split).field(ClusterRole::METADATA), source.metadata);
    ViewMut::new(&mut split).field(ClusterRole::RULES).set(source.rules);
    Some(split)
}

/// A binding with the subjects, labels and annotations of the one that it was split from.
pub(super) fn split_binding(source: &Value, wanted: &Value) -> Option<Value> {
    let source = ClusterRoleBinding::from_value(source).ok()?;
    let mut split = wanted.clone();
    take_metadata(ViewMut::new(&mut split).field(ClusterRoleBinding::METADATA), source.metadata);
    ViewMut::new(&mut split).field(ClusterRoleBinding::SUBJECTS).set(source.subjects);
    Some(split)
}

fn take_metadata(mut metadata: ViewMut<'_, ObjectMeta>, source: ObjectMeta) {
    metadata.by_ref().field(ObjectMeta::LABELS).set(source.labels);
    metadata.field(ObjectMeta::ANNOTATIONS).set(source.annotations);
}

fn is_protected(metadata: &ObjectMeta) -> bool {
    metadata.annotations.get(RBAC_AUTOUPDATE).is_some_and(|value| value == "false")
}

/// Adds missing labels and annotations. Returns whether there were any.
fn add_metadata(mut metadata: ViewMut<'_, ObjectMeta>, old: &ObjectMeta, wanted: &ObjectMeta) -> bool {
    let labels = with_missing(&old.labels, &wanted.labels);
    let annotations = with_missing(&old.annotations, &wanted.annotations);
    let is_changed = labels.is_some() || annotations.is_some();
    if let Some(labels) = labels {
        metadata.by_ref().field(ObjectMeta::LABELS).set(labels);
    }
    if let Some(annotations) = annotations {
        metadata.field(ObjectMeta::ANNOTATIONS).set(annotations);
    }
    is_changed
}

fn with_missing(old: &BTreeMap<String, String>, wanted: &BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    let mut all = wanted.clone();
    all.extend(old.iter().map(|(key, value)| (key.clone(), value.clone())));
    (all != *old).then_some(all)
}

/// The aggregation to set, `None` when it may stay.
fn changed_aggregation(
    old: Option<AggregationRule>,
    wanted: Option<AggregationRule>,
) -> Option<Option<AggregationRule>> {
    let Some(wanted) = wanted else {
        return old.is_some().then_some(None);
    };
    let mut all = old.unwrap_or_default();
    let missing: Vec<_> = wanted
        .cluster_role_selectors
        .into_iter()
        .filter(|selector| !all.cluster_role_selectors.contains(selector))
        .collect();
    if missing.is_empty() {
        return None;
    }
    all.cluster_role_selectors.extend(missing);
    Some(Some(all))
}

/// The smallest parts of the wanted rules that no old rule covers.
fn missing_rules(old: &[PolicyRule], wanted: &[PolicyRule]) -> Vec<PolicyRule> {
    wanted
        .iter()
        .filter(|rule| !old.contains(rule))
        .flat_map(parts)
        .filter(|part| !old.iter().any(|rule| covers(rule, part)))
        .collect()
}

/// A rule divided into rules of one verb on one resource, object or URL.
fn parts(rule: &PolicyRule) -> Vec<PolicyRule> {
    let one = |text: &String| vec![text.clone()];
    let mut parts = Vec::new();
    for group in &rule.api_groups {
        for resource in &rule.resources {
            for verb in &rule.verbs {
                let part = PolicyRule {
                    verbs: one(verb),
                    api_groups: one(group),
                    resources: one(resource),
                    ..Default::default()
                };
                if rule.resource_names.is_empty() {
                    parts.push(part);
                } else {
                    parts.extend(
                        rule.resource_names.iter().map(|name| PolicyRule { resource_names: one(name), ..part.clone() }),
                    );
                }
            }
        }
    }
    for url in &rule.non_resource_urls {
        parts.extend(rule.verbs.iter().map(|verb| PolicyRule {
            verbs: one(verb),
            non_resource_urls: one(url),
            ..Default::default()
        }));
    }
    parts
}

/// Whether a rule permits all that a part does.
fn covers(rule: &PolicyRule, part: &PolicyRule) -> bool {
    let all = |have: &[String], need: &[String], matches: fn(&str, &str) -> bool| {
        need.iter().all(|need| have.iter().any(|have| matches(have, need)))
    };
    let names = match part.resource_names.as_slice() {
        // Access to all objects is more than access to some.
        [] => rule.resource_names.is_empty(),
        need => rule.resource_names.is_empty() || need.iter().all(|name| rule.resource_names.contains(name)),
    };
    names
        && all(&rule.verbs, &part.verbs, is_or_any)
        && all(&rule.api_groups, &part.api_groups, is_or_any)
        && all(&rule.resources, &part.resources, resource_matches)
        && all(&rule.non_resource_urls, &part.non_resource_urls, url_matches)
}

fn is_or_any(have: &str, need: &str) -> bool {
    have == "*" || have == need
}

/// `*/scale` matches that subresource of every resource.
fn resource_matches(have: &str, need: &str) -> bool {
    is_or_any(have, need)
        || have.strip_prefix("*/").is_some_and(|sub| need.split_once('/').is_some_and(|(_, need)| need == sub))
}

/// A trailing `*` matches any suffix.
fn url_matches(have: &str, need: &str) -> bool {
    have == need || have.strip_suffix('*').is_some_and(|prefix| need.starts_with(prefix))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(verbs: &[&str], resources: &[&str], names: &[&str]) -> PolicyRule {
        let texts = |of: &[&str]| of.iter().map(|text| (*text).to_owned()).collect();
        PolicyRule {
            verbs: texts(verbs),
            api_groups: texts(&[""]),
            resources: texts(resources),
            resource_names: texts(names),
            non_resource_urls: Vec::new(),
        }
    }

    #[test]
    fn missing_parts_of_rules() {
        let rows = [
            (rule(&["get"], &["pods"], &[]), rule(&["get"], &["pods"], &[]), vec![]),
            (rule(&["*"], &["*"], &[]), rule(&["get", "list"], &["pods", "pods/log"], &["a"]), vec![]),
            (
                rule(&["get"], &["pods"], &[]),
                rule(&["get", "list"], &["pods"], &[]),
                vec![rule(&["list"], &["pods"], &[])],
            ),
            (rule(&["get"], &["pods"], &["a"]), rule(&["get"], &["pods"], &[]), vec![rule(&["get"], &["pods"], &[])]),
            (
                rule(&["get"], &["pods"], &["a"]),
                rule(&["get"], &["pods"], &["a", "b"]),
                vec![rule(&["get"], &["pods"], &["b"])],
            ),
            (
                rule(&["get"], &["*/scale"], &[]),
                rule(&["get"], &["replicationcontrollers/scale", "pods"], &[]),
                vec![rule(&["get"], &["pods"], &[])],
            ),
        ];
        for (old, wanted, missing) in rows {
            assert_eq!(
                missing_rules(std::slice::from_ref(&old), std::slice::from_ref(&wanted)),
                missing,
                "{old:?} {wanted:?}"
            );
        }
    }

    #[test]
    fn urls() {
        for (have, need, matches) in
            [("*", "/api", true), ("/api/*", "/api/v1", true), ("/api", "/api/v1", false), ("/api/*", "/api", false)]
        {
            assert_eq!(url_matches(have, need), matches, "{have} {need}");
        }
    }
}
