//! Nodes.
//!
//! A node's roles are read from its labels alone.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, printers, string, wide};
use pintle_schema::{FieldName, Map, Value, View};
use pintle_types::core::v1::{
    ConditionStatus, Node, NodeAddress, NodeAddressType, NodeCondition, NodeConditionType, NodeSpec, NodeStatus,
    NodeSystemInfo,
};
use pintle_types::meta::v1::ObjectMeta;

printers! {
    NODE: Node |node, now| {
        NAME => name(node),
        string("Status", "Whether the node is ready, and open for pods.") => status(node),
        string("Roles", "What the node is for.") => roles(node),
        AGE => age(node, now),
        string("Version", "Version of the kubelet.") => text(info(node, NodeSystemInfo::KUBELET_VERSION)),
        wide("Internal-IP", "Address inside the cluster.") => address(node, NodeAddressType::INTERNAL_IP),
        wide("External-IP", "Address outside the cluster.") => address(node, NodeAddressType::EXTERNAL_IP),
        wide("OS-Image", "Operating system.") => text_or(info(node, NodeSystemInfo::OS_IMAGE), UNKNOWN),
        wide("Kernel-Version", "Kernel and architecture.") => kernel(node),
        wide("Container-Runtime", "Container runtime and its version.")
            => text_or(info(node, NodeSystemInfo::CONTAINER_RUNTIME_VERSION), UNKNOWN),
    }
}

/// The label whose value is a role.
const ROLE: &str = "kubernetes.io/role";
/// The start of labels whose rest is a role.
const ROLE_PREFIX: &str = "node-role.kubernetes.io/";

fn status(node: View<'_, Node>) -> Value {
    let conditions = node.to(Node::STATUS).to(NodeStatus::CONDITIONS);
    let ready =
        conditions.iter().filter(|condition| condition.to(NodeCondition::TYPE).get() == NodeConditionType::READY);
    let mut status = match ready.last().map(|condition| condition.to(NodeCondition::STATUS).get()) {
        Some(status) if status == ConditionStatus::TRUE => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
    .to_owned();
    if node.to(Node::SPEC).to(NodeSpec::UNSCHEDULABLE).get() {
        status.push_str(",SchedulingDisabled");
    }
    status.into()
}

fn roles(node: View<'_, Node>) -> Value {
    let labels = metadata(node).to(ObjectMeta::LABELS).value().as_map().map_or(&[][..], Map::entries);
    let roles = labels.iter().filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
        Some(role) => Some(role),
        None if key == ROLE => value.as_str(),
        None => None,
    });
    or(joined_set(roles), NONE)
}

fn info<F>(node: View<'_, Node>, field: FieldName<NodeSystemInfo, F>) -> View<'_, F> {
    node.to(Node::STATUS).to(NodeStatus::NODE_INFO).to(field)
}

fn address(node: View<'_, Node>, ty: NodeAddressType) -> Value {
    let addresses = node.to(Node::STATUS).to(NodeStatus::ADDRESSES);
    find(addresses, NodeAddress::TYPE, ty.as_str())
        .map_or(NONE.into(), |address| text(address.to(NodeAddress::ADDRESS)))
}

fn kernel(node: View<'_, Node>) -> Value {
    let version = str_or(info(node, NodeSystemInfo::KERNEL_VERSION), UNKNOWN);
    let architecture = str_of(info(node, NodeSystemInfo::ARCHITECTURE));
    if architecture.is_empty() { version.into() } else { format!("{version} ({architecture})").into() }
}
