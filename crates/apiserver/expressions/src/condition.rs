//! `MatchConditions`: expressions that narrow down for which requests a policy or a webhook acts.
//! Guarantees that a condition that is false decides, whatever errors others have.

use crate::condition_metrics::{ConditionMetrics, ConditionOwner};
use crate::evaluation::{Budget, Inputs, evaluate_all};
use crate::{Expression, MATCH_CONDITIONS_BUDGET, Mode, PolicyVariables, RequestAuthorizer};
use pintle_cel::environment::Policy;
use pintle_cel::{Environment, Type, Value};
use std::time::Instant;

/// Conditions by name, all of which must hold.
#[derive(Clone, Debug, Default)]
pub struct MatchConditions {
    list: Vec<(String, Expression)>,
    variables: PolicyVariables,
}

/// The result of match conditions for a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Matched<'c> {
    /// All hold.
    Yes,
    /// One does not: its name.
    No(&'c str),
    /// No condition is false, but some failed. The failure policy decides.
    Failed(String),
}

impl MatchConditions {
    /// Compiles the conditions of a webhook, given as names and texts.
    pub fn compile<'t>(conditions: impl IntoIterator<Item = (&'t str, &'t str)>, mode: Mode) -> MatchConditions {
        let environment = crate::environment(mode, Policy { has_authorizer: true, ..Policy::default() });
        Self::compile_in(conditions, environment, PolicyVariables::default())
    }

    /// Compiles the conditions of a policy, which may use its variables.
    pub fn compile_in<'t>(
        conditions: impl IntoIterator<Item = (&'t str, &'t str)>,
        environment: &Environment,
        variables: PolicyVariables,
    ) -> MatchConditions {
        let compile =
            |(name, text): (&str, &str)| (name.to_owned(), Expression::compile(text, environment, &[Type::Bool]));
        MatchConditions { list: conditions.into_iter().map(compile).collect(), variables }
    }

    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// The conditions by their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Expression)> {
        self.list.iter().map(|(name, expression)| (name.as_str(), expression))
    }

    /// Whether a request matches.
    pub async fn matches<'c>(&'c self, inputs: &'c Inputs<'c>, answers: &RequestAuthorizer<'_>) -> Matched<'c> {
        self.evaluate(inputs, answers).await.0
    }

    /// [`MatchConditions::matches`], which is counted.
    pub async fn matches_counted<'c>(
        &'c self,
        inputs: &'c Inputs<'c>,
        answers: &RequestAuthorizer<'_>,
        metrics: &ConditionMetrics,
        owner: &ConditionOwner<'_>,
    ) -> Matched<'c> {
        if self.list.is_empty() {
            return Matched::Yes;
        }
        let started = Instant::now();
        let (matched, errors) = self.evaluate(inputs, answers).await;
        metrics.note(owner, matches!(matched, Matched::No(_)), errors, started.elapsed());
        matched
    }

    /// Whether a request matches, and how many conditions had no value before that was known.
    async fn evaluate<'c>(&'c self, inputs: &'c Inputs<'c>, answers: &RequestAuthorizer<'_>) -> (Matched<'c>, usize) {
        if self.list.is_empty() {
            return (Matched::Yes, 0);
        }
        let mut budget = Budget(MATCH_CONDITIONS_BUDGET);
        let expressions = self.list.iter().map(|(_, expression)| Some(expression));
        let results = match evaluate_all(expressions, &self.variables, inputs, Some(answers), &mut budget).await {
            Ok(results) => results,
            // What ran out of budget as a whole is no error of a condition.
            Err(error) => return (Matched::Failed(error.to_string()), 0),
        };
        let mut errors = Vec::new();
        for ((name, _), result) in self.list.iter().zip(results) {
            match result {
                Some(Ok(Value::Bool(false))) => return (Matched::No(name), errors.len()),
                Some(Err(error)) => errors.push(error),
                _ => {}
            }
        }
        let count = errors.len();
        match count {
            0 => (Matched::Yes, 0),
            _ => (Matched::Failed(aggregate(errors)), count),
        }
    }
}

/// Errors as one: each text once.
fn aggregate(errors: Vec<String>) -> String {
    let mut distinct: Vec<String> = Vec::new();
    for error in errors {
        if !distinct.contains(&error) {
            distinct.push(error);
        }
    }
    match distinct.as_slice() {
        [one] => one.clone(),
        many => format!("[{}]", many.join(", ")),
    }
}
