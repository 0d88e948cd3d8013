//! Expressions over requests, for admission policies and for match conditions of webhooks and authorizers. Guarantees that an
//! expression is compiled once, that evaluation stays within a budget, and that error messages are kube-apiserver's. Must never
//! keep data of a request, and never read objects other than its inputs.

mod condition;
mod condition_metrics;
mod environments;
mod evaluation;
mod expression;
mod request;
mod request_authorizer;

pub use condition::{MatchConditions, Matched};
pub use condition_metrics::{ConditionMetrics, ConditionOwner, ConditionOwnerKey, ConditionStats};
pub use environments::{Mode, environment};
pub use evaluation::{Budget, Evaluation, Inputs, OutOfBudget, evaluate_all};
pub use expression::{CompileFault, Expression, FaultKind, PolicyVariables};
pub use request::RequestFacts;
pub use request_authorizer::RequestAuthorizer;

/// The cost limit of one expression, or one variable of a policy.
pub const CALL_LIMIT: u64 = 1_000_000;
/// The cost limit of all expressions of one kind (validations, messages, audit annotations, one mutation) for a request.
pub const BUDGET: u64 = 10_000_000;
/// The cost limit of all match conditions of one policy or webhook for a request.
pub const MATCH_CONDITIONS_BUDGET: u64 = BUDGET / 4;
