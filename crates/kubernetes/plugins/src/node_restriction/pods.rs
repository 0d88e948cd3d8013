//! Pod writes of nodes: creation of mirror pods, status updates, deletion and eviction of pods on the node. Guarantees
//! that a mirror pod gives its node no access to other objects. Must never trust the node name in a request: that of
//! the stored pod counts.

use super::NodeRequest;
use crate::pod_references::{any_object, is_mirror};
use crate::request::Kind;
use pintle_registry::Operation;
use pintle_registry::status::{Result, Status};
use pintle_schema::{Value, View, names::quoted};
use pintle_types::core::v1::{Node, Pod, PodSpec, PodStatus};
use pintle_types::meta::v1::{ObjectMeta, OwnerReference};

const NODES: Kind<Node> = Kind::new("", "nodes");
const PODS: Kind<Pod> = Kind::new("", "pods");

fn node_of(pod: &Value) -> &str {
    View::<Pod>::new(pod).field(Pod::SPEC).field(PodSpec::NODE_NAME).as_str()
}

/// A pod of the request's namespace.
pub(super) fn find(asked: NodeRequest<'_>, name: &str) -> Result<Pod> {
    let pod = asked.request.find(&PODS, asked.request.namespace(), name)?;
    pod.ok_or_else(|| missing("", "pod", name))
}

/// The message for an object that is missing in kube-apiserver's informers.
pub(super) fn missing(group: &str, kind: &str, name: &str) -> Status {
    let dot = if group.is_empty() { "" } else { "." };
    let details = pintle_registry::Details {
        name: name.to_owned(),
        group: group.to_owned(),
        kind: kind.to_owned(),
        ..pintle_registry::Details::default()
    };
    Status::new(404, "NotFound", format!("{kind}{dot}{group} {} not found", quoted(name))).with_details(details)
}

pub(super) fn check(asked: NodeRequest<'_>) -> Result<()> {
    let node = asked.quoted();
    match asked.request.operation() {
        Operation::Create => check_new(asked),
        Operation::Delete => {
            let why = format_args!("node {node} can only delete pods with spec.nodeName set to itself");
            asked.demand(node_of(asked.object) == asked.node, why)
        }
        Operation::Update => asked.refuse(format_args!(
            "unexpected operation \"UPDATE\", node {node} can only create and delete mirror pods"
        )),
        Operation::Connect => Ok(()),
    }
}

fn check_new(asked: NodeRequest<'_>) -> Result<()> {
    let node = asked.quoted();
    let pod = View::<Pod>::new(asked.object);
    asked.demand(
        is_mirror(pod),
        format_args!(
            "pod does not have \"kubernetes.io/config.mirror\" annotation, node {node} can only create mirror pods"
        ),
    )?;
    let only = |what: &str| format!("node {node} can only create pods with {what} set to itself");
    asked.demand(node_of(asked.object) == asked.node, only("spec.nodeName"))?;
    let owners = pod.field(Pod::METADATA).field(ObjectMeta::OWNER_REFERENCES).get();
    let owner = match &owners[..] {
        [] => return asked.refuse(only("an owner reference")),
        [owner] => owner,
        _ => return asked.refuse(only("a single owner reference")),
    };
    check_owner(asked, owner)?;
    match any_object(pod.field(Pod::SPEC)) {
        None => Ok(()),
        Some(object) => asked.refuse(format_args!("node {node} can not create pods that reference {object}")),
    }
}

fn check_owner(asked: NodeRequest<'_>, owner: &OwnerReference) -> Result<()> {
    let node = asked.quoted();
    let only = |what: &str| format!("node {node} can only create pods with {what} set to itself");
    let is_node = (owner.api_version.as_str(), owner.kind.as_str(), owner.name.as_str()) == ("v1", "Node", asked.node);
    asked.demand(is_node, only("an owner reference"))?;
    asked.demand(owner.controller == Some(true), only("a controller owner reference"))?;
    let blocks = owner.block_owner_deletion == Some(true);
    asked.demand(!blocks, format_args!("node {node} must not set blockOwnerDeletion on an owner reference"))?;
    let stored = asked.request.find(&NODES, "", asked.node)?.ok_or_else(|| missing("", "node", asked.node))?;
    let (expected, got) = (&owner.uid, &stored.metadata.uid);
    asked.demand(expected == got, format_args!("node {} UID mismatch: expected {expected} got {got}", asked.node))
}

pub(super) fn check_status(asked: NodeRequest<'_>) -> Result<()> {
    let node = asked.quoted();
    let (Operation::Update, Some(old)) = (asked.request.operation(), asked.request.old()) else {
        return asked.refuse(format_args!("unexpected operation \"{}\"", asked.request.operation().name()));
    };
    asked.demand(
        node_of(old) == asked.node,
        format_args!("node {node} can only update pod status for pods with spec.nodeName set to itself"),
    )?;
    let labels = |pod| View::<Pod>::new(pod).field(Pod::METADATA).field(ObjectMeta::LABELS).get();
    asked.demand(
        labels(old) == labels(asked.object),
        format_args!("node {node} cannot update labels through pod status"),
    )?;
    let status = |pod| View::<Pod>::new(pod).field(Pod::STATUS);
    let claims = |pod| status(pod).field(PodStatus::RESOURCE_CLAIM_STATUSES).get();
    asked.demand(
        claims(old) == claims(asked.object),
        format_args!("node {node} cannot update resource claim statues"),
    )?;
    let extended = |pod| status(pod).field(PodStatus::EXTENDED_RESOURCE_CLAIM_STATUS).get();
    asked.demand(
        extended(old) == extended(asked.object),
        format_args!("node {node} cannot update extended resource claim status"),
    )
}

pub(super) fn check_eviction(asked: NodeRequest<'_>) -> Result<()> {
    let name = asked.request.name_of(asked.object);
    asked.demand(!name.is_empty(), "could not determine pod from request data")?;
    let pod = find(asked, name)?;
    let why = format_args!("node {} can only evict pods with spec.nodeName set to itself", asked.node);
    asked.demand(pod.spec.node_name == asked.node, why)
}
