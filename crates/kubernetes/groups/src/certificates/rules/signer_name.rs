//! Names of signers: a domain, a slash and a path.

use pintle_schema::names::{self, quoted};
use pintle_validation::{FieldPath, ValidationContext};

const MAX_DOMAIN: usize = 253;
/// A domain, a slash, and a path that is a domain with one label more.
const MAX_NAME: usize = MAX_DOMAIN + 1 + MAX_DOMAIN + 64;

/// Validates the name of a signer.
pub fn validate(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    if name.is_empty() {
        cx.errors.required(path, "");
        return;
    }
    let Some((domain, rest)) = name.split_once('/').filter(|(_, rest)| !rest.contains('/')) else {
        let detail = "must be a fully qualified domain and path of the form 'example.com/signer-name'";
        cx.errors.invalid(path, name, detail);
        return;
    };
    if domain.len() > MAX_DOMAIN {
        cx.errors.too_long(path, MAX_DOMAIN);
    }
    labels(domain, names::dns1123_label, path, cx);
    if !domain.contains('.') {
        cx.errors.invalid(path, domain, "should be a domain with at least two segments separated by dots");
    }
    labels(rest, names::dns1123_subdomain, path, cx);
    if name.len() > MAX_NAME {
        cx.errors.too_long(path, MAX_NAME);
    }
}

fn labels(text: &str, check: fn(&str) -> Vec<String>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    for label in text.split('.') {
        for message in check(label) {
            cx.errors.invalid(path, text, format!("validating label {}: {message}", quoted(label)));
        }
    }
}
