//! Types of `flowcontrol.apiserver.k8s.io/v1beta2`: priority and fairness of requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time, same_as};

use crate::meta::v1::{ListMeta, ObjectMeta, TypeMeta};

same_as! {
    super::v1::{
        ConditionStatus, ExemptPriorityLevelConfiguration, FlowDistinguisherMethod, FlowDistinguisherMethodType,
        FlowSchema, FlowSchemaList, FlowSchemaSpec, GroupSubject, LimitResponseType, PriorityLevelConfiguration,
        PriorityLevelConfigurationList, PriorityLevelEnablement, QueuingConfiguration, ServiceAccountSubject,
        SubjectKind, UserSubject
    }
}

same_as! {
    super::v1beta3::{
        FlowSchemaCondition, LimitResponse, NonResourcePolicyRule, PolicyRulesWithSubjects,
        PriorityLevelConfigurationCondition, PriorityLevelConfigurationReference, PriorityLevelConfigurationSpec,
        ResourcePolicyRule, Subject
    }
}

/// Observed state of a flow schema.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct FlowSchemaStatus {
    /// Latest observations on the schema.
    #[k8s(proto = 1, optional, list_type = map, list_map_keys("type"))]
    pub conditions: Vec<FlowSchemaCondition>,
}

/// Aspect of a flow schema reported by a condition.
pub type FlowSchemaConditionType = String;

/// Limits for requests of a level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LimitedPriorityLevelConfiguration {
    /// Weight for dividing server concurrency, under its older name.
    #[k8s(proto = 1, optional, always, default = 30)]
    pub assured_concurrency_shares: i32,
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

/// Aspect of a priority level reported by a condition.
pub type PriorityLevelConfigurationConditionType = String;

/// Observed state of a priority level.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PriorityLevelConfigurationStatus {
    /// Latest observations on the level.
    #[k8s(proto = 1, optional, list_type = map, list_map_keys("type"))]
    pub conditions: Vec<PriorityLevelConfigurationCondition>,
}
