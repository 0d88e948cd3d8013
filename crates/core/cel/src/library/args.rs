//! What most functions of libraries share: reading arguments, common costs, and the bound of texts that they make.
//!
//! Costs follow kube-apiserver's rounding. No text is made that is longer than the bound.

use crate::cost::{
    CallEstimate, CostEstimate, Node, REGEX_LENGTH_FACTOR, STRING_TRAVERSAL_FACTOR, SizeEstimate, times_factor,
};
use crate::error::EvalError;
use crate::value::Value;

/// The longest text that a function makes, in bytes. kube-apiserver has no such bound, and fails at another place
/// when memory runs out.
const MAX_TEXT: usize = 16 << 20;

/// What a single evaluation may cost, wherever expressions are evaluated.
pub(super) const MAX_COST: u64 = 1_000_000;

/// The result of a call.
pub(super) type Result<'a> = std::result::Result<Value<'a>, EvalError>;

/// Refuses to make a text that is too long.
pub(super) fn check_length(length: usize) -> std::result::Result<(), EvalError> {
    if length > MAX_TEXT { Err(EvalError::CostExceeded) } else { Ok(()) }
}

/// The error of arguments that no overload takes.
pub(super) fn no_overload<'a>() -> Result<'a> {
    Err(EvalError::no_overload())
}

/// An error with its text.
pub(super) fn failed(text: String) -> EvalError {
    EvalError::new(text)
}

/// A list of texts.
pub(super) fn texts<'a, T: AsRef<str>>(texts: impl IntoIterator<Item = T>) -> Value<'a> {
    Value::list(texts.into_iter().map(|text| Value::string(text.as_ref())).collect())
}

/// What a traversal of so many characters costs.
pub(super) fn traversal(size: u64) -> u64 {
    times_factor(size, STRING_TRAVERSAL_FACTOR)
}

/// The estimate of a call that costs 1.
pub(super) fn one(_: &str, _: Option<&Node<'_>>, _: &[Node<'_>]) -> Option<CallEstimate> {
    Some(CallEstimate::fixed(1))
}

/// The cost of a call that costs 1.
pub(super) fn track_one(_: &str, _: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    Some(1)
}

/// The estimate of a call that reads its first argument.
pub(super) fn reads_argument(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    Some(CallEstimate::cost(args.first()?.size().times_factor(STRING_TRAVERSAL_FACTOR)))
}

/// The estimate of a call whose result is as long as its first argument.
pub(super) fn maps_argument(_: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let [argument] = args else { return None };
    Some(CallEstimate::sized(argument.size().times_factor(STRING_TRAVERSAL_FACTOR), argument.size()))
}

/// The estimate of a call whose result is as long as its target.
pub(super) fn maps_target(_: &str, target: Option<&Node<'_>>, _: &[Node<'_>]) -> Option<CallEstimate> {
    let size = target?.size();
    Some(CallEstimate::sized(size.times_factor(STRING_TRAVERSAL_FACTOR), size))
}

/// The cost of a call that reads its target, or its first argument.
pub(super) fn track_read(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    Some(traversal(args.first()?.cost_size()))
}

/// The cost of a call that reads its target and makes as much again.
pub(super) fn track_read_twice(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    Some(times_factor(args.first()?.cost_size(), 2.0 * STRING_TRAVERSAL_FACTOR))
}

/// The cost of a traversal of so many characters, twice.
pub(super) fn twice(size: SizeEstimate) -> CostEstimate {
    size.times_factor(2.0 * STRING_TRAVERSAL_FACTOR)
}

/// What matching a text of so many characters against a pattern of so many costs. An empty text is matched too.
pub(super) fn matching(text: u64, pattern: u64) -> u64 {
    let text = traversal(text.saturating_add(1));
    text.saturating_mul(times_factor(pattern, REGEX_LENGTH_FACTOR))
}

/// Refuses what costs more than an evaluation may, before it begins.
pub(super) fn check_cost(cost: u64) -> std::result::Result<(), EvalError> {
    if cost > MAX_COST { Err(EvalError::CostExceeded) } else { Ok(()) }
}
