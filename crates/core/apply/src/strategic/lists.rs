//! Merging of lists: items with a merge key one by one, scalars as sets.
//! Guarantees that a list is merged only if the schema says so; otherwise the patch's list replaces it. Items of one
//! list have the same kind.

use super::lookup::{Level, ListRules};
use super::order::{Key, Places, place};
use super::{
    PATCH, SET_ORDER, drop_directives, merge_map, named_list, no_merge_key, not_a_map, unknown_directive, wrong_type,
};
use crate::PatchError;
use pintle_codec::compat::print::plain_list;
use pintle_schema::{Map, MapEditor, Str, Value};
use std::collections::{HashMap, HashSet};

/// Merges the lists whose order the patch sets, and removes them and their orders from the patch.
pub fn merge_ordered(live: &mut Map, patch: &mut Map, level: Level<'_>) -> Result<(), PatchError> {
    let is_order = |(key, _): &mut (Str, Value)| key.starts_with(SET_ORDER);
    let orders: Vec<(Str, Value)> = patch.entries_mut().extract_if(.., is_order).collect();
    let (mut live, mut patch) = (MapEditor::new(live), MapEditor::new(patch));
    for (directive, order) in orders {
        let Value::List(order) = order else { return Err(not_a_list(&order)) };
        let key = named_list(&directive, SET_ORDER)?;
        let old = live.get_mut(&key).map(|old| list_of(old)).transpose()?;
        let new = patch.get_mut(&key).map(|new| list_of(new)).transpose()?;
        let rules = level.list_member(&key)?;
        level.step(old.map_or(0, <[Value]>::len))?;
        check_order(new.unwrap_or_default(), &order, rules.merge_key)?;
        if old.is_none() && new.is_none() {
            continue;
        }
        let one_kind = items_kind(old.unwrap_or_default(), new.unwrap_or_default()).map(drop);
        let mut live_places = Places::of(old.unwrap_or_default(), rules.merge_key);
        if let (Some(old), Some(new), true) = (old, new, rules.merges_by_key()) {
            live_places.become_keys(left_behind(old, new, rules.merge_key));
        }

        let old = live.get_mut(&key).and_then(Value::as_list_mut).map(std::mem::take);
        let new = patch.remove(&key).and_then(|mut new| new.as_list_mut().map(std::mem::take));
        let merged = match (old, new) {
            (Some(old), Some(new)) => merge(old, new, &rules, false)?,
            (Some(old), None) => old,
            (None, new) => {
                let mut new = new.unwrap_or_default();
                new.retain_mut(drop_directives);
                new
            }
        };
        one_kind?;
        let named = Places::of(&order, rules.merge_key);
        let placed = place(merged, named, live_places, rules.merge_key)?;
        live.set(key, Value::List(placed));
    }
    Ok(())
}

/// Merges two lists. `deletes` marks a patch with scalars to remove.
pub fn merge(old: Vec<Value>, new: Vec<Value>, rules: &ListRules<'_>, deletes: bool) -> Result<Vec<Value>, PatchError> {
    if rules.strategy != "merge" && !deletes {
        return Ok(new);
    }
    if old.is_empty() && new.is_empty() {
        return Ok(old);
    }
    rules.elem.step(old.len())?;
    if items_kind(&old, &new)? == Kind::Maps {
        merge_maps(old, new, rules)
    } else {
        merge_scalars(old, new, rules, deletes)
    }
}

fn merge_scalars(
    mut old: Vec<Value>,
    new: Vec<Value>,
    rules: &ListRules<'_>,
    deletes: bool,
) -> Result<Vec<Value>, PatchError> {
    if deletes {
        let gone: HashSet<Key> = new.iter().filter_map(Key::of).collect();
        old.retain(|item| Key::of(item).is_none_or(|key| !gone.contains(&key)));
        return Ok(old);
    }
    let (named, live) = (Places::of(&new, rules.merge_key), Places::of(&old, rules.merge_key));
    let mut seen = HashSet::with_capacity(old.len() + new.len());
    let mut merged = old;
    merged.extend(new);
    merged.retain(|item| Key::of(item).is_none_or(|key| seen.insert(key)));
    place(merged, named, live, rules.merge_key)
}

fn merge_maps(mut old: Vec<Value>, new: Vec<Value>, rules: &ListRules<'_>) -> Result<Vec<Value>, PatchError> {
    let merge_key = rules.merge_key;
    if merge_key.is_empty() {
        let text = format!("cannot merge lists without merge key for {}", rules.elem.kind());
        return Err(PatchError::Internal(text));
    }
    let mut deleted = HashSet::new();
    let mut replaces = false;
    let mut items = Vec::with_capacity(new.len());
    for item in new {
        match item.get(PATCH).map(|directive| directive.as_str().unwrap_or_default()) {
            None => items.push(item),
            Some("delete") => {
                let key = item.get(merge_key).ok_or_else(|| no_merge_key(&item, merge_key))?;
                deleted.extend(Key::of(key));
            }
            Some("replace") => replaces = true,
            Some("merge") => {
                return Err(PatchError::Internal("merging lists cannot yet be specified in the patch".to_owned()));
            }
            Some(_) => {
                let Value::Map(map) = item else { return Err(not_a_map(&item)) };
                return Err(unknown_directive(map));
            }
        }
    }
    if replaces {
        (old, items) = (items, Vec::new());
    } else if !deleted.is_empty() {
        let is_deleted = |item: &Value| item.get(merge_key).and_then(Key::of).is_some_and(|key| deleted.contains(&key));
        old.retain(|item| !is_deleted(item));
    }
    let (named, live) = (Places::of(&items, merge_key), Places::of(&old, merge_key));
    let merged = merge_items(old, items, rules)?;
    place(merged, named, live, merge_key)
}

/// Merges each item of the patch into the first one with its key, or appends it unchanged.
fn merge_items(mut merged: Vec<Value>, items: Vec<Value>, rules: &ListRules<'_>) -> Result<Vec<Value>, PatchError> {
    let mut at_key = HashMap::with_capacity(merged.len());
    for (at, item) in merged.iter().enumerate() {
        if let Some(key) = item.get(rules.merge_key).and_then(Key::of) {
            at_key.entry(key).or_insert(at);
        }
    }
    for item in items {
        let key = item.get(rules.merge_key).ok_or_else(|| no_merge_key(&item, rules.merge_key))?;
        let key = Key::of(key).ok_or_else(PatchError::panic)?;
        match at_key.get(&key).and_then(|at| merged.get_mut(*at)) {
            Some(slot) => {
                if let (Value::Map(old), Value::Map(new)) = (&mut *slot, item) {
                    *old = merge_map(std::mem::take(old), new, rules.elem)?;
                }
            }
            None => {
                at_key.insert(key, merged.len());
                merged.push(item);
            }
        }
    }
    Ok(merged)
}

/// Checks that the items of a patch are in the order of its order directive.
fn check_order(items: &[Value], order: &[Value], merge_key: &str) -> Result<(), PatchError> {
    if items.is_empty() || order.is_empty() {
        return Ok(());
    }
    if !merge_key.is_empty()
        && let Some(misfit) = items.iter().find(|item| item.as_map().is_none())
    {
        return Err(not_a_map(misfit));
    }
    // Deleted items are ignored if they have the merge key; other directives are skipped.
    let is_deleted = |item: &&Value| !merge_key.is_empty() && item.get(PATCH).and_then(Value::as_str) == Some("delete");
    let mut rest = items.iter().filter(|item| !is_deleted(item)).peekable();
    for place in order {
        while rest.next_if(|item| item.get(PATCH).is_some()).is_some() {}
        let Some(item) = rest.peek() else { return Ok(()) };
        if same_item(item, place, merge_key)? {
            rest.next();
        }
    }
    if rest.peek().is_none() {
        return Ok(());
    }
    Err(PatchError::Internal(format!(
        "The order in patch list:\n{}\n doesn't match {SET_ORDER} list:\n{}\n",
        plain_list(items),
        plain_list(order)
    )))
}

fn same_item(item: &Value, place: &Value, merge_key: &str) -> Result<bool, PatchError> {
    let (item, place) = match merge_key {
        "" => (item, place),
        _ => (merge_key_of(item, merge_key)?, merge_key_of(place, merge_key)?),
    };
    match (Key::of(item), Key::of(place)) {
        (None, None) if std::mem::discriminant(item) == std::mem::discriminant(place) => Err(PatchError::panic()),
        (item, place) => Ok(item.is_some() && item == place),
    }
}

fn merge_key_of<'a>(item: &'a Value, merge_key: &str) -> Result<&'a Value, PatchError> {
    let map = item.as_map().ok_or_else(|| not_a_map(item))?;
    map.get(merge_key).ok_or_else(|| no_merge_key(item, merge_key))
}

/// The keys of the live list after merging, by which items are placed. kube-apiserver deletes in place, so that the
/// last items remain in the freed slots until items of the patch are appended there.
fn left_behind(old: &[Value], new: &[Value], merge_key: &str) -> Vec<Option<Key>> {
    let says = |item: &Value, directive: &str| item.get(PATCH).and_then(Value::as_str) == Some(directive);
    let key_of = |item: &Value| item.get(merge_key).and_then(Key::of);
    let keys: Vec<Option<Key>> = old.iter().map(key_of).collect();
    let mut at_key: HashMap<&Key, Vec<usize>> = HashMap::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        key.iter().for_each(|key| at_key.entry(key).or_default().push(at));
    }
    let (mut is_deleted, mut last, mut stale) = (vec![false; keys.len()], keys.len(), Vec::new());
    for item in new.iter().filter(|item| says(item, "delete")) {
        for at in key_of(item).and_then(|key| at_key.remove(&key)).unwrap_or_default() {
            last = is_deleted.iter().take(last).rposition(|deleted| !deleted).map_or(0, |at| at + 1);
            stale.push(last.checked_sub(1).and_then(|last| keys.get(last)?.clone()));
            is_deleted.get_mut(at).into_iter().for_each(|deleted| *deleted = true);
        }
    }
    let mut left: Vec<_> =
        keys.iter().zip(&is_deleted).filter(|(_, deleted)| !**deleted).map(|(key, _)| key.clone()).collect();
    if !new.iter().any(|item| says(item, "replace")) {
        let mut known: HashSet<_> = left.iter().flatten().cloned().collect();
        let items = new.iter().filter(|item| item.get(PATCH).is_none()).filter_map(key_of);
        left.extend(items.filter(|key| known.insert(key.clone())).map(Some));
    }
    let missing = keys.len().saturating_sub(left.len()).min(stale.len());
    left.extend(stale.into_iter().take(missing).rev());
    left.truncate(keys.len());
    left
}

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Maps,
    Scalars,
}

/// The kind of the items of two lists, which must all have one type and not be lists.
fn items_kind(old: &[Value], new: &[Value]) -> Result<Kind, PatchError> {
    let mut items = old.iter().chain(new);
    let kind = match items.next() {
        None => return Err(PatchError::Internal("no elements in any of the given slices".to_owned())),
        Some(Value::Null) => return Err(PatchError::panic()),
        Some(Value::List(_)) => return Err(PatchError::Unprocessable("lists of lists are not supported".to_owned())),
        Some(Value::Map(_)) => Kind::Maps,
        Some(_) => Kind::Scalars,
    };
    let mut types = old.iter().chain(new).map(std::mem::discriminant);
    let first = types.next();
    if types.any(|ty| Some(ty) != first) {
        let text = format!("list element types are not identical: [{} {}]", plain_list(old), plain_list(new));
        return Err(PatchError::Internal(text));
    }
    Ok(kind)
}

fn list_of(value: &Value) -> Result<&[Value], PatchError> {
    value.as_list().ok_or_else(|| not_a_list(value))
}

fn not_a_list(found: &Value) -> PatchError {
    wrong_type("[]interface {}", found)
}
