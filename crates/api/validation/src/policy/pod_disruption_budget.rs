//! Rules of PodDisruptionBudget.

use crate::shown::in_full;
use pintle_types::policy::v1::PodDisruptionBudgetSpec;
use pintle_validation::{At, Cx};

/// A budget says how many pods stay or how many may go.
pub fn one_limit(spec: At<'_, PodDisruptionBudgetSpec>, cx: &mut Cx<'_>) {
    type Spec = PodDisruptionBudgetSpec;
    if spec.new.field(Spec::MIN_AVAILABLE).is_set() && spec.new.field(Spec::MAX_UNAVAILABLE).is_set() {
        let detail = "minAvailable and maxUnavailable cannot be both set";
        cx.errors.invalid(spec.path, in_full(spec.new), detail);
    }
}
