//! Warnings of deprecated node labels in selectors.
//!
//! Warnings never reject a request. Texts are kube-apiserver's.

use pintle_schema::{Map, View, names};
use pintle_types::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorRequirement};
use pintle_validation::FieldPath;

const OLD: &[(&str, &str)] = &[
    ("beta.kubernetes.io/arch", "deprecated since v1.14; use \"kubernetes.io/arch\" instead"),
    ("beta.kubernetes.io/os", "deprecated since v1.14; use \"kubernetes.io/os\" instead"),
    (
        "failure-domain.beta.kubernetes.io/region",
        "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
    ),
    ("failure-domain.beta.kubernetes.io/zone", "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead"),
    ("beta.kubernetes.io/instance-type", "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead"),
    ("app.kubernetes.io/created-by", "deprecated since v1.9"),
    ("scheduler.alpha.kubernetes.io/preferAvoidPods", "deprecated since v1.22; use Taints and Tolerations instead"),
    ("node-role.kubernetes.io/master", "use \"node-role.kubernetes.io/control-plane\" instead"),
];

/// The deprecation message of a label; `None` for labels in use.
pub fn old_label(label: &str) -> Option<&'static str> {
    OLD.iter().find(|(old, _)| *old == label).map(|(_, text)| *text)
}

/// Warns of a node selector term; for preferences also of values that no label can have.
pub fn node_term(
    term: View<'_, NodeSelectorTerm>,
    is_preference: bool,
    path: &FieldPath<'_>,
    warnings: &mut Vec<String>,
) {
    let path = path.to(NodeSelectorTerm::MATCH_EXPRESSIONS);
    for (index, expression) in term.field(NodeSelectorTerm::MATCH_EXPRESSIONS).iter().enumerate() {
        let path = path.index(index);
        expression_key(expression.field(NodeSelectorRequirement::KEY).as_str(), &path, warnings);
        let list = path.to(NodeSelectorRequirement::VALUES);
        for (index, value) in expression.field(NodeSelectorRequirement::VALUES).iter().enumerate() {
            let value = value.as_str();
            let faults = if is_preference { names::label_value(value) } else { Vec::new() };
            warnings.extend(faults.iter().map(|fault| format!("{}: {value} is invalid, {fault}", list.index(index))));
        }
    }
}

/// Warns of a node selector.
pub fn node_selector(selector: View<'_, LabelSelector>, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    let list = path.to(LabelSelector::MATCH_EXPRESSIONS);
    for (index, expression) in selector.field(LabelSelector::MATCH_EXPRESSIONS).iter().enumerate() {
        let key = expression.field(LabelSelectorRequirement::KEY).as_str();
        expression_key(key, &list.index(index), warnings);
    }
    let labels = path.to(LabelSelector::MATCH_LABELS);
    for (label, _) in selector.field(LabelSelector::MATCH_LABELS).value().as_map().into_iter().flat_map(Map::iter) {
        warnings.extend(old_label(label).map(|text| format!("{}: {text}", labels.child(label))));
    }
}

fn expression_key(key: &str, path: &FieldPath<'_>, warnings: &mut Vec<String>) {
    // Both kinds of expressions name it alike.
    let path = path.to(NodeSelectorRequirement::KEY);
    warnings.extend(old_label(key).map(|text| format!("{path}: {key} is {text}")));
}
