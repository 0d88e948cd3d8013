//! Types of `v1`: limits and quotas of resources.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use std::collections::BTreeMap;

use pintle_schema::{ApiType, Quantity, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

string_type! {
    /// Name of something that can be measured, requested or limited, such as "cpu" or
    /// "example.com/gpu".
    pub ResourceName {
        /// Processor time, in cores.
        CPU = "cpu",
        /// Memory, in bytes.
        MEMORY = "memory",
        /// Size of a volume, in bytes.
        STORAGE = "storage",
        /// Local disk space lost when the pod goes, in bytes.
        EPHEMERAL_STORAGE = "ephemeral-storage",
        /// Number of pods.
        PODS = "pods",
        /// Number of services.
        SERVICES = "services",
        /// Number of replication controllers.
        REPLICATION_CONTROLLERS = "replicationcontrollers",
        /// Number of resource quotas.
        RESOURCE_QUOTAS = "resourcequotas",
        /// Number of secrets.
        SECRETS = "secrets",
        /// Number of config maps.
        CONFIG_MAPS = "configmaps",
        /// Number of volume claims.
        PERSISTENT_VOLUME_CLAIMS = "persistentvolumeclaims",
        /// Number of node ports used by services.
        SERVICES_NODE_PORTS = "services.nodeports",
        /// Number of load balancer services.
        SERVICES_LOAD_BALANCERS = "services.loadbalancers",
        /// Sum of all CPU requests.
        REQUESTS_CPU = "requests.cpu",
        /// Sum of all memory requests.
        REQUESTS_MEMORY = "requests.memory",
        /// Sum of all storage requested by volume claims.
        REQUESTS_STORAGE = "requests.storage",
        /// Sum of all ephemeral storage requests.
        REQUESTS_EPHEMERAL_STORAGE = "requests.ephemeral-storage",
        /// Sum of all CPU limits.
        LIMITS_CPU = "limits.cpu",
        /// Sum of all memory limits.
        LIMITS_MEMORY = "limits.memory",
        /// Sum of all ephemeral storage limits.
        LIMITS_EPHEMERAL_STORAGE = "limits.ephemeral-storage",
    }
}

/// Amounts by resource name.
pub type ResourceList = BTreeMap<String, Quantity>;

string_type! {
    /// What a limit applies to.
    pub LimitType {
        /// Each pod, its containers added up.
        POD = "Pod",
        /// Each container.
        CONTAINER = "Container",
        /// Each volume claim.
        PERSISTENT_VOLUME_CLAIM = "PersistentVolumeClaim",
    }
}

/// Limits and defaults for one kind of thing in the namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitRangeItem {
    /// What the limits apply to: "Pod", "Container" or "PersistentVolumeClaim".
    #[k8s(
        proto = 1,
        always,
        first(format = "k8s-label-key"),
        message(invalid = "must be a standard limit type or fully qualified")(
            pattern = "Pod|Container|PersistentVolumeClaim|.*/.*"
        )
    )]
    pub r#type: LimitType,
    /// Largest amount permitted, by resource.
    #[k8s(proto = 2, optional)]
    pub max: ResourceList,
    /// Smallest amount permitted, by resource.
    #[k8s(proto = 3, optional)]
    pub min: ResourceList,
    /// Limits given to containers that set none, by resource.
    #[k8s(proto = 4, optional, when(type = "Pod")(forbidden = "may not be specified when `type` is 'Pod'"))]
    pub default: ResourceList,
    /// Requests given to containers that set none, by resource.
    #[k8s(proto = 5, optional, when(type = "Pod")(forbidden = "may not be specified when `type` is 'Pod'"))]
    pub default_request: ResourceList,
    /// Largest permitted ratio of limit to request, by resource; both must then be set.
    #[k8s(proto = 6, optional)]
    pub max_limit_request_ratio: ResourceList,
}

/// The limits enforced by a LimitRange.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitRangeSpec {
    /// The limits, listed by what they apply to.
    #[k8s(proto = 1, always, list_type = atomic)]
    pub limits: Vec<LimitRangeItem>,
}

/// Sets bounds and defaults for the resources of individual pods, containers and claims in its
/// namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "limitranges", short_names("limits"), namespaced))]
pub struct LimitRange {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// The limits to enforce.
    #[k8s(proto = 2, optional)]
    pub spec: LimitRangeSpec,
}

/// A list of LimitRanges.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitRangeList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The LimitRange objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<LimitRange>,
}

string_type! {
    /// A property that decides whether an object counts toward a quota.
    #[closed]
    pub ResourceQuotaScope {
        /// Pods with an activeDeadlineSeconds of zero or more.
        TERMINATING = "Terminating",
        /// Pods without an activeDeadlineSeconds.
        NOT_TERMINATING = "NotTerminating",
        /// Pods of service class BestEffort.
        BEST_EFFORT = "BestEffort",
        /// Pods of any other service class.
        NOT_BEST_EFFORT = "NotBestEffort",
        /// Pods chosen by their priority class.
        PRIORITY_CLASS = "PriorityClass",
        /// Pods with affinity terms that reach into other namespaces.
        CROSS_NAMESPACE_POD_AFFINITY = "CrossNamespacePodAffinity",
        /// Volume claims chosen by their volume attributes class.
        VOLUME_ATTRIBUTES_CLASS = "VolumeAttributesClass",
    }
}

/// The totals a ResourceQuota enforces.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceQuotaSpec {
    /// Largest total permitted in the namespace, by resource.
    #[k8s(proto = 1, optional)]
    pub hard: ResourceList,
    /// Scopes an object must all fall under to be counted; absent counts everything.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub scopes: Vec<ResourceQuotaScope>,
    /// Further scope conditions that may also compare values; they apply together with scopes.
    #[k8s(proto = 3, optional)]
    pub scope_selector: Option<ScopeSelector>,
}

/// Chooses the objects counted by a quota; all of its conditions must hold.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(struct_type = atomic)]
pub struct ScopeSelector {
    /// Conditions by scope.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub match_expressions: Vec<ScopedResourceSelectorRequirement>,
}

/// One condition on a scope.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ScopedResourceSelectorRequirement {
    /// Scope the condition looks at.
    #[k8s(proto = 1, always)]
    pub scope_name: ResourceQuotaScope,
    /// How the scope is compared: "In", "NotIn", "Exists" or "DoesNotExist".
    #[k8s(proto = 2, always)]
    pub operator: ScopeSelectorOperator,
    /// Values to compare with; needed for "In" and "NotIn", and must be empty for the other
    /// operators.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub values: Vec<String>,
}

string_type! {
    /// Comparison used by a scope condition.
    #[closed]
    pub ScopeSelectorOperator {
        /// The object has one of the values.
        IN = "In",
        /// The object has none of the values.
        NOT_IN = "NotIn",
        /// The object falls under the scope.
        EXISTS = "Exists",
        /// The object does not fall under the scope.
        DOES_NOT_EXIST = "DoesNotExist",
    }
}

/// Enforced totals and current use of a ResourceQuota.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceQuotaStatus {
    /// Totals that are being enforced, by resource.
    #[k8s(proto = 1, optional)]
    pub hard: ResourceList,
    /// Totals in use at present, by resource.
    #[k8s(proto = 2, optional)]
    pub used: ResourceList,
}

/// Limits the total resources and object counts of its namespace.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "", plural = "resourcequotas", short_names("quota"), namespaced))]
pub struct ResourceQuota {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Totals to enforce.
    #[k8s(proto = 2, optional)]
    pub spec: ResourceQuotaSpec,
    /// Totals enforced and in use.
    #[k8s(proto = 3, optional)]
    pub status: ResourceQuotaStatus,
}

/// A list of ResourceQuotas.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourceQuotaList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The ResourceQuota objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<ResourceQuota>,
}
