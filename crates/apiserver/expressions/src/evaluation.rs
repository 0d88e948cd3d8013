//! Evaluating expressions for a request: their variables, and a budget that they share.
//! Guarantees that a variable is evaluated once for a list of expressions and only when one uses it, that variables may refer
//! to one another in any number without nesting on the stack, and that objects are read in place.

use crate::expression::{Expression, PolicyVariables};
use crate::{CALL_LIMIT, RequestAuthorizer, RequestFacts};
use pintle_cel::library::authorization::Resource;
use pintle_cel::value::Opaque;
use pintle_cel::{EvalError, Program, Type, Value, Variables};
use pintle_schema::{Str, Value as Data};
use std::cell::{Cell, OnceCell};
use std::sync::OnceLock;

/// How deep the evaluation of a variable may be within that of another. Beyond, it is evaluated first and the outer evaluation is
/// repeated, so that the stack bounds nothing.
const MAX_NESTED: u32 = 2;

/// The variables of expressions. `None` becomes null.
pub struct Inputs<'a> {
    pub object: Option<&'a Data>,
    pub old_object: Option<&'a Data>,
    pub namespace: Option<&'a Data>,
    pub params: Option<&'a Data>,
    facts: RequestFacts<'a>,
    /// Made when an expression reads it first.
    request: OnceLock<Data>,
}

impl<'a> Inputs<'a> {
    /// Inputs of a request without objects.
    pub fn new(facts: RequestFacts<'a>) -> Self {
        Inputs { object: None, old_object: None, namespace: None, params: None, facts, request: OnceLock::new() }
    }

    /// The request.
    pub fn facts(&self) -> &RequestFacts<'a> {
        &self.facts
    }

    fn request(&self) -> &Data {
        self.request.get_or_init(|| self.facts.to_value())
    }

    /// The resource that the request itself is about.
    fn resource(&self) -> Resource {
        let RequestFacts { request_resource: [group, _, plural], subresource, namespace, name, .. } = self.facts;
        let text = Str::from;
        Resource {
            group: text(group),
            resource: text(plural),
            subresource: text(subresource),
            namespace: text(namespace),
            name: text(name),
            ..Resource::default()
        }
    }
}

/// The remaining cost that expressions share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(pub u64);

/// Expressions cost more together than they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("validation failed due to running out of cost budget, no further validation rules will be run")]
pub struct OutOfBudget;

/// The result of an expression: its value, or the error message.
pub type Evaluation<'a> = Result<Value<'a>, String>;

/// Evaluates expressions in order. `None` stands for an absent one. Without an authorizer, expressions cannot refer to it.
///
/// # Errors
/// The budget is exceeded.
pub async fn evaluate_all<'a>(
    expressions: impl Iterator<Item = Option<&'a Expression>> + Clone,
    variables: &'a PolicyVariables,
    inputs: &'a Inputs<'a>,
    answers: Option<&RequestAuthorizer<'_>>,
    budget: &mut Budget,
) -> Result<Vec<Option<Evaluation<'a>>>, OutOfBudget> {
    loop {
        let mut left = *budget;
        let outcome = evaluate_round(expressions.clone(), variables, inputs, answers, &mut left);
        // An evaluation with missing decisions is discarded.
        if let Some(answers) = answers
            && answers.fetch().await
        {
            continue;
        }
        *budget = left;
        return outcome;
    }
}

fn evaluate_round<'a>(
    expressions: impl Iterator<Item = Option<&'a Expression>>,
    variables: &'a PolicyVariables,
    inputs: &'a Inputs<'a>,
    answers: Option<&RequestAuthorizer<'_>>,
    budget: &mut Budget,
) -> Result<Vec<Option<Evaluation<'a>>>, OutOfBudget> {
    let activation = Activation::new(variables, inputs, answers);
    expressions
        .map(|expression| expression.map(|expression| activation.evaluate(expression, budget)).transpose())
        .collect()
}

/// The values of variables for one list of expressions.
struct Activation<'a, 'v> {
    variables: &'a PolicyVariables,
    inputs: &'a Inputs<'a>,
    answers: Option<&'v RequestAuthorizer<'v>>,
    computed: Vec<OnceCell<Result<Value<'a>, EvalError>>>,
    /// The cost of variables since the last call.
    cost: Cell<u64>,
    nested: Cell<u32>,
    /// The variable that has to be evaluated first.
    awaited: Cell<Option<usize>>,
}

impl<'a, 'v> Activation<'a, 'v> {
    fn new(variables: &'a PolicyVariables, inputs: &'a Inputs<'a>, answers: Option<&'v RequestAuthorizer<'v>>) -> Self {
        Activation {
            variables,
            inputs,
            answers,
            computed: vec![OnceCell::new(); variables.len()],
            cost: Cell::new(0),
            nested: Cell::new(0),
            awaited: Cell::new(None),
        }
    }

    fn evaluate(&self, expression: &'a Expression, budget: &mut Budget) -> Result<Evaluation<'a>, OutOfBudget> {
        let program = match expression.program() {
            Ok(program) => program,
            Err(fault) => return Ok(Err(format!("compilation error: {fault}"))),
        };
        let (value, cost) = self.run(program);
        let cost = cost.saturating_add(self.cost.take());
        budget.0 = budget.0.checked_sub(cost).ok_or(OutOfBudget)?;
        Ok(value.map_err(|error| format!("expression '{}' resulted in error: {error}", expression.text())))
    }

    /// Evaluates a program, and before it the variables that lie too deep.
    fn run(&self, program: &'a Program) -> (Result<Value<'a>, EvalError>, u64) {
        let mut awaited: Vec<usize> = Vec::new();
        loop {
            match awaited.last() {
                None => {
                    let evaluated = program.evaluate(self, CALL_LIMIT);
                    match self.awaited.take() {
                        None => return (evaluated.value, evaluated.cost),
                        Some(at) => awaited.push(at),
                    }
                }
                Some(at) => {
                    let value = self.compute(*at);
                    match self.awaited.take() {
                        // Variables refer to earlier ones only, so this ends.
                        Some(deeper) => awaited.push(deeper),
                        None => {
                            self.store(*at, value);
                            awaited.pop();
                        }
                    }
                }
            }
        }
    }

    fn store(&self, at: usize, (value, cost): (Result<Value<'a>, EvalError>, u64)) {
        self.cost.set(self.cost.get().saturating_add(cost));
        if let Some(cell) = self.computed.get(at) {
            let _ = cell.set(value);
        }
    }

    /// Evaluates a variable.
    fn compute(&self, at: usize) -> (Result<Value<'a>, EvalError>, u64) {
        let Some((name, expression)) = self.variables.get(at) else { return (Err(EvalError::no_overload()), 0) };
        let failed = |what: &str, why: &dyn std::fmt::Display| {
            Err(EvalError::new(format!(
                "composited variable {} fails to {what}: {why}",
                pintle_schema::names::quoted(name)
            )))
        };
        match expression.program() {
            Err(fault) => (failed("compile", fault), 0),
            Ok(program) => {
                let evaluated = program.evaluate(self, CALL_LIMIT);
                (evaluated.value.or_else(|error| failed("evaluate", &error)), evaluated.cost)
            }
        }
    }

    /// The value of a variable of the policy, evaluated if it is not yet.
    fn policy_variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        let at = self.variables.position(name)?;
        let cell = self.computed.get(at)?;
        if let Some(known) = cell.get() {
            return Some(known.clone());
        }
        if self.nested.get() >= MAX_NESTED {
            self.awaited.set(self.awaited.get().or(Some(at)));
        }
        if self.awaited.get().is_some() {
            // The evaluation is repeated, whatever it makes of this.
            return Some(Err(EvalError::CostExceeded));
        }
        self.nested.set(self.nested.get() + 1);
        let computed = self.compute(at);
        self.nested.set(self.nested.get() - 1);
        if self.awaited.get().is_some() {
            return Some(Err(EvalError::CostExceeded));
        }
        self.store(at, computed);
        cell.get().cloned()
    }

    fn nullable(data: Option<&'a Data>) -> Value<'a> {
        data.map_or(Value::Null, Value::of_undeclared)
    }
}

/// The variable `variables`, of which only the fields are values.
#[derive(Debug)]
struct AllVariables;

impl Opaque for AllVariables {
    fn type_name(&self) -> &'static str {
        "kubernetes.variables"
    }

    fn type_of(&self) -> Type {
        Type::object(self.type_name())
    }

    fn equals(&self, _: &dyn Opaque) -> bool {
        false
    }

    fn as_any(&self) -> &dyn std::any::Any {
        self
    }
}

impl<'a> Variables<'a> for Activation<'a, '_> {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        Some(match name {
            "object" => Ok(Self::nullable(self.inputs.object)),
            "oldObject" => Ok(Self::nullable(self.inputs.old_object)),
            "params" => Ok(Self::nullable(self.inputs.params)),
            "namespaceObject" => Ok(Self::nullable(self.inputs.namespace)),
            "request" => Ok(Value::of_undeclared(self.inputs.request())),
            "variables" => Ok(Value::opaque(AllVariables)),
            "authorizer" => Ok(self.answers?.variable()),
            "authorizer.requestResource" => Ok(self.answers?.request_resource(self.inputs.resource())),
            _ => return None,
        })
    }

    fn field(&self, name: &str, field: &str) -> Option<Option<Result<Value<'a>, EvalError>>> {
        (name == "variables").then(|| self.policy_variable(field))
    }
}
