//! Types of `apps/v1`: daemon sets.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, Time, string_type};

use crate::core::v1::{ConditionStatus, PodTemplateSpec};
use crate::meta::v1::{LabelSelector, ListMeta, ObjectMeta, TypeMeta};

/// How a DaemonSet brings its pods to a new template.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetUpdateStrategy {
    /// Kind of strategy: "RollingUpdate" (the default) or "OnDelete".
    #[k8s(proto = 1, optional, default = "RollingUpdate")]
    pub r#type: DaemonSetUpdateStrategyType,
    /// Settings for rolling updates; used only when type is "RollingUpdate".
    #[k8s(proto = 2, published = optional, when(type = "RollingUpdate")(required))]
    pub rolling_update: Option<RollingUpdateDaemonSet>,
}

string_type! {
    /// Kind of update strategy of a DaemonSet.
    #[closed]
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
    #[k8s(proto = 1, optional, format = "int-or-percent", format = "at-most-100-percent")]
    pub max_unavailable: Option<IntOrString>,
    /// Nodes that may run the old and the new pod side by side during the update, as a number or a
    /// percentage rounded up; defaults to 0. Cannot be 0 when maxUnavailable is 0.
    #[k8s(proto = 2, optional, format = "int-or-percent", format = "at-most-100-percent")]
    pub max_surge: Option<IntOrString>,
}

/// Desired state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(subfield(selector)(fixed))]
pub struct DaemonSetSpec {
    /// Chooses the pods that belong to this DaemonSet; it must match the labels in the template and
    /// cannot be changed later.
    #[k8s(
        proto = 1,
        always,
        last(
            message(invalid = "empty selector is invalid for daemonset")(at_least_one("matchLabels", "matchExpressions"))
        )
    )]
    pub selector: Option<LabelSelector>,
    /// Template for the pod placed on every node that its node selection and tolerations allow. Its
    /// restartPolicy has to be "Always".
    #[k8s(
        proto = 2,
        always,
        last(
            subfield(spec)(
                subfield(restart_policy)(enum("Always")),
                subfield(active_deadline_seconds)(forbidden = "activeDeadlineSeconds in DaemonSet is not Supported")
            )
        )
    )]
    pub template: PodTemplateSpec,
    /// How pods are replaced after a change to the template.
    #[k8s(proto = 3, optional)]
    pub update_strategy: DaemonSetUpdateStrategy,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional, minimum = 0)]
    pub min_ready_seconds: i32,
    /// Number of older revisions kept for rolling back; defaults to 10.
    #[k8s(proto = 6, optional, default = 10, minimum = 0)]
    pub revision_history_limit: Option<i32>,
}

/// Observed state of a DaemonSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct DaemonSetStatus {
    /// Number of nodes that should run the pod and do run at least one.
    #[k8s(proto = 1, always, minimum = 0)]
    pub current_number_scheduled: i32,
    /// Number of nodes that run the pod although they should not.
    #[k8s(proto = 2, always, minimum = 0)]
    pub number_misscheduled: i32,
    /// Number of nodes that should run the pod.
    #[k8s(proto = 3, always, minimum = 0)]
    pub desired_number_scheduled: i32,
    /// Number of nodes that should run the pod and have a ready one.
    #[k8s(proto = 4, always, minimum = 0)]
    pub number_ready: i32,
    /// Generation of the DaemonSet the controller has acted upon.
    #[k8s(proto = 5, optional, minimum = 0)]
    pub observed_generation: i64,
    /// Number of nodes that run a pod made from the current template.
    #[k8s(proto = 6, optional, minimum = 0)]
    pub updated_number_scheduled: i32,
    /// Number of nodes whose pod has been ready for at least minReadySeconds.
    #[k8s(proto = 7, optional, minimum = 0)]
    pub number_available: i32,
    /// Number of nodes that should run the pod but have none available.
    #[k8s(proto = 8, optional, minimum = 0)]
    pub number_unavailable: i32,
    /// Number of name clashes met when naming revisions; used to pick new names.
    #[k8s(proto = 9, optional, minimum = 0)]
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
#[k8s(resource(group = "apps", plural = "daemonsets", short_names("ds"), categories("all"), namespaced))]
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
    #[k8s(proto = 3, optional, last(subfield(collision_count)(monotonic)))]
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
