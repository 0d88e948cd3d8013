//! Rules of webhooks: names, and the versions of reviews that they take.

use crate::rules::invalid_each;
use pintle_schema::names;
use pintle_validation::{At, ValidationContext};
use std::collections::HashSet;

/// The versions of reviews that a server sends.
const REVIEW_VERSIONS: [&str; 2] = ["v1", "v1beta1"];

/// A name in a domain.
pub fn name(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let text = name.new.as_str();
    if text.is_empty() {
        return cx.errors.required(name.path, "");
    }
    let messages = names::dns1123_subdomain(text);
    if !messages.is_empty() {
        return cx.errors.invalid(name.path, text, messages.join(","));
    }
    if text.split('.').count() < 3 {
        cx.errors.invalid(name.path, text, "should be a domain with at least three segments separated by dots");
    }
}

/// Versions are distinct, and one of them is known. Stored lists without a known version stay valid.
pub fn review_versions(versions: At<'_, Vec<String>>, cx: &mut ValidationContext<'_>) {
    let known = REVIEW_VERSIONS.join(", ");
    if versions.new.iter().len() == 0 {
        return cx.errors.required(versions.path, format!("must specify one of {known}"));
    }
    let mut seen = HashSet::new();
    for (at, version) in versions.new.iter().enumerate() {
        let (version, path) = (version.as_str(), versions.path.index(at));
        if !seen.insert(version) {
            cx.errors.invalid(path, version, "duplicate version");
        } else {
            invalid_each(version, names::dns1035_label(version), &path, cx);
        }
    }
    if !REVIEW_VERSIONS.iter().any(|version| seen.contains(version)) {
        let detail = format!("must include at least one of {known}");
        cx.errors.invalid(versions.path, versions.new.value().clone(), detail);
    }
}
