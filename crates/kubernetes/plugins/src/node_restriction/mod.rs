//! NodeRestriction: limits a kubelet to objects of its own node. Guarantees that an attacker on one node can neither
//! act for another node nor attract pods or secrets. Must never restrict other users, nor change objects.

mod certificate_requests;
mod pods;
#[cfg(test)]
mod tests;
mod tokens;

use crate::plugin::{Plugin, Requests};
use crate::request::Request;
use crate::signing_request;
use pintle_auth::users;
use pintle_gates as gates;
use pintle_kubernetes_auth::node::LEASE_NAMESPACE;
use pintle_kubernetes_auth::node_of;
use pintle_registry::status::{Result, Status};
use pintle_registry::{Operation, Phase};
use pintle_schema::{Value, View, names::quoted};
use pintle_types::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use pintle_types::core::v1::{Node, NodeSpec, PersistentVolumeClaim};
use pintle_types::meta::v1::ObjectMeta;
use pintle_types::resource::v1::{ResourceSlice, ResourceSliceSpec};
use std::collections::BTreeSet;

pub const PLUGIN: Plugin = Plugin::on(&[
    Requests::all_of("", "pods"),
    Requests::all_of("", "nodes"),
    Requests::all_of("", "persistentvolumeclaims"),
    Requests::all_of("", "serviceaccounts"),
    Requests::all_of("certificates.k8s.io", "certificatesigningrequests"),
    Requests::all_of("certificates.k8s.io", "podcertificaterequests"),
    Requests::all_of("coordination.k8s.io", "leases"),
    Requests::all_of("resource.k8s.io", "resourceslices"),
    Requests::all_of("storage.k8s.io", "csinodes"),
])
.mutating(|request, object, _| check(request, object))
.authorizing(Phase::Mutate, tokens::authorize)
.validating_deletion(check);

/// A request of a node, and the object: the new one, or the one to be deleted.
#[derive(Clone, Copy)]
struct NodeRequest<'a> {
    request: &'a Request<'a>,
    object: &'a Value,
    node: &'a str,
}

fn check(request: &Request<'_>, object: &Value) -> Result<()> {
    let user = request.requester();
    let Some(node) = node_of(user) else { return Ok(()) };
    let asked = NodeRequest { request, object, node };
    if node.is_empty() {
        return asked.refuse(format_args!("could not determine node from user {}", quoted(&user.name)));
    }
    match (request.resource(), request.subresource()) {
        ("pods", "") => pods::check(asked),
        ("pods", "status") => pods::check_status(asked),
        ("pods", "eviction") => pods::check_eviction(asked),
        ("pods", other) => asked.refuse(format_args!(
            "unexpected pod subresource {}, only 'status' and 'eviction' are allowed",
            quoted(other)
        )),
        ("nodes", _) => check_node(asked),
        ("persistentvolumeclaims", "status") => check_claim_status(asked),
        ("persistentvolumeclaims", _) => asked.refuse("may only update PVC status"),
        ("leases", _) => check_lease(asked),
        ("csinodes", _) => asked.demand(
            request.name_of(object) == node,
            "can only access CSINode with the same name as the requesting node",
        ),
        ("resourceslices", _) => check_slice(asked),
        ("certificatesigningrequests", _) => check_signing_request(asked),
        ("podcertificaterequests", _) => certificate_requests::check(asked),
        _ => Ok(()),
    }
}

impl NodeRequest<'_> {
    fn refusal(self, why: impl std::fmt::Display) -> Status {
        self.request.forbidden(self.object, why.to_string())
    }

    fn refuse(self, why: impl std::fmt::Display) -> Result<()> {
        Err(self.refusal(why))
    }

    fn demand(self, holds: bool, otherwise: impl std::fmt::Display) -> Result<()> {
        if holds { Ok(()) } else { self.refuse(otherwise) }
    }

    /// The quoted node name for messages.
    fn quoted(self) -> String {
        quoted(self.node)
    }
}

fn check_node(asked: NodeRequest<'_>) -> Result<()> {
    let NodeRequest { request, object, .. } = asked;
    let node = asked.quoted();
    let name = request.name_of(object);
    asked.demand(name == asked.node, format_args!("node {node} is not allowed to modify node {}", quoted(name)))?;
    let config_source = |object| View::<Node>::new(object).field(Node::SPEC).field(NodeSpec::CONFIG_SOURCE).get();
    match (request.operation(), request.old()) {
        (Operation::Create, _) => {
            let is_plain = config_source(object).is_none();
            asked.demand(
                is_plain,
                format_args!("node {node} is not allowed to create pods with a non-nil configSource"),
            )?;
            let labels = forbidden_labels(object, &Value::Null);
            let why = format_args!("node {node} is not allowed to set the following labels: {labels}");
            asked.demand(labels.is_empty(), why)
        }
        (Operation::Update, Some(old)) => {
            let source = config_source(object);
            // Old kubelets drop the field.
            let may = source.is_none() || source == config_source(old);
            let why = format_args!("node {node} is not allowed to update configSource to a new non-nil configSource");
            asked.demand(may, why)?;
            let taints = |object| View::<Node>::new(object).field(Node::SPEC).field(NodeSpec::TAINTS).get();
            asked.demand(taints(object) == taints(old), format_args!("node {node} is not allowed to modify taints"))?;
            let owners =
                |object| View::<Node>::new(object).field(Node::METADATA).field(ObjectMeta::OWNER_REFERENCES).get();
            let why = format_args!("node {node} is not allowed to modify ownerReferences");
            asked.demand(owners(object) == owners(old), why)?;
            let labels = forbidden_labels(object, old);
            asked.demand(labels.is_empty(), format_args!("is not allowed to modify labels: {labels}"))
        }
        _ => Ok(()),
    }
}

/// The changed labels that a node may not change, as a list.
fn forbidden_labels(new: &Value, old: &Value) -> String {
    let labels = |object| View::<Node>::new(object).field(Node::METADATA).field(ObjectMeta::LABELS).get();
    let (new, old) = (labels(new), labels(old));
    let keys: BTreeSet<&str> = new.keys().chain(old.keys()).map(String::as_str).collect();
    let forbidden = keys.into_iter().filter(|key| new.get(*key) != old.get(*key) && !is_nodes_own(key));
    forbidden.collect::<Vec<_>>().join(", ")
}

/// System labels that kubelets may set on their nodes.
const KUBELET_LABELS: [&str; 11] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/instance-type",
    "beta.kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "node.kubernetes.io/instance-type",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Whether a node may set a label on itself: no restricted prefix, and of the system's labels only those of kubelets.
fn is_nodes_own(label: &str) -> bool {
    let namespace = label.split_once('/').map_or("", |(namespace, _)| namespace);
    let is_within =
        |domain: &&str| namespace.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let is_kept = is_within(&"node-restriction.kubernetes.io");
    let is_systems = ["kubernetes.io", "k8s.io"].iter().any(is_within);
    let is_kubelets =
        KUBELET_LABELS.contains(&label) || ["kubelet.kubernetes.io", "node.kubernetes.io"].iter().any(is_within);
    !is_kept && (!is_systems || is_kubelets)
}

/// A kubelet reports the progress of resizing volumes in the claim's status.
fn check_claim_status(asked: NodeRequest<'_>) -> Result<()> {
    let (Operation::Update, Some(old)) = (asked.request.operation(), asked.request.old()) else {
        return asked.refuse(format_args!("unexpected operation \"{}\"", asked.request.operation().name()));
    };
    let rest = |object: &Value| {
        let mut claim = View::<PersistentVolumeClaim>::new(object).get();
        claim.metadata.resource_version.clear();
        claim.metadata.managed_fields.clear();
        let status = &mut claim.status;
        status.capacity.clear();
        status.conditions.clear();
        status.allocated_resources.clear();
        status.allocated_resource_statuses.clear();
        claim
    };
    let why = "is not allowed to update fields other than status.quantity and status.conditions";
    asked.demand(rest(asked.object) == rest(old), format_args!("node {} {why}", asked.quoted()))
}

fn check_lease(asked: NodeRequest<'_>) -> Result<()> {
    let elsewhere = format_args!("can only access leases in the {LEASE_NAMESPACE:?} system namespace");
    asked.demand(asked.request.namespace() == LEASE_NAMESPACE, elsewhere)?;
    let is_own = asked.request.name_of(asked.object) == asked.node;
    asked.demand(is_own, "can only access node lease with the same name as the requesting node")
}

/// The authorizer checks requests for existing slices, except those in a deleted collection.
fn check_slice(asked: NodeRequest<'_>) -> Result<()> {
    let spec = View::<ResourceSlice>::new(asked.object).field(ResourceSlice::SPEC);
    let is_own = spec.field(ResourceSliceSpec::NODE_NAME).get().unwrap_or_default() == asked.node;
    let verb = match asked.request.operation() {
        Operation::Create => "create",
        Operation::Delete => "delete",
        Operation::Update | Operation::Connect => return Ok(()),
    };
    let why = format_args!("can only {verb} ResourceSlice with the same NodeName as the requesting node");
    asked.demand(is_own, why)
}

/// A certificate for a kubelet names its node.
fn check_signing_request(asked: NodeRequest<'_>) -> Result<()> {
    const SIGNERS: [&str; 2] = ["kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet"];
    let spec = View::<CertificateSigningRequest>::new(asked.object).field(CertificateSigningRequest::SPEC);
    let signer = spec.field(CertificateSigningRequestSpec::SIGNER_NAME).as_str();
    let is_insecure_allowed =
        asked.request.environment().gates().is_on(&gates::ALLOW_INSECURE_KUBELET_CERTIFICATE_SIGNING_REQUESTS);
    if asked.request.operation() != Operation::Create || !SIGNERS.contains(&signer) || is_insecure_allowed {
        return Ok(());
    }
    let request = spec.field(CertificateSigningRequestSpec::REQUEST).get();
    let subject = signing_request::subject(&request.0)
        .map_err(|fault| asked.refusal(format_args!("unable to parse csr: {fault}")))?;
    let own = format!("{}{}", users::NODE_PREFIX, asked.node);
    asked.demand(subject.common_name == own, format_args!("can only create a node CSR with CN={own}"))
}
