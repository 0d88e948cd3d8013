//! Optional values. `or` and `orValue` are the evaluator's, since they do not always look at their argument.

use super::special;
use crate::error::EvalError;
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::Value;

pub(super) fn functions() -> Vec<Function> {
    let value = || Type::param("V");
    let key = || Type::param("K");
    let optional = || Type::optional(value());
    let list = || Type::list(value());
    let map = || Type::map(key(), value());
    let one = |name, overload| Function::new(name, vec![overload]);
    vec![
        one("optional.of", Overload::global("optional_of", vec![value()], optional(), of)),
        one(
            "optional.ofNonZeroValue",
            Overload::global("optional_ofNonZeroValue", vec![value()], optional(), of_non_zero),
        ),
        one("optional.none", Overload::global("optional_none", vec![], optional(), none)),
        one("value", Overload::member("optional_value", vec![optional()], value(), get)),
        one("hasValue", Overload::member("optional_hasValue", vec![optional()], Type::Bool, has)),
        one("or", Overload::member("optional_or_optional", vec![optional(), optional()], optional(), special)),
        one("orValue", Overload::member("optional_orValue_value", vec![optional(), value()], value(), special)),
        one("_?._", Overload::global("select_optional_field", vec![Type::Dyn, Type::String], optional(), special)),
        Function::new(
            "_[?_]",
            vec![
                Overload::global("list_optindex_optional_int", vec![list(), Type::Int], optional(), special),
                Overload::global(
                    "optional_list_optindex_optional_int",
                    vec![Type::optional(list()), Type::Int],
                    optional(),
                    special,
                ),
                Overload::global("map_optindex_optional_value", vec![map(), key()], optional(), special),
                Overload::global(
                    "optional_map_optindex_optional_value",
                    vec![Type::optional(map()), key()],
                    optional(),
                    special,
                ),
            ],
        ),
        one("last", Overload::member("list_last", vec![list()], optional(), last)),
        one("first", Overload::member("list_first", vec![list()], optional(), first)),
        one("optional.unwrap", Overload::global("optional_unwrap", vec![Type::list(optional())], list(), unwrap)),
        one("unwrapOpt", Overload::member("optional_unwrapOpt", vec![Type::list(optional())], list(), unwrap)),
    ]
}

fn of<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    args.first().cloned().map(Value::some).ok_or_else(EvalError::no_overload)
}

fn of_non_zero<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match args.first() {
        Some(value) if value.is_zero() => Ok(Value::Optional(None)),
        _ => of(args),
    }
}

fn none<'a>(_: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    Ok(Value::Optional(None))
}

fn get<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Optional(Some(value))] => Ok((**value).clone()),
        [Value::Optional(None)] => Err(EvalError::new("optional.none() dereference")),
        _ => Err(EvalError::no_overload()),
    }
}

fn has<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::Optional(value)] => Ok(Value::Bool(value.is_some())),
        _ => Err(EvalError::no_overload()),
    }
}

fn at<'a>(args: &[Value<'a>], place: impl Fn(usize) -> usize) -> Result<Value<'a>, EvalError> {
    match args {
        [Value::List(list)] => match list.get(place(list.len())) {
            Some(value) if !list.is_empty() => Ok(Value::some(value?)),
            _ => Ok(Value::Optional(None)),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn first<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    at(args, |_| 0)
}

fn last<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    at(args, |len| len.saturating_sub(1))
}

fn unwrap<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let [Value::List(list)] = args else { return Err(EvalError::no_overload()) };
    let mut values = Vec::new();
    for element in list.iter() {
        match element? {
            Value::Optional(Some(value)) => values.push((*value).clone()),
            Value::Optional(None) => {}
            other => return Err(EvalError::new(format!("value {} is not optional", other.shown()))),
        }
    }
    Ok(Value::list(values))
}
