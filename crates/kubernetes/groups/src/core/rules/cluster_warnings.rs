//! Warnings of Endpoints, Node and ServiceAccount.

use crate::rules::warnings::{Written, address, block, each};
use pintle_schema::{Value, View};
use pintle_types::core::v1::{EndpointAddress, EndpointSubset, Endpoints, Node, NodeSpec, ServiceAccount};
use pintle_types::meta::v1::ObjectMeta;
use pintle_validation::FieldPath;

const MOUNTABLE_SECRETS: &str = "kubernetes.io/enforce-mountable-secrets";

const MANAGED_BY: &str = "endpoints.kubernetes.io/managed-by";

/// Addresses that people wrote.
pub fn endpoints(written: &Written<'_>, warnings: &mut Vec<String>) {
    let endpoints = written.view::<Endpoints>();
    let labels = endpoints.field(Endpoints::METADATA).field(ObjectMeta::LABELS).value();
    if labels.get(MANAGED_BY).and_then(Value::as_str) == Some("endpoint-controller") {
        return;
    }
    let subsets = FieldPath::new(Endpoints::SUBSETS.name());
    for (at, subset) in endpoints.field(Endpoints::SUBSETS).iter().enumerate() {
        let path = subsets.index(at);
        for field in [EndpointSubset::ADDRESSES, EndpointSubset::NOT_READY_ADDRESSES] {
            let list = path.to(field);
            for (at, one) in subset.field(field).iter().enumerate() {
                let ip = one.field(EndpointAddress::IP).as_str();
                address(ip, &list.index(at).to(EndpointAddress::IP), warnings);
            }
        }
    }
}

/// Warnings of fields that kubelets no longer use, and of pod CIDRs.
pub fn node(written: &Written<'_>, warnings: &mut Vec<String>) {
    if !written.subresource.is_empty() {
        return;
    }
    let spec = written.view::<Node>().field(Node::SPEC);
    if spec.field(NodeSpec::CONFIG_SOURCE).is_set() {
        warnings.push("spec.configSource: the feature is removed".to_owned());
    }
    if !spec.field(NodeSpec::EXTERNAL_ID).as_str().is_empty() {
        warnings.push("spec.externalID: this field is deprecated, and is unused by Kubernetes".to_owned());
    }
    let path = FieldPath::new(Node::SPEC.name());
    each(spec.field(NodeSpec::POD_CIDRS), &path.to(NodeSpec::POD_CIDRS), warnings, block);
}

/// The annotation that keeps an account's pods to its secrets, unless it was there before.
pub fn service_account(written: &Written<'_>, warnings: &mut Vec<String>) {
    let has_it = |account: &Value| {
        let metadata = View::<ServiceAccount>::new(account).field(ServiceAccount::METADATA);
        metadata.field(ObjectMeta::ANNOTATIONS).value().get(MOUNTABLE_SECRETS).is_some()
    };
    if has_it(written.object) && !written.old.is_some_and(has_it) {
        let detail = "deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets";
        warnings.push(format!("metadata.annotations[{MOUNTABLE_SECRETS}]: {detail}"));
    }
}
