//! Rules of ReplicaSet.

use super::workload;
use pintle_types::apps::v1::{ReplicaSet, ReplicaSetSpec};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, ValidationContext};

/// It selects by something that can be selected by.
pub fn selector(selector: At<'_, Option<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    workload::usable(selector, "invalid label selector", cx);
}

/// It selects the pods that it makes.
pub fn labels_match(template: At<'_, PodTemplateSpec>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<ReplicaSet>().field(ReplicaSet::SPEC);
    workload::labels_match(spec.field(ReplicaSetSpec::SELECTOR), template, cx);
}

/// The template matters only if its selector is valid.
pub fn has_wrong_selector(spec: At<'_, ReplicaSetSpec>, _: &ValidationContext<'_>) -> bool {
    workload::is_wrong(spec.new.field(ReplicaSetSpec::SELECTOR))
}
