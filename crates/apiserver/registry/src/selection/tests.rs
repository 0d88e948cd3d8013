//! Tests: lists by an indexed field equal a filter over everything, with all options.
use pintle_schema::gates::{GateSet, NO_GATES};

use super::*;
use crate::{AdmissionChain, Environment, ListOptions, Registry, Target};
use pintle_cache::Cache;

use pintle_schema::value;
use pintle_storage::{Expect, MemoryStore, Store, Transaction};
use std::sync::Arc;

struct Nowhere;

impl Environment for Nowhere {
    fn now_unix(&self) -> i64 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

fn registry() -> Registry {
    let store = Arc::new(MemoryStore::new());
    let stored = pintle_groups::all()
        .filter_map(|resource| Some((resource.storage.as_ref()?.prefix.as_str(), resource.indexed_fields())));
    let cache = Cache::indexed(stored);
    store.start(Box::new(cache.writer())).unwrap();
    Registry::new(cache, store, Box::new(Nowhere), AdmissionChain::default(), pintle_groups::resources())
}

fn pods(registry: &Registry, namespace: &str) -> Target {
    registry.target(pintle_groups::find("", "v1", "pods").unwrap(), namespace, "").unwrap()
}

/// Pod number `at` becomes another: which node it is on and how it is depends on the round.
fn put(registry: &Registry, at: usize, round: usize) {
    let (namespace, name) = (format!("ns{}", at % 3), format!("pod{at:02}"));
    let node = ["", "node1", "node2", "node10"][at.wrapping_mul(31).wrapping_add(round * round) % 4];
    let (tier, phase) = (["front", "back"][(at + round) % 2], ["Pending", "Running"][at / 2 % 2]);
    let pod = value!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {"name": (name.as_str()), "namespace": (namespace.as_str()), "labels": {"tier": tier}},
        "spec": {"nodeName": node}, "status": {"phase": phase}
    });
    let target = Target { name, ..pods(registry, &namespace) };
    let key = target.key().as_str().into();
    let gone = round > 0 && (at + round).is_multiple_of(5);
    let value = (!gone).then(|| registry.record(&target, &pod));
    registry.store.commit(Transaction::one(key, Expect::Any, value)).wait().unwrap();
}

fn select(labels: &str, fields: &str) -> Selection {
    let pods = pintle_groups::find("", "v1", "pods").unwrap();
    Selection::parse(pods, &pods.selectable, labels, fields).unwrap()
}

fn keys(objects: &[Arc<Object>]) -> Vec<String> {
    objects.iter().map(|object| format!("{} {}", object.key, object.revision.0)).collect()
}

#[test]
fn pages_by_an_indexed_field_hold_what_a_filter_leaves() {
    let registry = registry();
    let selectors = [
        ("", ""),
        ("", "spec.nodeName=node1"),
        ("", "spec.nodeName="),
        ("", "spec.nodeName=nowhere"),
        ("tier=front", "spec.host=node1"),
        ("", "status.phase=Running,spec.nodeName=node10"),
        ("", "spec.nodeName=node2,metadata.namespace=ns1"),
        ("", "spec.nodeName=node2,spec.nodeName!=node2"),
        ("", "spec.nodeName=node1,spec.nodeName=node2"),
        ("", "spec.nodeName=node2,metadata.name=pod11"),
        ("", "spec.nodeName!=node2"),
    ];
    let mut found = 0;
    for round in 0..4 {
        (0..60).for_each(|at| put(&registry, at, round));
        for (labels, fields) in selectors {
            let selection = select(labels, fields);
            for (namespace, limit) in ["", "ns1", "ns9"].into_iter().flat_map(|it| [0, 1, 2, 100].map(|n| (it, n))) {
                let target = pods(&registry, namespace);
                let all = registry.list_at_once(&target, &select("", ""), &ListOptions::default()).unwrap();
                let wanted: Vec<_> = all.items.iter().filter(|object| selection.matches(object)).cloned().collect();
                let mut options = ListOptions { limit, ..ListOptions::default() };
                let mut listed = Vec::new();
                loop {
                    let page = registry.list_at_once(&target, &selection, &options).unwrap();
                    assert!(limit == 0 || page.items.len() <= limit as usize);
                    assert_eq!(page.revision, all.revision);
                    assert!(selection.is_everything() || page.remaining.is_none());
                    listed.extend(page.items.iter().cloned());
                    options.continue_token = page.continue_token;
                    if options.continue_token.is_empty() {
                        break;
                    }
                    // Sometimes the pages that follow are of an older state.
                    if listed.len() % 3 == 1 {
                        (30..60).for_each(|at| put(&registry, at, round + listed.len()));
                    }
                }
                assert_eq!(keys(&listed), keys(&wanted), "{fields}, {namespace:?}, {limit}");
                found += listed.len();
            }
        }
    }
    assert!(found > 1000, "{found}");
}

/// The names on a page, and whether more follow.
fn page(registry: &Registry, namespace: &str, selection: &Selection, options: &ListOptions) -> (Vec<String>, bool) {
    let page = registry.list_at_once(&pods(registry, namespace), selection, options).unwrap();
    (page.items.iter().map(|pod| pod.name().to_owned()).collect(), !page.continue_token.is_empty())
}

#[test]
fn a_full_page_counts_remaining_items_without_selecting() {
    let registry = registry();
    (0..12).for_each(|at| put(&registry, at, 0));
    // Every third is in a namespace, the even ones are in front, and 2, 6 and 10 are on node2.
    let cases = [
        ("ns0", "tier=front", "", 2, true),
        ("ns0", "tier=front", "", 3, false),
        ("ns0", "tier=back", "", 2, false),
        // The index finds no others, nor does a namespace have them, nor a name.
        ("", "", "spec.nodeName=node2", 3, false),
        ("", "", "metadata.namespace=ns1", 4, false),
        ("ns1", "", "metadata.name=pod07", 1, false),
        ("", "", "metadata.namespace=ns1,metadata.name=pod07", 1, false),
        ("", "", "metadata.name=pod07", 1, true),
    ];
    for (namespace, labels, fields, limit, follows) in cases {
        let options = ListOptions { limit, ..ListOptions::default() };
        let (names, more) = page(&registry, namespace, &select(labels, fields), &options);
        assert_eq!(more, follows, "{namespace:?}, {labels}, {fields}, {limit}: {names:?}");
    }
}

#[test]
fn a_single_object_has_no_pages() {
    let registry = registry();
    (0..12).for_each(|at| put(&registry, at, 0));
    let old = ListOptions { limit: 1, resource_version: "2".to_owned(), ..ListOptions::default() };
    let named = |options: &ListOptions| page(&registry, "ns1", &select("", "metadata.name=pod10"), options).0;
    assert_eq!(named(&old), ["pod10"], "not older than that version");
    let exact = ListOptions { resource_version_match: Some(crate::list::Match::Exact), ..old };
    assert_eq!(named(&exact), [""; 0]);
}

#[test]
fn the_index_is_used_for_exact_matches() {
    let registry = registry();
    (0..60).for_each(|at| put(&registry, at, 0));
    let state = pods(&registry, "").cache.state();
    let looked_at = |fields: &str| select("", fields).indexed(&state).map(|keys| keys.len());
    assert_eq!(looked_at("spec.nodeName=node1"), Some(15));
    assert_eq!(looked_at("status.phase=Running,spec.host=node1"), Some(15));
    assert_eq!(looked_at("spec.nodeName=nowhere"), Some(0));
    assert_eq!(looked_at("spec.nodeName!=node1"), None);
    assert_eq!(looked_at("status.phase=Running"), None);
}
