//! Field sets and schemas: adds named fields as members, and adapts sets from before a schema changed.
//! Guarantees that a set that needs no change costs a walk and no allocation. Must never look at values.

use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use crate::field_set::{Entry, FieldSet};
use crate::fields_v1::text_of;
use crate::path_element::PathElement;
use pintle_codec::json::{Key, Members};
use pintle_schema::{Str, Value};

/// The set with every declared field that has paths below it added as a member.
pub fn ensure_named_fields_are_members<'s>(schema: impl Into<Node<'s>>, set: &FieldSet) -> FieldSet {
    named(schema.into(), set)
}

fn named(node: Node<'_>, set: &FieldSet) -> FieldSet {
    let atom = node.atom();
    let entry = |entry: &Entry| {
        let (node, is_declared) = match (&entry.element, &atom.map, &atom.list) {
            (PathElement::Field(name), Some(map), _) => map.child(name),
            (PathElement::Key(_), _, Some(list)) => (list.elem, false),
            _ => (Node::Undeclared, false),
        };
        Entry {
            element: entry.element.clone(),
            is_member: entry.is_member || is_declared,
            children: named(node, &entry.children),
        }
    };
    FieldSet::from_entries(set.entries().iter().map(entry).collect())
}

/// Adapts a set to values that a schema has since declared atomic: the owner of parts of such a value now owns the
/// value. `None` if nothing changes. Ownership of values that became granular does not change.
pub fn reconcile_with_schema<'s>(schema: impl Into<Node<'s>>, set: &FieldSet) -> Option<FieldSet> {
    reconcile(schema.into(), set)
}

/// Whether [`reconcile_with_schema`] would change the set of this `FieldsV1`, without parsing it.
pub fn is_outdated<'s>(schema: impl Into<Node<'s>>, fields_v1: &Value) -> bool {
    let text = text_of(fields_v1);
    let mut members = Members::of(&text);
    let first = first_below(&mut members);
    outdated(schema.into(), first, &mut members)
}

/// Whether the object whose first key was read contains parts of a value that the schema declares atomic.
fn outdated(node: Node<'_>, first: Option<Key<'_>>, members: &mut Members<'_>) -> bool {
    let mut below: Option<Below<'_>> = None;
    let mut next = first;
    while let Some(key) = next {
        // Most have nothing below them, and need no lookup.
        if !members.pass_empty()
            && let first @ Some(_) = first_below(members)
        {
            let name = key.written().starts_with("f:").then(|| key.text());
            let below = below.get_or_insert_with(|| Below::of(node));
            let node = below.at(name.as_deref().and_then(|name| name.strip_prefix("f:")));
            if is_atomic(node) || outdated(node, first, members) {
                return true;
            }
        }
        next = members.key();
    }
    false
}

/// The first key of the next object, except the one that marks the object itself. `None` if there is no other.
fn first_below<'a>(members: &mut Members<'a>) -> Option<Key<'a>> {
    if !members.enter() {
        return None;
    }
    loop {
        match members.key() {
            Some(key) if key.written() == "." => members.pass(),
            first => return first,
        }
    }
}

/// The location below. Without a value, a location with several forms counts as a map.
struct Below<'s>(Chosen<'s>);

impl<'s> Below<'s> {
    fn of(node: Node<'s>) -> Self {
        Below(node.atom().choose(&Value::Null))
    }

    /// The location of an element: a field's name, or an item.
    fn at(&self, field: Option<&str>) -> Node<'s> {
        match (&self.0, field) {
            (Chosen::Map(map), _) if map.is_deduced() => Node::Undeclared,
            (Chosen::Map(map), Some(name)) => map.child(name).0,
            (Chosen::Map(map), None) => map.elem,
            (Chosen::List(list), _) => list.elem,
            _ => Node::Undeclared,
        }
    }
}

fn reconcile(node: Node<'_>, set: &FieldSet) -> Option<FieldSet> {
    let below = Below::of(node);
    let mut changed: Option<Vec<Entry>> = None;
    for (at, entry) in set.entries().iter().enumerate().filter(|(_, entry)| !entry.children.is_empty()) {
        let node = below.at(entry.element.as_field().map(Str::as_str));
        let (is_member, children) = match is_atomic(node) {
            true => (true, Some(FieldSet::new())),
            false => (entry.is_member, reconcile(node, &entry.children)),
        };
        if let Some(children) = children {
            let entries = changed.get_or_insert_with(|| set.entries().to_vec());
            entries[at] = Entry { element: entry.element.clone(), is_member, children };
        }
    }
    changed.map(FieldSet::from_entries)
}

fn is_atomic(node: Node<'_>) -> bool {
    match node.atom().choose(&Value::Null) {
        Chosen::Map(map @ MapNode { atomic: true, .. }) => !map.is_deduced(),
        Chosen::List(ListNode { kind: ListMode::Atomic, .. }) => true,
        _ => false,
    }
}
