//! `fields_of`: the field set of an object.
//! Guarantees that it is built level by level, without walking a path from the root, and allocates little more than
//! the set.

use super::element;
use super::error::TypedErrors;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use crate::field_set::{Entry, FieldSet};
use crate::path_element::PathElement;
use pintle_schema::{Map, Value};

/// The fields of an object: leaves, empty and null values, list items, and keys that the schema does not declare.
///
/// # Errors
/// The object has fields that its schema does not declare.
pub fn fields_of<'s>(schema: impl Into<Node<'s>>, value: &Value) -> Result<FieldSet, TypedErrors> {
    let mut errors = TypedErrors::default();
    let (_, fields) = walk(schema.into(), value, &mut errors);
    errors.checked()?;
    Ok(fields)
}

/// Whether the value is a leaf, and the fields below it.
fn walk(node: Node<'_>, value: &Value, errors: &mut TypedErrors) -> (bool, FieldSet) {
    match node.atom().choose(value) {
        Chosen::Scalar(_) => (true, FieldSet::new()),
        Chosen::Map(MapNode { atomic: true, .. }) | Chosen::List(ListNode { kind: ListMode::Atomic, .. }) => {
            (true, FieldSet::new())
        }
        Chosen::Map(map) => (false, value.as_map().map(|value| of_map(&map, value, errors)).unwrap_or_default()),
        Chosen::List(list) => (false, value.as_list().map(|items| of_list(&list, items, errors)).unwrap_or_default()),
        Chosen::None => {
            errors.push("", "schema error: invalid atom: inlined");
            (false, FieldSet::new())
        }
    }
}

fn of_map(map: &MapNode<'_>, value: &Map, errors: &mut TypedErrors) -> FieldSet {
    let mut entries = Vec::with_capacity(value.len());
    for (key, item) in value.iter() {
        let (node, is_declared) = map.child(key);
        let (is_leaf, children) = walk(node, item, errors);
        let is_member = is_leaf || is_empty(item) || !is_declared;
        entries.push(Entry { element: PathElement::Field(key.clone()), is_member, children });
    }
    FieldSet::from_entries(entries)
}

/// Whether a value is owned itself because nothing in it can be. This does not include empty lists.
pub(super) fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Map(map) => map.is_empty(),
        _ => false,
    }
}

/// Duplicate items are members, without their content.
fn of_list(list: &ListNode<'_>, items: &[Value], errors: &mut TypedErrors) -> FieldSet {
    let mut entries: Vec<Entry> = Vec::with_capacity(items.len());
    for item in items {
        let Ok(element) = element::of_item(list, item) else { continue };
        let (_, children) = walk(list.elem, item, errors);
        entries.push(Entry { element, is_member: true, children });
    }
    FieldSet::from_items(entries)
}
