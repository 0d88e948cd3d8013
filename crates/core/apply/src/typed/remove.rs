//! `remove_items` and `extract_items`: an object without some of its fields, and with only these.
//!
//! What items were removed from stays, though it be empty. Of an extracted list or map of which nothing is left, null is left:
//! the code that stores the object decodes it again.

use super::element;
use super::fields::fields_of;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use crate::field_set::FieldSet;
use crate::path_element::PathElement;
use pintle_schema::{Map, Value};

/// The object without the fields of a set, nor what is below them. What an atomic list or map holds stays or goes as
/// one. An object of which every field is removed is null.
pub fn remove_items<'s>(schema: impl Into<Node<'s>>, value: Value, items: &FieldSet) -> Value {
    match remove(schema.into(), value, items) {
        Value::Map(kept) if kept.is_empty() => Value::Null,
        Value::List(kept) if kept.is_empty() => Value::Null,
        kept => kept,
    }
}

/// Only the fields of a set: leaves, and list items with what is below them when nothing below is in the set. Keys of list
/// items are kept. Who owns a map or list itself, as an empty one is owned, owns nothing of what others put in.
pub fn extract_items<'s>(schema: impl Into<Node<'s>>, value: &Value, items: &FieldSet) -> Value {
    let schema = schema.into();
    let Ok(present) = fields_of(schema, value) else { return extract(schema, value, items) };
    let mut with_keys = items.clone();
    items.for_each(|path| {
        if !present.contains(path) {
            return;
        }
        for (at, element) in path.iter().enumerate() {
            let PathElement::Key(keys) = element else { continue };
            for (name, _) in keys {
                let mut key_path = path[..=at].to_vec();
                key_path.push(PathElement::Field(name.clone()));
                with_keys.insert(&key_path);
            }
        }
    });
    extract(schema, value, &with_keys)
}

/// Lists and maps stay what they are, though nothing be left in them.
fn remove(node: Node<'_>, value: Value, items: &FieldSet) -> Value {
    match (node.atom().choose(&value), value) {
        (Chosen::Map(map), Value::Map(entries)) if !map.atomic => {
            let mut kept = Map::with_capacity(entries.len());
            for (key, value) in entries {
                let value = match items.field(&key) {
                    None => value,
                    Some(entry) if entry.is_member => continue,
                    Some(entry) => remove(map.child(&key).0, value, &entry.children),
                };
                kept.push(key, value);
            }
            Value::Map(kept)
        }
        (Chosen::List(list), Value::List(values)) if !matches!(list.kind, ListMode::Atomic) => {
            let keep =
                |value: Value| match element::of_item(&list, &value).ok().and_then(|element| items.entry(&element)) {
                    None => Some(value),
                    Some(entry) if entry.is_member => None,
                    Some(entry) => Some(remove(list.elem, value, &entry.children)),
                };
            Value::List(values.into_iter().filter_map(keep).collect())
        }
        (Chosen::Scalar(_), value) => value,
        (_, Value::Map(_)) => Value::map(),
        (_, Value::List(_)) => Value::List(Vec::new()),
        _ => Value::Null,
    }
}

fn extract(node: Node<'_>, value: &Value, items: &FieldSet) -> Value {
    match (node.atom().choose(value), value) {
        (Chosen::Map(MapNode { atomic: true, .. }), Value::Map(_)) => value.clone(),
        (Chosen::List(ListNode { kind: ListMode::Atomic, .. }), Value::List(_)) => value.clone(),
        (Chosen::Map(map), Value::Map(entries)) if !entries.is_empty() => {
            let mut kept = Map::new();
            for (key, value) in entries.iter() {
                let Some(entry) = items.field(key) else { continue };
                kept.push(key.clone(), extract(map.child(key).0, value, &entry.children));
            }
            if kept.is_empty() { Value::Null } else { Value::Map(kept) }
        }
        (Chosen::List(list), Value::List(values)) if !values.is_empty() => {
            let keep = |value| {
                let entry = items.entry(&element::of_item(&list, value).ok()?)?;
                // An item that nothing in the set lies below is taken whole.
                Some(match entry.children.is_empty() {
                    true => value.clone(),
                    false => extract(list.elem, value, &entry.children),
                })
            };
            let kept: Vec<Value> = values.iter().filter_map(keep).collect();
            if kept.is_empty() { Value::Null } else { Value::List(kept) }
        }
        (Chosen::Scalar(_), _) | (_, Value::Map(_) | Value::List(_)) => value.clone(),
        _ => Value::Null,
    }
}
