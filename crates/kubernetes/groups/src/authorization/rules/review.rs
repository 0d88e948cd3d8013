//! Rules of the spec of access reviews.

use crate::rules::internal_form::in_full;
use crate::rules::{invalid_each, items};
use pintle_schema::{FieldName, Value, names};
use pintle_types::authorization::v1::{
    FieldSelectorAttributes, LabelSelectorAttributes, LocalSubjectAccessReview, NonResourceAttributes,
    ResourceAttributes, SelfSubjectAccessReviewSpec, SubjectAccessReviewSpec,
};
use pintle_types::meta::v1::{FieldSelectorRequirement, LabelSelectorRequirement, ObjectMeta};
use pintle_validation::{At, FieldPath, ValidationContext};

/// One action is asked for, and who is to do it is named.
pub fn of_subject(spec: At<'_, SubjectAccessReviewSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = SubjectAccessReviewSpec;
    let (resource, other) = (Spec::RESOURCE_ATTRIBUTES, Spec::NON_RESOURCE_ATTRIBUTES);
    one_action(spec, resource, other, cx);
    let user = spec.new.field(Spec::USER).as_str();
    if user.is_empty() && spec.new.field(Spec::GROUPS).value().is_zero() {
        cx.errors.invalid(spec.path.to(Spec::USER), user, "at least one of user or group must be specified");
    }
}

/// One action is asked for.
pub fn of_self(spec: At<'_, SelfSubjectAccessReviewSpec>, cx: &mut ValidationContext<'_>) {
    type Spec = SelfSubjectAccessReviewSpec;
    one_action(spec, Spec::RESOURCE_ATTRIBUTES, Spec::NON_RESOURCE_ATTRIBUTES, cx);
}

fn one_action<T>(
    spec: At<'_, T>,
    resource: FieldName<T, Option<ResourceAttributes>>,
    other: FieldName<T, Option<NonResourceAttributes>>,
    cx: &mut ValidationContext<'_>,
) {
    let asked = spec.new.field(other);
    match (spec.new.field(resource).is_set(), asked.is_set()) {
        (true, true) => {
            let detail = "cannot be specified in combination with resourceAttributes";
            cx.errors.invalid(spec.path.to(other), in_full(asked), detail);
        }
        (false, false) => {
            let detail = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
            cx.errors.invalid(spec.path.to(resource), Value::Null, detail);
        }
        _ => {}
    }
}

/// A restriction by fields is given in one form.
pub fn field_selector(selector: At<'_, Option<FieldSelectorAttributes>>, cx: &mut ValidationContext<'_>) {
    let Some(selector) = selector.some() else { return };
    let raw = selector.new.field(FieldSelectorAttributes::RAW_SELECTOR).as_str();
    one_way(raw, items(selector.new.field(FieldSelectorAttributes::REQUIREMENTS)), selector.path, cx);
}

/// A restriction by labels is given in one form.
pub fn label_selector(selector: At<'_, Option<LabelSelectorAttributes>>, cx: &mut ValidationContext<'_>) {
    let Some(selector) = selector.some() else { return };
    let raw = selector.new.field(LabelSelectorAttributes::RAW_SELECTOR).as_str();
    one_way(raw, items(selector.new.field(LabelSelectorAttributes::REQUIREMENTS)), selector.path, cx);
}

fn one_way(raw: &str, requirements: &[Value], path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    match (raw.is_empty(), requirements.is_empty()) {
        (false, false) => {
            let path = path.to(LabelSelectorAttributes::RAW_SELECTOR);
            cx.errors.invalid(path, raw, "may not specified at the same time as requirements");
        }
        (true, true) => {
            let detail = format!("when {path} is specified, requirements or rawSelector is required");
            cx.errors.required(path.to(LabelSelectorAttributes::REQUIREMENTS), detail);
        }
        _ => {}
    }
}

/// How many values a requirement has depends on its operator. Operators yet to come are let through.
fn values_fit(operator: &str, values: &[Value], path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let path = path.to(LabelSelectorRequirement::VALUES);
    match (operator, values.is_empty()) {
        ("In" | "NotIn", true) => cx.errors.required(path, "must be specified when `operator` is 'In' or 'NotIn'"),
        ("Exists" | "DoesNotExist", false) => {
            cx.errors.forbidden(path, "may not be specified when `operator` is 'Exists' or 'DoesNotExist'");
        }
        _ => {}
    }
}

/// Each requirement on a field can be met.
pub fn field_requirements(selector: At<'_, FieldSelectorAttributes>, cx: &mut ValidationContext<'_>) {
    type Requirement = FieldSelectorRequirement;
    selector.field(FieldSelectorAttributes::REQUIREMENTS, |requirements| {
        requirements.each(|requirement| {
            if requirement.new.field(Requirement::KEY).as_str().is_empty() {
                cx.errors.required(requirement.path.to(Requirement::KEY), "must be specified");
            }
            let operator = requirement.new.field(Requirement::OPERATOR).value().as_str().unwrap_or_default();
            values_fit(operator, items(requirement.new.field(Requirement::VALUES)), requirement.path, cx);
        });
    });
}

/// Each requirement on a label can be met.
pub fn label_requirements(selector: At<'_, LabelSelectorAttributes>, cx: &mut ValidationContext<'_>) {
    type Requirement = LabelSelectorRequirement;
    selector.field(LabelSelectorAttributes::REQUIREMENTS, |requirements| {
        requirements.each(|requirement| {
            let operator = requirement.new.field(Requirement::OPERATOR).value().as_str().unwrap_or_default();
            let values = items(requirement.new.field(Requirement::VALUES));
            values_fit(operator, values, requirement.path, cx);
            let key = requirement.new.field(Requirement::KEY).as_str();
            invalid_each(key, names::label_key(key), &requirement.path.to(Requirement::KEY), cx);
            for (at, value) in values.iter().enumerate() {
                let value = value.as_str().unwrap_or_default();
                let path = requirement.path.to(Requirement::VALUES);
                invalid_each(value, names::label_value(value), &path.index(at), cx);
            }
        });
    });
}

/// A review is no object: it has no metadata, but for the namespace it is in.
pub fn no_metadata<T>(review: At<'_, T>, metadata: FieldName<T, ObjectMeta>, cx: &mut ValidationContext<'_>) {
    let value = review.new.field(metadata).value();
    let kept = [ObjectMeta::MANAGED_FIELDS.name(), ObjectMeta::NAMESPACE.name()];
    let namespaced = cx.request.namespaced;
    let mut others = value.as_map().into_iter().flat_map(|map| map.iter());
    if others.any(|(key, value)| !value.is_zero() && key != kept[0] && !(namespaced && key == kept[1])) {
        let detail = if namespaced { "must be empty except for namespace" } else { "must be empty" };
        cx.errors.invalid(metadata.name(), value.clone(), detail);
    }
}

/// A local review is for its own namespace.
pub fn within_namespace(review: At<'_, LocalSubjectAccessReview>, cx: &mut ValidationContext<'_>) {
    type Spec = SubjectAccessReviewSpec;
    let namespace = review.new.field(LocalSubjectAccessReview::METADATA).field(ObjectMeta::NAMESPACE).as_str();
    review.field(LocalSubjectAccessReview::SPEC, |spec| {
        let asked = spec.new.field(Spec::RESOURCE_ATTRIBUTES).some();
        let asked = asked.map(|asked| asked.field(ResourceAttributes::NAMESPACE).as_str());
        if let Some(asked) = asked.filter(|asked| *asked != namespace) {
            let path = spec.path.to(Spec::RESOURCE_ATTRIBUTES);
            cx.errors.invalid(path.to(ResourceAttributes::NAMESPACE), asked, "must match metadata.namespace");
        }
        let other = spec.new.field(Spec::NON_RESOURCE_ATTRIBUTES);
        if other.is_set() {
            let path = spec.path.to(Spec::NON_RESOURCE_ATTRIBUTES);
            cx.errors.invalid(path, in_full(other), "disallowed on this kind of request");
        }
    });
}
