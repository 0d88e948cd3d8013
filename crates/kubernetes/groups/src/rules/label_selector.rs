//! Label selectors: whether they are valid, and what they select.
//!
//! A valid selector allocates nothing.

use pintle_schema::{Map, Value, View, names};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement};
use std::collections::HashMap;

/// Whether a selector is valid.
pub fn is_valid(selector: View<'_, LabelSelector>) -> bool {
    let label = |(key, value): (&str, &Value)| {
        names::label_key(key).is_empty() && names::label_value(value.as_str().unwrap_or_default()).is_empty()
    };
    let expression = |requirement: &Value| {
        let values = values_of(requirement);
        let counts = match text(requirement, LabelSelectorRequirement::OPERATOR.name()) {
            "In" | "NotIn" => !values.is_empty(),
            "Exists" | "DoesNotExist" => values.is_empty(),
            _ => false,
        };
        counts
            && names::label_key(text(requirement, LabelSelectorRequirement::KEY.name())).is_empty()
            && values.iter().all(|value| names::label_value(value.as_str().unwrap_or_default()).is_empty())
    };
    labels(selector).all(label) && expressions(selector).iter().all(expression)
}

/// Whether a valid selector matches these labels.
pub fn selects(selector: View<'_, LabelSelector>, has: &Value) -> bool {
    // A look-up passes over all labels, so that many are found by an index.
    const FEW: usize = 24;
    let index: HashMap<&str, &Value> = match has.as_map() {
        Some(labels) if labels.len() > FEW => labels.iter().map(|(key, value)| (&**key, value)).collect(),
        _ => HashMap::new(),
    };
    let label = |key: &str| if index.is_empty() { has.get(key) } else { index.get(key).copied() };
    let expression = |requirement: &Value| {
        let label = label(text(requirement, LabelSelectorRequirement::KEY.name()));
        let listed = label.is_some_and(|label| values_of(requirement).contains(label));
        match text(requirement, LabelSelectorRequirement::OPERATOR.name()) {
            "In" => listed,
            "NotIn" => !listed,
            "Exists" => label.is_some(),
            _ => label.is_none(),
        }
    };
    labels(selector).all(|(key, value)| label(key) == Some(value)) && expressions(selector).iter().all(expression)
}

fn labels<'a>(selector: View<'a, LabelSelector>) -> impl Iterator<Item = (&'a str, &'a Value)> {
    let labels = selector.field(LabelSelector::MATCH_LABELS).value().as_map();
    labels.into_iter().flat_map(Map::iter).map(|(key, value)| (&**key, value))
}

fn expressions<'a>(selector: View<'a, LabelSelector>) -> &'a [Value] {
    selector.field(LabelSelector::MATCH_EXPRESSIONS).value().as_list().unwrap_or_default()
}

fn values_of(requirement: &Value) -> &[Value] {
    requirement.get(LabelSelectorRequirement::VALUES.name()).and_then(Value::as_list).unwrap_or_default()
}

fn text<'a>(requirement: &'a Value, field: &str) -> &'a str {
    requirement.get(field).and_then(Value::as_str).unwrap_or_default()
}
