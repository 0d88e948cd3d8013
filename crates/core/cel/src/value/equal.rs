//! Equality and order of values, and how lists of objects are merged.
//!
//! The left operand decides how two values are compared, as in kube-apiserver. Errors within lists and maps that evaluation
//! made do not make them different. Parts that are shared are compared as often as they occur, which is bounded.

use super::{Key, List, Map, Value};
use crate::error::EvalError;
use crate::schema::{Items, ListKind, Shape};
use pintle_schema::Value as Data;
use std::cmp::Ordering;
use std::collections::HashMap;

/// The most values that are compared for one question.
const MAX_STEPS: u64 = 4_000_000;

impl<'a> Value<'a> {
    /// `self == other`.
    ///
    /// # Errors
    ///
    /// Data that its schema does not describe; an operand that kube-apiserver cannot compare; too much to compare.
    pub fn equals(&self, other: &Value<'a>) -> Result<bool, EvalError> {
        self.equals_within(other, &mut MAX_STEPS.clone())
    }

    /// `self == other`, looking at no more than so many values.
    pub(crate) fn equals_within(&self, other: &Value<'a>, steps: &mut u64) -> Result<bool, EvalError> {
        *steps = steps.checked_sub(1).ok_or(EvalError::CostExceeded)?;
        Ok(match (self, other) {
            (Value::Null, Value::Null) => true,
            (Value::Null, _) | (_, Value::Null) => false,
            (Value::Bool(a), Value::Bool(b)) => a == b,
            (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
                compare_numbers(self, other) == Some(Ordering::Equal)
            }
            (Value::String(a), Value::String(b)) => a.as_str() == b.as_str(),
            (Value::Bytes(a), Value::Bytes(b)) => a == b,
            (Value::Duration(a), Value::Duration(b)) => a == b,
            (Value::Timestamp(a), Value::Timestamp(b)) => a == b,
            (Value::Type(a), Value::Type(b)) => a.runtime_name() == b.runtime_name(),
            (Value::List(a), Value::List(b)) => return equal_lists(a, b, steps),
            (Value::Map(a), Value::Map(b)) => return equal_maps(a, b, steps),
            (Value::List(a), _) if a.items().is_some() => return Err(EvalError::no_overload()),
            (Value::Map(Map::Data(_, Some(_))), _) => return Err(EvalError::no_overload()),
            (Value::Optional(a), Value::Optional(b)) => match (a, b) {
                (None, None) => true,
                (Some(a), Some(b)) => return a.equals_within(b, steps),
                _ => false,
            },
            (Value::Struct(a), Value::Struct(b)) => {
                if a.name != b.name || a.fields.len() != b.fields.len() {
                    return Ok(false);
                }
                for (name, value) in &a.fields {
                    match b.get(name) {
                        Some(other) if value.equals_within(other, steps)? => {}
                        _ => return Ok(false),
                    }
                }
                true
            }
            (Value::Opaque(a), _) if !a.is_comparable() => return Err(EvalError::no_overload()),
            (Value::Opaque(a), Value::Opaque(b)) => a.type_name() == b.type_name() && a.equals(&**b),
            (Value::Preserved(a), other) => to_data(other).is_some_and(|b| equal_data(a, &b)),
            _ => false,
        })
    }
}

/// The order of two values; the error that kube-apiserver gives when they have none.
pub fn compare(a: &Value<'_>, b: &Value<'_>) -> Result<Ordering, EvalError> {
    Ok(match (a, b) {
        (Value::Bool(a), Value::Bool(b)) => a.cmp(b),
        (Value::Int(_) | Value::Uint(_) | Value::Double(_), Value::Int(_) | Value::Uint(_) | Value::Double(_)) => {
            compare_numbers(a, b).ok_or_else(|| EvalError::new("NaN values cannot be ordered"))?
        }
        (Value::String(a), Value::String(b)) => a.as_bytes().cmp(b.as_bytes()),
        (Value::Bytes(a), Value::Bytes(b)) => a.cmp(b),
        (Value::Duration(a), Value::Duration(b)) => a.cmp(b),
        (Value::Timestamp(a), Value::Timestamp(b)) => a.cmp(b),
        _ => return Err(EvalError::no_overload()),
    })
}

/// Numbers of any types; `None` when one is no number.
fn compare_numbers(a: &Value<'_>, b: &Value<'_>) -> Option<Ordering> {
    let int = |value: &Value<'_>| match value {
        Value::Int(i) => Some(i128::from(*i)),
        Value::Uint(u) => Some(i128::from(*u)),
        _ => None,
    };
    match (int(a), int(b), a, b) {
        (Some(a), Some(b), _, _) => Some(a.cmp(&b)),
        (_, _, Value::Double(a), Value::Double(b)) => a.partial_cmp(b),
        (_, Some(_), Value::Double(a), _) => compare_double(*a, b),
        (Some(_), _, _, Value::Double(b)) => compare_double(*b, a).map(Ordering::reverse),
        _ => None,
    }
}

/// A double beside an integer, which is rounded to a double when the double is within its type's range.
fn compare_double(a: f64, b: &Value<'_>) -> Option<Ordering> {
    let (least, most, b) = match b {
        Value::Int(i) => (i64::MIN as f64, i64::MAX as f64, *i as f64),
        Value::Uint(u) => (0.0, u64::MAX as f64, *u as f64),
        _ => return None,
    };
    if a < least {
        return Some(Ordering::Less);
    }
    if a > most {
        return Some(Ordering::Greater);
    }
    a.partial_cmp(&b)
}

fn equal_lists<'a>(a: &List<'a>, b: &List<'a>, steps: &mut u64) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    match a.items().map(|items| &items.kind) {
        Some(ListKind::Set) => {
            let set = identities(a, None)?;
            for element in b.iter() {
                if !identity(&element?, None).is_some_and(|identity| set.contains_key(&identity)) {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Some(ListKind::Map(keys)) => {
            let map = identities(a, Some(keys))?;
            for element in b.iter() {
                let element = element?;
                let Some(at) = identity(&element, Some(keys)).and_then(|identity| map.get(&identity)) else {
                    return Ok(false);
                };
                if let Some(mine) = a.get(*at)
                    && !mine?.equals_within(&element, steps)?
                {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Some(ListKind::Atomic) => {
            for (a, b) in a.iter().zip(b.iter()) {
                if !a?.equals_within(&b?, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        None => {
            for (a, b) in a.iter().zip(b.iter()) {
                if let (Ok(a), Ok(b)) = (a, b)
                    && is_different(&a, &b, steps)?
                {
                    return Ok(false);
                }
            }
            Ok(true)
        }
    }
}

/// Whether two values are certainly different: errors do not make them so.
fn is_different<'a>(a: &Value<'a>, b: &Value<'a>, steps: &mut u64) -> Result<bool, EvalError> {
    match a.equals_within(b, steps) {
        Err(EvalError::CostExceeded) => Err(EvalError::CostExceeded),
        equal => Ok(equal == Ok(false)),
    }
}

fn equal_maps<'a>(a: &Map<'a>, b: &Map<'a>, steps: &mut u64) -> Result<bool, EvalError> {
    if a.len() != b.len() {
        return Ok(false);
    }
    let Map::Data(data, Some(decl)) = a else {
        for key in a.keys() {
            let (Some(mine), Some(other)) = (a.get(&key), b.get(&key)) else { return Ok(false) };
            if let (Ok(mine), Ok(other)) = (mine, other)
                && is_different(&mine, &other, steps)?
            {
                return Ok(false);
            }
        }
        return Ok(true);
    };
    for (name, value) in data.iter() {
        let key = match &decl.shape {
            Shape::Map { .. } => Some(name.as_str()),
            Shape::Object { fields } => {
                fields.by_name(name).map(|field| field.escaped.as_deref().unwrap_or(&field.name))
            }
            _ => None,
        };
        match key {
            Some(key) => match (a.get_str(key), b.get_str(key)) {
                (None, None) => {}
                (Some(mine), Some(other)) => {
                    if !mine?.equals_within(&other?, steps)? {
                        return Ok(false);
                    }
                }
                _ => return Ok(false),
            },
            None => match b {
                Map::Data(other, Some(_)) => {
                    if other.get(name).is_some_and(|other| !equal_data(value, other)) {
                        return Ok(false);
                    }
                }
                _ => return Err(EvalError::no_overload()),
            },
        }
    }
    Ok(true)
}

/// What tells elements of sets and of lists of maps apart: themselves, or the values of their keys.
type Identity = Vec<Option<Key>>;

fn identity(element: &Value<'_>, keys: Option<&Vec<pintle_schema::Str>>) -> Option<Identity> {
    // Doubles and integers are different elements of a set, since kube-apiserver compares them untyped.
    let of = |value: &Value<'_>| match value {
        Value::Double(d) => Some(Key::Double(d.to_bits())),
        other => Key::of(other),
    };
    let Some(keys) = keys else { return of(element).map(|key| vec![Some(key)]) };
    let Value::Map(map) = element else { return None };
    Some(
        keys.iter()
            .map(|key| {
                let value = match map {
                    Map::Data(data, _) => data.get(key).and_then(|value| super::read::read(value, None).ok()),
                    Map::Entries(_) => map.get_str(key).and_then(Result::ok),
                };
                value.as_ref().and_then(of)
            })
            .collect(),
    )
}

fn identities(list: &List<'_>, keys: Option<&Vec<pintle_schema::Str>>) -> Result<HashMap<Identity, usize>, EvalError> {
    let mut found = HashMap::with_capacity(list.len());
    for (at, element) in list.iter().enumerate() {
        if let Some(identity) = identity(&element?, keys) {
            found.insert(identity, at);
        }
    }
    Ok(found)
}

/// `a + b` of a list of an object: elements of a set are added once, those of a list of maps replace those of the same keys.
pub(super) fn merge<'a>(a: &List<'a>, b: &List<'a>, items: &Items) -> Result<Vec<Value<'a>>, EvalError> {
    let mut merged = a.to_vec()?;
    let keys = match &items.kind {
        ListKind::Atomic => {
            merged.extend(b.to_vec()?);
            return Ok(merged);
        }
        ListKind::Set => None,
        ListKind::Map(keys) => Some(keys),
    };
    let mut places = identities(a, keys)?;
    for element in b.iter() {
        let element = element?;
        let identity = identity(&element, keys);
        match identity.as_ref().and_then(|identity| places.get(identity)) {
            Some(_) if keys.is_none() => {}
            Some(at) => merged[*at] = element,
            None => {
                // kube-apiserver does not see that two added elements of a list of maps have the same keys.
                if let Some(identity) = identity
                    && keys.is_none()
                {
                    places.insert(identity, merged.len());
                }
                merged.push(element);
            }
        }
    }
    Ok(merged)
}

/// Equality of data: maps in any order.
fn equal_data(a: &Data, b: &Data) -> bool {
    match (a, b) {
        (Data::List(a), Data::List(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal_data(a, b)),
        (Data::Map(a), Data::Map(b)) => {
            a.len() == b.len() && a.iter().all(|(key, a)| b.get(key).is_some_and(|b| equal_data(a, b)))
        }
        _ => a == b,
    }
}

/// A value as the data it would be written as, if it is of an object or a scalar.
fn to_data(value: &Value<'_>) -> Option<Data> {
    Some(match value {
        Value::Null => Data::Null,
        Value::Bool(b) => Data::Bool(*b),
        Value::Int(i) => Data::Int(*i),
        Value::Double(d) => Data::Float(*d),
        Value::String(text) => Data::String(text.to_shared()),
        Value::Map(Map::Data(map, _)) => Data::Map((*map).clone()),
        Value::List(List::Data(elements, _)) => Data::List(elements.to_vec()),
        Value::Preserved(data) => (*data).clone(),
        _ => return None,
    })
}

/// Whether a list contains an element.
pub(crate) fn contains<'a>(list: &List<'a>, element: &Value<'a>) -> Result<bool, EvalError> {
    contains_within(list, element, &mut MAX_STEPS.clone())
}

/// Whether a list contains an element, looking at no more than so many values.
pub(crate) fn contains_within<'a>(list: &List<'a>, element: &Value<'a>, steps: &mut u64) -> Result<bool, EvalError> {
    let is_typed = list.items().is_some();
    let mut failed = None;
    for mine in list.iter() {
        let equal = match mine {
            Ok(mine) if is_typed => mine.equals_within(element, steps),
            Ok(mine) => element.equals_within(&mine, steps),
            Err(error) => Err(error),
        };
        match equal {
            Ok(true) => return Ok(true),
            Ok(false) => {}
            Err(EvalError::CostExceeded) => return Err(EvalError::CostExceeded),
            Err(error) => failed = failed.or(Some(error)),
        }
    }
    match failed {
        Some(error) if is_typed => Err(error),
        _ => Ok(false),
    }
}
