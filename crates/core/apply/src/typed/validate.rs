//! `validate`: whether an object fits its schema, as far as structured merge needs it.
//!
//! Every problem is told in the reference's words. It must not judge what values mean: that is validation's work.

use super::element;
use super::error::TypedErrors;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node, Scalar};
use crate::go_text;
use crate::path_element::{Path, PathElement};
use pintle_schema::Value;

/// Whether associative lists may hold an item more than once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Duplicates {
    /// As objects that are stored may.
    Allowed,
    /// As in what is applied.
    Refused,
}

/// Whether an object has only what its schema declares, of the kinds it declares.
///
/// # Errors
/// All that does not fit.
pub fn validate<'s>(schema: impl Into<Node<'s>>, value: &Value, duplicates: Duplicates) -> Result<(), TypedErrors> {
    let mut walk = Walk { path: Vec::new(), errors: TypedErrors::default(), duplicates };
    walk.value(schema.into(), value);
    walk.errors.checked()
}

struct Walk {
    path: Vec<PathElement>,
    errors: TypedErrors,
    duplicates: Duplicates,
}

impl Walk {
    fn value(&mut self, node: Node<'_>, value: &Value) {
        let problem = match node.atom().choose(value) {
            Chosen::Scalar(scalar) => scalar_problem(scalar, value),
            Chosen::Map(map) => match value {
                Value::Map(entries) => return self.map(&map, entries),
                Value::Null => None,
                other => Some(format!("expected map, got {}", shown(other))),
            },
            Chosen::List(list) => match value {
                Value::List(items) => return self.list(&list, items),
                Value::Null => None,
                other => Some(format!("expected list, got {}", shown(other))),
            },
            Chosen::None => Some("schema error: invalid atom: inlined".to_owned()),
        };
        if let Some(problem) = problem {
            self.errors.push(Path(&self.path), problem);
        }
    }

    fn below(&mut self, element: PathElement, node: Node<'_>, value: &Value) {
        self.path.push(element);
        self.value(node, value);
        self.path.pop();
    }

    /// Stops at the first field that is not declared, as the reference does.
    fn map(&mut self, map: &MapNode<'_>, entries: &pintle_schema::Map) {
        for (key, value) in entries.iter() {
            let (node, _) = map.child(key);
            let element = PathElement::Field(key.clone());
            if let Node::Undeclared = node {
                self.path.push(element);
                self.errors.push(Path(&self.path), "field not declared in schema");
                self.path.pop();
                return;
            }
            self.below(element, node, value);
        }
    }

    fn list(&mut self, list: &ListNode<'_>, items: &[Value]) {
        if matches!(list.kind, ListMode::Atomic) {
            for (at, item) in (0..).zip(items) {
                self.below(PathElement::Index(at), list.elem, item);
            }
            return;
        }
        let mut elements = Vec::with_capacity(items.len());
        let mut nameless = None;
        for (at, item) in items.iter().enumerate() {
            match element::of_item(list, item) {
                Ok(element) => elements.push(element),
                Err(why) => {
                    nameless = Some(format!("element {at}: {why}"));
                    break;
                }
            }
        }
        let is_repeated = repeated(&elements);
        for ((element, item), is_repeated) in elements.into_iter().zip(items).zip(is_repeated) {
            if is_repeated && self.duplicates == Duplicates::Refused {
                self.errors.push(Path(&self.path), format!("duplicate entries for key {element}"));
            }
            self.below(element, list.elem, item);
        }
        // What follows an item without a name is not looked at.
        if let Some(why) = nameless {
            self.errors.push(Path(&self.path), why);
        }
    }
}

/// Which elements were there before.
fn repeated(elements: &[PathElement]) -> Vec<bool> {
    let mut sorted: Vec<usize> = (0..elements.len()).collect();
    sorted.sort_by(|&a, &b| elements[a].cmp(&elements[b]));
    let mut repeated = vec![false; elements.len()];
    for pair in sorted.windows(2) {
        repeated[pair[1]] = elements[pair[0]] == elements[pair[1]];
    }
    repeated
}

/// Why a value is not of a scalar kind; null is of every kind.
pub(super) fn scalar_problem(scalar: Scalar, value: &Value) -> Option<String> {
    let is_number = matches!(value, Value::Int(_) | Value::Float(_));
    match (scalar, value) {
        (_, Value::Null) => None,
        (Scalar::Boolean, Value::Bool(_)) | (Scalar::String, Value::String(_)) => None,
        (Scalar::Numeric, _) if is_number => None,
        (Scalar::Untyped, Value::Bool(_) | Value::String(_)) => None,
        (Scalar::Untyped, _) if is_number => None,
        (Scalar::Boolean, other) => Some(format!("expected boolean, got {}", shown(other))),
        (Scalar::Numeric, other) => Some(format!("expected numeric (int or float), got {}", go_text::type_name(other))),
        (Scalar::String, other) => {
            Some(format!("expected string, got &value.valueUnstructured{{Value:{}}}", go_text::syntax(other)))
        }
        (Scalar::Untyped, other) => Some(format!("expected any scalar, got {}", shown(other))),
    }
}

/// How the reference shows a value that it holds behind a pointer.
fn shown(value: &Value) -> String {
    format!("&{{{}}}", go_text::plain(value))
}
