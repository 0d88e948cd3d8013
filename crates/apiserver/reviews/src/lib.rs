//! Authentication by TokenReviews and authorization by SubjectAccessReviews sent to another server: a webhook, or the API
//! server to which a server delegates. [`ReviewClient`] and [`ExpiringCache`] serve reviews of other kinds too. Guarantees that
//! a failed call never authenticates anybody, and allows nothing by itself. Must never keep a token: the token cache keeps
//! hashes.

mod access_review;
mod condition;
mod expiring;
mod review;
mod token_review;

pub use access_review::{AccessReviewConfig, AccessReviewStats, AccessReviews, CacheTimes, OnFailure};
pub use condition::{Condition, ConditionError};
pub use expiring::{ExpiringCache, Key};
pub use review::{ReviewClient, ReviewError, ReviewVersion};
pub use token_review::TokenReviews;
