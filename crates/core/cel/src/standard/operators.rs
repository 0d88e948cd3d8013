//! Operators: their overloads, in the order of kube-apiserver, which decides the types of calls.

use super::{arithmetic, no_operand, special};
use crate::error::EvalError;
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Value, compare};
use std::cmp::Ordering;

fn binary(name: &'static str, call: Call, overloads: &[(&'static str, Type, Type, Type)]) -> Function {
    let overloads = overloads
        .iter()
        .map(|(id, a, b, result)| Overload::global(id, vec![a.clone(), b.clone()], result.clone(), call))
        .collect();
    Function::new(name, overloads).unguarded()
}

pub(super) fn functions() -> Vec<Function> {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let a = || Type::param("A");
    let list = || Type::list(a());
    vec![
        Function::new("_?_:_", vec![Overload::global("conditional", vec![Bool, a(), a()], a(), special)]),
        Function::new("_&&_", vec![Overload::global("logical_and", vec![Bool, Bool], Bool, special)]),
        Function::new("_||_", vec![Overload::global("logical_or", vec![Bool, Bool], Bool, special)]),
        Function::new("!_", vec![Overload::global("logical_not", vec![Bool], Bool, not)]).unguarded(),
        Function::new("@not_strictly_false", vec![Overload::global("not_strictly_false", vec![Bool], Bool, special)]),
        Function::new("_==_", vec![Overload::global("equals", vec![a(), a()], Bool, special)]),
        Function::new("_!=_", vec![Overload::global("not_equals", vec![a(), a()], Bool, special)]),
        binary(
            "_+_",
            arithmetic::add,
            &[
                ("add_bytes", Bytes, Bytes, Bytes),
                ("add_double", Double, Double, Double),
                ("add_duration_duration", Duration, Duration, Duration),
                ("add_duration_timestamp", Duration, Timestamp, Timestamp),
                ("add_timestamp_duration", Timestamp, Duration, Timestamp),
                ("add_int64", Int, Int, Int),
                ("add_list", list(), list(), list()),
                ("add_string", String, String, String),
                ("add_uint64", Uint, Uint, Uint),
            ],
        ),
        binary(
            "_/_",
            arithmetic::divide,
            &[
                ("divide_double", Double, Double, Double),
                ("divide_int64", Int, Int, Int),
                ("divide_uint64", Uint, Uint, Uint),
            ],
        ),
        binary("_%_", arithmetic::modulo, &[("modulo_int64", Int, Int, Int), ("modulo_uint64", Uint, Uint, Uint)]),
        binary(
            "_*_",
            arithmetic::multiply,
            &[
                ("multiply_double", Double, Double, Double),
                ("multiply_int64", Int, Int, Int),
                ("multiply_uint64", Uint, Uint, Uint),
            ],
        ),
        Function::new(
            "-_",
            vec![
                Overload::global("negate_double", vec![Double], Double, arithmetic::negate),
                Overload::global("negate_int64", vec![Int], Int, arithmetic::negate),
            ],
        )
        .unguarded(),
        binary(
            "_-_",
            arithmetic::subtract,
            &[
                ("subtract_double", Double, Double, Double),
                ("subtract_duration_duration", Duration, Duration, Duration),
                ("subtract_int64", Int, Int, Int),
                ("subtract_timestamp_duration", Timestamp, Duration, Timestamp),
                ("subtract_timestamp_timestamp", Timestamp, Timestamp, Duration),
                ("subtract_uint64", Uint, Uint, Uint),
            ],
        ),
        relation("_<_", less, LESS),
        relation("_<=_", less_equals, LESS_EQUALS),
        relation("_>_", greater, GREATER),
        relation("_>=_", greater_equals, GREATER_EQUALS),
    ]
}

/// Ids of a relation's overloads, in the order of `relation`.
type Ids = [&'static str; 14];

fn relation(name: &'static str, call: Call, ids: Ids) -> Function {
    use Type::{Bool, Bytes, Double, Duration, Int, String, Timestamp, Uint};
    let operands = [
        (Bool, Bool),
        (Int, Int),
        (Int, Double),
        (Int, Uint),
        (Uint, Uint),
        (Uint, Double),
        (Uint, Int),
        (Double, Double),
        (Double, Int),
        (Double, Uint),
        (String, String),
        (Bytes, Bytes),
        (Timestamp, Timestamp),
        (Duration, Duration),
    ];
    let overloads =
        ids.into_iter().zip(operands).map(|(id, (a, b))| Overload::global(id, vec![a, b], Bool, call)).collect();
    Function::new(name, overloads).unguarded()
}

macro_rules! ids {
    ($name:ident, $prefix:literal) => {
        const $name: Ids = [
            concat!($prefix, "_bool"),
            concat!($prefix, "_int64"),
            concat!($prefix, "_int64_double"),
            concat!($prefix, "_int64_uint64"),
            concat!($prefix, "_uint64"),
            concat!($prefix, "_uint64_double"),
            concat!($prefix, "_uint64_int64"),
            concat!($prefix, "_double"),
            concat!($prefix, "_double_int64"),
            concat!($prefix, "_double_uint64"),
            concat!($prefix, "_string"),
            concat!($prefix, "_bytes"),
            concat!($prefix, "_timestamp"),
            concat!($prefix, "_duration"),
        ];
    };
}

ids!(LESS, "less");
ids!(LESS_EQUALS, "less_equals");
ids!(GREATER, "greater");
ids!(GREATER_EQUALS, "greater_equals");

fn order(function: &str, args: &[Value<'_>]) -> Result<Ordering, EvalError> {
    let [a, b] = args else { return Err(EvalError::no_overload()) };
    match a {
        Value::Bool(_)
        | Value::Int(_)
        | Value::Uint(_)
        | Value::Double(_)
        | Value::String(_)
        | Value::Bytes(_)
        | Value::Duration(_)
        | Value::Timestamp(_) => compare(a, b),
        _ => Err(no_operand(function, a)),
    }
}

fn less<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    order("_<_", args).map(|order| Value::Bool(order.is_lt()))
}

fn less_equals<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    order("_<=_", args).map(|order| Value::Bool(order.is_le()))
}

fn greater<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    order("_>_", args).map(|order| Value::Bool(order.is_gt()))
}

fn greater_equals<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    order("_>=_", args).map(|order| Value::Bool(order.is_ge()))
}

fn not<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Bool(b)] => Ok(Value::Bool(!b)),
        _ => Err(EvalError::no_overload()),
    }
}
