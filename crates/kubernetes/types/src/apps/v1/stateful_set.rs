//! Types of `apps/v1`: stateful sets.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, Time, string_type};

use crate::core::v1::{ConditionStatus, PersistentVolumeClaim, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// Runs pods with a stable name, ordinal and storage each, for applications that need an identity.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "apps", plural = "statefulsets", short_names("sts"), categories("all"), namespaced))]
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
    #[k8s(proto = 3, optional, last(subfield(collision_count)(monotonic)))]
    pub status: StatefulSetStatus,
}

string_type! {
    /// Order in which a StatefulSet creates and removes pods while scaling.
    #[closed]
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
    #[k8s(proto = 1, optional, default = "RollingUpdate")]
    pub r#type: StatefulSetUpdateStrategyType,
    /// Settings for rolling updates; used only when type is "RollingUpdate".
    #[k8s(
        proto = 2,
        optional,
        when(type = "OnDelete")(message(invalid = "only allowed for updateStrategy 'RollingUpdate'")(forbidden))
    )]
    pub rolling_update: Option<RollingUpdateStatefulSetStrategy>,
}

string_type! {
    /// Kind of update strategy of a StatefulSet.
    #[closed]
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
    #[k8s(proto = 1, optional, minimum = 0)]
    pub partition: Option<i32>,
    /// Pods that may be unavailable during the update, as a number or a percentage of the replicas
    /// rounded up. Must not be 0; defaults to 1.
    #[k8s(
        proto = 2,
        optional,
        gate = pintle_gates::MAX_UNAVAILABLE_STATEFUL_SET,
        if_enabled(pintle_gates::MAX_UNAVAILABLE_STATEFUL_SET)(format = "int-or-percent", format = "at-most-100-percent")
    )]
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
    #[k8s(proto = 1, enum("Retain", "Delete"))]
    pub when_deleted: PersistentVolumeClaimRetentionPolicyType,
    /// Fate of a pod's claims when scaling down removes the pod: "Retain" (the default) or
    /// "Delete".
    #[k8s(proto = 2, enum("Retain", "Delete"))]
    pub when_scaled: PersistentVolumeClaimRetentionPolicyType,
}

/// How the pods of a StatefulSet are numbered.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetOrdinals {
    /// Number of the first pod; ordinals run upwards from here. Absent means 0.
    #[k8s(proto = 1, optional, always, minimum = 0)]
    pub start: i32,
}

/// Desired state of a StatefulSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct StatefulSetSpec {
    /// Number of pods wanted; absent means 1.
    #[k8s(proto = 1, optional, default = 1, minimum = 0)]
    pub replicas: Option<i32>,
    /// Chooses the pods that belong to this StatefulSet; it must match the labels in the template
    /// and cannot be changed later.
    #[k8s(
        proto = 2,
        always,
        required,
        last(
            message(invalid = "empty selector is invalid for statefulset")(
                at_least_one("matchLabels", "matchExpressions")
            )
        )
    )]
    pub selector: Option<LabelSelector>,
    /// Template for the pods; every pod is named after the StatefulSet and its ordinal.
    #[k8s(
        proto = 3,
        always,
        last(
            subfield(spec)(
                subfield(restart_policy)(enum("Always")),
                subfield(active_deadline_seconds)(forbidden = "activeDeadlineSeconds in StatefulSet is not Supported")
            )
        )
    )]
    pub template: PodTemplateSpec,
    /// Claims created for each pod separately and reused by a later pod of the same ordinal. Each
    /// takes precedence over a template volume of the same name.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub volume_claim_templates: Vec<PersistentVolumeClaim>,
    /// Headless service, which must exist beforehand, that gives the pods their DNS names.
    #[k8s(proto = 5, optional, always, format = "dns1123-label")]
    pub service_name: String,
    /// Order of creating and removing pods while scaling: "OrderedReady" (the default) or
    /// "Parallel".
    #[k8s(
        proto = 6,
        published = optional,
        default = "OrderedReady",
        required,
        message(invalid = "must be 'OrderedReady' or 'Parallel'")(enum)
    )]
    pub pod_management_policy: PodManagementPolicyType,
    /// How pods are replaced after a change to the template.
    #[k8s(proto = 7)]
    pub update_strategy: StatefulSetUpdateStrategy,
    /// Number of older, unused revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 8, default = 10)]
    pub revision_history_limit: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 9, optional, minimum = 0)]
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
#[k8s(
    last(
        subfield(ready_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(current_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(updated_replicas)(not_above(replicas = "cannot be greater than status.replicas")),
        subfield(available_replicas)(
            not_above(replicas = "cannot be greater than status.replicas"),
            not_above(ready_replicas = "cannot be greater than status.readyReplicas")
        )
    )
)]
pub struct StatefulSetStatus {
    /// Generation of the StatefulSet the controller has acted upon.
    #[k8s(proto = 1, optional, minimum = 0)]
    pub observed_generation: i64,
    /// Number of pods the controller has created.
    #[k8s(proto = 2, always, minimum = 0)]
    pub replicas: i32,
    /// Number of those pods that are ready.
    #[k8s(proto = 3, minimum = 0)]
    pub ready_replicas: i32,
    /// Number of pods made from the revision named in currentRevision.
    #[k8s(proto = 4, minimum = 0)]
    pub current_replicas: i32,
    /// Number of pods made from the revision named in updateRevision.
    #[k8s(proto = 5, minimum = 0)]
    pub updated_replicas: i32,
    /// Revision that pods not yet updated are running.
    #[k8s(proto = 6)]
    pub current_revision: String,
    /// Revision that pods are being updated to.
    #[k8s(proto = 7)]
    pub update_revision: String,
    /// Number of name clashes met when naming revisions; used to pick new names.
    #[k8s(proto = 9, optional, minimum = 0)]
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
    #[k8s(proto = 11, optional, always, minimum = 0)]
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
