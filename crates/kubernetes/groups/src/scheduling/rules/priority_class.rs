//! Rules of PriorityClass.

use crate::rules::immutable;
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::scheduling::v1::PriorityClass;
use pintle_validation::{At, ValidationContext};

/// The highest priority that is not the system's.
const HIGHEST: i32 = 1_000_000_000;

/// The prefix of the names of system classes.
const SYSTEM: &str = "system-";

/// The system's own classes and their values.
const SYSTEM_CLASSES: [(&str, i32); 2] =
    [("system-node-critical", 2 * HIGHEST + 1000), ("system-cluster-critical", 2 * HIGHEST)];

/// A new class has a priority that users may give, or is one of the system's as it must be.
pub fn create(class: At<'_, PriorityClass>, cx: &mut ValidationContext<'_>) {
    let name = class.new.field(PriorityClass::METADATA).field(ObjectMeta::NAME).as_str();
    let value = class.new.field(PriorityClass::VALUE).get();
    if name.starts_with(SYSTEM) {
        if let Some(error) = no_system_class(name, value, class.new.field(PriorityClass::GLOBAL_DEFAULT).get()) {
            let path = class.path.to(PriorityClass::METADATA);
            let detail = "priority class names with 'system-' prefix are reserved for system use only. error: ";
            cx.errors.forbidden(path.to(ObjectMeta::NAME), format!("{detail}{error}"));
        }
    } else if value > HIGHEST {
        let detail = format!("maximum allowed value of a user defined priority is {HIGHEST}");
        cx.errors.forbidden(class.path.to(PriorityClass::VALUE), detail);
    }
    let policy = class.new.field(PriorityClass::PREEMPTION_POLICY).value().as_str();
    let path = class.path.to(PriorityClass::PREEMPTION_POLICY);
    match policy {
        None | Some("PreemptLowerPriority" | "Never") => {}
        Some("") => cx.errors.required(path, ""),
        Some(other) => cx.errors.unknown_name(path, other, &["PreemptLowerPriority", "Never"]),
    }
}

fn no_system_class(name: &str, value: i32, is_default: bool) -> Option<String> {
    match SYSTEM_CLASSES.iter().find(|(known, _)| *known == name) {
        None => Some(format!("{name} is not a known system priority class")),
        Some((_, right)) if *right != value => Some(format!("value of {name} PriorityClass must be {right}")),
        Some(_) if is_default => Some(format!("globalDefault of {name} PriorityClass must be false")),
        Some(_) => None,
    }
}

/// Pods that have the priority keep it.
pub fn update(class: At<'_, PriorityClass>, cx: &mut ValidationContext<'_>) {
    class.field(PriorityClass::VALUE, |value| {
        if !value.unchanged() {
            cx.errors.forbidden(value.path, "may not be changed in an update.");
        }
    });
    class.field(PriorityClass::PREEMPTION_POLICY, |policy| immutable(policy, cx));
}
