//! What the rules of all kinds that run pods from a template have in common.

use crate::meta::label_selector;
use pintle_schema::{IntOrString, Value, View};
use pintle_types::core::v1::{PodSpec, PodTemplateSpec};
use pintle_types::meta::v1::{LabelSelector, ObjectMeta};
use pintle_validation::formats::percentage;
use pintle_validation::{At, Cx};

/// A selector has to select by something. `unusable` is what is said of one that cannot be used, if anything is.
pub fn selector(selector: At<'_, Option<LabelSelector>>, kind: &str, unusable: Option<&str>, cx: &mut Cx<'_>) {
    let Some(selector) = selector.some() else { return };
    crate::shared::label_selector(selector, cx);
    if label_selector::is_empty(selector.new) {
        let detail = format!("empty selector is invalid for {kind}");
        cx.errors.invalid(selector.path, selector.new.value().clone(), detail);
    }
    if let Some(detail) = unusable.filter(|_| !label_selector::is_valid(selector.new)) {
        cx.errors.invalid(selector.path, selector.new.value().clone(), detail);
    }
}

/// The selector selects the pods that are made; one that is not set selects none.
pub fn labels_match(selector: View<'_, Option<LabelSelector>>, template: At<'_, PodTemplateSpec>, cx: &mut Cx<'_>) {
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

/// Pods of a controller run until it removes them.
pub fn pods_run_on(template: At<'_, PodTemplateSpec>, kind: &str, cx: &mut Cx<'_>) {
    template.field(PodTemplateSpec::SPEC, |spec| {
        let policy = spec.new.field(PodSpec::RESTART_POLICY).value().as_str().unwrap_or_default();
        if policy != "Always" {
            cx.errors.not_supported(spec.path.to(PodSpec::RESTART_POLICY), policy, &["Always"]);
        }
        if spec.new.field(PodSpec::ACTIVE_DEADLINE_SECONDS).is_set() {
            let detail = format!("activeDeadlineSeconds in {kind} is not Supported");
            cx.errors.forbidden(spec.path.to(PodSpec::ACTIVE_DEADLINE_SECONDS), detail);
        }
    });
}

/// A counter of name clashes only grows.
pub fn never_falls(count: At<'_, Option<i32>>, cx: &mut Cx<'_>) {
    let Some(old) = count.old.and_then(View::some) else { return };
    let now = count.new.some().map(View::get);
    if now.is_none_or(|now| now < old.get()) {
        cx.errors.invalid(count.path, now.unwrap_or_default(), "cannot be decremented");
    }
}

/// Whether a number or percentage comes to nothing; a text that is neither does.
pub fn is_none(share: View<'_, Option<IntOrString>>) -> bool {
    match share.value() {
        Value::String(text) => percentage(text).or_else(|| text.parse().ok()).unwrap_or_default() == 0,
        number => number.as_i64().unwrap_or_default() == 0,
    }
}
