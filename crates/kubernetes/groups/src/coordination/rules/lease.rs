//! Rules of Lease.

use crate::rules::invalid_each;
use pintle_gates as gates;
use pintle_schema::names;
use pintle_types::coordination::v1::CoordinatedLeaseStrategy;
use pintle_validation::{At, FieldPath, ValidationContext};

/// How the holder is chosen, where it is.
pub fn optional_strategy(strategy: At<'_, Option<CoordinatedLeaseStrategy>>, cx: &mut ValidationContext<'_>) {
    if let Some(name) = strategy.new.value().as_str().filter(|_| cx.enabled(&gates::COORDINATED_LEADER_ELECTION)) {
        known_strategy(name, strategy.path, cx);
    }
}

/// Strategies are known, or have a domain. kube-apiserver's path names the field twice.
pub fn known_strategy(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let path = path.child("strategy");
    if name.contains('/') {
        invalid_each(name, names::label_key(name), &path, cx);
    } else if name != CoordinatedLeaseStrategy::OLDEST_EMULATION_VERSION.as_str() {
        cx.errors.unknown_name(path, name, &["OldestEmulationVersion"]);
    }
}
