//! Handwritten rules of the policy group.
use crate::rules::condition;
use pintle_schema::ApiType;
use pintle_types::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};
use pintle_validation::{CustomRule, FieldOrder, Group, KindRules, Pass, at_field, field_order};

/// The group's kinds whose passes are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES, orders: ORDERS, ..Group::NONE };

/// kube-apiserver validates budgets without their metadata.
static KINDS: &[KindRules] = &[KindRules {
    create: &[Pass::Rules],
    update: &[Pass::Rules],
    parts: &[("status", &[Pass::Rules])],
    ..KindRules::of(PodDisruptionBudget::schema)
}];

/// The types whose fields kube-apiserver validates in another order than that of the struct.
static ORDERS: &[FieldOrder] = &[
    field_order!(PodDisruptionBudgetSpec: [MIN_AVAILABLE, MAX_UNAVAILABLE]),
    field_order!(PodDisruptionBudgetStatus: [CONDITIONS]),
];

static RULES: &[CustomRule] = &[at_field!(PodDisruptionBudgetStatus::CONDITIONS, condition::conditions)];
