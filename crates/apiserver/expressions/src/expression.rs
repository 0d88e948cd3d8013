//! `Expression`: a text and its program, or its error; `PolicyVariables`: named expressions that others use. Guarantees
//! kube-apiserver's error messages. Must never reject a policy because of one expression: its error is reported when it is
//! evaluated.

use pintle_cel::environment::Policy;
use pintle_cel::{Environment, Program, Type};

use crate::Mode;
use std::collections::HashMap;
use std::sync::Arc;

/// The cause of a compile error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// Its writer's.
    Invalid,
    /// A constant part of it has no value, which kube-apiserver takes for its own fault.
    Internal,
}

/// Why an expression is no program.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{detail}")]
pub struct CompileFault {
    pub kind: FaultKind,
    pub detail: String,
}

/// An expression, compiled.
#[derive(Clone, Debug)]
pub struct Expression {
    text: String,
    program: Result<Program, CompileFault>,
}

impl Expression {
    /// Compiles an expression with one of these result types; any type if none is given.
    pub fn compile(text: &str, environment: &Environment, allowed: &[Type]) -> Expression {
        Expression { text: text.to_owned(), program: program(text, environment, allowed) }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the expression may read a variable. One that only has the name in its text counts, too.
    pub fn mentions(&self, variable: &str) -> bool {
        self.text.contains(variable)
    }

    /// The program.
    ///
    /// # Errors
    /// The compile error.
    pub fn program(&self) -> Result<&Program, &CompileFault> {
        self.program.as_ref()
    }
}

fn program(text: &str, environment: &Environment, allowed: &[Type]) -> Result<Program, CompileFault> {
    let fault = |kind, detail| CompileFault { kind, detail };
    let checked =
        environment.check(text).map_err(|issues| fault(FaultKind::Invalid, format!("compilation failed: {issues}")))?;
    let found = checked.output_type();
    if !allowed.is_empty() && !allowed.contains(&found) {
        let names: Vec<String> = allowed.iter().map(Type::declared).collect();
        let expected = match names.as_slice() {
            [one] => one.clone(),
            many => format!("one of [{}]", many.join(" ")),
        };
        let detail = format!("must evaluate to {expected} but got {}", found.declared());
        return Err(fault(FaultKind::Invalid, detail));
    }
    checked.program().map_err(|error| fault(FaultKind::Internal, format!("program instantiation failed: {error}")))
}

/// The variables of a policy, compiled in order: each may use those before it. Clones share them.
#[derive(Clone, Debug, Default)]
pub struct PolicyVariables(Arc<Compiled>);

#[derive(Debug, Default)]
struct Compiled {
    list: Vec<(String, Expression)>,
    /// Of a name that is given twice, the last place.
    places: HashMap<String, usize>,
}

impl PolicyVariables {
    /// Compiles variables, given as names and texts.
    pub fn compile<'t>(
        variables: impl IntoIterator<Item = (&'t str, &'t str)>,
        mode: Mode,
        policy: Policy,
    ) -> PolicyVariables {
        let mut compiled = Compiled::default();
        let base = crate::environment(mode, Policy { has_patches: false, ..policy });
        let mut environment = base.clone().with_policy_variables(Vec::new());
        for (name, text) in variables {
            let expression = Expression::compile(text, &environment, &[]);
            environment.add_policy_variable(name, &type_of(&expression));
            compiled.places.insert(name.to_owned(), compiled.list.len());
            compiled.list.push((name.to_owned(), expression));
        }
        PolicyVariables(Arc::new(compiled))
    }

    /// The environment of an expression that uses the variables.
    pub fn environment(&self, mode: Mode, policy: Policy) -> Environment {
        let types = self.iter().map(|(name, expression)| (name, type_of(expression))).collect();
        crate::environment(mode, policy).clone().with_policy_variables(types)
    }

    /// The variables in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Expression)> {
        self.0.list.iter().map(|(name, expression)| (name.as_str(), expression))
    }

    pub fn len(&self) -> usize {
        self.0.list.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.list.is_empty()
    }

    pub(crate) fn position(&self, name: &str) -> Option<usize> {
        self.0.places.get(name).copied()
    }

    /// The variable at an index.
    pub fn get(&self, at: usize) -> Option<(&str, &Expression)> {
        self.0.list.get(at).map(|(name, expression)| (name.as_str(), expression))
    }
}

/// An expression that does not compile has type `dyn`, so that its users compile.
fn type_of(expression: &Expression) -> Type {
    expression.program().map_or(Type::Error, |program| program.output_type().clone())
}
