//! Handwritten rules of the policy group.
use crate::rules::condition;
use pintle_schema::ApiType;
use pintle_types::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetStatus};
use pintle_validation::{CustomRule, Group, KindRules, Step, at_field};

/// The group's kinds whose steps are not the usual ones, and its rules.
pub static GROUP: Group = Group { kinds: KINDS, custom_rules: RULES };

/// kube-apiserver validates budgets without their metadata.
static KINDS: &[KindRules] = &[KindRules {
    create: &[Step::Rules],
    update: &[Step::Rules],
    parts: &[("status", &[Step::Rules])],
    ..KindRules::of(PodDisruptionBudget::schema)
}];

static RULES: &[CustomRule] = &[at_field!(PodDisruptionBudgetStatus::CONDITIONS, condition::conditions)];
