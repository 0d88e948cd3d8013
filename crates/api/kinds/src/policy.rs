//! The `policy` group: disruption budgets.
//!
//! Tables of its resources and their strategies, nothing that runs by itself.

use crate::resource::{Resource, Storage, Subresource};
use crate::strategy::{NameRule, SPEC_PATHS, STATUS, Strategy, WITH_STATUS};
use pintle_types::policy::v1;

pub(crate) static RESOURCES: &[&Resource] = &[&POD_DISRUPTION_BUDGETS];

static POD_DISRUPTION_BUDGET: Strategy =
    Strategy { name: NameRule::PathSegment, unconditional_update: false, generation: Some(SPEC_PATHS), ..WITH_STATUS };

static POD_DISRUPTION_BUDGETS: Resource = Resource {
    short_names: &["pdb"],
    storage: Some(Storage::of::<v1::PodDisruptionBudget>(
        "policy/v1",
        "PodDisruptionBudget",
        "/registry/poddisruptionbudgets/",
        "EVWiDmWqyJw=",
    )),
    subresources: &[Subresource::status::<v1::PodDisruptionBudget>("PodDisruptionBudget", &STATUS)],
    strategy: &POD_DISRUPTION_BUDGET,
    ..Resource::namespaced::<v1::PodDisruptionBudget>(
        "policy",
        "v1",
        "poddisruptionbudgets",
        "poddisruptionbudget",
        "PodDisruptionBudget",
    )
};
