//! Functions of lists that are taken for sets.
//!
//! Every element of the one is compared with every of the other, as their costs say; no call begins that no budget
//! allows for.

use super::args::{Result, check_cost};
use crate::cost::{CallEstimate, CostEstimate, Node};
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::{List, Value};

/// The functions of the library.
pub fn functions() -> Vec<Function> {
    let set = || Type::list(Type::param("T"));
    let function = |name, id, call| {
        let overload = Overload::global(id, vec![set(), set()], Type::Bool, call);
        Function::new(name, vec![overload]).costing(estimate, track)
    };
    vec![
        function("sets.contains", "list_sets_contains_list", contains),
        function("sets.equivalent", "list_sets_equivalent_list", equivalent),
        function("sets.intersects", "list_sets_intersects_list", intersects),
    ]
}

/// How often all pairs are compared.
fn factor(overload: &str) -> f64 {
    if overload == "list_sets_equivalent_list" { 2.0 } else { 1.0 }
}

fn sets<'v, 'a>(args: &'v [Value<'a>]) -> std::result::Result<(&'v List<'a>, &'v List<'a>), crate::EvalError> {
    let [Value::List(one), Value::List(other)] = args else { return Err(crate::EvalError::no_overload()) };
    check_cost((one.len() as u64).saturating_mul(other.len() as u64))?;
    Ok((one, other))
}

fn has<'a>(list: &List<'a>, wanted: &Value<'a>) -> std::result::Result<bool, crate::EvalError> {
    crate::value::contains(list, wanted)
}

fn has_all<'a>(list: &List<'a>, wanted: &List<'a>) -> std::result::Result<bool, crate::EvalError> {
    for element in wanted.iter() {
        if !has(list, &element?)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (list, wanted) = sets(args)?;
    Ok(Value::Bool(has_all(list, wanted)?))
}

fn equivalent<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (one, other) = sets(args)?;
    Ok(Value::Bool(has_all(one, other)? && has_all(other, one)?))
}

fn intersects<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (one, other) = sets(args)?;
    // An element that cannot be compared is in no other set.
    let shared = one.iter().any(|element| element.and_then(|element| has(other, &element)) == Ok(true));
    Ok(Value::Bool(shared))
}

fn estimate(overload: &str, _: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let [one, other] = args else { return None };
    let pairs = one.size().multiply(other.size()).times_factor(factor(overload));
    Some(CallEstimate::cost(pairs.add(CostEstimate::fixed(1))))
}

fn track(overload: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let [one, other] = args else { return None };
    let pairs = one.cost_size().saturating_mul(other.cost_size());
    Some(((pairs as f64 * factor(overload)) as u64).saturating_add(1))
}
