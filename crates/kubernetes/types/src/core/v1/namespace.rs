//! Types of `v1`: namespaces.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use super::ConditionStatus;
use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Name of a task that has to finish before a namespace may go.
    pub FinalizerName {
        /// The removal of everything inside the namespace by the built-in controller.
        KUBERNETES = "kubernetes",
    }
}

/// Desired state of a namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamespaceSpec {
    /// Tasks that must finish before the namespace is removed; changed through the finalize
    /// subresource.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub finalizers: Vec<FinalizerName>,
}

/// Observed state of a namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamespaceStatus {
    /// Stage of the namespace's life: "Active" or "Terminating".
    #[k8s(proto = 1, optional, default = "Active")]
    pub phase: NamespacePhase,
    /// Latest observed conditions, mostly about progress and problems of deletion.
    #[k8s(
        proto = 2,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type"
    )]
    pub conditions: Vec<NamespaceCondition>,
}

string_type! {
    /// Stage of a namespace's life.
    #[closed]
    pub NamespacePhase {
        /// In use.
        ACTIVE = "Active",
        /// Being emptied and removed.
        TERMINATING = "Terminating",
    }
}

string_type! {
    /// Type of a namespace condition.
    pub NamespaceConditionType {
        /// It could not be found out which resources exist.
        NAMESPACE_DELETION_DISCOVERY_FAILURE = "NamespaceDeletionDiscoveryFailure",
        /// Some of the contents could not be deleted.
        NAMESPACE_DELETION_CONTENT_FAILURE = "NamespaceDeletionContentFailure",
        /// A discovered group or version could not be understood.
        DELETION_GV_PARSING_FAILURE = "NamespaceDeletionGroupVersionParsingFailure",
        /// Some contents are still there.
        NAMESPACE_CONTENT_REMAINING = "NamespaceContentRemaining",
        /// Some contents wait for their finalizers.
        NAMESPACE_FINALIZERS_REMAINING = "NamespaceFinalizersRemaining",
    }
}

/// One observed aspect of the state of a namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamespaceCondition {
    /// Name of the aspect, such as "NamespaceContentRemaining".
    #[k8s(proto = 1, always)]
    pub r#type: NamespaceConditionType,
    /// Whether it holds: "True", "False" or "Unknown".
    #[k8s(proto = 2, always)]
    pub status: ConditionStatus,
    /// When the status last changed.
    #[k8s(proto = 4, optional)]
    pub last_transition_time: Time,
    /// One-word, machine-readable cause of the last change.
    #[k8s(proto = 5, optional)]
    pub reason: String,
    /// Explanation of the last change for people to read.
    #[k8s(proto = 6, optional)]
    pub message: String,
}

/// A scope in which names are unique and to which access rights and quotas can be tied.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "namespaces", short_names("ns"), cluster))]
pub struct Namespace {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Desired settings of the namespace.
    #[k8s(proto = 2, optional)]
    pub spec: NamespaceSpec,
    /// Last observed state.
    #[k8s(proto = 3, optional)]
    pub status: NamespaceStatus,
}

/// A list of Namespaces.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NamespaceList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The Namespace objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<Namespace>,
}
