//! Versions of this group that are registered and not served: objects may have been stored in them by an older
//! kube-apiserver. Each leads to the storage version, fields that nothing reads any more excepted.

use pintle_resource::Unserved;
use pintle_types as types;

pub(crate) static POD_DISRUPTION_BUDGETS: &[Unserved] = &[Unserved::converted::<
    types::policy::v1beta1::PodDisruptionBudget,
>("policy/v1beta1", super::disruption_budget_from_v1beta1)];
