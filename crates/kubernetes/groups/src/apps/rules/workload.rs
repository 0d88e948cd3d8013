//! Rules that all kinds with a pod template share.

use crate::rules::internal_form::in_full;
use crate::rules::label_selector;
use pintle_schema::{ApiValue, IntOrString, Value, View};
use pintle_types::core::v1::PodTemplateSpec;
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_validation::formats::percentage;
use pintle_validation::{At, ValidationContext};

/// A selector is valid; `detail` is the error's detail if it is not.
pub fn usable(selector: At<'_, Option<LabelSelector>>, detail: &str, cx: &mut ValidationContext<'_>) {
    if let Some(selector) = selector.some().filter(|selector| !label_selector::is_valid(selector.new)) {
        cx.errors.invalid(selector.path, selector.new.value().clone(), detail);
    }
}

/// How pods are replaced is one of a few ways; kube-apiserver reports the strategy as a whole.
pub fn known<T: ApiValue>(kind: &Value, kinds: &[&str], strategy: At<'_, T>, cx: &mut ValidationContext<'_>) {
    if !kinds.contains(&kind.as_str().unwrap_or_default()) {
        cx.errors.not_supported(strategy.path, in_full(strategy.new), kinds);
    }
}

/// How pods are replaced in turn matters only if they are.
pub fn is_not_rolling<T>(strategy: At<'_, T>, _: &ValidationContext<'_>) -> bool {
    strategy.new.value().get("type").and_then(Value::as_str) != Some("RollingUpdate")
}

/// The selector selects the pods that are made; one that is not set selects none.
pub fn labels_match(
    selector: View<'_, Option<LabelSelector>>,
    template: At<'_, PodTemplateSpec>,
    cx: &mut ValidationContext<'_>,
) {
    template.field(PodTemplateSpec::METADATA, |metadata| {
        let labels = metadata.new.field(ObjectMeta::LABELS).value();
        let wrong = match selector.some() {
            None => true,
            Some(selector) => label_selector::is_valid(selector) && !label_selector::selects(selector, labels),
        };
        if wrong {
            let detail = "`selector` does not match template `labels`";
            cx.errors.invalid(metadata.path.to(ObjectMeta::LABELS), labels.clone(), detail);
        }
    });
}

/// Whether a selector is not valid: kube-apiserver does not look into the template then.
pub fn is_wrong(selector: View<'_, Option<LabelSelector>>) -> bool {
    selector.some().is_some_and(|selector| !label_selector::is_valid(selector))
}

/// Whether a number or percentage is zero; other text counts as zero.
pub fn is_none(share: View<'_, Option<IntOrString>>) -> bool {
    match share.value() {
        Value::String(text) => percentage(text).or_else(|| text.parse().ok()).unwrap_or_default() == 0,
        number => number.as_i64().unwrap_or_default() == 0,
    }
}
