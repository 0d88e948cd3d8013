//! Strategic merge patch: a merge by the schema, modified by directives in the patch.
//! Maps merge, null deletes, lists merge if the schema has a strategy for them. Guarantees a value, or an error with
//! kube-apiserver's message, for every patch. Must never validate the result against the schema: decoding does.

mod lists;
mod lookup;
mod order;
#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;

use crate::PatchError;
use crate::merge_patch::drop_nulls;
use lookup::{Level, Work};
use pintle_codec::compat::print::{as_string, plain, type_name};
use pintle_codec::json::open;
use pintle_schema::{Map, MapEditor, Str, Struct, Value};
use std::collections::HashSet;

/// In a map: what happens to it. In an item of a list: what happens to the item or the list.
const PATCH: &str = "$patch";
/// Before a list's name: items to remove from a list of scalars.
const DELETE_FROM_LIST: &str = "$deleteFromPrimitiveList";
/// Before a list's name: the order of its items.
const SET_ORDER: &str = "$setElementOrder";
/// The only keys that a map keeps.
const RETAIN_KEYS: &str = "$retainKeys";

/// How many entries of an object a patch may skip: about ten times the entries of the largest object. A patch that
/// names one item of a list a hundred thousand times could otherwise cost as much each time as the item has entries.
/// kube-apiserver has no such bound.
pub const MAX_STEPS: usize = 4_000_000;

/// Applies a patch to an object of the schema's type.
///
/// # Errors
/// The patch is not an object, a directive is malformed, or the patch does not match object and schema.
pub fn apply(schema: &Struct, document: Value, patch: Value) -> Result<Value, PatchError> {
    let patch = match patch {
        Value::Map(patch) => patch,
        Value::Null => return Ok(document),
        other => {
            return Err(PatchError::BadRequest(format!(
                "json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
                other.json_kind()
            )));
        }
    };
    let document = match document {
        Value::Map(document) => document,
        _ => Map::new(),
    };
    merge_map(document, patch, Level::root(schema, &Work::default())).map(Value::Map)
}

fn merge_map(mut live: Map, mut patch: Map, level: Level<'_>) -> Result<Map, PatchError> {
    level.step(live.len())?;
    match patch.get(PATCH).map(Value::as_str) {
        None => {}
        Some(Some("replace")) => {
            patch.remove(PATCH);
            return Ok(patch);
        }
        Some(Some("delete")) => return Ok(Map::new()),
        Some(_) => return Err(unknown_directive(patch)),
    }
    retain_keys(&mut live, &mut patch)?;
    lists::merge_ordered(&mut live, &mut patch, level)?;
    let mut editor = MapEditor::new(&mut live);
    for (key, new) in patch {
        let (key, deletes) = match key.starts_with(DELETE_FROM_LIST) {
            false => (key, false),
            // Without a name after the slash the directive is an ordinary key, which no object has.
            true => (Some(named_list(&key, DELETE_FROM_LIST)?).filter(|name| !name.is_empty()).unwrap_or(key), true),
        };
        if new.is_null() {
            editor.remove(&key);
            continue;
        }
        merge_member(&mut editor, key, new, deletes, level)?;
    }
    drop(editor);
    Ok(live)
}

/// Merges one value that is not null. `deletes` marks a list of items to remove.
fn merge_member(
    live: &mut MapEditor<'_>,
    key: Str,
    new: Value,
    deletes: bool,
    level: Level<'_>,
) -> Result<(), PatchError> {
    let Some(slot) = live.get_mut(&key) else {
        if !deletes && let Some(new) = as_new(new) {
            live.push(key, new);
        }
        return Ok(());
    };
    open(slot);
    match (&mut *slot, new) {
        (Value::Map(old), Value::Map(new)) => {
            let (below, strategy) = level.map_member(&key)?;
            *old = match strategy {
                "replace" => new,
                _ => merge_map(std::mem::take(old), new, below)?,
            };
        }
        (Value::List(old), Value::List(new)) => {
            let list = level.list_member(&key)?;
            *old = lists::merge(std::mem::take(old), new, &list, deletes)?;
        }
        (old, new) if !deletes || std::mem::discriminant(old) == std::mem::discriminant(&new) => match as_new(new) {
            Some(new) => *slot = new,
            None => {
                live.remove(&key);
            }
        },
        _ => {}
    }
    Ok(())
}

/// `$retainKeys`: drops the keys that it does not list; the patch may set no others.
fn retain_keys(live: &mut Map, patch: &mut Map) -> Result<(), PatchError> {
    let Some(keys) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let malformed = || PatchError::BadRequest("invalid patch format of retainKeys".to_owned());
    let Value::List(keys) = &keys else { return Err(malformed()) };
    if keys.iter().any(|key| matches!(key, Value::List(_) | Value::Map(_))) {
        return Err(PatchError::panic());
    }
    let keys: HashSet<&str> = keys.iter().filter_map(Value::as_str).collect();
    let is_directive = |key: &str| key.starts_with(DELETE_FROM_LIST) || key.starts_with(SET_ORDER);
    if patch.iter().any(|(key, new)| !new.is_null() && !is_directive(key) && !keys.contains(key.as_str())) {
        return Err(malformed());
    }
    live.retain(|key, _| keys.contains(key.as_str()));
    Ok(())
}

/// A value of the patch where the object has none of its kind: without nulls and directives; nothing if it is a
/// directive itself.
fn as_new(mut new: Value) -> Option<Value> {
    drop_nulls(&mut new);
    drop_directives(&mut new).then_some(new)
}

/// Removes maps with a `$patch` from maps and lists; false if the value itself is one.
fn drop_directives(value: &mut Value) -> bool {
    match value {
        Value::Map(map) => {
            if map.contains_key(PATCH) {
                return false;
            }
            map.retain(|_, item| drop_directives(item));
        }
        Value::List(items) => items.retain_mut(drop_directives),
        _ => {}
    }
    true
}

/// The name of a directive's list, after the prefix and a slash.
fn named_list(key: &str, prefix: &str) -> Result<Str, PatchError> {
    match key.split_once('/') {
        Some((directive, name)) if directive == prefix => Ok(Str::new(name)),
        _ if prefix == SET_ORDER => Err(malformed_order()),
        _ => Err(PatchError::BadRequest("invalid patch format of primitive list".to_owned())),
    }
}

fn malformed_order() -> PatchError {
    PatchError::BadRequest("invalid patch format of setElementOrder list".to_owned())
}

fn unknown_directive(map: Map) -> PatchError {
    let directive = map.get(PATCH).map(as_string).unwrap_or_default();
    PatchError::Internal(format!("unknown patch type: {directive} in map: {}", plain(&Value::Map(map))))
}

fn wrong_type(expected: &str, found: &Value) -> PatchError {
    PatchError::Internal(format!("expected a {expected}, but received a {}", type_name(found)))
}

fn not_a_map(found: &Value) -> PatchError {
    wrong_type("map[string]interface {}", found)
}

fn no_merge_key(item: &Value, merge_key: &str) -> PatchError {
    PatchError::Internal(format!("map: {} does not contain declared merge key: {merge_key}", plain(item)))
}
