//! Functions of libraries: a name, its overloads, and what calls cost.
//!
//! The engine calls an overload only with arguments that match its declared types, so implementations need not check
//! again. An implementation must be bounded in time by what its cost says.

use crate::ast::{Ast, Expr, ExprId};
use crate::cost::{CallEstimate, Node};
use crate::error::EvalError;
use crate::types::Type;
use crate::value::Value;
use std::collections::HashMap;

/// What computes a call: the target first, if there is one, then the arguments.
pub type Call = for<'a> fn(&[Value<'a>]) -> Result<Value<'a>, EvalError>;

/// Estimates a call before evaluation by overload id; `None` leaves it to the engine (1, or what is known of
/// standard functions). Costs of arguments are added by the engine.
pub type Estimate = fn(overload: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate>;

/// The cost of a call that was made, by overload id; the target is the first argument. `None` leaves it to the engine.
pub type Track = fn(overload: &str, args: &[Value<'_>], result: &Value<'_>) -> Option<u64>;

/// Checks a call that type-checked, as format strings are: reports errors at ids.
pub type Validate = fn(call: &Expr, context: &Checked<'_>, report: &mut dyn FnMut(ExprId, String));

/// What a `Validate` can look at.
pub struct Checked<'a> {
    pub ast: &'a Ast,
    /// Types of nodes, by id.
    pub types: &'a HashMap<ExprId, Type>,
}

/// Whether an overload is called `f(x)` or `x.f()`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Style {
    Global,
    /// The first of the argument types is the target's.
    Member,
}

/// One of the ways a function can be called.
#[derive(Clone, Debug)]
pub struct Overload {
    /// As kube-apiserver names it.
    pub id: &'static str,
    pub style: Style,
    pub args: Vec<Type>,
    pub result: Type,
    pub call: Call,
}

impl Overload {
    /// `f(args)`.
    pub fn global(id: &'static str, args: Vec<Type>, result: Type, call: Call) -> Overload {
        Overload { id, style: Style::Global, args, result, call }
    }

    /// `args[0].f(args[1..])`.
    pub fn member(id: &'static str, args: Vec<Type>, result: Type, call: Call) -> Overload {
        Overload { id, style: Style::Member, args, result, call }
    }
}

/// A function. Libraries may declare the same name: overloads add up, the first estimate that gives a cost counts.
#[derive(Clone, Debug)]
pub struct Function {
    pub name: &'static str,
    pub overloads: Vec<Overload>,
    pub estimate: Option<Estimate>,
    pub track: Option<Track>,
    pub validate: Option<Validate>,
    /// Whether arguments are matched to the declared types before an overload is called. Operators match their arguments themselves.
    pub is_guarded: bool,
}

impl Function {
    /// A function whose calls cost 1.
    pub fn new(name: &'static str, overloads: Vec<Overload>) -> Function {
        Function { name, overloads, estimate: None, track: None, validate: None, is_guarded: true }
    }

    /// Sets how calls are estimated and counted.
    pub fn costing(mut self, estimate: Estimate, track: Track) -> Function {
        self.estimate = Some(estimate);
        self.track = Some(track);
        self
    }

    /// Calls the overload that the checker found, or the first, whatever the arguments are.
    pub fn unguarded(mut self) -> Function {
        self.is_guarded = false;
        self
    }

    /// Sets what is checked once a call has type-checked.
    pub fn validated(mut self, validate: Validate) -> Function {
        self.validate = Some(validate);
        self
    }
}
