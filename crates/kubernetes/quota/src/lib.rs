//! Resource quotas: the usage of objects, the quotas that apply to them, whether a request fits, and the usage of a namespace.
//! Guarantees kube-apiserver's amounts and messages. Admission and the controller use the same functions. Must never write:
//! callers store the computed usage.

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
pub use total::{Pause, used};
