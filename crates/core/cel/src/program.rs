//! `Program`: a compiled expression, evaluated with variables and a limit of cost.
//!
//! Evaluating never recurses deeper than the expression nests, and stops when its cost reaches the limit.

mod estimate;
mod eval;
mod fold;
mod ledger;
mod plan;
mod qualify;
mod validate;

use crate::ast::{Ast, Expr, Kind, Literal};
use crate::checker::{self, Checks, Reference};
use crate::cost::CostEstimate;
use crate::environment::Environment;
use crate::error::EvalError;
use crate::issue::{Issues, Source};
use crate::types::Type;
use crate::value::Value;

/// A compiled expression.
#[derive(Clone, Debug)]
pub struct Program {
    plan: plan::Node,
    ty: Type,
    references: Vec<pintle_schema::Str>,
    estimated: CostEstimate,
}

/// What an evaluation gave, and what it cost.
#[derive(Clone, Debug)]
pub struct Evaluated<'a> {
    pub value: Result<Value<'a>, EvalError>,
    pub cost: u64,
}

/// Gives values to variables.
pub trait Variables<'a> {
    /// The value of a variable; `None` when there is none of the name. An error is the variable's.
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>>;

    /// The field of a variable whose fields are computed when they are asked for. `None`: the variable is a value; else its field,
    /// if it has one.
    fn field(&self, _name: &str, _field: &str) -> Option<Option<Result<Value<'a>, EvalError>>> {
        None
    }
}

impl<'a> Variables<'a> for [(&str, Value<'a>)] {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        self.iter().find(|(other, _)| *other == name).map(|(_, value)| Ok(value.clone()))
    }
}

impl<'a, const N: usize> Variables<'a> for [(&str, Value<'a>); N] {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        self.as_slice().variable(name)
    }
}

impl<'a, F: Fn(&str) -> Option<Result<Value<'a>, EvalError>>> Variables<'a> for F {
    fn variable(&self, name: &str) -> Option<Result<Value<'a>, EvalError>> {
        self(name)
    }
}

/// An expression that parses and checks, but is no program yet.
#[derive(Clone, Debug)]
pub struct Checked<'e> {
    ast: Ast,
    checks: Checks,
    environment: &'e Environment,
}

impl<'e> Checked<'e> {
    pub(crate) fn new(mut ast: Ast, text: &str, environment: &'e Environment) -> Result<Self, Issues> {
        let mut issues = Issues::new(Source::new(text));
        let checks = checker::check(&mut ast, environment, &mut issues);
        if issues.is_empty() {
            validate::validate(&ast, &checks, environment, &mut issues);
        }
        if issues.is_empty() { Ok(Checked { ast, checks, environment }) } else { Err(issues) }
    }

    /// The type of its values.
    pub fn output_type(&self) -> Type {
        self.checks.types.get(&self.ast.root.id).cloned().unwrap_or(Type::Dyn)
    }

    /// Whether it refers to a variable.
    pub fn refers_to(&self, variable: &str) -> bool {
        let is_meant = |reference: &Reference| matches!(reference, Reference::Ident(name) if name == variable);
        self.checks.references.values().any(is_meant)
    }

    /// Whether it reads a field of a variable by its name: `a.b`, `has(a.b)` or `a.?b`.
    pub fn selects(&self, variable: &str, field: &str) -> bool {
        selects(&self.ast.root, variable, field)
    }

    /// Plans it and estimates its cost.
    ///
    /// # Errors
    ///
    /// Why a constant part of it has no value.
    pub fn program(&self) -> Result<Program, EvalError> {
        let Checked { ast, checks, environment } = self;
        let plan = plan::plan(ast, checks, environment)?;
        let estimated = estimate::estimate(ast, checks, environment);
        Ok(Program { plan, ty: self.output_type(), references: names(checks), estimated })
    }
}

impl Program {
    /// The type of its values.
    pub fn output_type(&self) -> &Type {
        &self.ty
    }

    /// Whether it refers to a variable.
    pub fn refers_to(&self, variable: &str) -> bool {
        self.references.iter().any(|name| name == variable)
    }

    /// What evaluating it costs, as far as schemas bound it.
    pub fn estimated_cost(&self) -> CostEstimate {
        self.estimated
    }

    /// Evaluates it; what costs more than `limit` is cancelled.
    pub fn evaluate<'a>(&'a self, variables: &dyn Variables<'a>, limit: u64) -> Evaluated<'a> {
        eval::evaluate(&self.plan, variables, limit)
    }
}

/// The function that `a.?b` calls.
const OPTIONAL_SELECT: &str = "_?._";

fn selects(expr: &Expr, variable: &str, field: &str) -> bool {
    let is_variable = |expr: &Expr| matches!(&expr.kind, Kind::Ident(name) if name == variable);
    let within = |expr: &Expr| selects(expr, variable, field);
    match &expr.kind {
        Kind::Unspecified | Kind::Literal(_) | Kind::Ident(_) => false,
        Kind::Select { operand, field: name, .. } => name == field && is_variable(operand) || within(operand),
        Kind::Call { function, target, args } => {
            let is_optional = target.is_none() && function == OPTIONAL_SELECT;
            let is_field = |expr: &Expr| matches!(&expr.kind, Kind::Literal(Literal::String(name)) if name == field);
            is_optional && matches!(&args[..], [of, name] if is_variable(of) && is_field(name))
                || args.iter().any(within)
                || target.as_deref().is_some_and(within)
        }
        Kind::List { elements, .. } => elements.iter().any(within),
        Kind::Map(entries) => entries.iter().any(|entry| within(&entry.key) || within(&entry.value)),
        Kind::Struct { fields, .. } => fields.iter().any(|field| within(&field.value)),
        Kind::Comprehension(it) => [&it.range, &it.init, &it.condition, &it.step, &it.result].into_iter().any(within),
    }
}

fn names(checks: &Checks) -> Vec<pintle_schema::Str> {
    let mut names: Vec<_> = checks
        .references
        .values()
        .filter_map(|reference| match reference {
            Reference::Ident(name) => Some(name.clone()),
            Reference::Overloads(_) => None,
        })
        .collect();
    names.sort();
    names.dedup();
    names
}
