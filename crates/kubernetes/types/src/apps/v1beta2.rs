//! Types of `apps/v1beta2`: workloads that keep pods running.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, RawExtension, Time, same_as};

use crate::core::v1::{ConditionStatus, PersistentVolumeClaim, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        ControllerRevision, ControllerRevisionList, DaemonSet, DaemonSetCondition, DaemonSetList, DaemonSetStatus,
        DaemonSetUpdateStrategyType, Deployment, DeploymentCondition, DeploymentConditionType, DeploymentList,
        DeploymentStrategyType, PersistentVolumeClaimRetentionPolicyType, PodManagementPolicyType, ReplicaSet,
        ReplicaSetCondition, ReplicaSetConditionType, ReplicaSetList, RollingUpdateDaemonSet,
        RollingUpdateDeployment, RollingUpdateStatefulSetStrategy, StatefulSet, StatefulSetCondition,
        StatefulSetList, StatefulSetOrdinals, StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetStatus,
        StatefulSetUpdateStrategyType
    }
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

/// Desired state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetSpec {
    /// Chooses the pods that belong to this DaemonSet; it must match the labels in the template and
    /// cannot be changed later.
    #[k8s(proto = 1, always)]
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
    /// Number of older revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional)]
    pub revision_history_limit: Option<i32>,
}

/// Type of a DaemonSet condition.
pub type DaemonSetConditionType = String;

/// Desired state of a Deployment.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DeploymentSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this Deployment; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, always)]
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
    /// Seconds a rollout may go without progress before it is reported as failed in the Progressing
    /// condition; defaults to 600. Time spent paused does not count.
    #[k8s(proto = 9)]
    pub progress_deadline_seconds: Option<i32>,
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
    #[k8s(proto = 2, always)]
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

/// How a StatefulSet brings its pods to a new template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetUpdateStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "OnDelete".
    #[k8s(proto = 1, optional)]
    pub r#type: StatefulSetUpdateStrategyType,
    /// Settings for rolling updates; used only when type is "RollingUpdate".
    #[k8s(proto = 2, optional)]
    pub rolling_update: Option<RollingUpdateStatefulSetStrategy>,
}

/// Desired state of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetSpec {
    /// Number of pods wanted; absent means 1.
    #[k8s(proto = 1, optional)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this StatefulSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(proto = 2, always)]
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

/// Type of a StatefulSet condition.
pub type StatefulSetConditionType = String;
