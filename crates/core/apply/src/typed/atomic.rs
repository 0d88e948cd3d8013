//! `atomic_paths`: what a configuration says of lists, maps and structs that are changed as a whole.
//! Guarantees the paths that kube-apiserver names. Must never look below keys that no schema declares.

use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use crate::path_element::{Path, PathElement};
use pintle_schema::Value;

/// The paths of atomic lists, maps and structs in a value.
pub fn atomic_paths<'s>(schema: impl Into<Node<'s>>, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    walk(schema.into(), value, &mut Vec::new(), &mut found);
    found
}

fn walk(node: Node<'_>, value: &Value, path: &mut Vec<PathElement>, found: &mut Vec<String>) {
    match (node.atom().choose(value), value) {
        (Chosen::Map(map), Value::Map(_)) => walk_map(&map, value, path, found),
        (Chosen::List(list), Value::List(items)) => walk_list(&list, items, path, found),
        _ => {}
    }
}

fn walk_map(map: &MapNode<'_>, value: &Value, path: &mut Vec<PathElement>, found: &mut Vec<String>) {
    if map.atomic {
        found.push(Path(path).to_string());
    }
    for (key, value) in value.as_map().into_iter().flat_map(|entries| entries.iter()) {
        if let Some(field) = map.field(key) {
            path.push(PathElement::Field(key.clone()));
            walk(Node::Field(field), value, path, found);
            path.pop();
        }
    }
}

fn walk_list(list: &ListNode<'_>, items: &[Value], path: &mut Vec<PathElement>, found: &mut Vec<String>) {
    if matches!(list.kind, ListMode::Atomic) {
        found.push(Path(path).to_string());
    }
    for (at, item) in (0..).zip(items) {
        path.push(PathElement::Index(at));
        walk(list.elem, item, path, found);
        path.pop();
    }
}
