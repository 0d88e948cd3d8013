//! Rules of ResourceQuota: the resources that can be limited, and the scopes of each.

use super::{entries, is_of_quota};
use crate::core::rules::resource_names;
use crate::rules::internal_form::in_full_as_sent;
use crate::rules::warnings::Written;
use pintle_schema::{Quantity, Value, View};
use pintle_types::core::v1::{
    ResourceList, ResourceQuota, ResourceQuotaScope, ResourceQuotaSpec, ScopeSelector,
    ScopedResourceSelectorRequirement,
};
use pintle_validation::{At, FieldPath, ValidationContext, named};

type Spec = ResourceQuotaSpec;

/// A quota has known resources and valid amounts.
pub fn amounts(list: At<'_, ResourceList>, cx: &mut ValidationContext<'_>) {
    for (name, amount) in entries(list.new.value()) {
        let path = list.path.key(name);
        resource_names::resource(name, &path, cx);
        if !name.contains('/') && !is_of_quota(name) {
            cx.errors.invalid(path, name, "must be a standard resource for quota");
        }
        resource_names::amount(name, amount, &path, cx);
    }
}

/// Whether a scope is known.
fn is_scope(scope: &str) -> bool {
    matches!(
        scope,
        "Terminating"
            | "NotTerminating"
            | "BestEffort"
            | "NotBestEffort"
            | "PriorityClass"
            | "CrossNamespacePodAffinity"
            | "VolumeAttributesClass"
    )
}

/// Whether a resource can be limited in a scope.
fn applies(scope: &str, resource: &str) -> bool {
    let of_pods = || {
        resource == "pods"
            || matches!(
                resource,
                "cpu" | "memory" | "limits.cpu" | "limits.memory" | "requests.cpu" | "requests.memory"
            )
    };
    match scope {
        "BestEffort" => resource == "pods",
        "Terminating" | "NotTerminating" | "NotBestEffort" | "PriorityClass" | "CrossNamespacePodAffinity" => of_pods(),
        "VolumeAttributesClass" => matches!(resource, "persistentvolumeclaims" | "requests.storage"),
        _ => true,
    }
}

/// The number of resources that the quota limits, but that a scope cannot have.
fn misfits(spec: View<'_, Spec>, scope: &str) -> usize {
    entries(spec.field(Spec::HARD).value()).filter(|(name, _)| is_of_quota(name) && !applies(scope, name)).count()
}

/// How many pairs of scopes exclude each other.
fn conflicts(scopes: &[&str]) -> usize {
    let pairs = [["BestEffort", "NotBestEffort"], ["Terminating", "NotTerminating"]];
    pairs.iter().filter(|pair| pair.iter().all(|scope| scopes.contains(scope))).count()
}

/// Scopes are known, apply to the limited resources, and do not exclude each other.
pub fn scopes(list: At<'_, Vec<ResourceQuotaScope>>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<ResourceQuota>().field(ResourceQuota::SPEC);
    let (shown, path) = (list.new.value(), list.path);
    let scopes: Vec<&str> = shown.as_list().unwrap_or_default().iter().filter_map(Value::as_str).collect();
    for scope in shown.as_list().unwrap_or_default() {
        let scope = scope.as_str().unwrap_or_default();
        if !is_scope(scope) {
            cx.errors.invalid(path, shown.clone(), "unsupported scope");
        }
        for _ in 0..misfits(spec, scope) {
            cx.errors.invalid(path, shown.clone(), "unsupported scope applied to resource");
        }
    }
    for _ in 0..conflicts(&scopes) {
        cx.errors.invalid(path, shown.clone(), "conflicting scopes");
    }
}

/// The scope of a requirement applies to the limited resources. kube-apiserver's path leaves the index
/// out.
pub fn selected(requirement: At<'_, ScopedResourceSelectorRequirement>, cx: &mut ValidationContext<'_>) {
    let spec = cx.root::<ResourceQuota>().field(ResourceQuota::SPEC);
    let scope = requirement.new.field(ScopedResourceSelectorRequirement::SCOPE_NAME).value();
    let (path, selector) = (FieldPath::new(ResourceQuota::SPEC.name()), spec.field(Spec::SCOPE_SELECTOR).or_zero());
    let path = path.to(Spec::SCOPE_SELECTOR);
    for _ in 0..misfits(spec, scope.as_str().unwrap_or_default()) {
        let shown = in_full_as_sent(selector, cx.sent_empty_in(&path));
        cx.errors.invalid(path.to(ScopeSelector::MATCH_EXPRESSIONS), shown, "unsupported scope applied to resource");
    }
}

/// A requirement has a known scope, an operator that fits it, and values that fit the operator. kube-apiserver's paths
/// leave the index out.
pub fn requirement(requirement: At<'_, ScopedResourceSelectorRequirement>, cx: &mut ValidationContext<'_>) {
    type Requirement = ScopedResourceSelectorRequirement;
    const EXISTS: &str = "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, \
        ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or \
        ResourceQuotaScopeCrossNamespacePodAffinity";
    let list = requirement.path.parent();
    let scope = requirement.new.field(Requirement::SCOPE_NAME).value().as_str().unwrap_or_default();
    let operator = requirement.new.field(Requirement::OPERATOR).value().as_str().unwrap_or_default();
    let values = requirement.new.field(Requirement::VALUES);
    if !is_scope(scope) {
        cx.errors.invalid(list.to(Requirement::SCOPE_NAME), scope, "unsupported scope");
    }
    let takes_no_values = is_scope(scope) && !matches!(scope, "PriorityClass" | "VolumeAttributesClass");
    if takes_no_values && operator != "Exists" {
        cx.errors.invalid(list.to(Requirement::OPERATOR), operator, EXISTS);
    }
    match operator {
        "In" | "NotIn" if !values.is_set() => {
            let detail = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector";
            cx.errors.required(list.to(Requirement::VALUES), detail);
        }
        "Exists" | "DoesNotExist" if values.is_set() => {
            let detail = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector";
            cx.errors.invalid(list.to(Requirement::VALUES), values.value().clone(), detail);
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        _ => cx.errors.invalid(list.to(Requirement::OPERATOR), named(operator), "not a valid selector operator"),
    }
}

/// The scopes of requirements do not exclude each other.
pub fn selector(spec: At<'_, Spec>, cx: &mut ValidationContext<'_>) {
    let Some(selector) = spec.new.field(Spec::SCOPE_SELECTOR).some() else { return };
    let requirements = selector.field(ScopeSelector::MATCH_EXPRESSIONS).iter();
    let scope = ScopedResourceSelectorRequirement::SCOPE_NAME;
    let scopes: Vec<&str> = requirements.map(|one| one.field(scope).value().as_str().unwrap_or_default()).collect();
    let path = spec.path.to(Spec::SCOPE_SELECTOR);
    for _ in 0..conflicts(&scopes) {
        let shown = spec.new.field(Spec::SCOPES).value().clone();
        cx.errors.invalid(path.to(ScopeSelector::MATCH_EXPRESSIONS), shown, "conflicting scopes");
    }
}

/// The scopes of a quota are immutable.
pub fn keeps_scopes(quota: At<'_, ResourceQuota>, cx: &mut ValidationContext<'_>) {
    let Some(old) = quota.old else { return };
    let scopes = |quota: View<'_, ResourceQuota>| {
        let scopes = quota.field(ResourceQuota::SPEC).field(Spec::SCOPES).value();
        let mut names: Vec<String> =
            scopes.as_list().unwrap_or_default().iter().filter_map(Value::as_str).map(str::to_owned).collect();
        names.sort_unstable();
        names.dedup();
        names
    };
    if scopes(quota.new) != scopes(old) {
        let shown = quota.new.field(ResourceQuota::SPEC).field(Spec::SCOPES).value().clone();
        let path = quota.path.to(ResourceQuota::SPEC);
        cx.errors.immutable(path.to(Spec::SCOPES), shown);
    }
}

/// Requests of a new quota that may come to more than the limits.
pub fn warn(written: &Written<'_>, warnings: &mut Vec<String>) {
    if !written.is_new() {
        return;
    }
    let hard = written.view::<ResourceQuota>().field(ResourceQuota::SPEC).field(ResourceQuotaSpec::HARD).value();
    let amount = |name: &str| hard.get(name).map(|value| View::<Quantity>::new(value).get());
    // Of the first two the bare name means requests.
    for (name, bare) in [("cpu", true), ("memory", true), ("storage", false), ("ephemeral-storage", false)] {
        let (request, limit) = (format!("requests.{name}"), format!("limits.{name}"));
        let names = [Some(request.as_str()), bare.then_some(name)];
        let asked = names.into_iter().flatten().find_map(|name| Some((name, amount(name)?)));
        if let (Some((request, asked)), Some(most)) = (asked, amount(&limit))
            && asked > most
        {
            warnings.push(format!("ResourceQuota {request} ({asked}) should be less than {limit} ({most})"));
        }
    }
}
