//! Rules of scheduling: affinity, tolerations and topology spread.

use super::text;
use crate::rules::has_format;
use pintle_gates as gates;
use pintle_schema::View;
use pintle_types::core::v1::{
    NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, PodSchedulingGate, Toleration, TopologySpreadConstraint,
};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashMap;

const IN_BOTH: &str = "exists in both matchLabelKeys and labelSelector";

/// The value of a toleration fits the operator, and its effect is known. kube-apiserver reports the value at the
/// operator.
pub fn toleration(toleration: At<'_, Toleration>, cx: &mut ValidationContext<'_>) {
    const EFFECTS: &[&str] = &["NoSchedule", "PreferNoSchedule", "NoExecute"];
    let value = toleration.new.field(Toleration::VALUE);
    let path = toleration.path.to(Toleration::OPERATOR);
    match text(toleration.new.field(Toleration::OPERATOR)) {
        "" | "Equal" => has_format("k8s-label-value-at-once", value.value(), &path, cx),
        "Exists" if value.is_set() => {
            cx.errors.invalid(path, value.as_str(), "value must be empty when `operator` is 'Exists'");
        }
        _ => {}
    }
    let effect = text(toleration.new.field(Toleration::EFFECT));
    if !effect.is_empty() && !EFFECTS.contains(&effect) {
        cx.errors.unknown_name(toleration.path.to(Toleration::EFFECT), effect, EFFECTS);
    }
}

/// A scheduling gate has a name. kube-apiserver's path is that of the gate.
pub fn gate_name(gate: At<'_, PodSchedulingGate>, cx: &mut ValidationContext<'_>) {
    has_format("k8s-label-key", gate.new.field(PodSchedulingGate::NAME).value(), gate.path, cx);
}

/// Node labels are compared with valid values.
pub fn label_values(terms: At<'_, Vec<NodeSelectorTerm>>, cx: &mut ValidationContext<'_>) {
    for (index, term) in terms.new.iter().enumerate() {
        let path = terms.path.index(index);
        let path = path.to(NodeSelectorTerm::MATCH_EXPRESSIONS);
        for (index, requirement) in term.field(NodeSelectorTerm::MATCH_EXPRESSIONS).iter().enumerate() {
            let path = path.index(index);
            let path = path.to(NodeSelectorRequirement::VALUES);
            for (index, value) in requirement.field(NodeSelectorRequirement::VALUES).iter().enumerate() {
                has_format("k8s-label-value", value.value(), &path.index(index), cx);
            }
        }
    }
}

/// The namespaces of pods have valid names. kube-apiserver's path has another name and no index.
pub fn namespaces(namespaces: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    for name in namespaces.new.iter() {
        has_format("dns1123-label", name.value(), &namespaces.path.parent().child("namespace"), cx);
    }
}

/// Rules of the pods that an affinity term selects.
pub fn pod_affinity_term(term: At<'_, PodAffinityTerm>, cx: &mut ValidationContext<'_>) {
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
    cx: &mut ValidationContext<'_>,
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

/// The least number of domains is for pods that wait.
pub fn min_domains(constraint: At<'_, TopologySpreadConstraint>, cx: &mut ValidationContext<'_>) {
    let action = text(constraint.new.field(TopologySpreadConstraint::WHEN_UNSATISFIABLE));
    if let Some(domains) = constraint.new.field(TopologySpreadConstraint::MIN_DOMAINS).get()
        && action != "DoNotSchedule"
    {
        let detail = format!("can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}");
        cx.errors.invalid(constraint.path.to(TopologySpreadConstraint::MIN_DOMAINS), domains, detail);
    }
}

/// Keys of the pod's labels are not in the selector too.
pub fn spread_label_keys(constraint: At<'_, TopologySpreadConstraint>, cx: &mut ValidationContext<'_>) {
    let keys = constraint.new.field(TopologySpreadConstraint::MATCH_LABEL_KEYS);
    let selector = constraint.new.field(TopologySpreadConstraint::LABEL_SELECTOR);
    if cx.enabled(&gates::MATCH_LABEL_KEYS_IN_POD_TOPOLOGY_SPREAD_SELECTOR_MERGE) {
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
    cx: &mut ValidationContext<'_>,
) {
    let selector = selector.or_zero();
    let labels = selector.field(LabelSelector::MATCH_LABELS).value();
    for (index, key) in keys.iter().enumerate() {
        let key = key.as_str();
        let mut expressions = selector.field(LabelSelector::MATCH_EXPRESSIONS).iter();
        let expressed = expressions.any(|expression| expression.field(LabelSelectorRequirement::KEY).as_str() == key);
        if labels.get(key).is_some() || expressed {
            cx.errors.invalid(path.index(index), key, IN_BOTH);
        }
    }
}

/// No two rules for the same places and the same action.
pub fn distinct_constraints(constraints: At<'_, Vec<TopologySpreadConstraint>>, cx: &mut ValidationContext<'_>) {
    let place = |constraint: View<'_, TopologySpreadConstraint>| {
        let key = constraint.value().str_at(&[TopologySpreadConstraint::TOPOLOGY_KEY.name()]);
        let action = constraint.value().str_at(&[TopologySpreadConstraint::WHEN_UNSATISFIABLE.name()]);
        (key.to_owned(), action.to_owned())
    };
    let mut left: HashMap<_, usize> = HashMap::new();
    constraints.new.iter().for_each(|constraint| *left.entry(place(constraint)).or_default() += 1);
    for (index, constraint) in constraints.new.iter().enumerate() {
        let (key, action) = place(constraint);
        let later = left.entry((key.clone(), action.clone())).or_default();
        *later = later.saturating_sub(1);
        if *later > 0 {
            let path = constraints.path.index(index);
            cx.errors.duplicate(path.child("{topologyKey, whenUnsatisfiable}"), format!("{{{key}, {action}}}"));
        }
    }
}
