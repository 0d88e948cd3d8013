//! Types of `policy/v1`: disruption budgets and evictions.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, Time, string_type};

use crate::meta::v1::{Condition, DeleteOptions, LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Pods guarded by a budget and how many of them may be down.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDisruptionBudgetSpec {
    /// Count or percentage of selected pods that must survive every eviction.
    #[k8s(proto = 1, optional, format = "int-or-percent", format = "at-most-100-percent")]
    pub min_available: Option<IntOrString>,
    /// Picks the pods guarded by this budget; an empty selector takes the whole namespace.
    #[k8s(proto = 2, optional, patch_strategy = "replace")]
    pub selector: Option<LabelSelector>,
    /// Count or percentage of selected pods allowed to be down; excludes minAvailable.
    #[k8s(proto = 3, optional, format = "int-or-percent", format = "at-most-100-percent")]
    pub max_unavailable: Option<IntOrString>,
    /// When running pods that are not ready may be evicted.
    #[k8s(proto = 4, optional, enum)]
    pub unhealthy_pod_eviction_policy: Option<UnhealthyPodEvictionPolicyType>,
}

string_type! {
    /// Rule for evicting running pods that are not yet ready.
    #[closed]
    pub UnhealthyPodEvictionPolicyType {
        /// Unready pods may go only while the application has enough healthy pods.
        IF_HEALTHY_BUDGET = "IfHealthyBudget",
        /// Unready pods may always be evicted, whatever the budget says.
        ALWAYS_ALLOW = "AlwaysAllow",
    }
}

/// Current counts behind the decisions of a disruption budget.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDisruptionBudgetStatus {
    /// Generation of the budget these figures were computed from.
    #[k8s(proto = 1, optional)]
    pub observed_generation: i64,
    /// Pods already approved for eviction but still present, with the approval time.
    #[k8s(proto = 2, optional)]
    pub disrupted_pods: BTreeMap<String, Time>,
    /// How many more pods could be evicted right now.
    #[k8s(proto = 3, optional, always, minimum = 0)]
    pub disruptions_allowed: i32,
    /// Guarded pods that are healthy at the moment.
    #[k8s(proto = 4, optional, always, minimum = 0)]
    pub current_healthy: i32,
    /// Healthy pods the budget demands at least.
    #[k8s(proto = 5, optional, always, minimum = 0)]
    pub desired_healthy: i32,
    /// Total pods the budget takes into account.
    #[k8s(proto = 6, optional, always, minimum = 0)]
    pub expected_pods: i32,
    /// Latest observations, including whether disruption is currently permitted.
    #[k8s(
        proto = 7,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<Condition>,
}

/// Limits how many pods of an application voluntary disruptions may take down.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "policy", plural = "poddisruptionbudgets", short_names("pdb"), namespaced))]
pub struct PodDisruptionBudget {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted limits.
    #[k8s(
        proto = 2,
        optional,
        message(invalid = "minAvailable and maxUnavailable cannot be both set")(
            at_most_one("minAvailable", "maxUnavailable")
        )
    )]
    pub spec: PodDisruptionBudgetSpec,
    /// Most recently computed counts.
    #[k8s(proto = 3, optional)]
    pub status: PodDisruptionBudgetStatus,
}

/// Collection of disruption budgets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDisruptionBudgetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PodDisruptionBudget objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PodDisruptionBudget>,
}

/// Request to remove a pod while respecting its disruption budgets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Eviction {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Options handed on to the deletion of the pod.
    #[k8s(proto = 2, optional)]
    pub delete_options: Option<DeleteOptions>,
}
