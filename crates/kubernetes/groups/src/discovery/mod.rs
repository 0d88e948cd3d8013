//! The `discovery.k8s.io` group: endpoint slices.
//!
//! The field `deprecatedTopology`, which precedes v1, is dropped on create and update.

pub(crate) mod columns;
pub(crate) mod rules;

use crate::group::{TypeFunctions, version};
use crate::printing::printer;
use crate::views::{clear, next_generation};
use pintle_resource::{Context, GENERAL, Group, Resource, Storage, Strategy, Unserved, same};
use pintle_schema::{Str, Value, View, ViewMut};
use pintle_types::discovery::v1::{Endpoint, EndpointSlice};
use pintle_types::discovery::v1beta1;
use std::collections::BTreeSet;

/// The group.
pub fn group() -> Group {
    let functions = TypeFunctions::default().rules(&[&rules::GROUP]);
    Group {
        name: Str::new_static("discovery.k8s.io"),
        priority: Some(16200),
        built_in: true,
        versions: vec![version("v1", 15)],
        resources: functions.complete(vec![endpoint_slices()]),
        internal: Vec::new(),
    }
}

fn endpoint_slices() -> Resource {
    Resource {
        storage: Some(Storage::of::<EndpointSlice>()),
        strategy: &ENDPOINT_SLICE,
        printer: printer(&columns::ENDPOINT_SLICE),
        warn: Some(rules::endpoint_slice::warn),
        unserved: vec![Unserved::converted::<v1beta1::EndpointSlice>(endpoint_slice_from_v1beta1)],
        ..Resource::of::<EndpointSlice>()
    }
}

static ENDPOINT_SLICE: Strategy = Strategy {
    generation: Some(&[&["addressType"], &["endpoints"], &["ports"], &["metadata", "labels"]]),
    prepare_create: Some(|object, _| drop_topology(object, &BTreeSet::new())),
    prepare_update: Some(update),
    ..GENERAL
};

/// The key of a topology under which the zone once stood.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The key of a topology under which the node's name once stood.
const HOSTNAME: &str = "kubernetes.io/hostname";

fn update(new: &mut Value, old: &Value, _: &mut Context) {
    let slice = View::<EndpointSlice>::new(old);
    let old = slice.field(EndpointSlice::ENDPOINTS);
    if same(View::<EndpointSlice>::new(new).field(EndpointSlice::ENDPOINTS).value(), old.value()) {
        return;
    }
    // A change of a field that is then dropped increases the generation too.
    let metadata = ViewMut::<EndpointSlice>::new(new).field(EndpointSlice::METADATA);
    next_generation(metadata, slice.field(EndpointSlice::METADATA));
    let known = old.iter().filter_map(|endpoint| endpoint.field(Endpoint::DEPRECATED_TOPOLOGY).get().remove(HOSTNAME));
    drop_topology(new, &known.collect());
}

/// Drops topologies; a node's name that the old slice had there too moves to its field.
fn drop_topology(object: &mut Value, known: &BTreeSet<String>) {
    for mut endpoint in ViewMut::<EndpointSlice>::new(object).field(EndpointSlice::ENDPOINTS).iter_mut() {
        let node = endpoint.view().field(Endpoint::DEPRECATED_TOPOLOGY).get().remove(HOSTNAME);
        if let Some(node) = node.filter(|node| known.contains(node))
            && !endpoint.view().field(Endpoint::NODE_NAME).is_set()
        {
            endpoint.by_ref().field(Endpoint::NODE_NAME).set(node);
        }
        clear(&mut endpoint, Endpoint::DEPRECATED_TOPOLOGY);
    }
}

/// Of v1beta1's topology, zone and node have fields of their own now. A node that is not the one in its field stays.
pub(crate) fn endpoint_slice_from_v1beta1(object: &mut Value) {
    for endpoint in ViewMut::<EndpointSlice>::new(object).field(EndpointSlice::ENDPOINTS).iter_mut() {
        let raw = endpoint.raw();
        let mut old = ViewMut::<v1beta1::Endpoint>::new(raw).field(v1beta1::Endpoint::TOPOLOGY);
        let mut topology = old.view().get();
        old.by_ref().clear();
        let mut endpoint = ViewMut::<Endpoint>::new(raw);
        if let Some(zone) = topology.remove(ZONE) {
            endpoint.by_ref().field(Endpoint::ZONE).set(zone);
        }
        if let Some(node) = topology.remove(HOSTNAME) {
            match endpoint.view().field(Endpoint::NODE_NAME).get() {
                None => endpoint.by_ref().field(Endpoint::NODE_NAME).set(node),
                Some(known) if known == node => {}
                Some(_) => {
                    topology.insert(HOSTNAME.to_owned(), node);
                }
            }
        }
        if !topology.is_empty() {
            endpoint.field(Endpoint::DEPRECATED_TOPOLOGY).set(topology);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::{created, pruned, with_context};
    use pintle_schema::value;

    #[test]
    fn topology_is_dropped() {
        let slice = |node: &str, zone: &str| {
            value!({"endpoints": [{"addresses": ["10.0.0.1"], "zone": zone,
                "deprecatedTopology": {"kubernetes.io/hostname": node}}]})
        };
        let first = |object: &Value| object.get("endpoints").and_then(Value::as_list).map(|list| list[0].clone());
        let made = first(&created(&endpoint_slices(), slice("a", "z"))).unwrap_or_default();
        assert_eq!((made.get("deprecatedTopology"), made.get("nodeName")), (None, None));
        for (node, expected) in [("a", Some(value!("a"))), ("b", None)] {
            let mut new = slice(node, "y");
            with_context(|context| update(&mut new, &slice("a", "z"), context));
            assert_eq!(first(&pruned(new)).unwrap_or_default().get("nodeName"), expected.as_ref(), "{node}");
        }
        let mut unchanged = slice("a", "z");
        with_context(|context| update(&mut unchanged, &slice("a", "z"), context));
        assert_eq!(unchanged, slice("a", "z"));
    }
}
