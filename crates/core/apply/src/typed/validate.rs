//! `examine`: compares an applied configuration with its schema and the live object in one walk: whether it is valid,
//! its fields, and whether the object already contains it.
//! Guarantees kube-apiserver's messages. Must never validate the meaning of values: validation does.

use super::element;
use super::error::TypedErrors;
use super::fields::is_empty;
use super::lookup::Lookup;
use super::node::{Chosen, ListMode, ListNode, MapNode, Near, Node, Scalar};
use crate::field_set::{Entry, FieldSet};
use crate::path_element::{Path, PathElement};
use pintle_codec::compat::print as go;
use pintle_schema::{Map, Str, Value};

/// Whether associative lists may contain duplicate items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// As in stored objects.
    Allowed,
    /// As in applied configurations.
    Refused,
}

/// The result of examining a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Examined {
    /// Its fields, as returned by [`fields_of`](super::fields_of).
    pub fields: FieldSet,
    /// Whether merging it into the live object certainly changes nothing. Long lists are not checked.
    pub is_contained: bool,
    /// Whether it gives null for a list whose items have owners of their own.
    pub has_null_list: bool,
}

/// Whether an object contains only what its schema declares, of the declared types.
///
/// # Errors
/// All mismatches.
pub fn validate<'s>(schema: impl Into<Node<'s>>, value: &Value, duplicates: Duplicates) -> Result<(), TypedErrors> {
    walk(schema.into(), value, None, duplicates).map(drop)
}

/// Examines a configuration for a live object: validates it, and returns its fields and whether it changes anything.
///
/// # Errors
/// All mismatches with the schema.
pub fn examine<'s>(schema: impl Into<Node<'s>>, config: &Value, live: &Value) -> Result<Examined, TypedErrors> {
    walk(schema.into(), config, Some(live), Duplicates::Refused)
}

fn walk(node: Node<'_>, value: &Value, live: Option<&Value>, duplicates: Duplicates) -> Result<Examined, TypedErrors> {
    let mut walk =
        Walk { errors: TypedErrors::default(), duplicates, is_contained: live.is_some(), has_null_list: false };
    let (_, fields) = walk.value(node, value, live, &At::Root);
    walk.errors.checked()?;
    Ok(Examined { fields, is_contained: walk.is_contained, has_null_list: walk.has_null_list })
}

/// Longer lists are not compared with the live ones, because the search here is linear; the merge sorts them.
const FEW: usize = 32;

/// The way to a value. It is formatted as a path only for an error.
enum At<'a> {
    Root,
    Field(&'a At<'a>, &'a Str),
    Item(&'a At<'a>, &'a PathElement),
}

impl At<'_> {
    fn path(&self) -> Vec<PathElement> {
        let (mut path, element) = match self {
            At::Root => return Vec::new(),
            At::Field(parent, name) => (parent.path(), PathElement::Field(Str::clone(name))),
            At::Item(parent, element) => (parent.path(), PathElement::clone(element)),
        };
        path.push(element);
        path
    }
}

struct Walk {
    errors: TypedErrors,
    duplicates: Duplicates,
    /// Whether everything so far is in the live object.
    is_contained: bool,
    has_null_list: bool,
}

impl Walk {
    #[cold]
    fn refuse(&mut self, at: &At<'_>, problem: impl Into<String>) {
        self.errors.push(Path(&at.path()), problem);
    }

    /// Whether the value is a leaf, and the fields below it.
    fn value(&mut self, node: Node<'_>, value: &Value, live: Option<&Value>, at: &At<'_>) -> (bool, FieldSet) {
        match (node.atom().choose(value), value) {
            (Chosen::Map(map), Value::Map(entries)) if map.atomic => {
                self.inside(value, live, |walk| drop(walk.map(&map, entries, None, at)));
                (true, FieldSet::new())
            }
            (Chosen::Map(map), Value::Map(entries)) => {
                let live = live.and_then(Value::as_map);
                self.is_contained &= live.is_some();
                (false, self.map(&map, entries, live, at))
            }
            (Chosen::List(list), Value::List(items)) if matches!(list.kind, ListMode::Atomic) => {
                self.inside(value, live, |walk| {
                    for (index, item) in (0..).zip(items) {
                        walk.value(list.elem, item, None, &At::Item(at, &PathElement::Index(index)));
                    }
                });
                (true, FieldSet::new())
            }
            (Chosen::List(list), Value::List(items)) => {
                let live = live.and_then(Value::as_list);
                self.is_contained &= live.is_some_and(|live| live.len() <= FEW);
                (false, self.list(&list, items, live.unwrap_or_default(), at))
            }
            (chosen, value) => {
                self.whole(value, live);
                let problem = match chosen {
                    // Raw JSON was checked when it was decoded.
                    _ if matches!(value, Value::Raw(_)) => None,
                    Chosen::Scalar(scalar) => scalar_problem(scalar, value),
                    Chosen::Map(_) if !value.is_null() => Some(format!("expected map, got {}", shown(value))),
                    Chosen::List(_) if !value.is_null() => Some(format!("expected list, got {}", shown(value))),
                    Chosen::None => Some("schema error: invalid atom: inlined".to_owned()),
                    _ => None,
                };
                if let Some(problem) = problem {
                    self.refuse(at, problem);
                }
                let is_leaf = match chosen {
                    Chosen::Map(map) => map.atomic,
                    Chosen::List(list) => matches!(list.kind, ListMode::Atomic),
                    _ => true,
                };
                self.has_null_list |= !is_leaf && matches!(chosen, Chosen::List(_));
                (is_leaf, FieldSet::new())
            }
        }
    }

    /// Visits an atomic value, and validates its content.
    fn inside(&mut self, value: &Value, live: Option<&Value>, validate: impl FnOnce(&mut Self)) {
        self.whole(value, live);
        let is_contained = self.is_contained;
        validate(self);
        self.is_contained = is_contained;
    }

    /// Visits an atomic value.
    fn whole(&mut self, value: &Value, live: Option<&Value>) {
        self.is_contained = self.is_contained && live == Some(value);
    }

    /// Stops at the first field that is not declared, as kube-apiserver does.
    fn map(&mut self, map: &MapNode<'_>, entries: &Map, live: Option<&Map>, at: &At<'_>) -> FieldSet {
        let live = Lookup::new(live.filter(|_| self.is_contained));
        let (mut near, mut near_field) = (0, Near::default());
        let mut fields = Vec::with_capacity(entries.len());
        for (key, value) in entries.iter() {
            let (node, is_declared) = map.next_child(&mut near_field, key);
            let at = At::Field(at, key);
            if let Node::Undeclared = node {
                self.refuse(&at, "field not declared in schema");
                break;
            }
            let (is_leaf, children) = self.value(node, value, live.get(&mut near, key), &at);
            let is_member = is_leaf || is_empty(value) || !is_declared;
            fields.push(Entry { element: PathElement::Field(key.clone()), is_member, children });
        }
        FieldSet::from_entries(fields)
    }

    fn list(&mut self, list: &ListNode<'_>, items: &[Value], live: &[Value], at: &At<'_>) -> FieldSet {
        let mut elements = Vec::with_capacity(items.len());
        let mut nameless = None;
        for (index, item) in items.iter().enumerate() {
            match element::of_item(list, item) {
                Ok(element) => elements.push(element),
                Err(why) => {
                    nameless = Some(format!("element {index}: {why}"));
                    break;
                }
            }
        }
        let is_repeated = repeated(&elements);
        let mut next = 0;
        let mut fields = Vec::with_capacity(items.len());
        for ((element, item), is_repeated) in elements.into_iter().zip(items).zip(is_repeated) {
            if is_repeated && self.duplicates == Duplicates::Refused {
                self.refuse(at, format!("duplicate entries for key {element}"));
            }
            let before = if self.is_contained { next_same(list, live, &mut next, item) } else { None };
            let (_, children) = self.value(list.elem, item, before, &At::Item(at, &element));
            fields.push(Entry { element, is_member: true, children });
        }
        // Items after one without an element are not checked.
        if let Some(why) = nameless {
            self.refuse(at, why);
        }
        FieldSet::from_items(fields)
    }
}

/// The item of a live list with an item's element, from `next` on. It must be the only one.
fn next_same<'a>(list: &ListNode<'_>, live: &'a [Value], next: &mut usize, item: &Value) -> Option<&'a Value> {
    let mut same = live.iter().enumerate().filter(|(_, candidate)| element::is_same(list, candidate, item));
    let (at, found) = same.next().filter(|(at, _)| at >= next)?;
    *next = at + 1;
    same.next().is_none().then_some(found)
}

/// The elements so far.
fn repeated(elements: &[PathElement]) -> Vec<bool> {
    let mut sorted: Vec<usize> = (0..elements.len()).collect();
    sorted.sort_by(|&a, &b| elements[a].cmp(&elements[b]));
    let mut repeated = vec![false; elements.len()];
    for pair in sorted.windows(2) {
        repeated[pair[1]] = elements[pair[0]] == elements[pair[1]];
    }
    repeated
}

/// Why a value is not of a scalar type; null is of every type.
pub(super) fn scalar_problem(scalar: Scalar, value: &Value) -> Option<String> {
    let is_number = matches!(value, Value::Int(_) | Value::Float(_));
    match (scalar, value) {
        (_, Value::Null) => None,
        (Scalar::Boolean, Value::Bool(_)) | (Scalar::String, Value::String(_)) => None,
        (Scalar::Numeric, _) if is_number => None,
        (Scalar::Untyped, Value::Bool(_) | Value::String(_) | Value::Raw(_)) => None,
        (Scalar::Untyped, _) if is_number => None,
        (Scalar::Boolean, other) => Some(format!("expected boolean, got {}", shown(other))),
        (Scalar::Numeric, other) => Some(format!("expected numeric (int or float), got {}", go::type_name(other))),
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go::syntax(other)))
        }
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got {}", shown(other))),
    }
}

/// How kube-apiserver prints a value behind a pointer.
fn shown(value: &Value) -> String {
    format!("&{{{}}}", go::plain(value))
}
