//! Types of `flowcontrol.apiserver.k8s.io/v1beta3`: priority and fairness of requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, same_as};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        ConditionStatus, ExemptPriorityLevelConfiguration, FlowDistinguisherMethod, FlowDistinguisherMethodType,
        FlowSchema, FlowSchemaList, FlowSchemaSpec, FlowSchemaStatus, GroupSubject, LimitResponseType,
        PriorityLevelConfiguration, PriorityLevelConfigurationList, PriorityLevelConfigurationStatus,
        PriorityLevelEnablement, QueuingConfiguration, ServiceAccountSubject, SubjectKind, UserSubject
    }
}

/// Points at a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationReference {
    /// Name of the priority level.
    #[k8s(proto = 1, always)]
    pub name: String,
}

/// Combination of callers and requests; one of each must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PolicyRulesWithSubjects {
    /// Callers this rule applies to.
    #[k8s(proto = 1, always, list_type = atomic)]
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
pub struct Subject {
    /// Which of the three fields is filled.
    #[k8s(proto = 1, always)]
    pub kind: SubjectKind,
    /// Match by user name.
    #[k8s(proto = 2, optional)]
    pub user: Option<UserSubject>,
    /// Match by group membership.
    #[k8s(proto = 3, optional)]
    pub group: Option<GroupSubject>,
    /// Match by service account.
    #[k8s(proto = 4, optional)]
    pub service_account: Option<ServiceAccountSubject>,
}

/// Requests for resources; every listed aspect must match.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ResourcePolicyRule {
    /// Actions matched; `*` alone means all.
    #[k8s(proto = 1, always, list_type = set)]
    pub verbs: Vec<String>,
    /// API groups matched; `*` alone means all.
    #[k8s(proto = 2, always, list_type = set)]
    pub api_groups: Vec<String>,
    /// Resources matched, in lower-case plural; `*` alone means all.
    #[k8s(proto = 3, always, list_type = set)]
    pub resources: Vec<String>,
    /// Whether requests without a namespace match as well.
    #[k8s(proto = 4, optional)]
    pub cluster_scope: bool,
    /// Namespaces matched; `*` means all, empty means none.
    #[k8s(proto = 5, optional, always, list_type = set)]
    pub namespaces: Vec<String>,
}

/// Requests for URL paths outside the resource API.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NonResourcePolicyRule {
    /// HTTP methods matched, in lower case; `*` alone means all.
    #[k8s(proto = 1, always, list_type = set)]
    pub verbs: Vec<String>,
    /// Paths matched; a trailing `/*` covers everything below.
    #[k8s(proto = 6, name = "nonResourceURLs", always, list_type = set)]
    pub non_resource_urls: Vec<String>,
}

/// One observation on a flow schema.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaCondition {
    /// Aspect described.
    #[k8s(proto = 1)]
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

/// Whether and how a level limits its requests.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationSpec {
    /// Limited for levels with restrictions, Exempt for levels without.
    #[k8s(proto = 1, always)]
    pub r#type: PriorityLevelEnablement,
    /// Limits of a Limited level.
    #[k8s(proto = 2, optional)]
    pub limited: Option<LimitedPriorityLevelConfiguration>,
    /// Capacity accounting of an Exempt level.
    #[k8s(proto = 3, optional)]
    pub exempt: Option<ExemptPriorityLevelConfiguration>,
}

/// Limits for requests of a level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitedPriorityLevelConfiguration {
    /// Weight for dividing server concurrency among levels; 30 when unset.
    #[k8s(proto = 1, optional, always)]
    pub nominal_concurrency_shares: i32,
    /// What becomes of requests that cannot run at once.
    #[k8s(proto = 2)]
    pub limit_response: LimitResponse,
    /// Part of the level's capacity other levels may use, in percent.
    #[k8s(proto = 3, optional, default = 0)]
    pub lendable_percent: Option<i32>,
    /// Most it may take from others, in percent of its own; unlimited when unset.
    #[k8s(proto = 4, optional)]
    pub borrowing_limit_percent: Option<i32>,
}

/// What becomes of requests that cannot run at once.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitResponse {
    /// Either Queue or Reject.
    #[k8s(proto = 1, always)]
    pub r#type: LimitResponseType,
    /// Queue settings; only together with type Queue.
    #[k8s(proto = 2, optional)]
    pub queuing: Option<QueuingConfiguration>,
}

/// Aspect of a priority level reported by a condition.
pub type PriorityLevelConfigurationConditionType = String;

/// One observation on a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationCondition {
    /// Aspect described.
    #[k8s(proto = 1)]
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
