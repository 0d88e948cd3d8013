//! Sorting a list by keys, in the order that kube-apiserver's sort leaves equal keys in.
//!
//! Keys need not have an order among all of them (NaN has none); the result is then any, but the same every time.

use super::args::{Result, failed};
use crate::value::{List, Value, compare};
use pintle_schema::compat;
use std::cmp::Ordering;

/// Whether a value has an order to others of its type.
pub(super) fn is_comparable(value: &Value<'_>) -> bool {
    matches!(
        value,
        Value::Bool(_)
            | Value::Int(_)
            | Value::Uint(_)
            | Value::Double(_)
            | Value::String(_)
            | Value::Bytes(_)
            | Value::Duration(_)
            | Value::Timestamp(_)
    )
}

/// The elements of a list in the order of their keys.
pub(super) fn by_keys<'a>(list: &List<'a>, keys: &List<'a>) -> Result<'a> {
    if list.len() != keys.len() {
        return Err(failed(format!(
            "@sortByAssociatedKeys() expected a list of the same size as the associated keys list, but got {} and {} elements respectively",
            list.len(),
            keys.len()
        )));
    }
    let elements = list.to_vec()?;
    let keys = keys.to_vec()?;
    let Some(first) = keys.first() else { return Ok(Value::List(list.clone())) };
    if !is_comparable(first) {
        return Err(failed("list elements must be comparable".to_owned()));
    }
    if keys.iter().any(|key| std::mem::discriminant(key) != std::mem::discriminant(first)) {
        return Err(failed("list elements must have the same type".to_owned()));
    }
    let mut order: Vec<usize> = (0..keys.len()).collect();
    let less = |a: usize, b: usize| match (keys.get(a), keys.get(b)) {
        (Some(a), Some(b)) => compare(a, b) == Ok(Ordering::Less),
        _ => false,
    };
    compat::sort::sort(&mut order, less);
    Ok(Value::list(order.into_iter().filter_map(|at| elements.get(at).cloned()).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_validated() {
        let list = List::from((0..10).map(Value::Int).collect::<Vec<_>>());
        let keys = List::from((0..10).map(|at| Value::Int(at % 3)).collect::<Vec<_>>());
        let Ok(Value::List(sorted)) = by_keys(&list, &keys) else { panic!("no list") };
        // Few elements that are equal stay in order.
        let order: Vec<String> = sorted.iter().map(|value| format!("{value:?}")).collect();
        let expected: Vec<String> = [0, 3, 6, 9, 1, 4, 7, 2, 5, 8].map(|at| format!("Ok(Int({at}))")).into();
        assert_eq!(order, expected);
        let mixed = List::from(vec![Value::Int(1), Value::string("a")]);
        assert_eq!(by_keys(&mixed, &mixed).unwrap_err().to_string(), "list elements must have the same type");
        let lists = List::from(vec![Value::list(vec![])]);
        assert_eq!(by_keys(&lists, &lists).unwrap_err().to_string(), "list elements must be comparable");
    }
}
