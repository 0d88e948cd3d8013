//! Types of `apps/v1`: replica sets.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::core::v1::{ConditionStatus, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Keeps a number of identical pods running; usually created by a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "apps", plural = "replicasets", short_names("rs"), categories("all"), namespaced))]
pub struct ReplicaSet {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods.
    #[k8s(proto = 2, optional)]
    pub spec: ReplicaSetSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: ReplicaSetStatus,
}

/// A list of ReplicaSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicaSetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ReplicaSet objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ReplicaSet>,
}

/// Desired state of a ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(last(subfield(selector)(fixed)))]
pub struct ReplicaSetSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional, default = 1, minimum = 0)]
    pub replicas: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub min_ready_seconds: i32,
    /// Chooses the pods that belong to this ReplicaSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(
        proto = 2,
        always,
        required,
        last(
            message(invalid = "empty selector is invalid for deployment")(
                at_least_one("matchLabels", "matchExpressions")
            )
        )
    )]
    pub selector: Option<LabelSelector>,
    /// Template for pods that have to be added; changing it leaves existing pods alone.
    #[k8s(
        proto = 3,
        optional,
        last(
            subfield(spec)(
                subfield(restart_policy)(enum("Always")),
                subfield(active_deadline_seconds)(forbidden = "activeDeadlineSeconds in ReplicaSet is not Supported")
            )
        )
    )]
    pub template: PodTemplateSpec,
}

/// Observed state of a ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    last(
        subfield(fully_labeled_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(ready_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(available_replicas)(
            not_above(replicas = "cannot be greater than status.replicas"),
            not_above(ready_replicas = "cannot be greater than readyReplicas")
        )
    )
)]
pub struct ReplicaSetStatus {
    /// Number of pods of this ReplicaSet that are not terminating.
    #[k8s(proto = 1, always, minimum = 0)]
    pub replicas: i32,
    /// Number of those pods that carry all labels of the template.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub fully_labeled_replicas: i32,
    /// Number of pods that are ready.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub ready_replicas: i32,
    /// Number of pods that have been ready for at least minReadySeconds.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub available_replicas: i32,
    /// Number of pods being shut down; absent when the controller does not report it.
    #[k8s(proto = 7, optional, gate = pintle_gates::DEPLOYMENT_REPLICA_SET_TERMINATING_REPLICAS, minimum = 0)]
    pub terminating_replicas: Option<i32>,
    /// Generation of the ReplicaSet the controller has acted upon.
    #[k8s(proto = 3, optional, minimum = 0)]
    pub observed_generation: i64,
    /// Latest observed conditions of the ReplicaSet.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<ReplicaSetCondition>,
}

string_type! {
    /// Type of a ReplicaSet condition.
    pub ReplicaSetConditionType {
        /// A pod could not be created or deleted.
        REPLICA_FAILURE = "ReplicaFailure",
    }
}

/// One observed aspect of the state of a ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicaSetCondition {
    /// Name of the aspect, such as "ReplicaFailure".
    #[k8s(proto = 1, always)]
    pub r#type: ReplicaSetConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the status last changed.
    #[k8s(proto = 3, optional)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the last change.
    #[k8s(proto = 4, optional)]
    pub reason: String,
    /// Explanation of the last change for people to read.
    #[k8s(proto = 5, optional)]
    pub message: String,
}
