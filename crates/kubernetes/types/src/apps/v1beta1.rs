//! Types of `apps/v1beta1`: workloads that keep pods running.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, RawExtension, Time, string_type};

use crate::core::v1::{ConditionStatus, PersistentVolumeClaim, PodTemplateSpec};
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
    #[k8s(proto = 2, optional)]
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

/// Runs pods with a stable name, ordinal and storage each, for applications that need an identity.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSet {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods, storage and update behaviour.
    #[k8s(proto = 2, optional)]
    pub spec: StatefulSetSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: StatefulSetStatus,
}

string_type! {
    /// Order in which a StatefulSet creates and removes pods while scaling.
    pub PodManagementPolicyType {
        /// One pod at a time, waiting until each is ready or gone.
        ORDERED_READY = "OrderedReady",
        /// All pods at once, without waiting.
        PARALLEL = "Parallel",
    }
}

/// How a StatefulSet brings its pods to a new template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetUpdateStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "OnDelete".
    #[k8s(proto = 1)]
    pub r#type: StatefulSetUpdateStrategyType,
    /// Settings for rolling updates; used only when type is "RollingUpdate".
    #[k8s(proto = 2)]
    pub rolling_update: Option<RollingUpdateStatefulSetStrategy>,
}

string_type! {
    /// Kind of update strategy of a StatefulSet.
    pub StatefulSetUpdateStrategyType {
        /// Pods are replaced automatically, from the highest ordinal to the lowest.
        ROLLING_UPDATE = "RollingUpdate",
        /// A pod gets the new template only after someone deletes it.
        ON_DELETE = "OnDelete",
    }
}

/// Settings for the rolling update of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RollingUpdateStatefulSetStrategy {
    /// Only pods with an ordinal at or above this number are updated; the default 0 updates all.
    #[k8s(proto = 1)]
    pub partition: Option<i32>,
    /// Pods that may be unavailable during the update, as a number or a percentage of the replicas
    /// rounded up. Must not be 0; defaults to 1.
    #[k8s(proto = 2, optional, gate = "MaxUnavailableStatefulSet")]
    pub max_unavailable: Option<IntOrString>,
}

string_type! {
    /// What happens to claims made from the templates of a StatefulSet.
    pub PersistentVolumeClaimRetentionPolicyType {
        /// Claims stay and have to be removed by hand.
        RETAIN = "Retain",
        /// Claims are removed along with what they belonged to.
        DELETE = "Delete",
    }
}

/// When the claims created by a StatefulSet are removed.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetPersistentVolumeClaimRetentionPolicy {
    /// Fate of the claims when the StatefulSet itself is deleted: "Retain" (the default) or
    /// "Delete".
    #[k8s(proto = 1)]
    pub when_deleted: PersistentVolumeClaimRetentionPolicyType,
    /// Fate of a pod's claims when scaling down removes the pod: "Retain" (the default) or
    /// "Delete".
    #[k8s(proto = 2)]
    pub when_scaled: PersistentVolumeClaimRetentionPolicyType,
}

/// How the pods of a StatefulSet are numbered.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetOrdinals {
    /// Number of the first pod; ordinals run upwards from here. Absent means 0.
    #[k8s(proto = 1, optional, always)]
    pub start: i32,
}

/// Desired state of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetSpec {
    /// Number of pods wanted; absent means 1.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this StatefulSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, optional)]
    pub selector: Option<LabelSelector>,
    /// Template for the pods; every pod is named after the StatefulSet and its ordinal.
    #[k8s(proto = 3, always)]
    pub template: PodTemplateSpec,
    /// Claims created for each pod separately and reused by a later pod of the same ordinal. Each
    /// takes precedence over a template volume of the same name.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub volume_claim_templates: Vec<PersistentVolumeClaim>,
    /// Headless service, which must exist beforehand, that gives the pods their DNS names.
    #[k8s(proto = 5, optional, always)]
    pub service_name: String,
    /// Order of creating and removing pods while scaling: "OrderedReady" (the default) or
    /// "Parallel".
    #[k8s(proto = 6, optional)]
    pub pod_management_policy: PodManagementPolicyType,
    /// How pods are replaced after a change to the template.
    #[k8s(proto = 7)]
    pub update_strategy: StatefulSetUpdateStrategy,
    /// Number of older, unused revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 8)]
    pub revision_history_limit: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 9, optional)]
    pub min_ready_seconds: i32,
    /// When claims made from volumeClaimTemplates are removed; absent keeps them always.
    #[k8s(proto = 10, optional)]
    pub persistent_volume_claim_retention_policy: Option<StatefulSetPersistentVolumeClaimRetentionPolicy>,
    /// How pods are numbered; absent numbers them from 0.
    #[k8s(proto = 11, optional)]
    pub ordinals: Option<StatefulSetOrdinals>,
}

/// Observed state of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetStatus {
    /// Generation of the StatefulSet the controller has acted upon.
    #[k8s(proto = 1, optional)]
    pub observed_generation: Option<i64>,
    /// Number of pods the controller has created.
    #[k8s(proto = 2, always)]
    pub replicas: i32,
    /// Number of those pods that are ready.
    #[k8s(proto = 3)]
    pub ready_replicas: i32,
    /// Number of pods made from the revision named in currentRevision.
    #[k8s(proto = 4)]
    pub current_replicas: i32,
    /// Number of pods made from the revision named in updateRevision.
    #[k8s(proto = 5)]
    pub updated_replicas: i32,
    /// Revision that pods not yet updated are running.
    #[k8s(proto = 6)]
    pub current_revision: String,
    /// Revision that pods are being updated to.
    #[k8s(proto = 7)]
    pub update_revision: String,
    /// Number of name clashes met when naming revisions; used to pick new names.
    #[k8s(proto = 9, optional)]
    pub collision_count: Option<i32>,
    /// Latest observed conditions of the StatefulSet.
    #[k8s(
        proto = 10,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<StatefulSetCondition>,
    /// Number of pods that have been ready for at least minReadySeconds.
    #[k8s(proto = 11, optional, always)]
    pub available_replicas: i32,
}

/// Type of a StatefulSet condition.
pub type StatefulSetConditionType = String;

/// One observed aspect of the state of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetCondition {
    /// Name of the aspect.
    #[k8s(proto = 1, always)]
    pub r#type: StatefulSetConditionType,
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

/// A list of StatefulSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The StatefulSet objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<StatefulSet>,
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

/// An unchangeable snapshot of state that a controller keeps, chiefly to update and roll back
/// DaemonSets and StatefulSets.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ControllerRevision {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The saved state in a form only the owning controller understands; it cannot be changed after
    /// creation.
    #[k8s(proto = 2)]
    pub data: RawExtension,
    /// Number that orders the snapshots of one owner; higher is newer.
    #[k8s(proto = 3, always)]
    pub revision: i64,
}

/// A list of ControllerRevisions.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ControllerRevisionList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ControllerRevision objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ControllerRevision>,
}
