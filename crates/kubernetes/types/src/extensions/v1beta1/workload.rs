//! Types of `extensions/v1beta1`: early forms of workloads.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, Time, string_type};

use crate::core::v1::{ConditionStatus, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Replica count wanted.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleSpec {
    /// Number of instances wanted.
    #[k8s(proto = 1, optional, default = 0, published = default)]
    pub replicas: i32,
}

/// Replica count found.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScaleStatus {
    /// Number of instances existing now.
    #[k8s(proto = 1, always)]
    pub replicas: i32,
    /// Label query, as text, matching the pods that are counted.
    #[k8s(proto = 2, optional, map_type = atomic)]
    pub selector: BTreeMap<String, String>,
    /// Label selector for the pods that count, as text.
    #[k8s(proto = 3, optional)]
    pub target_selector: String,
}

/// Replica count of a workload, read and set through its scale subresource.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Wanted replica count.
    #[k8s(proto = 2, optional)]
    pub spec: ScaleSpec,
    /// Present replica count.
    #[k8s(proto = 3, optional)]
    pub status: ScaleStatus,
}

/// Keeps a number of identical pods running and moves them to new versions step by step.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
    #[k8s(proto = 3, optional)]
    pub status: DeploymentStatus,
}

/// Desired state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this Deployment; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for the pods; any change to it starts a rollout. Its restartPolicy has to be
    /// "Always".
    #[k8s(proto = 3, always)]
    pub template: PodTemplateSpec,
    /// How old pods are replaced by new ones.
    #[k8s(proto = 4, optional, patch_strategy = "retainKeys")]
    pub strategy: DeploymentStrategy,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 5, optional)]
    pub min_ready_seconds: i32,
    /// Number of old ReplicaSets kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional)]
    pub revision_history_limit: Option<i32>,
    /// When true, template changes do not start a rollout until this is set to false again.
    #[k8s(proto = 7, optional)]
    pub paused: bool,
    /// Revision to roll back to; cleared once the rollback is done.
    #[k8s(proto = 8, optional)]
    pub rollback_to: Option<RollbackConfig>,
    /// Seconds a rollout may go without progress before it is reported as failed in the Progressing
    /// condition; defaults to 600. Time spent paused does not count.
    #[k8s(proto = 9, optional)]
    pub progress_deadline_seconds: Option<i32>,
}

/// Asks for a deployment to go back to an earlier revision.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentRollback {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Name of the deployment.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Annotations to write on the deployment.
    #[k8s(proto = 2, optional)]
    pub updated_annotations: BTreeMap<String, String>,
    /// Where to roll back to.
    #[k8s(proto = 3, always)]
    pub rollback_to: RollbackConfig,
}

/// Where a rollback leads.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RollbackConfig {
    /// Revision to return to; 0 means the one before the current.
    #[k8s(proto = 1, optional)]
    pub revision: i64,
}

/// How a Deployment replaces old pods by new ones.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "Recreate".
    #[k8s(proto = 1, optional)]
    pub r#type: DeploymentStrategyType,
    /// Settings for rolling updates; allowed only when type is "RollingUpdate".
    #[k8s(proto = 2, optional)]
    pub rolling_update: Option<RollingUpdateDeployment>,
}

string_type! {
    /// Kind of rollout strategy of a Deployment.
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
    #[k8s(proto = 1, optional)]
    pub max_unavailable: Option<IntOrString>,
    /// Pods that may run in excess of the replicas during the update, as a number or a percentage
    /// rounded up; defaults to 25%. Cannot be 0 when maxUnavailable is 0.
    #[k8s(proto = 2, optional)]
    pub max_surge: Option<IntOrString>,
}

/// Observed state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentStatus {
    /// Generation of the Deployment the controller has acted upon.
    #[k8s(proto = 1, optional)]
    pub observed_generation: i64,
    /// Number of pods of this Deployment that are not terminating.
    #[k8s(proto = 2, optional)]
    pub replicas: i32,
    /// Number of pods running the current template.
    #[k8s(proto = 3, optional)]
    pub updated_replicas: i32,
    /// Number of pods that are ready.
    #[k8s(proto = 7, optional)]
    pub ready_replicas: i32,
    /// Number of pods that have been ready for at least minReadySeconds.
    #[k8s(proto = 4, optional)]
    pub available_replicas: i32,
    /// Number of pods still lacking for full capacity: not yet available, or not yet created.
    #[k8s(proto = 5, optional)]
    pub unavailable_replicas: i32,
    /// Number of pods being shut down; absent when the controller does not report it.
    #[k8s(proto = 9, optional)]
    pub terminating_replicas: Option<i32>,
    /// Latest observed conditions of the Deployment.
    #[k8s(proto = 6, list_type = map, list_map_keys("type"), patch_strategy = "merge", patch_merge_key = "type")]
    pub conditions: Vec<DeploymentCondition>,
    /// Number of name clashes met when naming ReplicaSets; used to pick new names.
    #[k8s(proto = 8, optional)]
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

/// How a DaemonSet brings its pods to a new template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetUpdateStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "OnDelete".
    #[k8s(proto = 1, optional)]
    pub r#type: DaemonSetUpdateStrategyType,
    /// Settings for rolling updates; used only when type is "RollingUpdate".
    #[k8s(proto = 2, optional)]
    pub rolling_update: Option<RollingUpdateDaemonSet>,
}

string_type! {
    /// Kind of update strategy of a DaemonSet.
    pub DaemonSetUpdateStrategyType {
        /// Pods are replaced automatically, node by node.
        ROLLING_UPDATE = "RollingUpdate",
        /// A pod gets the new template only after someone deletes it.
        ON_DELETE = "OnDelete",
    }
}

/// Settings for the rolling update of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RollingUpdateDaemonSet {
    /// Nodes that may be without a working pod during the update, as a number or a percentage of
    /// wanted pods rounded up; defaults to 1. Cannot be 0 when maxSurge is 0.
    #[k8s(proto = 1, optional)]
    pub max_unavailable: Option<IntOrString>,
    /// Nodes that may run the old and the new pod side by side during the update, as a number or a
    /// percentage rounded up; defaults to 0. Cannot be 0 when maxUnavailable is 0.
    #[k8s(proto = 2, optional)]
    pub max_surge: Option<IntOrString>,
}

/// Desired state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetSpec {
    /// Chooses the pods that belong to this DaemonSet; it must match the labels in the template and
    /// cannot be changed later.
    #[k8s(proto = 1, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for the pod placed on every node that its node selection and tolerations allow. Its
    /// restartPolicy has to be "Always".
    #[k8s(proto = 2, always)]
    pub template: PodTemplateSpec,
    /// How pods are replaced after a change to the template.
    #[k8s(proto = 3, optional)]
    pub update_strategy: DaemonSetUpdateStrategy,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional)]
    pub min_ready_seconds: i32,
    /// Sequence number of the pod template; grows by one with each change of it.
    #[k8s(proto = 5, optional)]
    pub template_generation: i64,
    /// Number of older revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional)]
    pub revision_history_limit: Option<i32>,
}

/// Observed state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetStatus {
    /// Number of nodes that should run the pod and do run at least one.
    #[k8s(proto = 1, always)]
    pub current_number_scheduled: i32,
    /// Number of nodes that run the pod although they should not.
    #[k8s(proto = 2, always)]
    pub number_misscheduled: i32,
    /// Number of nodes that should run the pod.
    #[k8s(proto = 3, always)]
    pub desired_number_scheduled: i32,
    /// Number of nodes that should run the pod and have a ready one.
    #[k8s(proto = 4, always)]
    pub number_ready: i32,
    /// Generation of the DaemonSet the controller has acted upon.
    #[k8s(proto = 5, optional)]
    pub observed_generation: i64,
    /// Number of nodes that run a pod made from the current template.
    #[k8s(proto = 6, optional)]
    pub updated_number_scheduled: i32,
    /// Number of nodes whose pod has been ready for at least minReadySeconds.
    #[k8s(proto = 7, optional)]
    pub number_available: i32,
    /// Number of nodes that should run the pod but have none available.
    #[k8s(proto = 8, optional)]
    pub number_unavailable: i32,
    /// Number of name clashes met when naming revisions; used to pick new names.
    #[k8s(proto = 9, optional)]
    pub collision_count: Option<i32>,
    /// Latest observed conditions of the DaemonSet.
    #[k8s(
        proto = 10,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<DaemonSetCondition>,
}

/// Type of a DaemonSet condition.
pub type DaemonSetConditionType = String;

/// One observed aspect of the state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetCondition {
    /// Name of the aspect.
    #[k8s(proto = 1, always)]
    pub r#type: DaemonSetConditionType,
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

/// Runs one copy of a pod on every node, or on every node that matches.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSet {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pod and update behaviour.
    #[k8s(proto = 2, optional)]
    pub spec: DaemonSetSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: DaemonSetStatus,
}

/// A list of DaemonSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The DaemonSet objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<DaemonSet>,
}

/// Keeps a number of identical pods running; usually created by a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
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
pub struct ReplicaSetSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional)]
    pub min_ready_seconds: i32,
    /// Chooses the pods that belong to this ReplicaSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for pods that have to be added; changing it leaves existing pods alone.
    #[k8s(proto = 3, optional)]
    pub template: PodTemplateSpec,
}

/// Observed state of a ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicaSetStatus {
    /// Number of pods of this ReplicaSet that are not terminating.
    #[k8s(proto = 1, always)]
    pub replicas: i32,
    /// Number of those pods that carry all labels of the template.
    #[k8s(proto = 2, optional)]
    pub fully_labeled_replicas: i32,
    /// Number of pods that are ready.
    #[k8s(proto = 4, optional)]
    pub ready_replicas: i32,
    /// Number of pods that have been ready for at least minReadySeconds.
    #[k8s(proto = 5, optional)]
    pub available_replicas: i32,
    /// Number of pods being shut down; absent when the controller does not report it.
    #[k8s(proto = 7, optional)]
    pub terminating_replicas: Option<i32>,
    /// Generation of the ReplicaSet the controller has acted upon.
    #[k8s(proto = 3, optional)]
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
