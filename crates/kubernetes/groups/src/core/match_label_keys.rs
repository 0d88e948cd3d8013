//! `matchLabelKeys` and `mismatchLabelKeys`: label keys whose values in the pod become part of a selector.
//!
//! Merged once, when the pod is created; terms without a selector match nothing and stay as they are.

use crate::views::push;
use pintle_schema::{View, ViewMut};
use pintle_types::core::v1::{
    Affinity, Pod, PodAffinity, PodAffinityTerm, PodAntiAffinity, PodSpec, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorOperator, LabelSelectorRequirement, ObjectMeta};
use std::collections::BTreeMap;

type Labels = BTreeMap<String, String>;

pub(super) fn merge(mut pod: ViewMut<'_, Pod>) {
    let labels = pod.view().field(Pod::METADATA).field(ObjectMeta::LABELS).get();
    let mut spec = pod.by_ref().field(Pod::SPEC);
    if let Some(mut affinity) = spec.by_ref().field(PodSpec::AFFINITY).some() {
        if let Some(mut with) = affinity.by_ref().field(Affinity::POD_AFFINITY).some() {
            merge_required(
                with.by_ref().field(PodAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION),
                &labels,
            );
            merge_preferred(with.field(PodAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION), &labels);
        }
        if let Some(mut apart) = affinity.field(Affinity::POD_ANTI_AFFINITY).some() {
            merge_required(
                apart.by_ref().field(PodAntiAffinity::REQUIRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION),
                &labels,
            );
            merge_preferred(
                apart.field(PodAntiAffinity::PREFERRED_DURING_SCHEDULING_IGNORED_DURING_EXECUTION),
                &labels,
            );
        }
    }
    for constraint in spec.field(PodSpec::TOPOLOGY_SPREAD_CONSTRAINTS).iter_mut() {
        let keys = constraint.view().field(TopologySpreadConstraint::MATCH_LABEL_KEYS).get();
        require(constraint.field(TopologySpreadConstraint::LABEL_SELECTOR), &keys, LabelSelectorOperator::IN, &labels);
    }
}

fn merge_required(terms: ViewMut<'_, Vec<PodAffinityTerm>>, labels: &Labels) {
    terms.iter_mut().for_each(|term| merge_term(term, labels));
}

fn merge_preferred(terms: ViewMut<'_, Vec<WeightedPodAffinityTerm>>, labels: &Labels) {
    terms.iter_mut().for_each(|term| merge_term(term.field(WeightedPodAffinityTerm::POD_AFFINITY_TERM), labels));
}

fn merge_term(mut term: ViewMut<'_, PodAffinityTerm>, labels: &Labels) {
    let view: View<'_, PodAffinityTerm> = term.view();
    let equal = view.field(PodAffinityTerm::MATCH_LABEL_KEYS).get();
    let different = view.field(PodAffinityTerm::MISMATCH_LABEL_KEYS).get();
    require(term.by_ref().field(PodAffinityTerm::LABEL_SELECTOR), &equal, LabelSelectorOperator::IN, labels);
    require(term.field(PodAffinityTerm::LABEL_SELECTOR), &different, LabelSelectorOperator::NOT_IN, labels);
}

/// Adds a requirement for each key that the pod has a label of.
fn require(
    selector: ViewMut<'_, Option<LabelSelector>>,
    keys: &[String],
    operator: LabelSelectorOperator,
    labels: &Labels,
) {
    let Some(mut selector) = selector.some() else { return };
    for (key, value) in keys.iter().filter_map(|key| labels.get_key_value(key)) {
        let requirement =
            LabelSelectorRequirement { key: key.clone(), operator: operator.clone(), values: vec![value.clone()] };
        push(selector.by_ref().field(LabelSelector::MATCH_EXPRESSIONS), &requirement);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{Value, value};

    #[test]
    fn keys_become_requirements() {
        let mut pod = value!({
            "metadata": {"labels": {"app": "web", "rev": "3"}},
            "spec": {
                "affinity": {"podAffinity": {
                    "requiredDuringSchedulingIgnoredDuringExecution": [
                        {"labelSelector": {}, "matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["app"]},
                        {"matchLabelKeys": ["rev"]}
                    ]
                }},
                "topologySpreadConstraints": [{"labelSelector": {}, "matchLabelKeys": ["app"]}]
            }
        });
        merge(ViewMut::new(&mut pod));
        let terms = &pod
            .at(&["spec", "affinity", "podAffinity", "requiredDuringSchedulingIgnoredDuringExecution"])
            .and_then(Value::as_list)
            .unwrap_or_default();
        let expected = value!([
            {"key": "rev", "operator": "In", "values": ["3"]},
            {"key": "app", "operator": "NotIn", "values": ["web"]}
        ]);
        assert_eq!(terms[0].at(&["labelSelector", "matchExpressions"]), Some(&expected));
        assert!(terms[1].get("labelSelector").is_none_or(Value::is_null));
        let spread = pod.at(&["spec", "topologySpreadConstraints"]).and_then(Value::as_list).unwrap_or_default();
        let expected = value!([{"key": "app", "operator": "In", "values": ["web"]}]);
        assert_eq!(spread[0].at(&["labelSelector", "matchExpressions"]), Some(&expected));
    }
}
