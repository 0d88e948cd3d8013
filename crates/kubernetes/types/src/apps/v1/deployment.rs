//! Types of `apps/v1`: deployments.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, Time, string_type};

use crate::core::v1::{ConditionStatus, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Keeps a number of identical pods running and moves them to new versions step by step.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "apps", plural = "deployments", short_names("deploy"), categories("all"), namespaced))]
pub struct Deployment {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods and rollout behaviour.
    #[k8s(proto = 2, optional)]
    pub spec: DeploymentSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional, last(subfield(collision_count)(monotonic)))]
    pub status: DeploymentStatus,
}

/// Desired state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(last(subfield(selector)(fixed)))]
pub struct DeploymentSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional, default = 1, minimum = 0)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this Deployment; it must match the labels in the template
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
    /// Template for the pods; any change to it starts a rollout. Its restartPolicy has to be
    /// "Always".
    #[k8s(
        proto = 3,
        always,
        last(
            subfield(spec)(
                subfield(restart_policy)(enum("Always")),
                subfield(active_deadline_seconds)(forbidden = "activeDeadlineSeconds in ReplicaSet is not Supported")
            )
        )
    )]
    pub template: PodTemplateSpec,
    /// How old pods are replaced by new ones.
    #[k8s(proto = 4, optional, patch_strategy = "retainKeys")]
    pub strategy: DeploymentStrategy,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub min_ready_seconds: i32,
    /// Number of old ReplicaSets kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional, default = 10, minimum = 0)]
    pub revision_history_limit: Option<i32>,
    /// When true, template changes do not start a rollout until this is set to false again.
    #[k8s(proto = 7, optional)]
    pub paused: bool,
    /// Seconds a rollout may go without progress before it is reported as failed in the Progressing
    /// condition; defaults to 600. Time spent paused does not count.
    #[k8s(proto = 9, default = 600, minimum = 0)]
    pub progress_deadline_seconds: Option<i32>,
}

/// How a Deployment replaces old pods by new ones.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "Recreate".
    #[k8s(proto = 1, optional, default = "RollingUpdate")]
    pub r#type: DeploymentStrategyType,
    /// Settings for rolling updates; allowed only when type is "RollingUpdate".
    #[k8s(
        proto = 2,
        published = optional,
        when(type = "Recreate")(forbidden = "may not be specified when strategy `type` is 'Recreate'"),
        when(type = "RollingUpdate")(required = "this should be defaulted and never be nil")
    )]
    pub rolling_update: Option<RollingUpdateDeployment>,
}

string_type! {
    /// Kind of rollout strategy of a Deployment.
    #[closed]
    pub DeploymentStrategyType {
        /// All old pods are stopped before new ones start.
        RECREATE = "Recreate",
        /// Old pods are replaced gradually while new ones become ready.
        ROLLING_UPDATE = "RollingUpdate",
    }
}

/// Settings for the rolling update of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RollingUpdateDeployment {
    /// Pods that may be missing during the update, as a number or a percentage of the replicas
    /// rounded down; defaults to 25%. Cannot be 0 when maxSurge is 0.
    #[k8s(proto = 1, optional, format = "int-or-percent", format = "at-most-100-percent")]
    pub max_unavailable: Option<IntOrString>,
    /// Pods that may run in excess of the replicas during the update, as a number or a percentage
    /// rounded up; defaults to 25%. Cannot be 0 when maxUnavailable is 0.
    #[k8s(proto = 2, optional, format = "int-or-percent")]
    pub max_surge: Option<IntOrString>,
}

/// Observed state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(
    last(
        subfield(updated_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(ready_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(available_replicas)(
            not_above(replicas = "cannot be greater than status.replicas"),
            not_above(ready_replicas = "cannot be greater than readyReplicas")
        )
    )
)]
pub struct DeploymentStatus {
    /// Generation of the Deployment the controller has acted upon.
    #[k8s(proto = 1, optional, minimum = 0)]
    pub observed_generation: i64,
    /// Number of pods of this Deployment that are not terminating.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub replicas: i32,
    /// Number of pods running the current template.
    #[k8s(proto = 3, optional, minimum = 0)]
    pub updated_replicas: i32,
    /// Number of pods that are ready.
    #[k8s(proto = 7, optional, minimum = 0)]
    pub ready_replicas: i32,
    /// Number of pods that have been ready for at least minReadySeconds.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub available_replicas: i32,
    /// Number of pods still lacking for full capacity: not yet available, or not yet created.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub unavailable_replicas: i32,
    /// Number of pods being shut down; absent when the controller does not report it.
    #[k8s(proto = 9, optional, gate = pintle_gates::DEPLOYMENT_REPLICA_SET_TERMINATING_REPLICAS, minimum = 0)]
    pub terminating_replicas: Option<i32>,
    /// Latest observed conditions of the Deployment.
    #[k8s(proto = 6, list_type = map, list_map_keys("type"), patch_strategy = "merge", patch_merge_key = "type")]
    pub conditions: Vec<DeploymentCondition>,
    /// Number of name clashes met when naming ReplicaSets; used to pick new names.
    #[k8s(proto = 8, optional, minimum = 0)]
    pub collision_count: Option<i32>,
}

string_type! {
    /// Type of a Deployment condition.
    pub DeploymentConditionType {
        /// Enough pods are available.
        AVAILABLE = "Available",
        /// The rollout is advancing or has finished; False once its deadline has passed.
        PROGRESSING = "Progressing",
        /// A pod could not be created or deleted.
        REPLICA_FAILURE = "ReplicaFailure",
    }
}

/// One observed aspect of the state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentCondition {
    /// Name of the aspect: "Available", "Progressing" or "ReplicaFailure".
    #[k8s(proto = 1, always)]
    pub r#type: DeploymentConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the condition was last written, even without a change of status.
    #[k8s(proto = 6)]
    pub last_update_time: Time,
    /// When the status last changed.
    #[k8s(proto = 7)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the last change.
    #[k8s(proto = 4)]
    pub reason: String,
    /// Explanation of the last change for people to read.
    #[k8s(proto = 5)]
    pub message: String,
}

/// A list of Deployments.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Deployment objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Deployment>,
}
