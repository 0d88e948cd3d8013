//! Resource quotas: what objects count for, which quotas they fall under, whether a request fits, and what a namespace uses.
//! Guarantees kube-apiserver's amounts and texts. Admission and the controller compute with the same functions.
//! Must never write: callers store the amounts that are computed here.

mod amounts;
mod check;
mod claims;
mod countable;
mod pods;
mod profile;
mod resource_claims;
mod scopes;
mod services;
mod total;

pub use amounts::{merge, same_amounts};
pub use check::{Limit, Refusal, Request, check};
pub use countable::Countable;
pub use pods::is_over as is_pod_over;
pub use profile::Profile;
pub use total::used;
