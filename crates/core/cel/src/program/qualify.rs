//! Selecting from values: fields, keys and indexes, that must be there or may be.

use super::eval::Evaluator;
use super::plan::{By, Qualifier};
use crate::error::EvalError;
use crate::value::{List, Map, Value};

/// Whether what is selected must be there.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Get,
    IfPresent,
}

/// The Go type of a value, as messages name it.
pub(super) fn go_type(value: &Value<'_>) -> &'static str {
    match value {
        Value::Null => "types.Null",
        Value::Bytes(_) => "types.Bytes",
        Value::Duration(_) => "types.Duration",
        Value::Timestamp(_) => "types.Timestamp",
        Value::Type(_) => "*types.Type",
        Value::List(_) => "*types.baseList",
        Value::Map(_) => "*types.baseMap",
        Value::Optional(_) => "*types.Optional",
        Value::Bool(_) => "types.Bool",
        Value::Int(_) => "types.Int",
        Value::Uint(_) => "types.Uint",
        Value::Double(_) => "types.Double",
        Value::String(_) => "types.String",
        _ => "types.Val",
    }
}

fn missing_key<'a, R>(key: &Value<'a>) -> Result<R, EvalError> {
    Err(EvalError::new(format!("no such key: {}", key.shown())))
}

/// The value without its schema: what kube-apiserver sees behind an optional.
pub(super) fn without_schema(value: Value<'_>) -> Value<'_> {
    match value {
        Value::Map(Map::Data(map, Some(_))) => Value::Map(Map::Data(map, None)),
        Value::List(List::Data(elements, Some(_))) => Value::List(List::Data(elements, None)),
        Value::Optional(Some(inner)) => without_schema((*inner).clone()),
        Value::Optional(None) => Value::Null,
        Value::Type(ty) => Value::string(ty.runtime_name()),
        other => other,
    }
}

/// An index as a number of the list; the error when it can be none.
fn place(index: &Value<'_>) -> Result<Option<usize>, EvalError> {
    let unsupported = || EvalError::new(format!("unsupported index value {} in list", index.shown()));
    let place = match index {
        Value::Int(i) => *i,
        Value::Uint(u) => i64::try_from(*u).map_err(|_| unsupported())?,
        Value::Double(d) if d.fract() == 0.0 && d.abs() < 9.2e18 => *d as i64,
        Value::Double(_) => return Err(unsupported()),
        other => {
            return Err(EvalError::new(format!("unsupported index type '{}' in list", other.type_name())));
        }
    };
    Ok(usize::try_from(place).ok())
}

/// What `index` selects from a value; `None` when it is not there and need not be.
pub(super) fn select<'a>(value: &Value<'a>, index: &Value<'a>, mode: Mode) -> Result<Option<Value<'a>>, EvalError> {
    match value {
        Value::Map(map) => match map.get(index) {
            Some(found) => found.map(Some),
            None if mode == Mode::IfPresent => Ok(None),
            None => missing_key(index),
        },
        Value::List(list) => {
            let at = place(index)?;
            match at.and_then(|at| list.get(at)) {
                Some(_) if list.element_decl().is_some() && !matches!(index, Value::Int(_)) => {
                    Err(EvalError::new(format!("unsupported index: {}", index.shown())))
                }
                Some(found) => found.map(Some),
                None if mode == Mode::IfPresent => Ok(None),
                None => Err(EvalError::new(format!("index out of bounds: {}", index.shown()))),
            }
        }
        Value::Struct(object) => match index.as_str().and_then(|field| object.get(field)) {
            Some(found) => Ok(Some(found.clone())),
            None if mode == Mode::IfPresent => Ok(None),
            None => missing_key(index),
        },
        _ if mode == Mode::IfPresent => Ok(None),
        _ => missing_key(index),
    }
}

impl<'a> Evaluator<'_, 'a> {
    /// Applies selections one after the other. The result is an optional if one of them, or the value, is.
    pub(super) fn apply(
        &mut self,
        mut value: Value<'a>,
        qualifiers: &'a [std::sync::Arc<Qualifier>],
        scope: usize,
    ) -> Result<Value<'a>, EvalError> {
        let mut is_optional = false;
        if let Value::Optional(inner) = &value {
            is_optional = true;
            match inner {
                None => return Ok(value),
                Some(inner) => value = without_schema((**inner).clone()),
            }
        }
        for qualifier in qualifiers {
            is_optional |= qualifier.is_optional;
            let mode = if is_optional { Mode::IfPresent } else { Mode::Get };
            match self.qualify(qualifier, &value, mode, scope)? {
                Some(found) => value = found,
                None => return Ok(Value::Optional(None)),
            }
        }
        Ok(if is_optional { Value::some(value) } else { value })
    }

    fn qualify(
        &mut self,
        qualifier: &'a Qualifier,
        value: &Value<'a>,
        mode: Mode,
        scope: usize,
    ) -> Result<Option<Value<'a>>, EvalError> {
        let found = match &qualifier.by {
            By::Const(index) if qualifier.is_test && mode == Mode::Get => {
                select(value, index, Mode::IfPresent).map(|found| Some(Value::Bool(found.is_some())))
            }
            By::Const(index) => select(value, index, mode),
            By::Attribute(attribute) | By::Computed(attribute) => {
                self.resolve(attribute, scope).and_then(|index| match index {
                    Value::String(_) | Value::Int(_) | Value::Uint(_) | Value::Bool(_) | Value::Double(_) => {
                        select(value, &index, mode)
                    }
                    other => Err(EvalError::new(format!("invalid qualifier type: {}", go_type(&other)))),
                })
            }
        };
        if matches!(found, Err(EvalError::CostExceeded)) {
            return found;
        }
        let is_seen = mode == Mode::Get || matches!(found, Ok(Some(_)));
        if is_seen {
            if let By::Computed(attribute) = &qualifier.by {
                self.ledger.drop_id(attribute.id());
            }
            self.ledger.add(1);
            self.ledger.push(qualifier.id)?;
        }
        found
    }
}
