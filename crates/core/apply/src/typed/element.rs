//! Items of associative lists and sets, and the path elements that identify them.
//! Guarantees kube-apiserver's messages, because clients see them.

use super::node::{Chosen, KeyNames, ListMode, ListNode, Node, key_default};
use crate::path_element::{PathElement, compare_values};
use pintle_codec::compat::print::quoted;
use pintle_schema::Value;
use std::borrow::Cow;

/// The element of an item of a list that is not atomic.
pub(super) fn of_item(list: &ListNode<'_>, item: &Value) -> Result<PathElement, String> {
    match list.kind {
        ListMode::Atomic => Err("invalid indexing of non-associative list".to_owned()),
        ListMode::Set => of_set_item(item).map_err(str::to_owned),
        ListMode::Keyed(keys) => of_keyed_item(list.elem, keys, item),
    }
}

fn of_set_item(item: &Value) -> Result<PathElement, &'static str> {
    match item {
        Value::Map(_) => Err("associative list without keys has an element that's a map type"),
        Value::List(_) => Err("not supported: associative list with lists as elements"),
        Value::Null => Err("associative list without keys has an element that's an explicit null"),
        scalar => Ok(PathElement::Value(scalar.clone())),
    }
}

fn of_keyed_item(elem: Node<'_>, keys: KeyNames<'_>, item: &Value) -> Result<PathElement, String> {
    let map = match item {
        Value::Map(map) => map,
        Value::Null => return Err("associative list with keys may not have a null element".to_owned()),
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut fields = Vec::with_capacity(keys.len());
    for name in (0..keys.len()).map_while(|at| keys.get(at)) {
        let value = match map.get(&name) {
            Some(value) => Some(value.clone()),
            None => default_of(elem, &name, item)?,
        };
        // An omitted key is omitted from the element too: that identifies an item of its own.
        fields.extend(value.map(|value| (name, value)));
    }
    if fields.is_empty() {
        let names: Vec<String> = (0..keys.len()).map_while(|at| keys.get(at)).map(|name| quoted(&name)).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            names.join(" ")
        ));
    }
    Ok(PathElement::key(fields))
}

/// The value of a key in an item that omits it.
fn default_of(elem: Node<'_>, name: &str, item: &Value) -> Result<Option<Value>, String> {
    match elem.atom().choose(item) {
        Chosen::Map(declared) => Ok(declared.field(name).and_then(key_default)),
        _ => Err(format!("couldn't find default value for {name}: associative list may not have non-map types")),
    }
}

/// Whether two items have the same element. An item without one is equal to none.
pub(super) fn is_same(list: &ListNode<'_>, a: &Value, b: &Value) -> bool {
    let keys = match (list.kind, a, b) {
        (ListMode::Set, Value::Map(_) | Value::List(_) | Value::Null, _) => return false,
        (ListMode::Set, ..) => return compare_values(a, b).is_eq(),
        (ListMode::Keyed(keys), Value::Map(_), Value::Map(_)) => keys,
        _ => return false,
    };
    let key_of = |name: &str, item| match Value::get(item, name) {
        Some(value) => Some(Cow::Borrowed(value)),
        None => default_of(list.elem, name, item).ok().flatten().map(Cow::Owned),
    };
    let mut has_keys = false;
    let mut names = (0..keys.len()).map_while(|at| keys.get(at));
    names.all(|name| match (key_of(&name, a), key_of(&name, b)) {
        (Some(a), Some(b)) => {
            has_keys = true;
            compare_values(&a, &b).is_eq()
        }
        (a, b) => a.is_none() && b.is_none(),
    }) && has_keys
}
