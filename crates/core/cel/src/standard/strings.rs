//! `contains`, `startsWith`, `endsWith` and `matches`.

use super::no_operand;
use crate::error::EvalError;
use crate::function::{Function, Overload};
use crate::library::regex::Pattern;
use crate::types::Type;
use crate::value::Value;

pub(super) fn functions() -> Vec<Function> {
    let member = |id, call| vec![Overload::member(id, vec![Type::String, Type::String], Type::Bool, call)];
    let mut matching = vec![Overload::global("matches", vec![Type::String, Type::String], Type::Bool, matches)];
    matching.extend(member("matches_string", matches));
    vec![
        Function::new("contains", member("contains_string", contains)).unguarded(),
        Function::new("endsWith", member("ends_with_string", ends_with)).unguarded(),
        Function::new("startsWith", member("starts_with_string", starts_with)).unguarded(),
        Function::new("matches", matching).unguarded(),
    ]
}

fn texts<'v>(args: &'v [Value<'_>]) -> Result<(&'v str, &'v str), EvalError> {
    match args {
        [Value::String(a), Value::String(b)] => Ok((a, b)),
        _ => Err(EvalError::no_overload()),
    }
}

fn contains<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    texts(args).map(|(text, part)| Value::Bool(text.contains(part)))
}

fn ends_with<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    texts(args).map(|(text, end)| Value::Bool(text.ends_with(end)))
}

fn starts_with<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    texts(args).map(|(text, start)| Value::Bool(text.starts_with(start)))
}

fn matches<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    if let Some(first) = args.first()
        && first.as_str().is_none()
    {
        return Err(no_operand("matches", first));
    }
    let (text, pattern) = texts(args)?;
    let pattern = Pattern::compile(pattern).map_err(EvalError::new)?;
    Ok(Value::Bool(pattern.is_match(text)))
}
