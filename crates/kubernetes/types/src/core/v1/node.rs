//! Types of `v1`: nodes.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, Time, string_type};

use super::{ConditionStatus, ResourceList, Taint};
use crate::meta::v1::{ListMeta, ObjectMeta, OwnerReference, TypeMeta};

/// Desired state of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeSpec {
    /// Main address range for pods on the node, in CIDR form.
    #[k8s(proto = 1, name = "podCIDR", optional)]
    pub pod_cidr: String,
    /// Address ranges for pods on the node, at most one per IP version; the first equals podCIDR.
    #[k8s(proto = 7, name = "podCIDRs", optional, list_type = set, patch_strategy = "merge")]
    pub pod_cidrs: Vec<String>,
    /// Identifies the machine with its cloud provider, as `"<provider>://``<id>"`.
    #[k8s(proto = 3, name = "providerID", optional)]
    pub provider_id: String,
    /// When true, no new pods are placed on the node; running ones stay.
    #[k8s(proto = 4, optional)]
    pub unschedulable: bool,
    /// Taints that keep away pods without a matching toleration.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub taints: Vec<Taint>,
    /// Deprecated pointer to kubelet configuration; no longer has any effect.
    #[k8s(proto = 6, optional)]
    pub config_source: Option<NodeConfigSource>,
    /// Deprecated identifier that nothing uses any more.
    #[k8s(proto = 2, name = "externalID", optional)]
    pub external_id: String,
}

/// Deprecated pointer to the configuration of a kubelet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "kind"))]
#[k8s(reserved(name = "apiVersion"))]
#[k8s(reserved(proto = 1, name = "configMapRef"))]
pub struct NodeConfigSource {
    /// ConfigMap that holds the configuration.
    #[k8s(proto = 2)]
    pub config_map: Option<ConfigMapNodeConfigSource>,
}

/// Deprecated pointer to kubelet configuration inside a ConfigMap.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ConfigMapNodeConfigSource {
    /// Namespace of the ConfigMap.
    #[k8s(proto = 1, always)]
    pub namespace: String,
    /// Name of the ConfigMap.
    #[k8s(proto = 2, always)]
    pub name: String,
    /// UID of the ConfigMap; forbidden in the spec and required in the status.
    #[k8s(proto = 3, optional)]
    pub uid: String,
    /// Revision of the ConfigMap; forbidden in the spec and required in the status.
    #[k8s(proto = 4, optional)]
    pub resource_version: String,
    /// Key in the ConfigMap under which the configuration is found.
    #[k8s(proto = 5, always)]
    pub kubelet_config_key: String,
}

/// Port of a daemon that runs on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonEndpoint {
    /// Port number.
    #[k8s(proto = 1, name = "Port", always)]
    pub port: i32,
}

/// Ports of the daemons running on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeDaemonEndpoints {
    /// Where the kubelet listens.
    #[k8s(proto = 1, optional)]
    pub kubelet_endpoint: DaemonEndpoint,
}

/// What a runtime handler is capable of.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeRuntimeHandlerFeatures {
    /// True if read-only mounts can include everything mounted beneath them.
    #[k8s(proto = 1, optional)]
    pub recursive_read_only_mounts: Option<bool>,
    /// True if pods can get a user namespace of their own.
    #[k8s(proto = 2, optional)]
    pub user_namespaces: Option<bool>,
}

/// One runtime handler offered on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeRuntimeHandler {
    /// Name of the handler; empty for the default one.
    #[k8s(proto = 1, optional, always)]
    pub name: String,
    /// What the handler is capable of.
    #[k8s(proto = 2, optional)]
    pub features: Option<NodeRuntimeHandlerFeatures>,
}

/// What the container runtime of a node is capable of, whichever handler is used.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeFeatures {
    /// True if the runtime supports choosing where additional groups come from.
    #[k8s(proto = 1, optional)]
    pub supplemental_groups_policy: Option<bool>,
}

/// Identity and software versions of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeSystemInfo {
    /// Machine identifier as the node's system reports it, unique in the cluster.
    #[k8s(proto = 1, name = "machineID", always)]
    pub machine_id: String,
    /// Hardware identifier as the node's firmware reports it.
    #[k8s(proto = 2, name = "systemUUID", always)]
    pub system_uuid: String,
    /// Identifier that changes with each boot of the node.
    #[k8s(proto = 3, name = "bootID", always)]
    pub boot_id: String,
    /// Version of the kernel, such as "6.1.0-18-amd64".
    #[k8s(proto = 4, always)]
    pub kernel_version: String,
    /// Name and version of the operating system, as distributed.
    #[k8s(proto = 5, always)]
    pub os_image: String,
    /// Container runtime with its version, such as "containerd://1.7.2".
    #[k8s(proto = 6, always)]
    pub container_runtime_version: String,
    /// Version of the kubelet.
    #[k8s(proto = 7, always)]
    pub kubelet_version: String,
    /// Deprecated; once the version of the service proxy, now left empty.
    #[k8s(proto = 8, always)]
    pub kube_proxy_version: String,
    /// Operating system, such as "linux" or "windows".
    #[k8s(proto = 9, always)]
    pub operating_system: String,
    /// Processor architecture, such as "amd64" or "arm64".
    #[k8s(proto = 10, always)]
    pub architecture: String,
    /// Information about swap space on the node.
    #[k8s(proto = 11)]
    pub swap: Option<NodeSwapStatus>,
}

/// Swap space of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeSwapStatus {
    /// Total swap space in bytes.
    #[k8s(proto = 1, optional)]
    pub capacity: Option<i64>,
}

/// Deprecated report on the dynamic configuration of a kubelet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeConfigStatus {
    /// Configuration the kubelet will try to use, remembered across restarts.
    #[k8s(proto = 1, optional)]
    pub assigned: Option<NodeConfigSource>,
    /// Configuration the kubelet is using now.
    #[k8s(proto = 2, optional)]
    pub active: Option<NodeConfigSource>,
    /// Configuration the kubelet falls back to when the assigned one does not work.
    #[k8s(proto = 3, optional)]
    pub last_known_good: Option<NodeConfigSource>,
    /// Problem with the assigned configuration; empty when there is none.
    #[k8s(proto = 4, optional)]
    pub error: String,
}

/// Observed state of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeStatus {
    /// Total resources of the node.
    #[k8s(proto = 1, optional)]
    pub capacity: ResourceList,
    /// Resources of the node that pods may use, which is the capacity less what is reserved.
    #[k8s(proto = 2, optional)]
    pub allocatable: ResourceList,
    /// Obsolete stage of the node's life; never filled in.
    #[k8s(proto = 3, optional)]
    pub phase: NodePhase,
    /// Latest observed conditions of the node.
    #[k8s(
        proto = 4,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<NodeCondition>,
    /// Addresses and names by which the node can be reached. They may change over the life of the
    /// node.
    #[k8s(
        proto = 5,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub addresses: Vec<NodeAddress>,
    /// Ports of daemons on the node.
    #[k8s(proto = 6, optional)]
    pub daemon_endpoints: NodeDaemonEndpoints,
    /// Identity and software versions of the node.
    #[k8s(proto = 7, optional)]
    pub node_info: NodeSystemInfo,
    /// Container images present on the node, possibly not all of them.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub images: Vec<ContainerImage>,
    /// Attachable volumes that pods on the node use at present.
    #[k8s(proto = 9, optional, list_type = atomic)]
    pub volumes_in_use: Vec<UniqueVolumeName>,
    /// Volumes attached to the node.
    #[k8s(proto = 10, optional, list_type = atomic)]
    pub volumes_attached: Vec<AttachedVolume>,
    /// Deprecated report on the kubelet's dynamic configuration.
    #[k8s(proto = 11, optional)]
    pub config: Option<NodeConfigStatus>,
    /// Runtime handlers available on the node.
    #[k8s(proto = 12, optional, list_type = atomic)]
    pub runtime_handlers: Vec<NodeRuntimeHandler>,
    /// What the node's container runtime is capable of.
    #[k8s(proto = 13, optional, gate = pintle_gates::SUPPLEMENTAL_GROUPS_POLICY)]
    pub features: Option<NodeFeatures>,
    /// Names of features the node announces, which the scheduler can take into account.
    #[k8s(proto = 14, optional, list_type = atomic, gate = pintle_gates::NODE_DECLARED_FEATURES)]
    pub declared_features: Vec<String>,
}

/// Name that identifies a volume together with its plugin.
pub type UniqueVolumeName = String;

/// A volume attached to a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AttachedVolume {
    /// Unique name of the volume.
    #[k8s(proto = 1, always)]
    pub name: UniqueVolumeName,
    /// Device on the node at which the volume is available.
    #[k8s(proto = 2, always)]
    pub device_path: String,
}

/// Content of the annotation by which a node asks to be spared certain pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct AvoidPods {
    /// Pods that would better be placed elsewhere, ordered by how they were added.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub prefer_avoid_pods: Vec<PreferAvoidPodsEntry>,
}

/// One class of pods a node asks to be spared, and why.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PreferAvoidPodsEntry {
    /// Describes the class of pods.
    #[k8s(proto = 1, always)]
    pub pod_signature: PodSignature,
    /// When the entry was added.
    #[k8s(proto = 2, optional)]
    pub eviction_time: Time,
    /// One-word cause for adding the entry.
    #[k8s(proto = 3, optional)]
    pub reason: String,
    /// Explanation for people to read.
    #[k8s(proto = 4, optional)]
    pub message: String,
}

/// Describes a class of pods; exactly one field has to be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodSignature {
    /// Controller that the pods belong to.
    #[k8s(proto = 1, optional)]
    pub pod_controller: Option<OwnerReference>,
}

/// A container image on a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ContainerImage {
    /// Names by which the image is known, by tag and by digest.
    #[k8s(proto = 1, optional, always, list_type = atomic)]
    pub names: Vec<String>,
    /// Size of the image in bytes.
    #[k8s(proto = 2, optional)]
    pub size_bytes: i64,
}

string_type! {
    /// Obsolete stage of a node's life.
    #[closed]
    pub NodePhase {
        /// Known but not set up yet.
        PENDING = "Pending",
        /// Set up and taking part in the cluster.
        RUNNING = "Running",
        /// Removed from the cluster.
        TERMINATED = "Terminated",
    }
}

string_type! {
    /// Type of a node condition.
    pub NodeConditionType {
        /// The node is healthy and can take pods.
        READY = "Ready",
        /// Free memory is running low.
        MEMORY_PRESSURE = "MemoryPressure",
        /// Free disk space is running low.
        DISK_PRESSURE = "DiskPressure",
        /// Free process numbers are running low.
        PID_PRESSURE = "PIDPressure",
        /// The node's network is not set up properly.
        NETWORK_UNAVAILABLE = "NetworkUnavailable",
    }
}

/// One observed aspect of the state of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeCondition {
    /// Name of the aspect, such as "Ready" or "DiskPressure".
    #[k8s(proto = 1, always)]
    pub r#type: NodeConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the node last reported this condition.
    #[k8s(proto = 3, optional)]
    pub last_heartbeat_time: Time,
    /// When the status last changed.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the last change.
    #[k8s(proto = 5, optional)]
    pub reason: String,
    /// Explanation of the last change for people to read.
    #[k8s(proto = 6, optional)]
    pub message: String,
}

string_type! {
    /// Kind of a node address.
    pub NodeAddressType {
        /// Host name of the node, as the kubelet sees it.
        HOST_NAME = "Hostname",
        /// IP address valid inside the cluster's network.
        INTERNAL_IP = "InternalIP",
        /// IP address reachable from outside.
        EXTERNAL_IP = "ExternalIP",
        /// DNS name that resolves to an internal address.
        INTERNAL_DNS = "InternalDNS",
        /// DNS name that resolves to an external address.
        EXTERNAL_DNS = "ExternalDNS",
    }
}

/// One address of a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeAddress {
    /// Kind of address: "Hostname", "InternalIP", "ExternalIP", "InternalDNS" or "ExternalDNS".
    #[k8s(proto = 1, always)]
    pub r#type: NodeAddressType,
    /// The address or name itself.
    #[k8s(proto = 2, always)]
    pub address: String,
}

/// A machine that runs pods.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "nodes", short_names("no"), cluster))]
#[k8s(last(subfield(spec)(subfield(externalID)(message(forbidden = "may not be updated")(fixed)))))]
pub struct Node {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired settings of the node.
    #[k8s(proto = 2, optional)]
    pub spec: NodeSpec,
    /// Last observed state.
    #[k8s(proto = 3, optional)]
    pub status: NodeStatus,
}

/// A list of Nodes.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Node objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Node>,
}

/// Amounts of the node's own resources that a pod obtains through one claim.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeAllocatableResourceClaimStatus {
    /// ResourceClaim the amounts come from, in the same namespace.
    #[k8s(proto = 1, published = required, always)]
    pub resource_claim_name: String,
    /// Containers of the pod that use the claim.
    #[k8s(proto = 2, optional, list_type = set)]
    pub containers: Vec<String>,
    /// Amounts obtained, by resource.
    #[k8s(proto = 3, published = required, always)]
    pub resources: BTreeMap<String, Quantity>,
}
