//! Types of `v1`: replication controllers.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Time, string_type};

use super::{ConditionStatus, PodTemplateSpec};
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Desired state of a ReplicationController.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(reserved(name = "templateRef"))]
pub struct ReplicationControllerSpec {
    /// Number of pods wanted; absent means 1, while 0 runs none.
    #[k8s(proto = 1, required, published = optional, default = 1, published = default, minimum = 0)]
    pub replicas: Option<i32>,
    /// Seconds a new pod has to stay ready, without a container crashing, before it counts as
    /// available; defaults to 0.
    #[k8s(proto = 4, optional, default = 0, published = default, minimum = 0)]
    pub min_ready_seconds: i32,
    /// Labels that pods must carry to belong to this controller; absent uses the labels of the
    /// template.
    #[k8s(proto = 2, map_type = atomic, required, published = optional)]
    pub selector: BTreeMap<String, String>,
    /// Template for pods that have to be added; its restartPolicy has to be "Always".
    #[k8s(
        proto = 3,
        required,
        published = optional,
        last(
            subfield(spec)(
                subfield(restart_policy)(enum("Always")),
                subfield(active_deadline_seconds)(
                    forbidden = "activeDeadlineSeconds in ReplicationController is not Supported"
                )
            )
        )
    )]
    pub template: Option<PodTemplateSpec>,
}

/// Observed state of a ReplicationController.
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
pub struct ReplicationControllerStatus {
    /// Number of pods that exist.
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
    /// Generation of the object the controller has acted upon.
    #[k8s(proto = 3, optional, minimum = 0)]
    pub observed_generation: i64,
    /// Latest observed conditions of the controller.
    #[k8s(
        proto = 6,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<ReplicationControllerCondition>,
}

string_type! {
    /// Type of a ReplicationController condition.
    pub ReplicationControllerConditionType {
        /// A pod could not be created or deleted.
        REPLICA_FAILURE = "ReplicaFailure",
    }
}

/// One observed aspect of the state of a ReplicationController.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicationControllerCondition {
    /// Name of the aspect, such as "ReplicaFailure".
    #[k8s(proto = 1, always)]
    pub r#type: ReplicationControllerConditionType,
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

/// Keeps a number of identical pods running; the older counterpart of ReplicaSet.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "replicationcontrollers", short_names("rc"), categories("all"), namespaced))]
pub struct ReplicationController {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired pods.
    #[k8s(proto = 2, optional)]
    pub spec: ReplicationControllerSpec,
    /// Last observed state; may lag behind.
    #[k8s(proto = 3, optional)]
    pub status: ReplicationControllerStatus,
}

/// A list of ReplicationControllers.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ReplicationControllerList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ReplicationController objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ReplicationController>,
}
