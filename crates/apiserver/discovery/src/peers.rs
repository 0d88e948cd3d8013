//! Aggregated discovery of several servers as one document. Guarantees that the order of each server's document is kept as far
//! as the documents agree. Must never trust a document of another server: it is decoded under its schema.

use crate::document::Document;
use pintle_codec::{Strictness, json};
use pintle_meta::apidiscovery::v2::APIGroupDiscoveryList;
use pintle_schema::{ApiType, ApiValue, Str, Value, canonicalize};
use std::collections::{BTreeMap, BTreeSet};

/// The groups of a document of aggregated discovery; `None` if it is none.
pub fn groups(document: &[u8]) -> Option<Vec<Value>> {
    let schema = APIGroupDiscoveryList::schema();
    let mut list = json::decode(schema, document, Strictness::Ignore).ok()?.value;
    canonicalize(schema, &mut list);
    if list.str_at(&["kind"]) != "APIGroupDiscoveryList" {
        return None;
    }
    APIGroupDiscoveryList::from_value(&list).ok()?;
    Some(list.get("items").and_then(Value::as_list).unwrap_or_default().to_vec())
}

/// The names of all resources in groups: group, version and plural name.
pub fn resources(groups: &[Value]) -> impl Iterator<Item = [&str; 3]> {
    groups.iter().flat_map(|group| {
        let name = group_name(group);
        items(group, "versions").iter().flat_map(move |version| {
            let of_version = items(version, "resources").iter();
            of_version.map(move |resource| [name, version.str_at(&["version"]), resource.str_at(&["resource"])])
        })
    })
}

/// The groups without some versions; a group without versions is left out.
pub fn without(groups: &[Value], is_excluded: &dyn Fn(&str, &str) -> bool) -> Vec<Value> {
    let kept = groups.iter().filter_map(|group| {
        let name = group_name(group);
        let is_kept = |version: &&Value| !is_excluded(name, version.str_at(&["version"]));
        let versions: Vec<Value> = items(group, "versions").iter().filter(is_kept).cloned().collect();
        (!versions.is_empty()).then(|| with(group, "versions", versions))
    });
    kept.collect()
}

/// A server's document with what others serve besides.
pub fn merge<'p>(local: Document, peers: impl IntoIterator<Item = &'p [Value]>) -> Document {
    let mut lists = vec![items(&local.value, "items").to_vec()];
    lists.extend(peers.into_iter().map(<[Value]>::to_vec));
    let merged = merged(lists, &|group| group_name(group).to_owned(), &|a, b| merge_group(&a, &b));
    Document { value: with(&local.value, "items", merged), ..local }
}

fn merge_group(a: &Value, b: &Value) -> Value {
    let lists = [a, b].map(|group| items(group, "versions").to_vec()).to_vec();
    let name = |version: &Value| version.str_at(&["version"]).to_owned();
    with(a, "versions", merged(lists, &name, &|a, b| merge_version(&a, &b)))
}

fn merge_version(a: &Value, b: &Value) -> Value {
    let lists = [a, b].map(|version| items(version, "resources").to_vec()).to_vec();
    let name = |resource: &Value| resource.str_at(&["resource"]).to_owned();
    // As in kube-apiserver, the last server's description of a resource counts.
    with(a, "resources", merged(lists, &name, &|_, b| b))
}

/// Lists as one, in an order that fits all; items of the same name become one.
fn merged(
    lists: Vec<Vec<Value>>,
    name: &dyn Fn(&Value) -> String,
    merge: &dyn Fn(Value, Value) -> Value,
) -> Vec<Value> {
    let orders: Vec<Vec<String>> = lists.iter().map(|list| list.iter().map(name).collect()).collect();
    let mut all: BTreeMap<String, Value> = BTreeMap::new();
    for item in lists.into_iter().flatten() {
        let name = name(&item);
        let item = match all.remove(&name) {
            Some(known) => merge(known, item),
            None => item,
        };
        all.insert(name, item);
    }
    consensus(&orders).into_iter().filter_map(|name| all.remove(&name)).collect()
}

/// All names in an order that keeps that of each list, by name where lists say nothing; by name alone if lists contradict each
/// other.
fn consensus(orders: &[Vec<String>]) -> Vec<String> {
    let mut before: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut waits: BTreeMap<&str, usize> = BTreeMap::new();
    for order in orders {
        order.iter().for_each(|name| _ = waits.entry(name).or_default());
        for pair in order.windows(2) {
            if pair[0] != pair[1] && before.entry(&pair[0]).or_default().insert(&pair[1]) {
                *waits.entry(&pair[1]).or_default() += 1;
            }
        }
    }
    let all = waits.len();
    let mut ready: BTreeSet<&str> = waits.iter().filter(|(_, count)| **count == 0).map(|(name, _)| *name).collect();
    let mut sorted = Vec::with_capacity(all);
    while let Some(name) = ready.pop_first() {
        sorted.push(name.to_owned());
        for next in before.get(name).into_iter().flatten() {
            let Some(count) = waits.get_mut(next) else { continue };
            *count -= 1;
            if *count == 0 {
                ready.insert(next);
            }
        }
    }
    if sorted.len() == all { sorted } else { waits.into_keys().map(str::to_owned).collect() }
}

fn group_name(group: &Value) -> &str {
    group.str_at(&["metadata", "name"])
}

fn items<'v>(value: &'v Value, field: &str) -> &'v [Value] {
    value.get(field).and_then(Value::as_list).unwrap_or_default()
}

/// The object with another list.
fn with(object: &Value, field: &'static str, list: Vec<Value>) -> Value {
    let mut object = object.clone();
    if let Some(map) = object.as_map_mut() {
        match map.get_mut(field) {
            Some(value) => *value = Value::List(list),
            None => map.push(Str::new_static(field), Value::List(list)),
        }
    }
    object
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_that_agree_are_kept() {
        let order = |names: &str| names.split(' ').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        for (orders, expected) in [
            (&["b a"][..], "b a"),
            (&["v2 v1", "v3 v2"], "v3 v2 v1"),
            (&["b a", "c a"], "b c a"),
            (&["a b", "b a"], "a b"),
            (&["", "b"], "b"),
        ] {
            let orders: Vec<Vec<String>> = orders.iter().map(|names| order(names)).collect();
            assert_eq!(consensus(&orders).join(" "), expected, "{orders:?}");
        }
    }

    #[test]
    fn documents_are_merged_by_group_version_and_resource() {
        let list = |items: &str| {
            let text = format!(
                r#"{{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{items}]}}"#
            );
            groups(text.as_bytes()).expect("a document")
        };
        let group =
            |name: &str, versions: &str| format!(r#"{{"metadata":{{"name":"{name}"}},"versions":[{versions}]}}"#);
        let version = |name: &str, resources: &[&str]| {
            let resources: Vec<String> = resources.iter().map(|name| format!(r#"{{"resource":"{name}"}}"#)).collect();
            format!(r#"{{"version":"{name}","resources":[{}]}}"#, resources.join(","))
        };
        let here = list(&format!("{},{}", group("z", &version("v1", &["a", "c"])), group("b", &version("v1", &["x"]))));
        let there = list(&group("z", &format!("{},{}", version("v2", &["a"]), version("v1", &["b"]))));
        let local =
            Document::new::<APIGroupDiscoveryList>("", "", with(&Value::Map(Default::default()), "items", here));
        let merged = merge(local, [&there[..]]);
        let found: Vec<String> = resources(items(&merged.value, "items")).map(|names| names.join("/")).collect();
        assert_eq!(found, ["z/v2/a", "z/v1/a", "z/v1/b", "z/v1/c", "b/v1/x"]);
        let left = without(&there, &|group, version| group == "z" && version == "v2");
        assert_eq!(resources(&left).count(), 1);
        assert!(groups(b"{\"kind\":\"APIGroupList\"}").is_none() && groups(b"no").is_none());
    }
}
