//! Rules of where pods run: affinity, tolerations, spreading.

use super::text;

use pintle_schema::{Value, View, names};
use pintle_types::core::v1::{PodAffinityTerm, Toleration, TopologySpreadConstraint};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement};
use pintle_validation::{At, Cx, FieldPath};

const NO_SELECTOR: &str = "must not be specified when labelSelector is not set";
const IN_BOTH: &str = "exists in both matchLabelKeys and labelSelector";

fn label_name(key: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    cx.errors.invalid_each(path, &Value::from(key), names::label_key(key));
}

/// Which pods are meant, and what counts as one place.
pub fn pod_affinity_term(term: At<'_, PodAffinityTerm>, cx: &mut Cx<'_>) {
    for namespace in term.new.field(PodAffinityTerm::NAMESPACES).iter() {
        let namespace = namespace.as_str();
        let messages = names::dns1123_label(namespace);
        cx.errors.invalid_each(term.path.child("namespace"), &Value::from(namespace), messages);
    }
    let keys = term.new.field(PodAffinityTerm::MATCH_LABEL_KEYS);
    let others = term.new.field(PodAffinityTerm::MISMATCH_LABEL_KEYS);
    label_keys(keys, Some(others), term.new.field(PodAffinityTerm::LABEL_SELECTOR), term.path, cx);
}

/// Keys of the incoming pod's labels that are added to a selector.
fn label_keys(
    keys: View<'_, Vec<String>>,
    mismatch: Option<View<'_, Vec<String>>>,
    selector: View<'_, Option<LabelSelector>>,
    path: &FieldPath<'_>,
    cx: &mut Cx<'_>,
) {
    if let Some(selector) = selector.some() {
        let labels = selector.field(LabelSelector::MATCH_LABELS).value();
        let expressions = selector.field(LabelSelector::MATCH_EXPRESSIONS);
        let key_of = |expression: View<'_, LabelSelectorRequirement>| {
            expression.value().str_at(&[LabelSelectorRequirement::KEY.name()]).to_owned()
        };
        for (index, expression) in expressions.iter().enumerate() {
            let key = key_of(expression);
            let Some(place) = keys.iter().position(|other| other.as_str() == key) else { continue };
            if labels.get(&key).is_some() || expressions.iter().take(index).any(|other| key_of(other) == key) {
                cx.errors.invalid(path.index(place), key, IN_BOTH);
            }
        }
    }
    let Some(mismatch) = mismatch else { return };
    for (index, key) in keys.iter().enumerate() {
        if mismatch.iter().any(|other| other.as_str() == key.as_str()) {
            let path = path.to(PodAffinityTerm::MATCH_LABEL_KEYS);
            let detail = "exists in both matchLabelKeys and mismatchLabelKeys";
            cx.errors.invalid(path.index(index), key.as_str(), detail);
        }
    }
}

/// A toleration, wherever one stands.
pub fn toleration(toleration: At<'_, Toleration>, cx: &mut Cx<'_>) {
    one_toleration(toleration.new, toleration.path, cx);
}

/// The same, for tolerations that are judged out of their turn.
pub fn one_toleration(toleration: View<'_, Toleration>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let key = toleration.field(Toleration::KEY).as_str();
    let operator = text(toleration.field(Toleration::OPERATOR));
    let value = toleration.field(Toleration::VALUE).as_str();
    let effect = text(toleration.field(Toleration::EFFECT));
    let operator_path = path.to(Toleration::OPERATOR);
    if !key.is_empty() {
        label_name(key, &path.to(Toleration::KEY), cx);
    } else if operator != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        cx.errors.invalid(operator_path, operator, detail);
    }
    if toleration.field(Toleration::TOLERATION_SECONDS).is_set() && effect != "NoExecute" {
        let detail = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        cx.errors.invalid(path.to(Toleration::EFFECT), effect, detail);
    }
    let compares = cx.enabled("TaintTolerationComparisonOperators");
    match operator {
        "Equal" | "" => {
            let messages = names::label_value(value);
            if !messages.is_empty() {
                cx.errors.invalid(operator_path, value, messages.join(";"));
            }
        }
        "Exists" => {
            if !value.is_empty() {
                cx.errors.invalid(operator_path, value, "value must be empty when `operator` is 'Exists'");
            }
        }
        "Lt" | "Gt" if compares => {
            cx.errors.invalid_each(path.to(Toleration::VALUE), &Value::from(value), names::decimal_integer(value));
        }
        "Lt" | "Gt" => cx.errors.not_supported(operator_path, operator, &["Equal", "Exists", "Lt", "Gt"]),
        other => cx.errors.not_supported(operator_path, other, &["Equal", "Exists"]),
    }
    let effects = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    if !effect.is_empty() && !effects.contains(&effect) {
        cx.errors.not_supported(path.to(Toleration::EFFECT), effect, effects);
    }
}

/// One rule of spreading.
pub fn spread(constraint: At<'_, TopologySpreadConstraint>, cx: &mut Cx<'_>) {
    let action = text(constraint.new.field(TopologySpreadConstraint::WHEN_UNSATISFIABLE));
    if let Some(domains) = constraint.new.field(TopologySpreadConstraint::MIN_DOMAINS).get()
        && action != "DoNotSchedule"
    {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        cx.errors.invalid(constraint.path.to(TopologySpreadConstraint::MIN_DOMAINS), domains, detail);
    }
    let keys = constraint.new.field(TopologySpreadConstraint::MATCH_LABEL_KEYS);
    let selector = constraint.new.field(TopologySpreadConstraint::LABEL_SELECTOR);
    if cx.enabled("MatchLabelKeysInPodTopologySpreadSelectorMerge") {
        label_keys(keys, None, selector, constraint.path, cx);
    } else {
        unmerged_label_keys(keys, selector, &constraint.path.to(TopologySpreadConstraint::MATCH_LABEL_KEYS), cx);
    }
}

/// Keys that are not added to the selector must not be in it.
fn unmerged_label_keys(
    keys: View<'_, Vec<String>>,
    selector: View<'_, Option<LabelSelector>>,
    path: &FieldPath<'_>,
    cx: &mut Cx<'_>,
) {
    if keys.iter().len() > 0 && !selector.is_set() {
        cx.errors.forbidden(path, NO_SELECTOR);
    }
    let selector = selector.or_zero();
    let labels = selector.field(LabelSelector::MATCH_LABELS).value();
    for (index, key) in keys.iter().enumerate() {
        let key = key.as_str();
        label_name(key, &path.index(index), cx);
        let mut expressions = selector.field(LabelSelector::MATCH_EXPRESSIONS).iter();
        let expressed = expressions.any(|expression| expression.field(LabelSelectorRequirement::KEY).as_str() == key);
        if labels.get(key).is_some() || expressed {
            cx.errors.invalid(path.index(index), key, IN_BOTH);
        }
    }
}

/// No two rules for the same places and the same action.
pub fn distinct_constraints(constraints: At<'_, Vec<TopologySpreadConstraint>>, cx: &mut Cx<'_>) {
    let place = |constraint: View<'_, TopologySpreadConstraint>| {
        let key = constraint.value().str_at(&[TopologySpreadConstraint::TOPOLOGY_KEY.name()]);
        let action = constraint.value().str_at(&[TopologySpreadConstraint::WHEN_UNSATISFIABLE.name()]);
        (key.to_owned(), action.to_owned())
    };
    for (index, constraint) in constraints.new.iter().enumerate() {
        let (key, action) = place(constraint);
        if constraints.new.iter().skip(index + 1).any(|other| place(other) == (key.clone(), action.clone())) {
            let path = constraints.path.index(index);
            cx.errors.duplicate(path.child("{topologyKey, whenUnsatisfiable}"), format!("{{{key}, {action}}}"));
            // It is told with the first of the two, before what is wrong with later ones.
            let is_later = |field: &str| {
                (index + 1..constraints.new.iter().len())
                    .any(|later| field.starts_with(&constraints.path.index(later).to_string()))
            };
            if let Some(at) = cx.errors.0.iter().position(|error| is_later(&error.field)) {
                cx.errors.0[at..].rotate_right(1);
            }
        }
    }
}
