//! `compare`: the differences of two versions of an object, as field sets.
//! Guarantees one walk over both; equal parts allocate nothing, and paths are built only where there is a difference.

use super::element;
use super::error::TypedErrors;
use super::lookup::Lookup;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use super::validate::scalar_problem;
use crate::field_set::{Entry, FieldSet};
use crate::path_element::{Path, PathElement, compare_values};
use pintle_schema::{Map, Value};

/// The differences between an old and a new version of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// Fields that only the new version has.
    pub added: FieldSet,
    /// Fields of both versions with different values.
    pub modified: FieldSet,
    /// Fields that only the old version has.
    pub removed: FieldSet,
}

impl Comparison {
    pub fn is_same(&self) -> bool {
        self.added.is_empty() && self.modified.is_empty() && self.removed.is_empty()
    }

    /// Removes the given fields and all below them.
    pub fn without(mut self, fields: &FieldSet) -> Self {
        if !fields.is_empty() {
            for set in [&mut self.added, &mut self.modified, &mut self.removed] {
                if !set.is_empty() {
                    *set = set.recursive_difference(fields);
                }
            }
        }
        self
    }
}

/// Compares two versions of an object. Duplicate items of a list are compared as one.
///
/// # Errors
/// A value does not match its schema.
pub fn compare<'s>(schema: impl Into<Node<'s>>, old: &Value, new: &Value) -> Result<Comparison, TypedErrors> {
    let mut walk = Walk { path: Vec::new(), found: Comparison::default(), errors: TypedErrors::default() };
    walk.both(schema.into(), old, new);
    walk.errors.checked()?;
    Ok(walk.found)
}

struct Walk {
    path: Vec<PathElement>,
    found: Comparison,
    errors: TypedErrors,
}

/// The values in the old and in the new version, at least one of them.
#[derive(Clone, Copy)]
enum Sides<'a> {
    Old(&'a Value),
    New(&'a Value),
    Both(&'a Value, &'a Value),
}

impl Walk {
    fn at(&mut self, element: PathElement, node: Node<'_>, sides: Sides<'_>) {
        self.path.push(element);
        match sides {
            Sides::Both(old, new) => self.both(node, old, new),
            Sides::Old(old) => {
                let below = self.whole(node, old);
                self.found.removed.insert_tree(&self.path, below);
            }
            Sides::New(new) => {
                let below = self.whole(node, new);
                self.found.added.insert_tree(&self.path, below);
            }
        }
        self.path.pop();
    }

    fn both(&mut self, node: Node<'_>, old: &Value, new: &Value) {
        if old == new {
            return;
        }
        let atom = node.atom();
        // A value that changed its form is walked in both.
        if !atom.agrees_on(old, new) {
            self.form(atom.choose(old), old, new);
        }
        self.form(atom.choose(new), old, new);
    }

    fn form(&mut self, form: Chosen<'_>, old: &Value, new: &Value) {
        match form {
            Chosen::Scalar(scalar) => match (scalar_problem(scalar, old), scalar_problem(scalar, new)) {
                (Some(old), Some(new)) => {
                    self.errors.push(Path(&self.path), format!("lhs: {old}"));
                    self.errors.push(Path(&self.path), format!("rhs: {new}"));
                }
                _ => self.leaf(old, new),
            },
            Chosen::Map(map) => match (non_empty_map(old), non_empty_map(new)) {
                _ if map.atomic => self.leaf(old, new),
                (None, None) => self.leaf(old, new),
                (old, new) => self.maps(&map, old, new),
            },
            Chosen::List(list) => match (items(old), items(new)) {
                _ if matches!(list.kind, ListMode::Atomic) => self.leaf(old, new),
                ([], []) => self.leaf(old, new),
                (old, new) => self.lists(&list, old, new),
            },
            Chosen::None => self.errors.push(Path(&self.path), "schema error: invalid atom: inlined"),
        }
    }

    fn leaf(&mut self, old: &Value, new: &Value) {
        if compare_values(old, new).is_ne() {
            self.found.modified.insert(&self.path);
        }
    }

    fn maps(&mut self, map: &MapNode<'_>, old: Option<&Map>, new: Option<&Map>) {
        let (old, new) = (Lookup::new(old), Lookup::new(new));
        let mut near = 0;
        for (key, value) in old.entries() {
            let sides = match new.get(&mut near, key) {
                Some(other) if value == other => continue,
                Some(other) => Sides::Both(value, other),
                None => Sides::Old(value),
            };
            self.at(PathElement::Field(key.clone()), map.child(key).0, sides);
        }
        near = 0;
        for (key, value) in new.entries() {
            if old.get(&mut near, key).is_none() {
                self.at(PathElement::Field(key.clone()), map.child(key).0, Sides::New(value));
            }
        }
    }

    fn lists(&mut self, list: &ListNode<'_>, old: &[Value], new: &[Value]) {
        let old = self.indexed(list, old);
        let new = self.indexed(list, new);
        let (mut old, mut new) = (&old[..], &new[..]);
        while let Some(element) = [old.first(), new.first()].into_iter().flatten().map(|(element, _)| element).min() {
            let of_old = old.partition_point(|(other, _)| other <= element);
            let of_new = new.partition_point(|(other, _)| other <= element);
            let (mine, rest_of_old) = old.split_at(of_old);
            let (theirs, rest_of_new) = new.split_at(of_new);
            self.items(list, element, mine, theirs);
            (old, new) = (rest_of_old, rest_of_new);
        }
    }

    /// Compares the items of one element: one on each side, or several, which count as one value.
    fn items(&mut self, list: &ListNode<'_>, element: &PathElement, old: &[Item<'_>], new: &[Item<'_>]) {
        match (old, new) {
            ([(_, old)], [(_, new)]) => {
                if old != new {
                    self.at(element.clone(), list.elem, Sides::Both(old, new));
                }
            }
            ([(_, old)], []) => self.at(element.clone(), list.elem, Sides::Old(old)),
            ([], [(_, new)]) => self.at(element.clone(), list.elem, Sides::New(new)),
            ([_, _, ..], [_, _, ..]) => {
                let same = old.len() == new.len()
                    && old.iter().zip(new).all(|((_, old), (_, new))| compare_values(old, new).is_eq());
                if !same {
                    self.mark(element, |found| &mut found.modified);
                }
            }
            ([_, _, ..], _) => {
                if let [(_, new), ..] = new {
                    self.at(element.clone(), list.elem, Sides::New(new));
                }
                self.mark(element, |found| &mut found.removed);
            }
            (_, [_, _, ..]) => {
                if let [(_, old), ..] = old {
                    self.at(element.clone(), list.elem, Sides::Old(old));
                }
                self.mark(element, |found| &mut found.added);
            }
            ([], []) => {}
        }
    }

    fn mark(&mut self, element: &PathElement, set: impl Fn(&mut Comparison) -> &mut FieldSet) {
        self.path.push(element.clone());
        set(&mut self.found).insert(&self.path);
        self.path.pop();
    }

    /// The items sorted by element, stable.
    fn indexed<'a>(&mut self, list: &ListNode<'_>, items: &'a [Value]) -> Vec<Item<'a>> {
        let mut indexed = Vec::with_capacity(items.len());
        for (at, item) in items.iter().enumerate() {
            match element::of_item(list, item) {
                Ok(element) => indexed.push((element, item)),
                Err(why) => self.errors.push(Path(&self.path), format!("element {at}: {why}")),
            }
        }
        indexed.sort_by(|(a, _), (b, _)| a.cmp(b));
        indexed
    }

    /// Every field of a value that only one side has, including those on the way.
    fn whole(&mut self, node: Node<'_>, value: &Value) -> FieldSet {
        match (node.atom().choose(value), value) {
            (Chosen::Map(map), Value::Map(value)) if !map.atomic => {
                let mut entries = Vec::with_capacity(value.len());
                for (key, value) in value.iter() {
                    let children = self.whole(map.child(key).0, value);
                    entries.push(Entry { element: PathElement::Field(key.clone()), is_member: true, children });
                }
                FieldSet::from_entries(entries)
            }
            (Chosen::List(list), Value::List(items)) if !matches!(list.kind, ListMode::Atomic) => {
                let mut entries = Vec::with_capacity(items.len());
                for (at, item) in items.iter().enumerate() {
                    match element::of_item(&list, item) {
                        Ok(element) => {
                            let children = self.whole(list.elem, item);
                            entries.push(Entry { element, is_member: true, children });
                        }
                        Err(why) => self.errors.push(Path(&self.path), format!("element {at}: {why}")),
                    }
                }
                FieldSet::from_items(entries)
            }
            _ => FieldSet::new(),
        }
    }
}

type Item<'a> = (PathElement, &'a Value);

fn non_empty_map(value: &Value) -> Option<&Map> {
    value.as_map().filter(|map| !map.is_empty())
}

fn items(value: &Value) -> &[Value] {
    value.as_list().unwrap_or_default()
}
