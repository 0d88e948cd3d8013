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
use pintle_validation::{
    CustomRule, FieldOrder, Group, KindRules, Pass, Skip, at_field, at_type, field_order, skip_inside,
};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, skips: SKIPS, ..Group::NONE };

static KINDS: &[KindRules] = &[
    KindRules {
        update: &[Pass::Metadata, Pass::Rules],
        parts: &[("status", &[Pass::Rules])],
        ..KindRules::of(FlowSchema::schema)
    },
    KindRules {
        update: &[Pass::Metadata, Pass::Rules],
        parts: &[("status", &[Pass::Rules])],
        ..KindRules::of(PriorityLevelConfiguration::schema)
    },
];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(FlowSchemaSpec: [MATCHING_PRECEDENCE, DISTINGUISHER_METHOD]),
    field_order!(PriorityLevelConfigurationSpec: [TYPE, EXEMPT]),
    field_order!(QueuingConfiguration: [QUEUE_LENGTH_LIMIT]),
];

static SKIPS: &[Skip] = &[
    skip_inside!(PriorityLevelConfigurationSpec::LIMITED, priority_level::is_not_limited),
    skip_inside!(PriorityLevelConfigurationSpec::EXEMPT, priority_level::is_not_exempt),
    skip_inside!(LimitResponse::QUEUING, priority_level::never_queues),
];

static RULES: &[CustomRule] = &[
    at_field!(FlowSchema::SPEC, fixed::flow_schema, phase = After, ON_CREATE | ON_UPDATE),
    at_field!(FlowSchemaSpec::MATCHING_PRECEDENCE, flow_schema::only_exempt_is_first, phase = After),
    at_type!(FlowDistinguisherMethod, flow_schema::distinguisher),
    at_type!(PolicyRulesWithSubjects, flow_schema::some_rule, phase = After),
    at_type!(Subject, flow_schema::subject),
    at_type!(Subject, flow_schema::no_other_subject, phase = After),
    at_field!(ResourcePolicyRule::VERBS, flow_schema::verbs),
    at_field!(NonResourcePolicyRule::VERBS, flow_schema::verbs),
    at_field!(ResourcePolicyRule::API_GROUPS, flow_schema::api_groups),
    at_field!(ResourcePolicyRule::RESOURCES, flow_schema::resources),
    at_field!(ResourcePolicyRule::NAMESPACES, flow_schema::namespaces),
    at_field!(NonResourcePolicyRule::NON_RESOURCE_URLS, flow_schema::urls),
    at_type!(PriorityLevelConfiguration, priority_level::no_old_annotation),
    at_field!(PriorityLevelConfiguration::SPEC, priority_level::only_exempt_is_exempt),
    at_field!(PriorityLevelConfiguration::SPEC, fixed::priority_level, phase = After, ON_CREATE | ON_UPDATE),
    at_type!(QueuingConfiguration, priority_level::hand_size, phase = After),
    at_type!(
        PriorityLevelConfigurationSpec,
        priority_level::exempt_has_no_limits,
        phase = BeforeField(&[PriorityLevelConfigurationSpec::EXEMPT.name()])
    ),
];

#[cfg(test)]
mod tests;
