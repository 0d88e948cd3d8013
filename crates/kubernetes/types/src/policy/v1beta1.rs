//! Types of `policy/v1beta1`: disruption budgets and evictions.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, Time, same_as};

use crate::meta::v1::{Condition, DeleteOptions, LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        Eviction, PodDisruptionBudget, PodDisruptionBudgetList, PodDisruptionBudgetStatus,
        UnhealthyPodEvictionPolicyType
    }
}

/// Pods guarded by a budget and how many of them may be down.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodDisruptionBudgetSpec {
    /// Count or percentage of selected pods that must survive every eviction.
    #[k8s(proto = 1, optional)]
    pub min_available: Option<IntOrString>,
    /// Picks the pods guarded by this budget; an empty selector takes the whole namespace.
    #[k8s(proto = 2, optional)]
    pub selector: Option<LabelSelector>,
    /// Count or percentage of selected pods allowed to be down; excludes minAvailable.
    #[k8s(proto = 3, optional)]
    pub max_unavailable: Option<IntOrString>,
    /// When running pods that are not ready may be evicted.
    #[k8s(proto = 4, optional)]
    pub unhealthy_pod_eviction_policy: Option<UnhealthyPodEvictionPolicyType>,
}
