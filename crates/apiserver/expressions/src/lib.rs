//! Expressions over requests, as admission policies and match conditions of webhooks and authorizers have them.
//! Guarantees that an expression is compiled once, that what is evaluated for a request stays within a budget, and that texts
//! of errors are kube-apiserver's.
//! Must never keep anything of a request, and never read objects other than those that it is given.

mod answers;
mod condition;
mod condition_metrics;
mod environments;
mod evaluation;
mod expression;
mod request;

pub use answers::Answers;
pub use condition::{MatchConditions, Matched};
pub use condition_metrics::{ConditionMetrics, ConditionOwner, ConditionOwnerKey, ConditionStats};
pub use environments::{Mode, environment};
pub use evaluation::{Budget, Evaluation, Inputs, OutOfBudget, evaluate_all};
pub use expression::{CompileFault, Expression, FaultKind, PolicyVariables};
pub use request::RequestFacts;

/// What one expression, or one variable of a policy, may cost.
pub const CALL_LIMIT: u64 = 1_000_000;
/// What the expressions of one kind (validations, messages, audit annotations, one mutation) may cost together for a request.
pub const BUDGET: u64 = 10_000_000;
/// What the match conditions of one policy or webhook may cost together for a request.
pub const MATCH_CONDITIONS_BUDGET: u64 = BUDGET / 4;
