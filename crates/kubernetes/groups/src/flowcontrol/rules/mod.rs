//! Handwritten rules of the group `flowcontrol.apiserver.k8s.io`.
//!
//! One file for each kind, and one for the mandatory objects of each; this one is the table.

mod fixed;
mod flow_schema;
mod priority_level;

use pintle_schema::ApiType;
use pintle_types::flowcontrol::v1::{
    FlowDistinguisherMethod, FlowSchema, FlowSchemaSpec, LimitResponse, NonResourcePolicyRule, PolicyRulesWithSubjects,
    PriorityLevelConfiguration, PriorityLevelConfigurationSpec, QueuingConfiguration, ResourcePolicyRule, Subject,
};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field, at_type};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Step::Metadata, Step::Rules],
        parts: &[("status", &[Step::Rules])],
        ..KindRules::of(FlowSchema::schema)
    },
    KindRules {
        update: &[Step::Metadata, Step::Rules],
        parts: &[("status", &[Step::Rules])],
        ..KindRules::of(PriorityLevelConfiguration::schema)
    },
];

static RULES: &[CustomRule] = &[
    at_field!(FlowSchema::SPEC, fixed::flow_schema, AFTER | ON_CREATE | ON_UPDATE),
    at_field!(FlowSchemaSpec::MATCHING_PRECEDENCE, flow_schema::only_exempt_is_first, AFTER),
    at_type!(FlowDistinguisherMethod, flow_schema::distinguisher),
    at_type!(PolicyRulesWithSubjects, flow_schema::some_rule, AFTER),
    at_type!(Subject, flow_schema::subject),
    at_type!(Subject, flow_schema::no_other_subject, AFTER),
    at_field!(ResourcePolicyRule::VERBS, flow_schema::verbs),
    at_field!(NonResourcePolicyRule::VERBS, flow_schema::verbs),
    at_field!(ResourcePolicyRule::API_GROUPS, flow_schema::api_groups),
    at_field!(ResourcePolicyRule::RESOURCES, flow_schema::resources),
    at_field!(ResourcePolicyRule::NAMESPACES, flow_schema::namespaces),
    at_field!(NonResourcePolicyRule::NON_RESOURCE_URLS, flow_schema::urls),
    at_type!(PriorityLevelConfiguration, priority_level::no_old_annotation),
    at_field!(PriorityLevelConfiguration::SPEC, priority_level::only_exempt_is_exempt),
    at_field!(PriorityLevelConfiguration::SPEC, fixed::priority_level, AFTER | ON_CREATE | ON_UPDATE),
    at_type!(QueuingConfiguration, priority_level::hand_size, AFTER),
    at_type!(LimitResponse, priority_level::queues_if_queuing, AFTER),
    at_type!(PriorityLevelConfigurationSpec, priority_level::only_its_own, AFTER),
];

#[cfg(test)]
mod tests;
