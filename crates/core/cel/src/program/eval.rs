//! Evaluating a plan.
//!
//! Each node is accounted for after it was evaluated, whether it gave a value or an error. Errors travel as errors; only logic
//! and comprehensions absorb them, and never the one that says that the limit is reached.

use super::fold::Frame;
use super::ledger::Ledger;
use super::plan::{Attribute, CallNode, Node};
use super::{Evaluated, Variables};
use crate::error::EvalError;
use crate::function::Overload;
use crate::standard;
use crate::types::Type;
use crate::value::{Entries, Key, List, Map, Struct, Value, contains_within};
use pintle_schema::Str;
use std::sync::Arc;

pub(super) type Outcome<'a> = Result<Value<'a>, EvalError>;

/// A value, and what is still to be selected from it.
type Selected<'a> = (Value<'a>, &'a [Arc<super::plan::Qualifier>]);

pub(super) struct Evaluator<'v, 'a> {
    variables: &'v dyn Variables<'a>,
    pub ledger: Ledger,
    /// How many values may still be compared. Costs of comparisons look at sizes alone, not at what is inside.
    steps: u64,
    depth: u32,
    /// Comprehensions being evaluated; each knows the one around it.
    pub frames: Vec<Frame<'a>>,
}

/// The most values that are compared in an evaluation.
const MAX_STEPS: u64 = 20_000_000;

/// How deep evaluation may nest. An expression nests less than half as deep, but bound variables are evaluated where they are used
/// first, one within the other.
const MAX_DEPTH: u32 = 700;

/// No variables.
struct Nothing;

impl<'a> Variables<'a> for Nothing {
    fn variable(&self, _: &str) -> Option<Outcome<'a>> {
        None
    }
}

/// Evaluates a plan with variables.
pub(super) fn evaluate<'a>(plan: &'a Node, variables: &dyn Variables<'a>, limit: u64) -> Evaluated<'a> {
    let _scope = crate::value::Scope::enter();
    let mut evaluator =
        Evaluator { variables, ledger: Ledger::new(limit), steps: MAX_STEPS, depth: 0, frames: Vec::new() };
    let value = evaluator.eval(plan, 0);
    Evaluated { value, cost: evaluator.ledger.cost() }
}

/// Evaluates a plan of constants.
pub(super) fn evaluate_constant(plan: &Node) -> Outcome<'static> {
    let ledger = Ledger::new(u64::MAX);
    let mut evaluator = Evaluator { variables: &Nothing, ledger, steps: MAX_STEPS, depth: 0, frames: Vec::new() };
    match plan {
        Node::List { elements, .. } => {
            let mut values = Vec::new();
            for (element, is_optional) in elements {
                let Node::Const { value, .. } = element else { return Err(EvalError::no_overload()) };
                push_element(&mut values, value.clone(), *is_optional)?;
            }
            Ok(Value::list(values))
        }
        Node::Map { entries, .. } => {
            let mut made = Vec::new();
            for (key, value, is_optional) in entries {
                let (Node::Const { value: key, .. }, Node::Const { value, .. }) = (key, value) else {
                    return Err(EvalError::no_overload());
                };
                push_entry(&mut made, key.clone(), value.clone(), *is_optional)?;
            }
            Ok(Value::Map(Map::Entries(Arc::new(Entries::new(made)?))))
        }
        Node::Call(call) => {
            let args = call.args.iter().map(|arg| match arg {
                Node::Const { value, .. } => Ok(value.clone()),
                _ => Err(EvalError::no_overload()),
            });
            let args = args.collect::<Result<Vec<_>, _>>()?;
            evaluator.ledger.add(0);
            invoke(call, &args)
        }
        _ => Err(EvalError::no_overload()),
    }
}

fn push_element<'a>(elements: &mut Vec<Value<'a>>, value: Value<'a>, is_optional: bool) -> Result<(), EvalError> {
    match value {
        Value::Optional(Some(value)) if is_optional => elements.push((*value).clone()),
        Value::Optional(None) if is_optional => {}
        value if is_optional => {
            let message = "cannot initialize optional list element from non-optional value";
            return Err(EvalError::new(format!("{message} {}", value.shown())));
        }
        value => elements.push(value),
    }
    Ok(())
}

/// What an optional entry or field holds; `None` when it is left out.
fn entry_value<'a>(key: &str, value: Value<'a>, is_optional: bool) -> Result<Option<Value<'a>>, EvalError> {
    match value {
        Value::Optional(value) if is_optional => Ok(value.map(|value| (*value).clone())),
        value if is_optional => Err(EvalError::new(format!(
            "cannot initialize optional entry '{key}' from non-optional value {}",
            value.shown()
        ))),
        value => Ok(Some(value)),
    }
}

type Entry<'a> = (Value<'a>, Value<'a>);

fn push_entry<'a>(
    entries: &mut Vec<Entry<'a>>,
    key: Value<'a>,
    value: Value<'a>,
    is_optional: bool,
) -> Result<(), EvalError> {
    match entry_value(&key.shown(), value, is_optional)? {
        Some(value) => entries.push((key, value)),
        None => {
            let key = Key::of(&key);
            entries.retain(|(other, _)| key.is_none() || Key::of(other) != key);
        }
    }
    Ok(())
}

impl<'a> Evaluator<'_, 'a> {
    /// The value of a node, seen from a scope: the number of the innermost comprehension that is visible, from 1.
    pub(super) fn eval(&mut self, node: &'a Node, scope: usize) -> Outcome<'a> {
        self.depth += 1;
        let outcome = match self.depth > MAX_DEPTH {
            true => Err(EvalError::CostExceeded),
            false => self.eval_node(node, scope),
        };
        self.depth -= 1;
        outcome
    }

    fn eval_node(&mut self, node: &'a Node, scope: usize) -> Outcome<'a> {
        let outcome = match node {
            Node::Const { id, value } => {
                self.ledger.push(*id)?;
                return Ok(value.clone());
            }
            Node::Attribute(attribute) => return self.eval_attribute(attribute, scope),
            Node::Logic { id, is_or, terms } => {
                let outcome = absorb(self.eval_logic(*is_or, terms, scope))?;
                terms.iter().for_each(|term| self.ledger.drop_id(term.id()));
                self.ledger.push(*id)?;
                return outcome;
            }
            Node::Equal { id, negated, sides } => return self.eval_equal(*id, *negated, sides, scope),
            Node::Call(call) => return self.eval_call(call, scope),
            Node::Otherwise { is_value, sides, .. } => absorb(self.eval_otherwise(*is_value, sides, scope))?,
            Node::Member { element, set, .. } => absorb(self.eval(element, scope))?
                .map(|element| Value::Bool(Key::of(&element).is_some_and(|key| set.contains(&key)))),
            Node::List { id, elements } => {
                let outcome = absorb(self.eval_list(elements, scope))?;
                self.ledger.drop_args(elements.iter().map(|(element, _)| element.id()));
                self.ledger.add(crate::cost::LIST_CREATE);
                self.ledger.push(*id)?;
                return outcome;
            }
            Node::Map { id, entries } => {
                let outcome = absorb(self.eval_map(entries, scope))?;
                let ids: Vec<_> = entries.iter().flat_map(|(key, value, _)| [key.id(), value.id()]).collect();
                self.ledger.drop_args(ids.into_iter());
                self.ledger.add(crate::cost::MAP_CREATE);
                self.ledger.push(*id)?;
                return outcome;
            }
            Node::Struct { id, name, fields } => {
                let outcome = absorb(self.eval_struct(name, fields, scope))?;
                self.ledger.drop_args(fields.iter().map(|(_, value, _)| value.id()));
                self.ledger.add(crate::cost::STRUCT_CREATE);
                self.ledger.push(*id)?;
                return outcome;
            }
            Node::Fold(fold) => {
                let outcome = absorb(self.eval_fold(fold, scope))?;
                self.ledger.drop_id(fold.range.id());
                outcome
            }
        };
        self.ledger.push(node.id())?;
        outcome
    }

    fn eval_attribute(&mut self, node: &'a super::plan::AttributeNode, scope: usize) -> Outcome<'a> {
        let outcome = absorb(self.resolve(&node.attribute, scope))?;
        match &node.attribute {
            Attribute::Conditional { condition, yes, no, .. } => {
                for id in [no.id(), yes.id(), condition.id()] {
                    self.ledger.drop_id(id);
                }
            }
            other => {
                self.ledger.drop_id(other.id());
                // has() itself is free, what it selects by is not.
                if node.test.is_none() {
                    self.ledger.add(1);
                }
            }
        }
        self.ledger.push(node.test.unwrap_or_else(|| node.attribute.id()))?;
        match outcome {
            Ok(Value::Optional(value)) if node.test.is_some() => Ok(Value::Bool(value.is_some())),
            outcome => outcome,
        }
    }

    /// The value of an attribute, which is not accounted for but for what selects.
    pub(super) fn resolve(&mut self, attribute: &'a Attribute, scope: usize) -> Outcome<'a> {
        match attribute {
            Attribute::Variable { name, qualifiers, .. } => {
                if let Some((value, rest)) = self.computed_field(name, qualifiers, scope)? {
                    return self.apply(value, rest, scope);
                }
                let value = self.look_up(name, scope)?;
                self.apply(value, qualifiers, scope)
            }
            Attribute::Conditional { condition, yes, no, .. } => match self.eval(condition, scope)? {
                Value::Bool(true) => self.resolve(yes, scope),
                Value::Bool(false) => self.resolve(no, scope),
                _ => Err(EvalError::no_overload()),
            },
            Attribute::Relative { operand, qualifiers, .. } => {
                let value = self.eval(operand, scope)?;
                self.apply(value, qualifiers, scope)
            }
        }
    }

    /// The first selection of a variable whose fields are computed, and what is still to be selected.
    fn computed_field(
        &mut self,
        name: &Str,
        qualifiers: &'a [Arc<super::plan::Qualifier>],
        scope: usize,
    ) -> Result<Option<Selected<'a>>, EvalError> {
        let Some((first, rest)) = qualifiers.split_first() else { return Ok(None) };
        let super::plan::By::Const(Value::String(field)) = &first.by else { return Ok(None) };
        if self.look_up_in_folds(name, scope).is_some() {
            return Ok(None);
        }
        let Some(found) = self.variables.field(name, field) else { return Ok(None) };
        let value = match found {
            Some(value) if !first.is_test => value,
            found if first.is_test => Ok(Value::Bool(found.is_some())),
            _ if first.is_optional => return Ok(Some((Value::Optional(None), &[]))),
            _ => Err(EvalError::new(format!("no such key: {}", field.as_str()))),
        };
        self.ledger.add(1);
        self.ledger.push(first.id)?;
        let value = value?;
        Ok(Some((if first.is_optional { Value::some(value) } else { value }, rest)))
    }

    fn look_up(&mut self, name: &Str, scope: usize) -> Outcome<'a> {
        if let Some(found) = self.look_up_in_folds(name, scope) {
            return found;
        }
        self.variables.variable(name).unwrap_or_else(|| Err(EvalError::new(format!("no such attribute(s): {name}"))))
    }

    fn eval_logic(&mut self, is_or: bool, terms: &'a [Box<Node>; 2], scope: usize) -> Outcome<'a> {
        let mut failed = None;
        for term in terms {
            match absorb(self.eval(term, scope))? {
                Ok(Value::Bool(b)) if b == is_or => return Ok(Value::Bool(is_or)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failed = failed.or_else(|| Some(EvalError::no_overload())),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(Value::Bool(!is_or)), Err)
    }

    fn eval_equal(
        &mut self,
        id: crate::ast::ExprId,
        negated: bool,
        sides: &'a [Box<Node>; 2],
        scope: usize,
    ) -> Outcome<'a> {
        let [a, b] = sides;
        let left = absorb(self.eval(a, scope))?;
        let right = absorb(self.eval(b, scope))?;
        let outcome = match (&left, &right) {
            (Err(error), _) | (_, Err(error)) => Err(error.clone()),
            (Ok(left), Ok(right)) => match absorb(left.equals_within(right, &mut self.steps))? {
                // Inequality asks only whether equality is certain.
                equal if negated => Ok(Value::Bool(equal != Ok(true))),
                equal => equal.map(Value::Bool),
            },
        };
        if self.ledger.drop_args([a.id(), b.id()].into_iter()) {
            let args = [left.unwrap_or(Value::Null), right.unwrap_or(Value::Null)];
            self.ledger.add(standard::track(if negated { "not_equals" } else { "equals" }, &args));
        }
        self.ledger.push(id)?;
        outcome
    }

    fn eval_otherwise(&mut self, is_value: bool, sides: &'a [Box<Node>; 2], scope: usize) -> Outcome<'a> {
        match self.eval(&sides[0], scope)? {
            Value::Optional(None) => self.eval(&sides[1], scope),
            Value::Optional(Some(value)) if is_value => Ok((*value).clone()),
            other => Ok(other),
        }
    }

    fn eval_list(&mut self, elements: &'a [(Node, bool)], scope: usize) -> Outcome<'a> {
        let mut values = Vec::with_capacity(elements.len());
        for (element, is_optional) in elements {
            let value = self.eval(element, scope)?;
            push_element(&mut values, value, *is_optional)?;
        }
        Ok(Value::list(values))
    }

    fn eval_map(&mut self, entries: &'a [(Node, Node, bool)], scope: usize) -> Outcome<'a> {
        let mut made = Vec::with_capacity(entries.len());
        for (key, value, is_optional) in entries {
            let key = self.eval(key, scope)?;
            let value = self.eval(value, scope)?;
            push_entry(&mut made, key, value, *is_optional)?;
        }
        Ok(Value::Map(Map::Entries(Arc::new(Entries::new(made)?))))
    }

    fn eval_struct(&mut self, name: &'a Str, fields: &'a [(Str, Node, bool)], scope: usize) -> Outcome<'a> {
        let mut made: Vec<(Str, Value<'a>)> = Vec::with_capacity(fields.len());
        for (field, value, is_optional) in fields {
            let value = self.eval(value, scope)?;
            made.retain(|(other, _)| other != field);
            if let Some(value) = entry_value(field, value, *is_optional)? {
                made.push((field.clone(), value));
            }
        }
        super::fold::make_struct(Struct { name: name.clone(), fields: made })
    }

    fn eval_call(&mut self, call: &'a CallNode, scope: usize) -> Outcome<'a> {
        let is_strict = call.function.name != "@not_strictly_false";
        let takes_all = call.args.len() <= 2;
        let mut args: Vec<Value<'a>> = Vec::with_capacity(call.args.len());
        let mut failed = None;
        for (at, arg) in call.args.iter().enumerate() {
            let value = match self.take_accumulator(call, at, arg, scope)? {
                Some(value) => value,
                None => absorb(self.eval(arg, scope))?,
            };
            match value {
                Ok(value) => args.push(value),
                Err(error) => {
                    failed = failed.or(Some(error));
                    args.push(Value::Null);
                    // Calls of one or two arguments evaluate all of them, others stop at the first error.
                    if !takes_all {
                        break;
                    }
                }
            }
        }
        let outcome = match failed {
            None if !is_strict => Ok(match args.pop() {
                Some(Value::Bool(b)) => Value::Bool(b),
                _ => Value::Bool(true),
            }),
            Some(_) if !is_strict => Ok(Value::Bool(true)),
            Some(error) => Err(error),
            None => {
                self.foresee(call, &args)?;
                self.invoke_on(call, &mut args)
            }
        };
        // What cannot be computed within bounds is cancelled, as what costs too much.
        let outcome = absorb(outcome)?;
        if self.ledger.drop_args(call.args.iter().map(Node::id)) {
            let result = outcome.as_ref().unwrap_or(&Value::Null);
            let overload =
                call.overload.and_then(|at| call.function.overloads.get(at)).map_or("", |overload| overload.id);
            let tracked = call.function.track.and_then(|track| track(overload, &args, result));
            let cost = tracked.unwrap_or_else(|| standard::track(overload, &args));
            self.ledger.add(cost);
        }
        self.ledger.push(call.id)?;
        outcome
    }

    /// Cancels a call on large arguments whose cost is above the limit before it is made.
    fn foresee(&mut self, call: &CallNode, args: &[Value<'a>]) -> Result<(), EvalError> {
        const LARGE: usize = 1000;
        let is_large = args.iter().any(|arg| match arg {
            Value::String(text) => text.len() > LARGE,
            Value::Bytes(bytes) => bytes.len() > LARGE,
            Value::List(list) => list.len() > LARGE,
            Value::Map(map) => map.len() > LARGE,
            _ => false,
        });
        if is_large {
            let overload =
                call.overload.and_then(|at| call.function.overloads.get(at)).map_or("", |overload| overload.id);
            let tracked = call.function.track.and_then(|track| track(overload, args, &Value::Null));
            self.ledger.foresee(tracked.unwrap_or_else(|| standard::track(overload, args)))?;
        }
        Ok(())
    }

    fn invoke_on(&mut self, call: &CallNode, args: &mut Vec<Value<'a>>) -> Outcome<'a> {
        // A list or map that only the accumulator holds grows in place.
        match (call.function.name, args.as_mut_slice()) {
            ("@in", [element, Value::List(list)]) => contains_within(list, element, &mut self.steps).map(Value::Bool),
            ("_+_", [Value::List(List::Made(list)), Value::List(more)]) if Arc::strong_count(list) == 1 => {
                let mut list = std::mem::take(list);
                Arc::make_mut(&mut list).extend(more.to_vec()?);
                Ok(Value::List(List::Made(list)))
            }
            ("cel.@mapInsert", [first, ..]) => {
                let into = std::mem::replace(first, Value::Null);
                let Some((_, rest)) = args.split_first() else { return Err(EvalError::no_overload()) };
                standard::insert(into, rest)
            }
            _ => invoke(call, args),
        }
    }
}

/// An outcome that can be absorbed, unless the limit is reached.
pub(super) fn absorb<R>(outcome: Result<R, EvalError>) -> Result<Result<R, EvalError>, EvalError> {
    match outcome {
        Err(EvalError::CostExceeded) => Err(EvalError::CostExceeded),
        outcome => Ok(outcome),
    }
}

/// Calls the overload that takes the arguments.
fn invoke<'a>(call: &CallNode, args: &[Value<'a>]) -> Outcome<'a> {
    if let (Some(pattern), [text, _]) = (&call.pattern, args) {
        let text = text.as_str().ok_or_else(EvalError::no_overload)?;
        return Ok(Value::Bool(pattern.is_match(text)));
    }
    let fits = |overload: &&Overload| {
        overload.args.len() == args.len() && overload.args.iter().zip(args).all(|(ty, value)| accepts(ty, value))
    };
    let all = &call.function.overloads;
    let candidates = match call.overload {
        Some(at) => all.get(at..=at).unwrap_or(&[]),
        None => all,
    };
    let found = match call.function.is_guarded {
        true => candidates.iter().find(fits),
        false => candidates.iter().find(|overload| overload.args.len() == args.len()),
    };
    match found {
        Some(overload) => (overload.call)(args),
        None => {
            let types: Vec<&str> = args.iter().map(Value::type_name).collect();
            let message = format!("no such overload: {}({})", call.function.name, types.join(", "));
            Err(EvalError::NoSuchOverload(message.into()))
        }
    }
}

/// Whether a value may be passed as a type: as far as can be seen without looking into it.
fn accepts(ty: &Type, value: &Value<'_>) -> bool {
    match ty {
        Type::Dyn | Type::Any | Type::Param(_) => true,
        Type::Wrapper(inner) => matches!(value, Value::Null) || accepts(inner, value),
        Type::List(element) => match value {
            Value::List(list) => match (&**element, list.get(0)) {
                (Type::Dyn | Type::Any | Type::Param(_), _) | (_, None) => true,
                (element, Some(Ok(first))) => accepts(element, &first),
                (_, Some(Err(_))) => false,
            },
            _ => false,
        },
        Type::Map(_) => matches!(value, Value::Map(_)),
        Type::Type(_) => matches!(value, Value::Type(_)),
        other => other.runtime_name() == value.type_name(),
    }
}
