//! Rules of ClusterTrustBundle: a name with the signer's name as its prefix, and certificates.

use super::{pem, signer_name};
use crate::rules::invalid_each;
use pintle_schema::names;
use pintle_types::certificates::v1beta1::{ClusterTrustBundle, ClusterTrustBundleSpec};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::{At, ValidationContext};
use std::collections::HashMap;

/// The limit on the size of all certificates, in bytes.
const MAX_BYTES: usize = 1 << 20;

fn signer<'a>(bundle: At<'a, ClusterTrustBundle>) -> &'a str {
    bundle.new.field(ClusterTrustBundle::SPEC).field(ClusterTrustBundleSpec::SIGNER_NAME).as_str()
}

/// The name begins with the signer's, if there is one.
pub fn name(bundle: At<'_, ClusterTrustBundle>, cx: &mut ValidationContext<'_>) {
    let metadata = bundle.new.field(ClusterTrustBundle::METADATA);
    let path = bundle.path.to(ClusterTrustBundle::METADATA);
    for field in [ObjectMeta::GENERATE_NAME, ObjectMeta::NAME] {
        let text = metadata.field(field).as_str();
        if !text.is_empty() {
            // More follows a prefix, so it may end in a dash.
            let whole = match text.strip_suffix('-') {
                Some(start) if field.name() == ObjectMeta::GENERATE_NAME.name() => format!("{start}a"),
                _ => text.to_owned(),
            };
            invalid_each(text, faults(&whole, signer(bundle)), &path.to(field), cx);
        }
    }
}

fn faults(name: &str, signer: &str) -> Vec<String> {
    if signer.is_empty() {
        if name.contains(':') {
            return vec!["ClusterTrustBundle without signer name must not have \":\" in its name".to_owned()];
        }
        return names::dns1123_subdomain(name);
    }
    let prefix = signer.replace('/', ":") + ":";
    match name.strip_prefix(&prefix) {
        Some(rest) => names::dns1123_subdomain(rest),
        None => vec![format!("ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}")],
    }
}

/// A signer's name, or none.
pub fn validate_signer(name: At<'_, String>, cx: &mut ValidationContext<'_>) {
    if !name.new.as_str().is_empty() {
        signer_name::validate(name.new.as_str(), name.path, cx);
    }
}

/// The signer stays.
pub fn keeps_signer(bundle: At<'_, ClusterTrustBundle>, cx: &mut ValidationContext<'_>) {
    bundle.field(ClusterTrustBundle::SPEC, |spec| {
        spec.field(ClusterTrustBundleSpec::SIGNER_NAME, |name| crate::rules::immutable(name, cx));
    });
}

/// Distinct certificates. Only their frame is checked, and errors do not show their content.
pub fn certificates(bundle: At<'_, String>, cx: &mut ValidationContext<'_>) {
    let text = bundle.new.as_str();
    if text.len() > MAX_BYTES {
        return cx.errors.too_long(bundle.path, MAX_BYTES);
    }
    let mut report = |detail: String| cx.errors.invalid(bundle.path, "<value omitted>", detail);
    let mut places: HashMap<Vec<u8>, Vec<usize>> = HashMap::new();
    for (at, block) in pem::blocks(text).into_iter().enumerate() {
        // kube-apiserver counts entries from before the first.
        let entry = -1;
        if block.kind != "CERTIFICATE" {
            report(format!("entry {entry} has bad block type: {}", block.kind));
        } else if block.has_headers {
            report(format!("entry {entry} has PEM block headers"));
        } else if !pem::is_sequence(&block.data) {
            report(format!("entry {entry} does not parse as X.509"));
        } else {
            places.entry(block.data).or_default().push(at);
        }
    }
    if places.is_empty() {
        report("at least one trust anchor must be provided".to_owned());
    }
    for places in places.values().filter(|places| places.len() > 1) {
        report(format!("duplicate trust anchor (indices {places:?})"));
    }
}
