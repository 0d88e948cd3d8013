//! Rules of what the expressions of policies and webhooks are: they compile, and their values are of the right type.
//! Guarantees that an expression that is stored already may use what was allowed when it was stored.
//! Must never compile the variables of a policy more than once for an object.

use crate::rules::report_expression;
use pintle_cel::environment::{NEW_EXPRESSIONS_MINOR, Policy};
use pintle_cel::{Environment, Type};
use pintle_expressions::{CompileFault, Expression, Mode, PolicyVariables, environment};
use pintle_schema::Value;
use pintle_validation::{FieldPath, ValidationContext};
use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

/// Compiled once for an object.
struct Scope {
    policy: Policy,
    /// The variables of a policy, each with its fault.
    variables: PolicyVariables,
    has_variables: bool,
    /// How many variables were looked at.
    looked_at: usize,
    /// Expressions of the stored object.
    known: HashSet<String>,
    /// The mode of all others.
    new: Mode,
    /// The environments of expressions that see the variables, for new and for stored ones.
    environments: [[Option<Rc<Environment>>; 3]; 2],
}

/// The expressions that see the variables of their policy.
#[derive(Clone, Copy)]
pub enum Sees {
    All = 0,
    /// All but the authorizer: messages.
    NoAuthorizer = 1,
    /// Objects and patches besides: mutations.
    Patches = 2,
}

impl Scope {
    fn of(cx: &ValidationContext<'_>) -> Scope {
        let root = cx.root::<()>().value();
        let has_params = root.at(&["spec", "paramKind"]).is_some_and(|kind| !kind.is_null());
        let mut known = HashSet::new();
        if let Some(old) = cx.old_root::<()>() {
            collect(old.value(), &mut known);
        }
        let policy = Policy { has_params, has_authorizer: true, has_patches: false };
        let listed = root.at(&["spec", "variables"]).and_then(Value::as_list).unwrap_or_default();
        let is_known = |text: &str| known.contains(text);
        let named = listed.iter().map(|variable| (variable.str_at(&["name"]), variable.str_at(&["expression"])));
        // A variable without an expression is unknown to those that use it.
        let named = named.filter(|(_, text)| !text.trim().is_empty());
        let new = Mode::New(cx.request.environment.compatibility_minor().unwrap_or(NEW_EXPRESSIONS_MINOR));
        let mode =
            if listed.iter().all(|variable| is_known(variable.str_at(&["expression"]))) { Mode::Stored } else { new };
        let is_mutation = root.at(&["spec", "mutations"]).is_some();
        Scope {
            variables: PolicyVariables::compile(named, mode, policy),
            looked_at: 0,
            has_variables: is_mutation || !listed.is_empty(),
            new,
            policy,
            known,
            environments: Default::default(),
        }
    }

    fn mode(&self, text: &str) -> Mode {
        if self.known.contains(text) { Mode::Stored } else { self.new }
    }

    fn environment(&mut self, mode: Mode, sees: Sees) -> Rc<Environment> {
        let policy = match sees {
            Sees::All => self.policy,
            Sees::NoAuthorizer => Policy { has_authorizer: false, ..self.policy },
            Sees::Patches => Policy { has_patches: true, ..self.policy },
        };
        let made = &mut self.environments[usize::from(mode == Mode::Stored)][sees as usize];
        let (variables, has_variables) = (&self.variables, self.has_variables);
        let make = || match has_variables {
            true => Rc::new(variables.environment(mode, policy)),
            false => Rc::new(environment(mode, policy).clone()),
        };
        made.get_or_insert_with(make).clone()
    }
}

/// All texts of expressions in an object.
fn collect(value: &Value, into: &mut HashSet<String>) {
    const FIELDS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];
    match value {
        Value::Map(map) => {
            for (key, value) in map.iter() {
                match value {
                    Value::String(text) if FIELDS.contains(&key.as_str()) => _ = into.insert(text.to_string()),
                    value => collect(value, into),
                }
            }
        }
        Value::List(items) => items.iter().for_each(|item| collect(item, into)),
        _ => {}
    }
}

/// The scope of the object that is validated, made once.
fn with_scope<T>(cx: &mut ValidationContext<'_>, ask: impl FnOnce(&mut Scope) -> T) -> T {
    if cx.scratch::<RefCell<Scope>>().is_none() {
        let scope = Scope::of(cx);
        cx.set_scratch(RefCell::new(scope));
    }
    match cx.scratch::<RefCell<Scope>>() {
        Some(scope) => ask(&mut scope.borrow_mut()),
        None => ask(&mut Scope::of(cx)),
    }
}

fn report(path: &FieldPath<'_>, text: &str, fault: Option<CompileFault>, cx: &mut ValidationContext<'_>) {
    if let Some(fault) = fault {
        report_expression(path, text, &fault, cx);
    }
}

/// A match condition, which sees no variables.
pub fn condition(path: &FieldPath<'_>, text: &str, cx: &mut ValidationContext<'_>) {
    let text = text.trim();
    let fault = with_scope(cx, |scope| {
        let compiled = Expression::compile(text, environment(scope.mode(text), scope.policy), &[Type::Bool]);
        compiled.program().err().cloned()
    });
    report(path, text, fault, cx);
}

/// The next variable with an expression: rules look at them in order.
pub fn variable(path: &FieldPath<'_>, text: &str, cx: &mut ValidationContext<'_>) {
    let fault = with_scope(cx, |scope| {
        let (_, expression) = scope.variables.get(scope.looked_at)?;
        scope.looked_at += 1;
        expression.program().err().cloned()
    });
    report(path, text, fault, cx);
}

/// An expression that sees the variables, with one of these types.
pub fn expression(path: &FieldPath<'_>, text: &str, sees: Sees, types: &[Type], cx: &mut ValidationContext<'_>) {
    let fault = with_scope(cx, |scope| {
        let environment = scope.environment(scope.mode(text), sees);
        Expression::compile(text, &environment, types).program().err().cloned()
    });
    report(path, text, fault, cx);
}
