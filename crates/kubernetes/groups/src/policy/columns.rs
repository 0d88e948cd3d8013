//! Columns of the group `policy`.
//!
//! Limits, which are numbers or percentages, are printed as text.

use crate::printing::cells::*;
use crate::printing::{AGE, NAME, integer, printers, string};
use pintle_types::policy::v1::{PodDisruptionBudget, PodDisruptionBudgetSpec, PodDisruptionBudgetStatus};

printers! {
    POD_DISRUPTION_BUDGET: PodDisruptionBudget |budget, now| {
        NAME => name(budget),
        string("Min Available", "How many pods must stay.")
            => scalar_text_or(budget.to(PodDisruptionBudget::SPEC).to(PodDisruptionBudgetSpec::MIN_AVAILABLE), "N/A"),
        string("Max Unavailable", "How many pods may be missing.")
            => scalar_text_or(budget.to(PodDisruptionBudget::SPEC).to(PodDisruptionBudgetSpec::MAX_UNAVAILABLE), "N/A"),
        integer("Allowed Disruptions", "How many pods may be evicted now.")
            => number(budget.to(PodDisruptionBudget::STATUS).to(PodDisruptionBudgetStatus::DISRUPTIONS_ALLOWED)),
        AGE => age(budget, now),
    }
}
