//! Types of `apps/v1beta1`: workloads that keep pods running.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, IntOrString, RawExtension, Time, same_as};

use crate::core::v1::{ConditionStatus, PersistentVolumeClaim, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

same_as! { super::v1beta2::{DeploymentStatus, DeploymentStrategy, Scale, ScaleSpec} }

same_as! {
    super::v1::{
        ControllerRevision, ControllerRevisionList, Deployment, DeploymentCondition, DeploymentConditionType,
        DeploymentList, DeploymentStrategyType, PersistentVolumeClaimRetentionPolicyType, PodManagementPolicyType,
        RollingUpdateDeployment, StatefulSet, StatefulSetCondition, StatefulSetList, StatefulSetOrdinals,
        StatefulSetPersistentVolumeClaimRetentionPolicy, StatefulSetUpdateStrategyType
    }
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

/// Settings for the rolling update of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct RollingUpdateStatefulSetStrategy {
    /// Only pods with an ordinal at or above this number are updated; the default 0 updates all.
    #[k8s(proto = 1)]
    pub partition: Option<i32>,
    /// Pods that may be unavailable during the update, as a number or a percentage of the replicas
    /// rounded up. Must not be 0; defaults to 1.
    #[k8s(proto = 2, optional, gate = pintle_gates::MAX_UNAVAILABLE_STATEFUL_SET)]
    pub max_unavailable: Option<IntOrString>,
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
