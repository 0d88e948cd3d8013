//! Sorting a list by keys, in the order that the reference's sort leaves equal keys in.
//!
//! Keys need not have an order among all of them (NaN has none); the result is then any, but the same every time.

use super::args::{Result, failed};
use crate::value::{List, Value, compare};
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
    sort(&mut order, &less);
    Ok(Value::list(order.into_iter().filter_map(|at| elements.get(at).cloned()).collect()))
}

/// Lengths up to which elements are inserted one by one.
const INSERTED: usize = 12;

fn sort(order: &mut [usize], less: &impl Fn(usize, usize) -> bool) {
    if order.len() > INSERTED {
        let (left, right) = order.split_at_mut(order.len() / 2);
        sort(left, less);
        sort(right, less);
        let (left, right) = (left.to_vec(), right.to_vec());
        let (mut left, mut right) = (left.into_iter().peekable(), right.into_iter().peekable());
        for place in order.iter_mut() {
            let from_right = match (left.peek(), right.peek()) {
                (Some(left), Some(right)) => less(*right, *left),
                (None, _) => true,
                _ => false,
            };
            *place = if from_right { right.next() } else { left.next() }.unwrap_or(*place);
        }
        return;
    }
    for at in 1..order.len() {
        let mut at = at;
        while at > 0 && less(order[at], order[at - 1]) {
            order.swap(at, at - 1);
            at -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_keys_stay_in_order_and_keys_are_judged() {
        let list = List::from((0..40).map(Value::Int).collect::<Vec<_>>());
        let keys = List::from((0..40).map(|at| Value::Int(at % 3)).collect::<Vec<_>>());
        let Ok(Value::List(sorted)) = by_keys(&list, &keys) else { panic!("no list") };
        let order: Vec<i64> =
            sorted.iter().map(|value| if let Ok(Value::Int(number)) = value { number } else { -1 }).collect();
        assert!(order.windows(2).all(|pair| (pair[0] % 3, pair[0]) < (pair[1] % 3, pair[1])), "{order:?}");
        let mixed = List::from(vec![Value::Int(1), Value::string("a")]);
        assert_eq!(by_keys(&mixed, &mixed).unwrap_err().to_string(), "list elements must have the same type");
        let lists = List::from(vec![Value::list(vec![])]);
        assert_eq!(by_keys(&lists, &lists).unwrap_err().to_string(), "list elements must be comparable");
    }
}
