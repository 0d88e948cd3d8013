//! Comprehensions, and objects that expressions make.

use super::eval::{Evaluator, Outcome, absorb};
use super::plan::{Attribute, CallNode, FoldNode, Node};
use crate::error::EvalError;
use crate::value::{Duration, List, Map, Struct, Timestamp, Value};
use pintle_schema::Str;
use std::sync::Arc;

/// A comprehension that is being evaluated.
pub(super) struct Frame<'a> {
    fold: &'a FoldNode,
    /// The scope around it.
    outer: usize,
    /// `None` until it is asked for first.
    accumulated: Option<Outcome<'a>>,
    var: Outcome<'a>,
    var2: Outcome<'a>,
    /// Whether the result is being computed, which does not see the variables.
    is_done: bool,
}

impl<'a> Evaluator<'_, 'a> {
    /// A variable of a comprehension; the accumulator is made when it is asked for first.
    pub(super) fn look_up_in_folds(&mut self, name: &Str, mut scope: usize) -> Option<Outcome<'a>> {
        while let Some(frame) = scope.checked_sub(1).and_then(|at| self.frames.get(at)) {
            if frame.fold.accumulator == *name {
                return Some(self.accumulated(scope));
            }
            if !frame.is_done {
                if frame.fold.var == *name {
                    return Some(frame.var.clone());
                }
                if frame.fold.var2.as_ref() == Some(name) {
                    return Some(frame.var2.clone());
                }
            }
            scope = frame.outer;
        }
        None
    }

    fn frame(&mut self, scope: usize) -> Option<&mut Frame<'a>> {
        self.frames.get_mut(scope.checked_sub(1)?)
    }

    fn accumulated(&mut self, scope: usize) -> Outcome<'a> {
        let Some(frame) = self.frame(scope) else { return Err(EvalError::no_overload()) };
        if let Some(accumulated) = &frame.accumulated {
            return accumulated.clone();
        }
        let (init, outer) = (&frame.fold.init, frame.outer);
        let value = absorb(self.eval(init, outer))?;
        // What is given up by a call that takes it must not share its elements with a constant.
        let value = match value {
            Ok(Value::List(list)) if list.is_empty() => Ok(Value::list(Vec::new())),
            Ok(Value::Map(map)) if map.is_empty() => Value::map(Vec::new()),
            other => other,
        };
        if let Some(frame) = self.frame(scope) {
            frame.accumulated = Some(value.clone());
        }
        value
    }

    /// The accumulator, taken out of its comprehension when a call is about to replace it, so that it can grow in place.
    pub(super) fn take_accumulator(
        &mut self,
        call: &'a CallNode,
        at: usize,
        arg: &'a Node,
        scope: usize,
    ) -> Result<Option<Outcome<'a>>, EvalError> {
        if at != 0 || !matches!(call.function.name, "_+_" | "cel.@mapInsert") {
            return Ok(None);
        }
        let Node::Attribute(node) = arg else { return Ok(None) };
        let Attribute::Variable { id, name, qualifiers } = &node.attribute else { return Ok(None) };
        if name != crate::parser::ACCUMULATOR || !qualifiers.is_empty() {
            return Ok(None);
        }
        let Some(scope) = self.fold_of(name, scope) else { return Ok(None) };
        let value = self.accumulated(scope);
        let value = absorb(value)?;
        let taken = match value {
            Ok(value @ (Value::List(_) | Value::Map(_))) => {
                drop(value);
                self.frame(scope).and_then(|frame| frame.accumulated.replace(Ok(Value::Null)))
            }
            other => Some(other),
        };
        self.ledger.drop_id(*id);
        self.ledger.add(1);
        self.ledger.push(*id)?;
        Ok(taken)
    }

    /// The scope of the comprehension whose accumulator has the name.
    fn fold_of(&self, name: &str, mut scope: usize) -> Option<usize> {
        while let Some(frame) = scope.checked_sub(1).and_then(|at| self.frames.get(at)) {
            if frame.fold.accumulator == *name {
                return Some(scope);
            }
            scope = frame.outer;
        }
        None
    }

    pub(super) fn eval_fold(&mut self, fold: &'a FoldNode, outer: usize) -> Outcome<'a> {
        let range = self.eval(&fold.range, outer)?;
        let unset = || Err(EvalError::no_overload());
        let frame = Frame { fold, outer, accumulated: None, var: unset(), var2: unset(), is_done: false };
        self.frames.push(frame);
        let scope = self.frames.len();
        let outcome = self.fold(fold, &range, scope);
        self.frames.truncate(scope - 1);
        outcome
    }

    fn fold(&mut self, fold: &'a FoldNode, range: &Value<'a>, scope: usize) -> Outcome<'a> {
        match range {
            Value::List(list) => {
                for at in 0..list.len() {
                    let Some(element) = list.get(at) else { break };
                    let index = Ok(Value::Int(i64::try_from(at).unwrap_or(i64::MAX)));
                    let (var, var2) = if fold.var2.is_some() { (index, element) } else { (element, index) };
                    if !self.round(fold, var, var2, scope)? {
                        break;
                    }
                }
            }
            Value::Map(map) => {
                for key in map.keys() {
                    let value = match fold.var2 {
                        Some(_) => map.get(&key).unwrap_or_else(|| Err(EvalError::no_overload())),
                        None => Ok(Value::Null),
                    };
                    if !self.round(fold, Ok(key), value, scope)? {
                        break;
                    }
                }
            }
            other => {
                let go = super::qualify::go_type(other);
                return Err(EvalError::new(match fold.var2 {
                    Some(_) => format!("unsupported comprehension range type: {go}"),
                    None => format!("got '{go}', expected iterable type"),
                }));
            }
        }
        if let Some(frame) = self.frame(scope) {
            frame.is_done = true;
        }
        self.eval(&fold.result, scope)
    }

    /// One element; whether to go on.
    fn round(
        &mut self,
        fold: &'a FoldNode,
        var: Outcome<'a>,
        var2: Outcome<'a>,
        scope: usize,
    ) -> Result<bool, EvalError> {
        if let Some(frame) = self.frame(scope) {
            frame.var = var;
            frame.var2 = var2;
        }
        if let Ok(Value::Bool(false)) = absorb(self.eval(&fold.condition, scope))? {
            return Ok(false);
        }
        let value = absorb(self.eval(&fold.step, scope))?;
        if let Some(frame) = self.frame(scope) {
            frame.accumulated = Some(value);
        }
        Ok(true)
    }
}

/// The value of an object that an expression made: a message of a well-known name is the value it means.
pub(super) fn make_struct<'a>(object: Struct<'a>) -> Outcome<'a> {
    let int = |field: &str| match object.get(field) {
        Some(Value::Int(i)) => *i,
        _ => 0,
    };
    let value = |default: Value<'a>| object.get("value").cloned().unwrap_or(default);
    Ok(match object.name.as_str() {
        "google.protobuf.Timestamp" => match u32::try_from(int("nanos")) {
            Ok(nanos) if nanos < 1_000_000_000 => Value::Timestamp(Timestamp::utc(int("seconds"), nanos)),
            _ => {
                let moment = Timestamp::utc(int("seconds"), 0).plus(int("nanos").into());
                moment.map(Value::Timestamp).ok_or_else(|| EvalError::new("timestamp overflow"))?
            }
        },
        "google.protobuf.Duration" => {
            let nanos = i128::from(int("seconds")) * 1_000_000_000 + i128::from(int("nanos"));
            let nanos = nanos.clamp(i64::MIN.into(), i64::MAX.into());
            Value::Duration(Duration { nanos: i64::try_from(nanos).unwrap_or(0) })
        }
        "google.protobuf.BoolValue" => value(Value::Bool(false)),
        "google.protobuf.BytesValue" => value(Value::Bytes(Arc::from([]))),
        "google.protobuf.DoubleValue" | "google.protobuf.FloatValue" => value(Value::Double(0.0)),
        "google.protobuf.Int64Value" | "google.protobuf.Int32Value" => value(Value::Int(0)),
        "google.protobuf.StringValue" => value(Value::string("")),
        "google.protobuf.UInt64Value" | "google.protobuf.UInt32Value" => value(Value::Uint(0)),
        "google.protobuf.Struct" => match object.get("fields") {
            Some(map @ Value::Map(Map::Entries(_) | Map::Data(..))) => map.clone(),
            _ => Value::map(Vec::new())?,
        },
        "google.protobuf.ListValue" => match object.get("values") {
            Some(list @ Value::List(List::Made(_) | List::Data(..) | List::Typed(..) | List::Joined(_))) => {
                list.clone()
            }
            _ => Value::list(Vec::new()),
        },
        "google.protobuf.Value" => object.fields.first().map_or(Value::Null, |(_, value)| value.clone()),
        _ => Value::Struct(Arc::new(object)),
    })
}
