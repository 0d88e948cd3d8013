//! `is_contained`: whether applying a configuration would leave an object as it is.
//!
//! One walk that allocates nothing, for the most frequent apply of all. It may say no where merging would change
//! nothing, but never yes where it would change something.

use super::element;
use super::lookup::Lookup;
use super::node::{Chosen, ListMode, ListNode, MapNode, Node};
use pintle_schema::{Map, Value};

/// Lists of more items are left to the merge, which sorts them.
const FEW: usize = 32;

/// Whether merging a valid configuration into an object gives that object again.
pub fn is_contained<'s>(schema: impl Into<Node<'s>>, live: &Value, config: &Value) -> bool {
    value(schema.into(), live, config)
}

fn value(node: Node<'_>, live: &Value, config: &Value) -> bool {
    match (node.atom().choose(config), live, config) {
        (Chosen::Map(map), Value::Map(live), Value::Map(config)) if !map.atomic => entries(&map, live, config),
        (Chosen::List(list), Value::List(live), Value::List(config)) if !matches!(list.kind, ListMode::Atomic) => {
            items(&list, live, config)
        }
        (Chosen::None, ..) => false,
        (_, live, config) => live == config,
    }
}

fn entries(map: &MapNode<'_>, live: &Map, config: &Map) -> bool {
    let live = Lookup::new(Some(live));
    let mut near = 0;
    config.iter().all(|(key, item)| live.get(&mut near, key).is_some_and(|live| value(map.child(key).0, live, item)))
}

/// The items stand in the same order in both, and none stands twice in the object.
fn items(list: &ListNode<'_>, live: &[Value], config: &[Value]) -> bool {
    if live.len() > FEW {
        return false;
    }
    let mut rest = live.iter().enumerate();
    config.iter().all(|item| {
        let found = rest.find(|(_, candidate)| element::is_same(list, candidate, item));
        found.is_some_and(|(at, before)| {
            let is_only = live.iter().skip(at + 1).all(|other| !element::is_same(list, other, item));
            is_only && value(list.elem, before, item)
        })
    })
}
