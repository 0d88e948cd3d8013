//! Types of `scheduling.k8s.io/v1alpha2`: priority classes and groups of pods that are scheduled together.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, string_type};

use crate::meta::v1::{Condition, ListMeta, ObjectMeta, TypeMeta};

/// Describes groups of pods that are to be scheduled together.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "scheduling.k8s.io", plural = "workloads", namespaced))]
pub struct Workload {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Templates of the pod groups.
    #[k8s(proto = 2, published = required, always)]
    pub spec: WorkloadSpec,
}

/// Collection of workloads.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WorkloadList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Workload objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Workload>,
}

/// Owner and pod group templates of a workload.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WorkloadSpec {
    /// Object the workload was made for, such as a Job; cannot change later.
    #[k8s(proto = 1, optional)]
    pub controller_ref: Option<TypedLocalObjectReference>,
    /// Templates for the pod groups of the workload; immutable.
    #[k8s(proto = 2, published = required, always, list_type = map, list_map_keys("name"))]
    pub pod_group_templates: Vec<PodGroupTemplate>,
}

/// Points at an object by kind and name within the same namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TypedLocalObjectReference {
    /// API group of the object; empty for the core group.
    #[k8s(proto = 1, optional)]
    pub api_group: String,
    /// Kind of the object.
    #[k8s(proto = 2, published = required, always)]
    pub kind: String,
    /// Name of the object.
    #[k8s(proto = 3, published = required, always)]
    pub name: String,
}

/// Pattern from which pod groups are made.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupTemplate {
    /// Name of the template, unique in the workload.
    #[k8s(proto = 1, published = required, always)]
    pub name: String,
    /// How pods of such a group get scheduled.
    #[k8s(proto = 2, published = required, always)]
    pub scheduling_policy: PodGroupSchedulingPolicy,
    /// Placement conditions for the group as one.
    #[k8s(proto = 3, optional, always, gate = pintle_gates::TOPOLOGY_AWARE_WORKLOAD_SCHEDULING)]
    pub scheduling_constraints: Option<PodGroupSchedulingConstraints>,
    /// Device claims shared by the group's pods.
    #[k8s(
        proto = 4,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name",
        gate = pintle_gates::DRA_WORKLOAD_RESOURCE_CLAIMS
    )]
    pub resource_claims: Vec<PodGroupResourceClaim>,
    /// Whether pods are displaced one by one or all together; Pod when unset.
    #[k8s(proto = 5, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION)]
    pub disruption_mode: Option<DisruptionMode>,
    /// Priority class of the group.
    #[k8s(proto = 6, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION)]
    pub priority_class_name: String,
    /// Priority number of the group, derived from its class.
    #[k8s(proto = 7, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION)]
    pub priority: Option<i32>,
}

/// How a pod group is scheduled; exactly one policy is chosen.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union)]
pub struct PodGroupSchedulingPolicy {
    /// Pods are scheduled individually, as usual.
    #[k8s(proto = 1, optional)]
    pub basic: Option<BasicSchedulingPolicy>,
    /// Pods start only when enough of them fit at once.
    #[k8s(proto = 2, optional)]
    pub gang: Option<GangSchedulingPolicy>,
}

/// Ordinary scheduling of single pods; has no settings.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct BasicSchedulingPolicy {}

/// All-or-nothing scheduling.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GangSchedulingPolicy {
    /// Fewest pods that must fit together before any is placed.
    #[k8s(proto = 1, published = required, always)]
    pub min_count: i32,
}

/// Device claim shared by a pod group, existing or made from a template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupResourceClaim {
    /// Name of the entry, unique in the group.
    #[k8s(proto = 1, published = required, always)]
    pub name: String,
    /// Existing claim to use; excludes a template.
    #[k8s(proto = 2, optional)]
    pub resource_claim_name: Option<String>,
    /// Template from which a claim for the group is made.
    #[k8s(proto = 3, optional)]
    pub resource_claim_template_name: Option<String>,
}

string_type! {
    /// Unit in which pods of a group are displaced.
    #[closed]
    pub DisruptionMode {
        /// Pods one at a time.
        POD = "Pod",
        /// The whole group at once.
        POD_GROUP = "PodGroup",
    }
}

/// Set of pods that the scheduler treats as a unit.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "scheduling.k8s.io", plural = "podgroups", namespaced))]
pub struct PodGroup {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Scheduling rules of the group.
    #[k8s(proto = 2, published = required, always)]
    pub spec: PodGroupSpec,
    /// How scheduling the group is going.
    #[k8s(proto = 3, optional)]
    pub status: PodGroupStatus,
}

/// Collection of pod groups.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PodGroup objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PodGroup>,
}

/// Scheduling rules of a pod group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupSpec {
    /// Template the group was made from.
    #[k8s(proto = 1, optional, always)]
    pub pod_group_template_ref: Option<PodGroupTemplateReference>,
    /// How pods of the group get scheduled.
    #[k8s(proto = 2, published = required, always)]
    pub scheduling_policy: PodGroupSchedulingPolicy,
    /// Placement conditions for the group as one.
    #[k8s(proto = 3, optional, gate = pintle_gates::TOPOLOGY_AWARE_WORKLOAD_SCHEDULING)]
    pub scheduling_constraints: Option<PodGroupSchedulingConstraints>,
    /// Device claims shared by the group's pods.
    #[k8s(
        proto = 4,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name",
        gate = pintle_gates::DRA_WORKLOAD_RESOURCE_CLAIMS
    )]
    pub resource_claims: Vec<PodGroupResourceClaim>,
    /// Whether pods are displaced one by one or all together; Pod when unset.
    #[k8s(proto = 5, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION, default = "Pod", published = default)]
    pub disruption_mode: Option<DisruptionMode>,
    /// Priority class of the group.
    #[k8s(proto = 6, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION)]
    pub priority_class_name: String,
    /// Priority number of the group, derived from its class.
    #[k8s(proto = 7, optional, gate = pintle_gates::WORKLOAD_AWARE_PREEMPTION)]
    pub priority: Option<i32>,
}

/// Observed state of a pod group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupStatus {
    /// Latest observations, such as whether the group was scheduled.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
    /// Claims made for the group's entries.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("name"),
        patch_strategy = "merge,retainKeys",
        patch_merge_key = "name",
        gate = pintle_gates::DRA_WORKLOAD_RESOURCE_CLAIMS
    )]
    pub resource_claim_statuses: Vec<PodGroupResourceClaimStatus>,
}

/// Claim that belongs to an entry of the group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupResourceClaimStatus {
    /// Entry in the group's list of claims.
    #[k8s(proto = 1, published = required, always)]
    pub name: String,
    /// Claim made for the entry; unset when none was needed.
    #[k8s(proto = 2, optional)]
    pub resource_claim_name: Option<String>,
}

/// Points at the template of a pod group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union)]
pub struct PodGroupTemplateReference {
    /// Template within a workload.
    #[k8s(proto = 1, optional, always)]
    pub workload: Option<WorkloadPodGroupTemplateReference>,
}

/// Points at a template within a workload.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct WorkloadPodGroupTemplateReference {
    /// Workload containing the template.
    #[k8s(proto = 1, published = required, always)]
    pub workload_name: String,
    /// Template within that workload.
    #[k8s(proto = 2, published = required, always)]
    pub pod_group_template_name: String,
}

/// Placement conditions for a pod group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodGroupSchedulingConstraints {
    /// Topology conditions the group has to meet.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub topology: Vec<TopologyConstraint>,
}

/// Keeps all pods of a group within one topology domain.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TopologyConstraint {
    /// Node label whose value has to be common to all pods.
    #[k8s(proto = 1, published = required, always)]
    pub key: String,
}
