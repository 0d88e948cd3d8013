//! Types of `flowcontrol.apiserver.k8s.io/v1`: priority and fairness of requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, string_type};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

/// Sorts incoming API requests into flows and a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "flowcontrol.apiserver.k8s.io", plural = "flowschemas", cluster))]
pub struct FlowSchema {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Requests matched and the level they go to.
    #[k8s(proto = 2, optional)]
    pub spec: FlowSchemaSpec,
    /// Problems with the schema.
    #[k8s(proto = 3, optional)]
    pub status: FlowSchemaStatus,
}

/// Collection of flow schemas.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The FlowSchema objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<FlowSchema>,
}

/// Which requests belong here and how they are treated.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaSpec {
    /// Priority level that handles the matched requests.
    #[k8s(proto = 1, always)]
    pub priority_level_configuration: PriorityLevelConfigurationReference,
    /// Order among schemas, 1 to 10000; the lowest number matching wins; 1000 when unset.
    #[k8s(
        proto = 2,
        optional,
        always,
        default = 1000,
        message(invalid = "must be a positive value")(minimum = 1),
        message(invalid = "must not be greater than 10000")(maximum = 10000)
    )]
    pub matching_precedence: i32,
    /// How matched requests are split into flows; a single flow when unset.
    #[k8s(proto = 3, optional)]
    pub distinguisher_method: Option<FlowDistinguisherMethod>,
    /// Requests matched; any one rule suffices.
    #[k8s(proto = 4, optional, list_type = atomic)]
    pub rules: Vec<PolicyRulesWithSubjects>,
}

string_type! {
    /// Property that separates requests into flows.
    pub FlowDistinguisherMethodType {
        /// One flow for each user.
        BY_USER = "ByUser",
        /// One flow for each namespace of the requested object.
        BY_NAMESPACE = "ByNamespace",
    }
}

/// How requests are separated into flows.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowDistinguisherMethod {
    /// Property used, ByUser or ByNamespace.
    #[k8s(proto = 1, always)]
    pub r#type: FlowDistinguisherMethodType,
}

/// Points at a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationReference {
    /// Name of the priority level.
    #[k8s(proto = 1, always, required = "must reference a priority level", format = "dns1123-subdomain")]
    pub name: String,
}

/// Combination of callers and requests; one of each must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyRulesWithSubjects {
    /// Callers this rule applies to.
    #[k8s(proto = 1, always, list_type = atomic, required = "subjects must contain at least one value")]
    pub subjects: Vec<Subject>,
    /// Requests for resources to match.
    #[k8s(proto = 2, optional, list_type = atomic)]
    pub resource_rules: Vec<ResourcePolicyRule>,
    /// Requests for plain URL paths to match.
    #[k8s(proto = 3, optional, list_type = atomic)]
    pub non_resource_rules: Vec<NonResourcePolicyRule>,
}

/// Caller, given as user, group or service account.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union = "kind")]
pub struct Subject {
    /// Which of the three fields is filled.
    #[k8s(proto = 1, always)]
    pub kind: SubjectKind,
    /// Match by user name.
    #[k8s(proto = 2, optional, opaque_type, when(kind = "User")(subfield(name)(required)))]
    pub user: Option<UserSubject>,
    /// Match by group membership.
    #[k8s(proto = 3, optional, opaque_type, when(kind = "Group")(subfield(name)(required)))]
    pub group: Option<GroupSubject>,
    /// Match by service account.
    #[k8s(
        proto = 4,
        optional,
        opaque_type,
        when(kind = "ServiceAccount")(subfield(name)(required, unless(name = "*")(format = "dns1123-subdomain")), subfield(namespace)(required = "must specify namespace for service account", format = "dns1123-label"))
    )]
    pub service_account: Option<ServiceAccountSubject>,
}

string_type! {
    /// Type of caller.
    pub SubjectKind {
        /// Single user.
        USER = "User",
        /// All members of a group.
        GROUP = "Group",
        /// Service account.
        SERVICE_ACCOUNT = "ServiceAccount",
    }
}

/// Caller given by user name.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct UserSubject {
    /// User name, or `*` for everyone.
    #[k8s(proto = 1, always)]
    pub name: String,
}

/// Callers given by group.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GroupSubject {
    /// Group name, or `*` for any group.
    #[k8s(proto = 1, always)]
    pub name: String,
}

/// Callers given by service account.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceAccountSubject {
    /// Namespace of the service account.
    #[k8s(proto = 1, always)]
    pub namespace: String,
    /// Service account name, or `*` for all in the namespace.
    #[k8s(proto = 2, always)]
    pub name: String,
}

/// Requests for resources; every listed aspect must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePolicyRule {
    /// Actions matched; `*` alone means all.
    #[k8s(proto = 1, always, list_type = set, required = "verbs must contain at least one value")]
    pub verbs: Vec<String>,
    /// API groups matched; `*` alone means all.
    #[k8s(proto = 2, always, list_type = set, required = "resource rules must supply at least one api group")]
    pub api_groups: Vec<String>,
    /// Resources matched, in lower-case plural; `*` alone means all.
    #[k8s(proto = 3, always, list_type = set, required = "resource rules must supply at least one resource")]
    pub resources: Vec<String>,
    /// Whether requests without a namespace match as well.
    #[k8s(proto = 4, optional)]
    pub cluster_scope: bool,
    /// Namespaces matched; `*` means all, empty means none.
    #[k8s(
        proto = 5,
        published = optional,
        always,
        list_type = set,
        when(clusterScope = "false")(required = "resource rules that are not cluster scoped must supply at least one namespace")
    )]
    pub namespaces: Vec<String>,
}

/// Requests for URL paths outside the resource API.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NonResourcePolicyRule {
    /// HTTP methods matched, in lower case; `*` alone means all.
    #[k8s(proto = 1, always, list_type = set, required = "verbs must contain at least one value")]
    pub verbs: Vec<String>,
    /// Paths matched; a trailing `/*` covers everything below.
    #[k8s(
        proto = 6,
        name = "nonResourceURLs",
        always,
        list_type = set,
        required = "nonResourceURLs must contain at least one value"
    )]
    pub non_resource_urls: Vec<String>,
}

/// Observed state of a flow schema.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaStatus {
    /// Latest observations on the schema.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type",
        distinct_with_absent(type)
    )]
    pub conditions: Vec<FlowSchemaCondition>,
}

/// One observation on a flow schema.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaCondition {
    /// Aspect described.
    #[k8s(proto = 1, published = optional, required)]
    pub r#type: FlowSchemaConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2)]
    pub status: ConditionStatus,
    /// When the status last flipped.
    #[k8s(proto = 3)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 4)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 5)]
    pub message: String,
}

/// Aspect of a flow schema reported by a condition.
pub type FlowSchemaConditionType = String;

/// Share of server capacity set aside for certain requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(resource(group = "flowcontrol.apiserver.k8s.io", plural = "prioritylevelconfigurations", cluster))]
pub struct PriorityLevelConfiguration {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard object metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ObjectMeta,
    /// Capacity and queuing of the level.
    #[k8s(proto = 2, optional)]
    pub spec: PriorityLevelConfigurationSpec,
    /// Problems with the level.
    #[k8s(proto = 3, optional)]
    pub status: PriorityLevelConfigurationStatus,
}

/// Collection of priority levels.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationList {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Standard list metadata.
    #[k8s(proto = 1, optional)]
    pub metadata: ListMeta,
    /// The PriorityLevelConfiguration objects in the list.
    #[k8s(proto = 2, always)]
    pub items: Vec<PriorityLevelConfiguration>,
}

/// Whether and how a level limits its requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union = "type")]
pub struct PriorityLevelConfigurationSpec {
    /// Limited for levels with restrictions, Exempt for levels without.
    #[k8s(proto = 1, always, enum)]
    pub r#type: PriorityLevelEnablement,
    /// Limits of a Limited level.
    #[k8s(
        proto = 2,
        published = optional,
        when(type = "Limited")(required = "must not be empty when type is Limited")
    )]
    pub limited: Option<LimitedPriorityLevelConfiguration>,
    /// Capacity accounting of an Exempt level.
    #[k8s(proto = 3, optional, when(type = "Limited")(forbidden = "must be nil if the type is Limited"))]
    pub exempt: Option<ExemptPriorityLevelConfiguration>,
}

string_type! {
    /// Whether a level restricts its requests.
    pub PriorityLevelEnablement {
        /// Requests run at once, never waiting.
        EXEMPT = "Exempt",
        /// Requests run within limits and may wait.
        LIMITED = "Limited",
    }
}

/// Limits for requests of a level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitedPriorityLevelConfiguration {
    /// Weight for dividing server concurrency among levels; 30 when unset.
    #[k8s(proto = 1, optional, always, default = 30, message(invalid = "must be a non-negative integer")(minimum = 0))]
    pub nominal_concurrency_shares: Option<i32>,
    /// What becomes of requests that cannot run at once.
    #[k8s(proto = 2)]
    pub limit_response: LimitResponse,
    /// Part of the level's capacity other levels may use, in percent.
    #[k8s(
        proto = 3,
        optional,
        default = 0,
        message(invalid = "must be between 0 and 100, inclusive")(minimum = 0, maximum = 100)
    )]
    pub lendable_percent: Option<i32>,
    /// Most it may take from others, in percent of its own; unlimited when unset.
    #[k8s(proto = 4, optional, message(invalid = "if specified, must be a non-negative integer")(minimum = 0))]
    pub borrowing_limit_percent: Option<i32>,
}

/// Capacity accounting for a level without limits.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExemptPriorityLevelConfiguration {
    /// Weight counted for this level when dividing concurrency; 0 when unset.
    #[k8s(proto = 1, optional, default = 0, message(invalid = "must be a non-negative integer")(minimum = 0))]
    pub nominal_concurrency_shares: Option<i32>,
    /// Part of the level's capacity other levels may use, in percent.
    #[k8s(
        proto = 2,
        optional,
        default = 0,
        message(invalid = "must be between 0 and 100, inclusive")(minimum = 0, maximum = 100)
    )]
    pub lendable_percent: Option<i32>,
}

/// What becomes of requests that cannot run at once.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(union = "type")]
pub struct LimitResponse {
    /// Either Queue or Reject.
    #[k8s(proto = 1, always, enum)]
    pub r#type: LimitResponseType,
    /// Queue settings; only together with type Queue.
    #[k8s(
        proto = 2,
        published = optional,
        when(type = "Reject")(forbidden = "must be nil if limited.limitResponse.type is not Limited"),
        when(type = "Queue")(required = "must not be empty if limited.limitResponse.type is Limited")
    )]
    pub queuing: Option<QueuingConfiguration>,
}

string_type! {
    /// Fate of requests beyond the limit.
    pub LimitResponseType {
        /// Wait in a queue until capacity frees up.
        QUEUE = "Queue",
        /// Answered at once with 429.
        REJECT = "Reject",
    }
}

/// Queues of a level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct QueuingConfiguration {
    /// Number of queues; more of them separate flows better. 64 when unset.
    #[k8s(
        proto = 1,
        optional,
        always,
        default = 64,
        message(invalid = "must be positive")(minimum = 1),
        message(invalid = "must not be greater than 10000000")(maximum = 10000000)
    )]
    pub queues: i32,
    /// Queues considered for each flow before the shortest is taken; 8 when unset.
    #[k8s(proto = 2, optional, always, default = 8, message(invalid = "must be positive")(minimum = 1))]
    pub hand_size: i32,
    /// Requests one queue may hold before new ones are rejected; 50 when unset.
    #[k8s(proto = 3, optional, always, default = 50, message(invalid = "must be positive")(minimum = 1))]
    pub queue_length_limit: i32,
}

/// Aspect of a priority level reported by a condition.
pub type PriorityLevelConfigurationConditionType = String;

/// Observed state of a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationStatus {
    /// Latest observations on the level.
    #[k8s(
        proto = 1,
        optional,
        list_type = map,
        list_map_keys("type"),
        patch_strategy = "merge",
        patch_merge_key = "type",
        distinct_with_absent(type)
    )]
    pub conditions: Vec<PriorityLevelConfigurationCondition>,
}

/// One observation on a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationCondition {
    /// Aspect described.
    #[k8s(proto = 1, published = optional, required)]
    pub r#type: PriorityLevelConfigurationConditionType,
    /// True, False or Unknown.
    #[k8s(proto = 2)]
    pub status: ConditionStatus,
    /// When the status last flipped.
    #[k8s(proto = 3)]
    pub last_transition_time: Time,
    /// One-word cause of the latest change.
    #[k8s(proto = 4)]
    pub reason: String,
    /// Explanation for people.
    #[k8s(proto = 5)]
    pub message: String,
}

string_type! {
    /// Truth value of a condition.
    pub ConditionStatus {
        /// The condition holds.
        TRUE = "True",
        /// The condition does not hold.
        FALSE = "False",
        /// It is unknown whether the condition holds.
        UNKNOWN = "Unknown",
    }
}
