//! `merge`: merges an applied configuration into an object.
//! Guarantees that the configuration wins where it has a value, and the rest of the object is kept. Lists have the
//! order of the configuration, with live-only items at their places between the shared ones.

use super::element;
use super::error::TypedErrors;
use super::lookup::Lookup;
use super::node::{Chosen, ListMode, ListNode, MapNode, Near, Node};
use super::validate::scalar_problem;
use crate::path_element::{Path, PathElement};
use pintle_schema::{Map, Value};

/// Merges a configuration into an object. The result is not canonical: new fields follow the old ones.
///
/// # Errors
/// A list of the configuration contains an item twice, or a value does not match its schema.
pub fn merge<'s>(schema: impl Into<Node<'s>>, live: &Value, config: &Value) -> Result<Value, TypedErrors> {
    let mut walk = Walk { path: Vec::new(), errors: TypedErrors::default() };
    let merged = walk.both(schema.into(), live, config);
    walk.errors.checked()?;
    Ok(merged)
}

struct Walk {
    path: Vec<PathElement>,
    errors: TypedErrors,
}

impl Walk {
    fn both(&mut self, node: Node<'_>, live: &Value, config: &Value) -> Value {
        match node.atom().choose(config) {
            Chosen::Map(map) if !map.atomic => match (live, config) {
                (Value::Map(live), Value::Map(config)) if !live.is_empty() || !config.is_empty() => {
                    Value::Map(self.maps(&map, live, config))
                }
                // Null does not affect the content of a map.
                (Value::Map(live), config) if !live.is_empty() && !matches!(config, Value::Map(_)) => {
                    Value::Map(live.clone())
                }
                _ => config.clone(),
            },
            Chosen::List(list) if !matches!(list.kind, ListMode::Atomic) => match (live, config) {
                (Value::List(live), Value::List(config)) if !live.is_empty() || !config.is_empty() => {
                    self.lists(&list, live, config)
                }
                (Value::List(live), config) if !live.is_empty() && !matches!(config, Value::List(_)) => {
                    Value::List(live.clone())
                }
                (_, Value::List(items)) if !items.is_empty() => self.lists(&list, &[], items),
                _ => config.clone(),
            },
            Chosen::Scalar(scalar) => {
                if let (Some(live), Some(config)) = (scalar_problem(scalar, live), scalar_problem(scalar, config)) {
                    self.errors.push(Path(&self.path), format!("lhs: {live}"));
                    self.errors.push(Path(&self.path), format!("rhs: {config}"));
                }
                config.clone()
            }
            Chosen::None => {
                self.errors.push(Path(&self.path), "schema error: invalid atom: inlined");
                Value::Null
            }
            _ => config.clone(),
        }
    }

    fn maps(&mut self, map: &MapNode<'_>, live: &Map, config: &Map) -> Map {
        let mut merged = Map::with_capacity(live.len().max(config.len()));
        let (live, config) = (Lookup::new(Some(live)), Lookup::new(Some(config)));
        let (mut near, mut near_field) = (0, Near::default());
        for (key, value) in live.entries() {
            let value = match config.get(&mut near, key) {
                None => value.clone(),
                Some(config) => {
                    let (node, _) = map.next_child(&mut near_field, key);
                    self.below(PathElement::Field(key.clone()), node, value, config)
                }
            };
            merged.push(key.clone(), value);
        }
        near = 0;
        for (key, value) in config.entries() {
            if live.get(&mut near, key).is_none() {
                merged.push(key.clone(), value.clone());
            }
        }
        merged
    }

    fn below(&mut self, element: PathElement, node: Node<'_>, live: &Value, config: &Value) -> Value {
        self.path.push(element);
        let merged = self.both(node, live, config);
        self.path.pop();
        merged
    }

    fn lists(&mut self, list: &ListNode<'_>, live: &[Value], config: &[Value]) -> Value {
        let known = self.errors.0.len();
        let (live, config) = (self.indexed(list, live, true), self.indexed(list, config, false));
        if self.errors.0.len() > known {
            return Value::Null;
        }
        let mut items = Vec::with_capacity(live.items.len().max(config.items.len()));
        in_order(&live, &config, |taken| {
            items.push(match taken {
                Taken::Live(item) => item.clone(),
                Taken::Config(element, item) => match live.only(element) {
                    None => item.clone(),
                    Some(before) => {
                        let merged = self.below(element.clone(), list.elem, before, item);
                        // kube-apiserver ignores errors below a list item.
                        self.errors.0.truncate(known);
                        merged
                    }
                },
            });
        });
        Value::List(items)
    }

    fn indexed<'a>(&mut self, list: &ListNode<'_>, values: &'a [Value], duplicates_allowed: bool) -> Indexed<'a> {
        let mut items = Vec::with_capacity(values.len());
        for (at, item) in values.iter().enumerate() {
            match element::of_item(list, item) {
                Ok(element) => items.push((element, item)),
                Err(why) => self.errors.push(Path(&self.path), format!("element {at}: {why}")),
            }
        }
        let mut sorted: Vec<usize> = (0..items.len()).collect();
        sorted.sort_by(|&a, &b| items[a].0.cmp(&items[b].0));
        if !duplicates_allowed {
            for pair in sorted.windows(2).filter(|pair| items[pair[0]].0 == items[pair[1]].0) {
                self.errors.push(Path(&self.path), format!("duplicate entries for key {}", items[pair[1]].0));
            }
        }
        Indexed { items, sorted }
    }
}

/// The items of a list, searchable by element.
struct Indexed<'a> {
    items: Vec<(PathElement, &'a Value)>,
    /// Indexes of `items`, sorted by element.
    sorted: Vec<usize>,
}

impl<'a> Indexed<'a> {
    /// The first item of an element.
    fn find(&self, element: &PathElement) -> Option<usize> {
        let place = self.sorted.partition_point(|&at| self.items[at].0 < *element);
        self.sorted.get(place).copied().filter(|&at| self.items[at].0 == *element)
    }

    /// The item of an element, if there is exactly one.
    fn only(&self, element: &PathElement) -> Option<&'a Value> {
        let place = self.sorted.partition_point(|&at| self.items[at].0 < *element);
        let at = *self.sorted.get(place).filter(|&&at| self.items[at].0 == *element)?;
        let is_repeated = self.sorted.get(place + 1).is_some_and(|&next| self.items[next].0 == *element);
        (!is_repeated).then(|| self.items[at].1)
    }
}

/// The source of an item of the merged list.
enum Taken<'a> {
    /// Only in the object.
    Live(&'a Value),
    /// In the configuration, and possibly in the object.
    Config(&'a PathElement, &'a Value),
}

/// Lists the items of both in merged order. Shared items have the configuration's order; a live-only item comes
/// before the shared item that it preceded.
fn in_order<'a>(live: &'a Indexed<'_>, config: &'a Indexed<'_>, mut take: impl FnMut(Taken<'a>)) {
    let is_shared = |at: &usize| live.find(&config.items[*at].0).is_some();
    let mut shared = (0..config.items.len()).filter(is_shared);
    let mut next_shared = shared.next();
    let mut done = vec![false; config.items.len()];
    let (mut l, mut r) = (0, 0);
    while l < live.items.len() || r < config.items.len() {
        if let (Some((mine, _)), Some((theirs, item))) = (live.items.get(l), config.items.get(r)) {
            if mine == theirs {
                done[r] = true;
                take(Taken::Config(theirs, item));
                (l, r) = (l + 1, r + 1);
                next_shared = shared.next();
                continue;
            }
            // A shared item that is not the next one comes later, where the configuration has it.
            if next_shared.is_some_and(|next| config.items[next].0 != *mine) && config.find(mine).is_some() {
                l += 1;
                continue;
            }
        }
        if let Some((mine, item)) = live.items.get(l) {
            match config.find(mine) {
                None => {
                    take(Taken::Live(item));
                    l += 1;
                    continue;
                }
                Some(at) if done[at] => l += 1,
                Some(_) => {}
            }
        }
        if let Some((theirs, item)) = config.items.get(r) {
            done[r] = true;
            take(Taken::Config(theirs, item));
            if next_shared.is_some_and(|next| config.items[next].0 == *theirs) {
                next_shared = shared.next();
            }
            r += 1;
        }
    }
}
