//! Sizes, membership and insertion.

use super::{no_operand, special};
use crate::error::EvalError;
use crate::function::{Function, Overload};
use crate::types::Type;
use crate::value::{Entries, Map, Value, contains};
use std::sync::Arc;

pub(super) fn functions() -> Vec<Function> {
    let (a, b) = (|| Type::param("A"), || Type::param("B"));
    let list = || Type::list(a());
    let map = || Type::map(a(), b());
    let (key, value) = (|| Type::param("K"), || Type::param("V"));
    let entries = || Type::map(key(), value());
    let size_of = |id, ty: Type| Overload::global(id, vec![ty], Type::Int, size);
    let size_of_member = |id, ty: Type| Overload::member(id, vec![ty], Type::Int, size);
    vec![
        Function::new(
            "_[_]",
            vec![
                Overload::global("index_list", vec![list(), Type::Int], a(), special),
                Overload::global("index_map", vec![map(), a()], b(), special),
                Overload::global(
                    "optional_list_index_int",
                    vec![Type::optional(Type::list(value())), Type::Int],
                    Type::optional(value()),
                    special,
                ),
                Overload::global(
                    "optional_map_index_value",
                    vec![Type::optional(entries()), key()],
                    Type::optional(value()),
                    special,
                ),
            ],
        ),
        Function::new(
            "@in",
            vec![
                Overload::global("in_list", vec![a(), list()], Type::Bool, is_in),
                Overload::global("in_map", vec![a(), map()], Type::Bool, is_in),
            ],
        )
        .unguarded(),
        Function::new(
            "size",
            vec![
                size_of("size_bytes", Type::Bytes),
                size_of_member("bytes_size", Type::Bytes),
                size_of("size_list", list()),
                size_of_member("list_size", list()),
                size_of("size_map", map()),
                size_of_member("map_size", map()),
                size_of("size_string", Type::String),
                size_of_member("string_size", Type::String),
            ],
        )
        .unguarded(),
        Function::new(
            "cel.@mapInsert",
            vec![
                Overload::global("@mapInsert_map_key_value", vec![entries(), key(), value()], entries(), insert_call),
                Overload::global("@mapInsert_map_map", vec![entries(), entries()], entries(), insert_call),
            ],
        ),
    ]
}

fn size<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let [value] = args else { return Err(EvalError::no_overload()) };
    match value.size() {
        Some(size) => Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX))),
        None => Err(no_operand("size", value)),
    }
}

fn is_in<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    match args {
        [element, Value::List(list)] => contains(list, element).map(Value::Bool),
        [key, Value::Map(map)] => match map.get(key) {
            Some(Err(error)) => Err(error),
            found => Ok(Value::Bool(found.is_some())),
        },
        _ => Err(EvalError::no_overload()),
    }
}

fn insert_call<'a>(args: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let Some((into, rest)) = args.split_first() else { return Err(EvalError::no_overload()) };
    insert(into.clone(), rest)
}

/// Inserts entries into a map, in place if no one else holds it: `cel.@mapInsert`.
pub(crate) fn insert<'a>(into: Value<'a>, rest: &[Value<'a>]) -> Result<Value<'a>, EvalError> {
    let Value::Map(into) = into else { return Err(EvalError::no_overload()) };
    let entries = match rest {
        [Value::Map(more)] => entries_of(more)?,
        [key, value] => vec![(key.clone(), value.clone())],
        _ => return Err(EvalError::no_overload()),
    };
    let mut made = match into {
        Map::Entries(made) => made,
        Map::Data(..) => Arc::new(Entries::new(entries_of(&into)?)?),
    };
    let inner = Arc::make_mut(&mut made);
    for (key, value) in entries {
        if inner.get(&key).is_some() {
            return Err(EvalError::new(format!("insert failed: key {} already exists", key.shown())));
        }
        inner.set(key, value);
    }
    Ok(Value::Map(Map::Entries(made)))
}

fn entries_of<'a>(map: &Map<'a>) -> Result<Vec<(Value<'a>, Value<'a>)>, EvalError> {
    map.keys().into_iter().filter_map(|key| map.get(&key).map(|value| Ok((key, value?)))).collect()
}
