//! The standard functions: operators, sizes, conversions, times, optionals.
//!
//! Arithmetic is checked; texts of errors are kube-apiserver's.

mod arithmetic;
mod collections;
mod conversions;
mod costs;
mod operators;
mod optionals;
mod strings;
mod times;

pub(crate) use collections::insert;
pub(crate) use conversions::print_timestamp;
pub(crate) use costs::{estimate, track};

use crate::error::EvalError;
use crate::function::Function;
use crate::value::Value;

/// All standard functions, those of optionals and of macros with two variables included.
pub(crate) fn functions() -> Vec<Function> {
    let mut all = operators::functions();
    all.extend(collections::functions());
    all.extend(conversions::functions());
    all.extend(strings::functions());
    all.extend(times::functions());
    all.extend(optionals::functions());
    all
}

/// No implementation of an operator takes a value; those with functions of their own say less.
fn no_operand<'a>(function: &str, first: &Value<'a>) -> EvalError {
    match first {
        Value::String(_) | Value::Duration(_) | Value::Timestamp(_) => EvalError::no_overload(),
        _ => EvalError::NoSuchOverload(format!("no such overload: {function}").into()),
    }
}

/// For functions that the evaluator computes itself.
fn special<'a>(_: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Err(EvalError::no_overload())
}
