//! Versions of this group that are registered but not served: an older kube-apiserver may have stored objects in them.
//! Each is converted to the storage version, without fields that are no longer used.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static POD_DISRUPTION_BUDGETS: &[Unserved] = &[Unserved::converted::<
    types::policy::v1beta1::PodDisruptionBudget,
>("policy/v1beta1", super::disruption_budget_from_v1beta1)];
