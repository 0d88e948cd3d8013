//! Types of `flowcontrol.apiserver.k8s.io/v1beta1`: priority and fairness of requests.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{Time, same_as};

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

same_as! { super::v1beta2::{FlowSchemaStatus, LimitedPriorityLevelConfiguration, PriorityLevelConfigurationStatus} }

/// Aspect of a flow schema reported by a condition.
pub type FlowSchemaConditionType = String;

/// Aspect of a priority level reported by a condition.
pub type PriorityLevelConfigurationConditionType = String;
