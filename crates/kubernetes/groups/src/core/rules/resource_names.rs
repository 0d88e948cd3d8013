//! Names of resources without a domain: which exist, which are counted as integers, and the rules of names and amounts.
//!
//! Containers, nodes, quotas and autoscalers use one list; each excludes the names that it does not allow.

use super::volume::persistent::{is_whole, quantity};
use pintle_schema::{Value, names};
use pintle_validation::{FieldPath, ValidationContext};

/// Every name without a domain, but for huge pages.
pub const STANDARD: &[&str] = &[
    "cpu",
    "memory",
    "ephemeral-storage",
    "requests.cpu",
    "requests.memory",
    "requests.ephemeral-storage",
    "limits.cpu",
    "limits.memory",
    "limits.ephemeral-storage",
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "storage",
    "requests.storage",
    "services.nodeports",
    "services.loadbalancers",
];

/// Resources that come in whole numbers.
pub const COUNTED: &[&str] = &[
    "pods",
    "resourcequotas",
    "services",
    "replicationcontrollers",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn is_huge_page(name: &str) -> bool {
    name.starts_with("hugepages-") || name.starts_with("requests.hugepages-")
}

/// Whether a resource is the system's own: without a domain, or with one of `kubernetes.io`.
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// Whether a resource is one that nodes advertise beyond the system's own.
pub fn is_extended(name: &str) -> bool {
    !is_native(name) && !name.starts_with("requests.") && names::label_key(&format!("requests.{name}")).is_empty()
}

/// Whether a name needs no domain.
pub fn is_standard(name: &str) -> bool {
    STANDARD.contains(&name) || is_huge_page(name)
}

/// A resource has a name that everybody knows, or one with a domain.
pub fn resource(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if STANDARD.contains(&name) {
        return;
    }
    let messages = names::label_key(name);
    if !messages.is_empty() {
        cx.errors.invalid_each(path, &Value::from(name), messages);
    } else if !name.contains('/') && !is_huge_page(name) {
        cx.errors.invalid(path, name, "must be a standard resource type or fully qualified");
    }
}

/// Whether a name is one of those that nearly all have.
fn is_common(name: &str) -> bool {
    matches!(name, "cpu" | "memory" | "ephemeral-storage")
}

/// A resource that a container can have.
pub fn resource_of_container(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if is_common(name) {
        return;
    }
    resource(name, path, cx);
    if !name.contains('/') {
        if !name.starts_with("hugepages-") {
            cx.errors.invalid(path, name, "must be a standard resource for containers");
        }
    } else if !is_native(name) && !is_extended(name) {
        cx.errors.invalid(path, name, "doesn't follow extended resource name standard");
    }
}

/// There is no less than nothing of a resource. Amounts are canonical, so that a negative one begins with its sign.
pub fn not_negative(amount: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if amount.as_str().is_none_or(|amount| amount.starts_with('-')) && quantity(amount).signum() < 0 {
        cx.errors.invalid(path, amount.clone(), "must be greater than or equal to 0");
    }
}

/// How much there is of a resource: never less than nothing, and whole where the resource cannot be divided.
pub fn amount(name: &str, amount: &Value, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    not_negative(amount, path, cx);
    if is_common(name) {
        return;
    }
    if (COUNTED.contains(&name) || is_extended(name)) && !is_whole(&quantity(amount)) {
        cx.errors.invalid(path, amount.clone(), "must be an integer");
    }
}
