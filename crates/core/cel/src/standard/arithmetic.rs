//! Sums, products and their like, checked.

use super::no_operand;
use crate::error::EvalError;
use crate::value::{Duration, Text, Value};
use pintle_schema::Str;
use std::sync::Arc;

type Outcome<'a> = Result<Value<'a>, EvalError>;

fn int<'a>(value: Option<i64>) -> Outcome<'a> {
    value.map(Value::Int).ok_or_else(|| EvalError::new("integer overflow"))
}

fn uint<'a>(value: Option<u64>) -> Outcome<'a> {
    value.map(Value::Uint).ok_or_else(|| EvalError::new("unsigned integer overflow"))
}

fn duration<'a>(nanos: Option<i64>) -> Outcome<'a> {
    nanos.map(|nanos| Value::Duration(Duration { nanos })).ok_or_else(|| EvalError::new("integer overflow"))
}

fn moment<'a>(time: Option<crate::value::Timestamp>) -> Outcome<'a> {
    time.map(Value::Timestamp).ok_or_else(|| EvalError::new("timestamp overflow"))
}

pub(super) fn add<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_add(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_add(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a + b)),
        (Value::String(a), Value::String(b)) => {
            let mut text = String::with_capacity(a.len() + b.len());
            text.push_str(a);
            text.push_str(b);
            Ok(Value::String(Text::Shared(Str::from(text))))
        }
        (Value::Bytes(a), Value::Bytes(b)) => Ok(Value::Bytes(Arc::from([&**a, &**b].concat()))),
        (Value::List(a), Value::List(b)) => Ok(Value::List(a.add(b)?)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.nanos.checked_add(b.nanos)),
        (Value::Duration(by), Value::Timestamp(time)) | (Value::Timestamp(time), Value::Duration(by)) => {
            moment(time.plus(by.nanos.into()))
        }
        (
            Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::List(_)
            | Value::Duration(_)
            | Value::Timestamp(_),
            _,
        ) => Err(EvalError::no_overload()),
        _ => Err(no_operand("_+_", a)),
    }
}

pub(super) fn subtract<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_sub(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_sub(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a - b)),
        (Value::Duration(a), Value::Duration(b)) => duration(a.nanos.checked_sub(b.nanos)),
        (Value::Timestamp(time), Value::Duration(by)) => match by.nanos.checked_neg() {
            Some(nanos) => moment(time.plus(nanos.into())),
            None => Err(EvalError::new("integer overflow")),
        },
        (Value::Timestamp(a), Value::Timestamp(b)) => int_overflow(a.since(*b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_) | Value::Duration(_) | Value::Timestamp(_), _) => {
            Err(EvalError::no_overload())
        }
        _ => Err(no_operand("_-_", a)),
    }
}

/// The difference of two moments overflows as an integer does.
fn int_overflow<'a>(difference: Option<Duration>) -> Outcome<'a> {
    difference.map(Value::Duration).ok_or_else(|| EvalError::new("integer overflow"))
}

pub(super) fn multiply<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match (a, b) {
        (Value::Int(a), Value::Int(b)) => int(a.checked_mul(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_mul(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a * b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(EvalError::no_overload()),
        _ => Err(no_operand("_*_", a)),
    }
}

pub(super) fn divide<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::new("division by zero")),
        (Value::Int(a), Value::Int(b)) => int(a.checked_div(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_div(*b)),
        (Value::Double(a), Value::Double(b)) => Ok(Value::Double(a / b)),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), _) => Err(EvalError::no_overload()),
        _ => Err(no_operand("_/_", a)),
    }
}

pub(super) fn modulo<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match (a, b) {
        (Value::Int(_), Value::Int(0)) | (Value::Uint(_), Value::Uint(0)) => Err(EvalError::new("modulus by zero")),
        (Value::Int(a), Value::Int(b)) => int(a.checked_rem(*b)),
        (Value::Uint(a), Value::Uint(b)) => uint(a.checked_rem(*b)),
        (Value::Int(_) | Value::Uint(_), _) => Err(EvalError::no_overload()),
        _ => Err(no_operand("_%_", a)),
    }
}

pub(super) fn negate<'a>(args: &[Value<'a>]) -> Outcome<'a> {
    match args {
        [Value::Int(a)] => int(a.checked_neg()),
        [Value::Double(a)] => Ok(Value::Double(-a)),
        [Value::Duration(a)] => duration(a.nanos.checked_neg()),
        [Value::Bool(_)] => Err(EvalError::no_overload()),
        [other] => Err(no_operand("-_", other)),
        _ => Err(EvalError::no_overload()),
    }
}
