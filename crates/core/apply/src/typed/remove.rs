//! `remove_items` and `extract_items`: an object without some of its fields, or with only these.
//! Guarantees that a container remains when its items were removed, even if it is empty. An extracted list or map
//! without content becomes null, because the code that stores the object decodes it again.

use super::element;
use super::fields::fields_of;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use crate::field_set::FieldSet;
use crate::path_element::PathElement;
use pintle_schema::{Map, Value};

/// The object without the fields of a set, including everything below them. An atomic list or map is kept or removed
/// as a whole. An object without any field left is null.
pub fn remove_items<'s>(schema: impl Into<Node<'s>>, value: Value, items: &FieldSet) -> Value {
    match remove(schema.into(), value, items) {
        Value::Map(kept) if kept.is_empty() => Value::Null,
        Value::List(kept) if kept.is_empty() => Value::Null,
        kept => kept,
    }
}

/// Only the fields of a set: leaves, and list items with everything below them if the set contains nothing below.
/// Keys of list items are kept. The owner of an empty map or list does not own what others add to it.
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

/// Lists and maps are kept even if they are empty.
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
                // An item without members below it is taken as a whole.
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
