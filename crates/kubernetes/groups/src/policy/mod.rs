//! The `policy` group: disruption budgets.
//!
//! Tables of its resources and their strategies.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use pintle_resource::{
    Group, NameRule, Resource, SPEC_PATHS, STATUS, Storage, Strategy, Subresource, Unserved, WITH_STATUS,
};
use pintle_schema::{Str, Value, ViewMut};
use pintle_types::meta::v1::{LabelSelector, LabelSelectorOperator, LabelSelectorRequirement};
use pintle_types::policy::{v1, v1beta1};

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("policy"),
        priority: Some(17100),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![pod_disruption_budgets()]),
        internal: Vec::new(),
    }
}

static POD_DISRUPTION_BUDGET: Strategy =
    Strategy { name: NameRule::PathSegment, unconditional_update: false, generation: Some(SPEC_PATHS), ..WITH_STATUS };

fn pod_disruption_budgets() -> Resource {
    Resource {
        storage: Some(Storage::of::<v1::PodDisruptionBudget>()),
        subresources: vec![Subresource::status::<v1::PodDisruptionBudget>(&STATUS)],
        strategy: &POD_DISRUPTION_BUDGET,
        printer: printer(&columns::POD_DISRUPTION_BUDGET),
        unserved: vec![Unserved::converted::<v1beta1::PodDisruptionBudget>(disruption_budget_from_v1beta1)],
        ..Resource::of::<v1::PodDisruptionBudget>()
    }
}

/// Means "all" or "none" in selectors of v1beta1, where an empty selector matches no pod.
const EMPTY_MATCH: &str = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";

/// From v1beta1: an empty selector matches nothing there, and all pods in the storage version.
pub(crate) fn disruption_budget_from_v1beta1(object: &mut Value) {
    type Budget = v1::PodDisruptionBudget;
    let spec = ViewMut::<Budget>::new(object).field(Budget::SPEC);
    let field = spec.field(v1::PodDisruptionBudgetSpec::SELECTOR);
    let Some(mut selector) = field.view().get() else { return };
    let is_marker = |wanted| {
        move |it: &LabelSelectorRequirement| it.key == EMPTY_MATCH && it.operator == wanted && it.values.is_empty()
    };
    match (selector.match_labels.is_empty(), &selector.match_expressions[..]) {
        (true, []) => selector.match_expressions.push(LabelSelectorRequirement {
            key: EMPTY_MATCH.to_owned(),
            operator: LabelSelectorOperator::EXISTS,
            ..Default::default()
        }),
        (true, [only]) if is_marker(LabelSelectorOperator::DOES_NOT_EXIST)(only) => selector = LabelSelector::default(),
        _ => selector.match_expressions.retain(|it| it.key != EMPTY_MATCH),
    }
    field.set(Some(selector));
}
