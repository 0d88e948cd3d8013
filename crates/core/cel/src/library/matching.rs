//! Functions of regular expressions.
//!
//! Patterns are compiled once where they are used again; before one is compiled, what the call costs is checked.

use super::args::{self, Result, check_cost, failed, no_overload, texts};
use super::regex::Pattern;
use crate::EvalError;
use crate::cost::{CallEstimate, Node, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, SizeEstimate};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::Value;

const STRING: Type = Type::String;

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let all = |id, args| Overload::member(id, args, Type::list(STRING), find_all);
    vec![
        Function::new("find", vec![Overload::member("string_find_string", vec![STRING, STRING], STRING, find)])
            .costing(estimate, track),
        Function::new(
            "findAll",
            vec![
                all("string_find_all_string", vec![STRING, STRING]),
                all("string_find_all_string_int", vec![STRING, STRING, Type::Int]),
            ],
        )
        .costing(estimate, track),
    ]
}

fn compile(text: &str, pattern: &str) -> std::result::Result<Pattern, EvalError> {
    check_cost(args::matching(text.len() as u64, pattern.len() as u64))?;
    Pattern::compile(pattern).map_err(|why| failed(format!("Illegal regex: {why}")))
}

fn find<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::String(text), Value::String(pattern)] = args else { return no_overload() };
    Ok(Value::string(compile(text, pattern)?.find(text)))
}

fn find_all<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (text, pattern, most) = match args {
        [Value::String(text), Value::String(pattern)] => (text, pattern, -1),
        [Value::String(text), Value::String(pattern), Value::Int(most)] => (text, pattern, *most),
        _ => return no_overload(),
    };
    compile(text, pattern)?.find_all(text, most).map(texts).ok_or(EvalError::CostExceeded)
}

/// Every character is matched against the pattern, whose parts are taken to be four characters long.
fn estimate(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let (text, pattern) = (target?.size(), args.first()?.size());
    let text_cost = text.add(SizeEstimate::fixed(1)).times_factor(STRING_TRAVERSAL_FACTOR);
    let pattern_cost = pattern.times_factor(REGEX_LENGTH_FACTOR);
    Some(CallEstimate::sized(text_cost.multiply(pattern_cost), SizeEstimate::new(0, text.max)))
}

fn track(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let [text, pattern, ..] = args else { return None };
    Some(args::matching(text.cost_size(), pattern.cost_size()))
}
