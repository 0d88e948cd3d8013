//! Rules of Role and ClusterRole.

use crate::rules::label_selector;
use pintle_schema::Value;
use pintle_types::meta::v1::LabelSelector;
use pintle_validation::{At, ValidationContext};

/// Roles are collected by selectors that can be used.
pub fn selectors(selectors: At<'_, Vec<LabelSelector>>, cx: &mut ValidationContext<'_>) {
    selectors.each(|selector| {
        if !label_selector::is_valid(selector.new) {
            cx.errors.invalid(selector.path, Value::Null, "invalid label selector.");
        }
    });
}
