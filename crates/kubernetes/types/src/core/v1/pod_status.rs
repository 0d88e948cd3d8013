//! Types of `v1`: the observed state of pods.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use super::{
    ConditionStatus, ContainerExtendedResourceRequest, ContainerStatus, NodeAllocatableResourceClaimStatus,
    ResourceList, ResourceRequirements,
};
use crate::meta::v1::{ObjectMeta, TypeMeta};

string_type! {
    /// Coarse summary of where a pod stands in its life.
    #[closed]
    pub PodPhase {
        /// Accepted, but not all containers have been started; includes scheduling and image pulls.
        PENDING = "Pending",
        /// Bound to a node, with at least one container running or being started again.
        RUNNING = "Running",
        /// Every container ended successfully and none will be restarted.
        SUCCEEDED = "Succeeded",
        /// Every container ended and at least one ended in failure.
        FAILED = "Failed",
        /// The node could not be asked; no longer reported.
        UNKNOWN = "Unknown",
    }
}

string_type! {
    /// Aspect of a pod that a condition reports on.
    pub PodConditionType {
        /// Every container passes its readiness check.
        CONTAINERS_READY = "ContainersReady",
        /// Every init container has completed.
        INITIALIZED = "Initialized",
        /// The pod can serve requests and belongs in its services' endpoints.
        READY = "Ready",
        /// A node has been chosen.
        POD_SCHEDULED = "PodScheduled",
        /// The pod is about to be ended by preemption, eviction or similar.
        DISRUPTION_TARGET = "DisruptionTarget",
        /// Sandbox, network and volumes are set up.
        POD_READY_TO_START_CONTAINERS = "PodReadyToStartContainers",
        /// A resize was asked for but the node has not granted it.
        POD_RESIZE_PENDING = "PodResizePending",
        /// A granted resize is being carried out.
        POD_RESIZE_IN_PROGRESS = "PodResizeInProgress",
        /// A rule is restarting all containers of the pod.
        ALL_CONTAINERS_RESTARTING = "AllContainersRestarting",
    }
}

/// One observation about the state of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodCondition {
    /// Aspect reported on, for example Ready; at most one condition exists per type.
    #[k8s(proto = 1, always)]
    pub r#type: PodConditionType,
    /// Generation of the pod on which the observation is based.
    #[k8s(
        proto = 7,
        optional,
        gate = pintle_gates::POD_OBSERVED_GENERATION_TRACKING,
        message(invalid = "must be a non-negative integer")(minimum = 0)
    )]
    pub observed_generation: i64,
    /// Whether the condition holds: True, False or Unknown.
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// Most recent time at which the condition was checked.
    #[k8s(proto = 3, optional)]
    pub last_probe_time: Time,
    /// Time at which the status last switched to its present value.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// CamelCase code saying what caused the last switch of the status.
    #[k8s(proto = 5, optional)]
    pub reason: String,
    /// Readable details about the last switch of the status.
    #[k8s(proto = 6, optional)]
    pub message: String,
}

string_type! {
    /// Progress of an in-place resize of a pod.
    pub PodResizeStatus {
        /// The node is carrying out the resize.
        IN_PROGRESS = "InProgress",
        /// It does not fit now and will be tried again later.
        DEFERRED = "Deferred",
        /// The node can never satisfy it.
        INFEASIBLE = "Infeasible",
    }
}

/// Which claim object stands behind one of the pod's claim entries.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodResourceClaimStatus {
    /// Entry in spec.resourceClaims this status is about.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Name of the claim generated for the entry; absent when no claim was needed.
    #[k8s(proto = 2, optional, format = "dns1123-subdomain")]
    pub resource_claim_name: Option<String>,
}

/// Claim made for extended resources of the pod that are provided through device allocation.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodExtendedResourceClaimStatus {
    /// Which request in the claim serves which resource of which container.
    #[k8s(proto = 1, always, list_type = atomic, required = "at least one request mapping is required")]
    pub request_mappings: Vec<ContainerExtendedResourceRequest>,
    /// ResourceClaim created for the pod, in the same namespace.
    #[k8s(proto = 2, always, required, format = "dns1123-subdomain")]
    pub resource_claim_name: String,
}

string_type! {
    /// Service class of a pod, which decides what is evicted first when a node runs short.
    #[closed]
    pub PodQOSClass {
        /// Requests equal limits for CPU and memory everywhere; evicted last.
        GUARANTEED = "Guaranteed",
        /// Some requests or limits are set, but not enough for Guaranteed.
        BURSTABLE = "Burstable",
        /// No requests or limits are set; evicted first.
        BEST_EFFORT = "BestEffort",
    }
}

/// One IP address of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodIP {
    /// The address.
    #[k8s(proto = 1, published = required, always)]
    pub ip: String,
}

/// One IP address of a pod's node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HostIP {
    /// The address.
    #[k8s(proto = 1, published = required, always)]
    pub ip: String,
}

/// Observed state of a pod, reported mainly by the node it runs on.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodStatus {
    /// Generation of the pod this status was worked out for.
    #[k8s(
        proto = 17,
        optional,
        gate = pintle_gates::POD_OBSERVED_GENERATION_TRACKING,
        message(invalid = "must be a non-negative integer")(minimum = 0)
    )]
    pub observed_generation: i64,
    /// Rough stage of the pod's life: "Pending", "Running", "Succeeded", "Failed" or "Unknown".
    #[k8s(proto = 1, optional)]
    pub phase: PodPhase,
    /// Latest observed conditions of the pod.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<PodCondition>,
    /// Explanation for people of why the pod is in this state.
    #[k8s(proto = 3, optional)]
    pub message: String,
    /// One-word cause of why the pod is in this state, such as "Evicted".
    #[k8s(proto = 4, optional)]
    pub reason: String,
    /// Node on which room is being made, or reserved, for the pod. The pod may still end up
    /// elsewhere.
    #[k8s(proto = 11, optional, format = "dns1123-subdomain")]
    pub nominated_node_name: String,
    /// Main IP address of the pod's node; empty until the node has started handling the pod.
    #[k8s(proto = 5, name = "hostIP", optional)]
    pub host_ip: String,
    /// All IP addresses of the pod's node; the first equals hostIP.
    #[k8s(proto = 16, name = "hostIPs", optional, list_type = atomic, patch_strategy = "merge", patch_merge_key = "ip")]
    pub host_ips: Vec<HostIP>,
    /// Main IP address of the pod within the cluster; empty until one has been assigned.
    #[k8s(proto = 6, name = "podIP", optional)]
    pub pod_ip: String,
    /// IP addresses of the pod, at most one for each of IPv4 and IPv6; the first equals podIP.
    #[k8s(
        proto = 12,
        name = "podIPs",
        optional,
        list_type = map,
        list_map_keys("ip"),
        patch_strategy = "merge",
        patch_merge_key = "ip"
    )]
    pub pod_ips: Vec<PodIP>,
    /// When the node accepted the pod, before any image was pulled.
    #[k8s(proto = 7, optional)]
    pub start_time: Option<Time>,
    /// State of each init container, including sidecars.
    #[k8s(proto = 10, list_type = atomic)]
    pub init_container_statuses: Vec<ContainerStatus>,
    /// State of each regular container.
    #[k8s(proto = 8, optional, list_type = atomic)]
    pub container_statuses: Vec<ContainerStatus>,
    /// Service class, derived from the requests and limits: "Guaranteed", "Burstable" or
    /// "BestEffort".
    #[k8s(proto = 9, optional, last(fixed))]
    pub qos_class: PodQOSClass,
    /// State of each ephemeral container that has run in the pod.
    #[k8s(
        proto = 13,
        optional,
        list_type = atomic,
        last(
            each_val(subfield(allocated_resources_status)(forbidden = "must not be specified in container status"))
        )
    )]
    pub ephemeral_container_statuses: Vec<ContainerStatus>,
    /// Progress of a resource change requested for the running pod; superseded by the
    /// PodResizePending and PodResizeInProgress conditions.
    #[k8s(proto = 14, optional, gate = pintle_gates::IN_PLACE_POD_VERTICAL_SCALING)]
    pub resize: PodResizeStatus,
    /// Claims that stand behind the entries of spec.resourceClaims.
    #[k8s(
        proto = 15,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name",
        gate = pintle_gates::DYNAMIC_RESOURCE_ALLOCATION
    )]
    pub resource_claim_statuses: Vec<PodResourceClaimStatus>,
    /// Claim made for extended resources that are provided through device allocation; absent if
    /// there is none.
    #[k8s(proto = 18, optional, gate = pintle_gates::DRA_EXTENDED_RESOURCE)]
    pub extended_resource_claim_status: Option<PodExtendedResourceClaimStatus>,
    /// Pod-level resources the node has set aside for the pod.
    #[k8s(proto = 19, optional, gate = pintle_gates::IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING)]
    pub allocated_resources: ResourceList,
    /// Pod-level requests and limits that are actually in force.
    #[k8s(proto = 20, optional, opaque_type, gate = pintle_gates::IN_PLACE_POD_LEVEL_RESOURCES_VERTICAL_SCALING)]
    pub resources: Option<ResourceRequirements>,
    /// Amounts of the node's own resources, such as CPU, that the pod obtains through claims.
    #[k8s(proto = 21, optional, list_type = atomic, gate = pintle_gates::DRA_NODE_ALLOCATABLE_RESOURCES)]
    pub node_allocatable_resource_claim_statuses: Vec<NodeAllocatableResourceClaimStatus>,
}

/// Wraps the status of a pod as a document of its own.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodStatusResult {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Observed state of the pod.
    #[k8s(proto = 2, optional)]
    pub status: PodStatus,
}
