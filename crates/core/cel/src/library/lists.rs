//! Functions of lists: Kubernetes' own, and those of the extended library.
//!
//! A function whose cost grows with the square of a list stops before it begins when no budget allows for it.

use super::args::{Result, check_cost, failed, no_overload};
use super::sort;
use crate::EvalError;
use crate::ast::Literal;
use crate::cost::{CallEstimate, CostEstimate, LIST_CREATE, Node, STRING_TRAVERSAL_FACTOR, SizeEstimate};
use crate::function::{Call, Function, Overload};
use crate::types::Type;
use crate::value::{Duration, List, Value, compare};
use std::cmp::Ordering;

/// Values that are looked at for a cost; there are fewer in any request.
const MAX_SCANNED: u64 = 8_000_000;

/// Types whose values have an order, and their names in ids of overloads.
const COMPARABLE: [(Type, [&str; 3]); 8] = [
    (Type::Int, ["list_int_is_sorted_bool", "list_int_max_int", "list_int_min_int"]),
    (Type::Uint, ["list_uint_is_sorted_bool", "list_uint_max_uint", "list_uint_min_uint"]),
    (Type::Double, ["list_double_is_sorted_bool", "list_double_max_double", "list_double_min_double"]),
    (Type::Bool, ["list_bool_is_sorted_bool", "list_bool_max_bool", "list_bool_min_bool"]),
    (Type::Duration, ["list_duration_is_sorted_bool", "list_duration_max_duration", "list_duration_min_duration"]),
    (
        Type::Timestamp,
        ["list_timestamp_is_sorted_bool", "list_timestamp_max_timestamp", "list_timestamp_min_timestamp"],
    ),
    (Type::String, ["list_string_is_sorted_bool", "list_string_max_string", "list_string_min_string"]),
    (Type::Bytes, ["list_bytes_is_sorted_bool", "list_bytes_max_bytes", "list_bytes_min_bytes"]),
];

/// Types that can be sorted, with the ids of the two functions that do.
const SORTABLE: [(Type, &str, &str); 8] = [
    (Type::Int, "list_int_sort", "list_int_sortByAssociatedKeys"),
    (Type::Uint, "list_uint_sort", "list_uint_sortByAssociatedKeys"),
    (Type::Double, "list_double_sort", "list_double_sortByAssociatedKeys"),
    (Type::Bool, "list_bool_sort", "list_bool_sortByAssociatedKeys"),
    (Type::Duration, "list_google.protobuf.Duration_sort", "list_google.protobuf.Duration_sortByAssociatedKeys"),
    (Type::Timestamp, "list_google.protobuf.Timestamp_sort", "list_google.protobuf.Timestamp_sortByAssociatedKeys"),
    (Type::String, "list_string_sort", "list_string_sortByAssociatedKeys"),
    (Type::Bytes, "list_bytes_sort", "list_bytes_sortByAssociatedKeys"),
];

/// Kubernetes' functions.
pub fn functions() -> Vec<Function> {
    let of_each = |which: usize, call: Call, same: bool| -> Vec<Overload> {
        let overload = |(ty, ids): &(Type, [&'static str; 3])| {
            let result = if same { ty.clone() } else { Type::Bool };
            Some(Overload::member(ids.get(which)?, vec![Type::list(ty.clone())], result, call))
        };
        COMPARABLE.iter().filter_map(overload).collect()
    };
    let sum = |id, ty: Type, call| Overload::member(id, vec![Type::list(ty.clone())], ty, call);
    let element = Type::param("A");
    let position = |id, call| Overload::member(id, vec![Type::list(element.clone()), element.clone()], Type::Int, call);
    vec![
        Function::new("isSorted", of_each(0, is_sorted, false)).costing(estimate_scan, track_scan),
        Function::new(
            "sum",
            vec![
                sum("list_int_sum_int", Type::Int, sum_int),
                sum("list_uint_sum_uint", Type::Uint, sum_uint),
                sum("list_double_sum_double", Type::Double, sum_double),
                sum("list_duration_sum_duration", Type::Duration, sum_duration),
            ],
        )
        .costing(estimate_scan, track_scan),
        Function::new("max", of_each(1, max, true)).costing(estimate_scan, track_scan),
        Function::new("min", of_each(2, min, true)).costing(estimate_scan, track_scan),
        Function::new("indexOf", vec![position("list_a_index_of_int", index_of)]).costing(estimate_scan, track_scan),
        Function::new("lastIndexOf", vec![position("list_a_last_index_of_int", last_index_of)])
            .costing(estimate_scan, track_scan),
    ]
}

/// The functions of the extended library. The macro `sortBy` is the parser's.
pub fn extended_functions() -> Vec<Function> {
    let list = || Type::list(Type::param("T"));
    let dynamic = || Type::list(Type::Dyn);
    let sorts = SORTABLE
        .iter()
        .map(|(ty, id, _)| Overload::member(id, vec![Type::list(ty.clone())], Type::list(ty.clone()), sort_list));
    let sorts_by = SORTABLE
        .iter()
        .map(|(ty, _, id)| Overload::member(id, vec![list(), Type::list(ty.clone())], list(), sort_by_keys));
    vec![
        Function::new("slice", vec![Overload::member("list_slice", vec![list(), Type::Int, Type::Int], list(), slice)])
            .costing(estimate_slice, track_output),
        Function::new(
            "flatten",
            vec![
                Overload::member("list_flatten", vec![Type::list(list())], list(), flatten),
                Overload::member("list_flatten_int", vec![dynamic(), Type::Int], dynamic(), flatten),
            ],
        )
        .costing(estimate_flatten, track_flatten)
        .unguarded(),
        Function::new("sort", sorts.collect()).costing(estimate_sort, track_sort).unguarded(),
        Function::new("@sortByAssociatedKeys", sorts_by.collect()).costing(estimate_sort, track_sort).unguarded(),
        Function::new(
            "lists.range",
            vec![Overload::global("lists_range", vec![Type::Int], Type::list(Type::Int), range)],
        )
        .costing(estimate_range, track_output),
        Function::new("reverse", vec![Overload::member("list_reverse", vec![list()], list(), reverse)])
            .costing(estimate_reverse, track_reverse),
        Function::new("distinct", vec![Overload::member("list_distinct", vec![list()], list(), distinct)])
            .costing(estimate_distinct, track_distinct),
    ]
}

/// The elements of a list; one that cannot be compared is an error.
fn comparables<'a>(list: &List<'a>) -> impl Iterator<Item = Result<'a>> {
    list.iter().map(|element| {
        let element = element?;
        if sort::is_comparable(&element) { Ok(element) } else { no_overload() }
    })
}

fn is_sorted<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    let mut previous: Option<Value<'a>> = None;
    for element in comparables(list) {
        let element = element?;
        // Elements without an order are taken for sorted.
        if previous.is_some_and(|previous| compare(&previous, &element) == Ok(Ordering::Greater)) {
            return Ok(Value::Bool(false));
        }
        previous = Some(element);
    }
    Ok(Value::Bool(true))
}

fn max<'a>(args: &[Value<'a>]) -> Result<'a> {
    extreme(args, "max", Ordering::Less)
}

fn min<'a>(args: &[Value<'a>]) -> Result<'a> {
    extreme(args, "min", Ordering::Greater)
}

/// The first element that is not in an order to any other.
fn extreme<'a>(args: &[Value<'a>], name: &str, worse: Ordering) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    let mut best: Option<Value<'a>> = None;
    for element in comparables(list) {
        let element = element?;
        if best.as_ref().is_none_or(|best| compare(best, &element) == Ok(worse)) {
            best = Some(element);
        }
    }
    best.ok_or_else(|| failed(format!("{name} called on empty list")))
}

fn sum_of<'a, T>(
    args: &[Value<'a>],
    zero: T,
    add: impl Fn(T, &Value<'a>) -> std::result::Result<T, EvalError>,
    wrap: impl Fn(T) -> Value<'a>,
) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    let mut sum = zero;
    for element in list.iter() {
        sum = add(sum, &element?)?;
    }
    Ok(wrap(sum))
}

fn overflow(sum: &str) -> EvalError {
    EvalError::new(sum)
}

fn sum_int<'a>(args: &[Value<'a>]) -> Result<'a> {
    let add = |sum: i64, element: &Value<'a>| match element {
        Value::Int(number) => sum.checked_add(*number).ok_or_else(|| overflow("integer overflow")),
        _ => Err(EvalError::no_overload()),
    };
    sum_of(args, 0, add, Value::Int)
}

fn sum_uint<'a>(args: &[Value<'a>]) -> Result<'a> {
    let add = |sum: u64, element: &Value<'a>| match element {
        Value::Uint(number) => sum.checked_add(*number).ok_or_else(|| overflow("unsigned integer overflow")),
        _ => Err(EvalError::no_overload()),
    };
    sum_of(args, 0, add, Value::Uint)
}

fn sum_double<'a>(args: &[Value<'a>]) -> Result<'a> {
    let add = |sum: f64, element: &Value<'a>| match element {
        Value::Double(number) => Ok(sum + number),
        _ => Err(EvalError::no_overload()),
    };
    sum_of(args, 0.0, add, Value::Double)
}

fn sum_duration<'a>(args: &[Value<'a>]) -> Result<'a> {
    let add = |sum: i64, element: &Value<'a>| match element {
        Value::Duration(duration) => sum.checked_add(duration.nanos).ok_or_else(|| overflow("integer overflow")),
        _ => Err(EvalError::no_overload()),
    };
    sum_of(args, 0, add, |nanos| Value::Duration(Duration { nanos }))
}

fn position<'a>(args: &[Value<'a>], last: bool) -> Result<'a> {
    let [Value::List(list), wanted] = args else { return no_overload() };
    let is_wanted = |at: &usize| {
        list.get(*at).is_some_and(|element| element.is_ok_and(|element| element.equals(wanted) == Ok(true)))
    };
    let mut positions = 0..list.len();
    let found = if last { positions.rfind(is_wanted) } else { positions.find(is_wanted) };
    Ok(Value::Int(found.and_then(|at| i64::try_from(at).ok()).unwrap_or(-1)))
}

fn index_of<'a>(args: &[Value<'a>]) -> Result<'a> {
    position(args, false)
}

fn last_index_of<'a>(args: &[Value<'a>]) -> Result<'a> {
    position(args, true)
}

fn slice<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list), Value::Int(start), Value::Int(end)] = args else { return no_overload() };
    let refused = |why: String| Err(failed(format!("cannot slice({start}, {end}), {why}")));
    let (Ok(from), Ok(to)) = (usize::try_from(*start), usize::try_from(*end)) else {
        return refused("negative indexes not supported".to_owned());
    };
    if from > to {
        return refused("start index must be less than or equal to end index".to_owned());
    }
    if to > list.len() {
        return refused(format!("list is length {}", list.len()));
    }
    Ok(Value::list((from..to).map_while(|at| list.get(at)).collect::<std::result::Result<_, _>>()?))
}

fn flatten<'a>(args: &[Value<'a>]) -> Result<'a> {
    let (list, depth) = match args {
        [Value::List(list)] => (list, 1),
        [Value::List(list), Value::Int(depth)] => (list, *depth),
        _ => return no_overload(),
    };
    if depth < 0 {
        return Err(failed("level must be non-negative".to_owned()));
    }
    let mut flat = Vec::new();
    // Lists that are being read, each with the position of what comes next, so that depth takes no stack.
    let mut open = vec![(list.clone(), 0)];
    while let Some((list, at)) = open.pop() {
        let Some(element) = list.get(at) else { continue };
        open.push((list, at + 1));
        match element? {
            Value::List(inner) if i64::try_from(open.len()).is_ok_and(|level| level <= depth) => open.push((inner, 0)),
            element => {
                check_cost(flat.len() as u64)?;
                flat.push(element);
            }
        }
    }
    Ok(Value::list(flat))
}

fn range<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::Int(end)] = args else { return no_overload() };
    check_cost(u64::try_from(*end).unwrap_or(0))?;
    Ok(Value::list((0..*end).map(Value::Int).collect()))
}

fn reverse<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    let mut elements = list.to_vec()?;
    elements.reverse();
    Ok(Value::list(elements))
}

fn distinct<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    let size = list.len() as u64;
    check_cost(size.saturating_mul(size).saturating_mul(2))?;
    let mut unique: Vec<Value<'a>> = Vec::new();
    for element in list.iter() {
        let element = element?;
        if !unique.iter().any(|seen| element.equals(seen) == Ok(true)) {
            unique.push(element);
        }
    }
    Ok(Value::list(unique))
}

fn sort_list<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list)] = args else { return no_overload() };
    sort::by_keys(list, list)
}

fn sort_by_keys<'a>(args: &[Value<'a>]) -> Result<'a> {
    let [Value::List(list), Value::List(keys)] = args else { return no_overload() };
    sort::by_keys(list, keys)
}

/// The estimate of a function that looks at every element of its target, or at every character.
pub(super) fn estimate_scan(_: &str, target: Option<&Node<'_>>, _: &[Node<'_>]) -> Option<CallEstimate> {
    let target = target?;
    let Some(items) = target.items() else {
        return Some(CallEstimate::cost(target.size().times_factor(STRING_TRAVERSAL_FACTOR)));
    };
    let mut element = CostEstimate::fixed(1);
    if is_text(&items.ty) {
        element = element.add(items.size().times_factor(STRING_TRAVERSAL_FACTOR));
    }
    Some(CallEstimate::cost(target.size().times_cost(element)))
}

/// The cost of looking at all of the target.
pub(super) fn track_scan(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let mut left = MAX_SCANNED;
    let cost = args.first().map_or(0, |value| scan(value, &mut left));
    // Lists may share their elements, so that there is more to look at than memory holds.
    Some(if left == 0 { u64::MAX } else { cost })
}

/// The cost of looking at a value, and at no more of its parts than are left.
fn scan(value: &Value<'_>, left: &mut u64) -> u64 {
    *left = left.saturating_sub(1);
    if *left == 0 {
        return 0;
    }
    // Texts count in bytes, and the rest of a division is of no weight.
    match value {
        Value::String(text) => (text.len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::Bytes(bytes) => (bytes.len() as f64 * STRING_TRAVERSAL_FACTOR) as u64,
        Value::List(list) => list
            .iter()
            .map_while(|element| (*left > 0).then(|| element.map_or(1, |element| scan(&element, left))))
            .fold(0, u64::saturating_add),
        Value::Map(map) => {
            let mut cost = 0_u64;
            for key in map.keys() {
                let of_value = map.get(&key).map_or(1, |value| value.map_or(1, |value| scan(&value, left)));
                cost = cost.saturating_add(scan(&key, left)).saturating_add(of_value);
            }
            cost
        }
        _ => 1,
    }
}

fn is_text(ty: &Type) -> bool {
    match ty {
        Type::Wrapper(inner) => is_text(inner),
        ty => matches!(ty, Type::String | Type::Bytes),
    }
}

/// The number that an argument is written as.
fn literal(node: &Node<'_>) -> Option<u64> {
    match node.literal {
        Some(Literal::Int(number)) => Some(u64::try_from(*number).unwrap_or(0)),
        _ => None,
    }
}

/// The estimate of a call that makes a list.
fn makes_list(factor: f64, size: SizeEstimate) -> Option<CallEstimate> {
    let cost = size.times_factor(factor).add(CostEstimate::fixed(1)).add(CostEstimate::fixed(LIST_CREATE));
    Some(CallEstimate::sized(cost, size))
}

fn track_list(factor: f64, size: u64) -> Option<u64> {
    Some(((size as f64 * factor) as u64).saturating_add(1 + LIST_CREATE))
}

fn estimate_slice(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let size = target?.size();
    let [start, end] = args else { return None };
    let end = literal(end).unwrap_or(size.max);
    makes_list(1.0, SizeEstimate::fixed(end.wrapping_sub(literal(start).unwrap_or(0))))
}

fn estimate_range(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let (None, [end]) = (target, args) else { return None };
    makes_list(1.0, SizeEstimate::fixed(literal(end).unwrap_or(u64::MAX)))
}

// Strings have no such function; an estimate is only for lists.
fn estimate_reverse(overload: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    if overload != "list_reverse" || !args.is_empty() {
        return None;
    }
    makes_list(1.0, target?.size())
}

fn estimate_flatten(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let depth = match args {
        [] => 1,
        [depth] => literal(depth).unwrap_or(u64::MAX),
        _ => return None,
    };
    makes_list(depth as f64, target?.size())
}

fn estimate_distinct(_: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    if !args.is_empty() {
        return None;
    }
    let size = target?.size();
    makes_list(2.0, size.multiply(size))
}

/// Sorting costs by its keys: those of another list, if they are given.
fn estimate_sort(overload: &str, target: Option<&Node<'_>>, args: &[Node<'_>]) -> Option<CallEstimate> {
    let size = match args {
        [] => target?.size(),
        [keys] => keys.size(),
        _ => return None,
    };
    let is_text = overload.starts_with("list_string_") || overload.starts_with("list_bytes_");
    let factor = if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 };
    makes_list(factor, size.multiply(size))
}

fn track_output(_: &str, _: &[Value<'_>], result: &Value<'_>) -> Option<u64> {
    track_list(1.0, result.cost_size())
}

fn track_reverse(overload: &str, _: &[Value<'_>], result: &Value<'_>) -> Option<u64> {
    (overload == "list_reverse").then(|| track_list(1.0, result.cost_size()))?
}

fn track_flatten(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    let depth = match args {
        [_, Value::Int(depth)] => *depth as f64,
        _ => 1.0,
    };
    track_list(depth, args.first()?.cost_size())
}

fn track_distinct(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    track_compared(args.first()?)
}

fn track_sort(_: &str, args: &[Value<'_>], _: &Value<'_>) -> Option<u64> {
    track_compared(args.last()?)
}

/// The cost of comparing all elements of a list with each other.
fn track_compared(list: &Value<'_>) -> Option<u64> {
    let Value::List(elements) = list else { return None };
    let size = list.cost_size();
    let is_text = matches!(elements.get(0), Some(Ok(Value::String(_) | Value::Bytes(_))));
    track_list(if is_text { 2.0 + STRING_TRAVERSAL_FACTOR } else { 2.0 }, size.saturating_mul(size))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ints(numbers: &[i64]) -> Value<'static> {
        Value::list(numbers.iter().copied().map(Value::Int).collect())
    }

    fn is(result: Result<'_>, expected: &Value<'_>) -> bool {
        result.is_ok_and(|value| format!("{value:?}") == format!("{expected:?}"))
    }

    #[test]
    fn sums_and_extremes() {
        assert!(is(sum_int(&[ints(&[1, 2, 3])]), &Value::Int(6)));
        assert_eq!(sum_int(&[ints(&[i64::MAX, 1])]).unwrap_err().to_string(), "integer overflow");
        assert!(is(max(&[ints(&[1, 3, 2])]), &Value::Int(3)));
        assert!(is(min(&[ints(&[2, 1, 3])]), &Value::Int(1)));
        assert_eq!(min(&[ints(&[])]).unwrap_err().to_string(), "min called on empty list");
        assert!(is(is_sorted(&[ints(&[1, 1, 2])]), &Value::Bool(true)));
        assert!(is(is_sorted(&[ints(&[2, 1])]), &Value::Bool(false)));
        assert!(is(last_index_of(&[ints(&[1, 2, 1]), Value::Int(1)]), &Value::Int(2)));
        assert!(is(index_of(&[ints(&[1, 2, 1]), Value::Int(3)]), &Value::Int(-1)));
    }

    #[test]
    fn slices_are_within_the_list() {
        let of = |start, end| slice(&[ints(&[1, 2, 3]), Value::Int(start), Value::Int(end)]);
        assert!(is(of(1, 3), &ints(&[2, 3])));
        for (start, end, why) in [
            (-1, 2, "cannot slice(-1, 2), negative indexes not supported"),
            (2, 1, "cannot slice(2, 1), start index must be less than or equal to end index"),
            (0, 4, "cannot slice(0, 4), list is length 3"),
        ] {
            assert_eq!(of(start, end).unwrap_err().to_string(), why);
        }
    }

    #[test]
    fn lists_within_lists() {
        let nested = Value::list(vec![ints(&[1]), Value::list(vec![ints(&[2, 3]), Value::Int(4)])]);
        assert!(is(flatten(&[nested.clone(), Value::Int(2)]), &ints(&[1, 2, 3, 4])));
        let once = Value::list(vec![Value::Int(1), ints(&[2, 3]), Value::Int(4)]);
        assert!(is(flatten(std::slice::from_ref(&nested)), &once));
        assert_eq!(flatten(&[nested, Value::Int(-1)]).unwrap_err().to_string(), "level must be non-negative");
    }

    #[test]
    fn costs_are_bounded() {
        assert_eq!(range(&[Value::Int(i64::MAX)]).unwrap_err(), EvalError::CostExceeded);
        assert_eq!(distinct(&[ints(&[1; 1000])]).unwrap_err(), EvalError::CostExceeded);
        assert!(is(distinct(&[ints(&[1, 2, 1])]), &ints(&[1, 2])));
        // Forty lists, each of which holds the one before it twice.
        let shared = (0..40).fold(ints(&[1]), |list, _| Value::list(vec![list.clone(), list]));
        assert_eq!(track_scan("", std::slice::from_ref(&shared), &Value::Null), Some(u64::MAX));
        assert_eq!(flatten(&[shared, Value::Int(40)]).unwrap_err(), EvalError::CostExceeded);
    }
}
