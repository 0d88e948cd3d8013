//! Tests: chunked lists equal their objects; hidden fields; indentation.

mod forms;
use pintle_schema::gates::{GateSet, NO_GATES};

use super::partial::hide;
use super::pieces::PIECE;
use super::*;
use crate::body::{Body, Size};
use bytes::Bytes;
use futures_util::TryStreamExt;
use pintle_cache::{Cache, encoded_object};
use pintle_codec::{Strictness, json};
use pintle_registry::{AdmissionChain, Environment, ListOptions, Page, Registry, Selection, Target};
use pintle_resource::Resource;
use pintle_schema::{Value, value};
use pintle_storage::{Expect, MemoryStore, Store, Transaction};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// A time of the test's choosing, and nothing else.
#[derive(Default)]
struct Clock(Arc<AtomicI64>);

impl Environment for Clock {
    fn now_unix(&self) -> i64 {
        self.0.load(Ordering::Relaxed)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

fn config_maps(clock: Clock) -> (Arc<Registry>, Arc<MemoryStore>, &'static Arc<Resource>) {
    stored(clock, "configmaps")
}

fn stored(clock: Clock, plural: &str) -> (Arc<Registry>, Arc<MemoryStore>, &'static Arc<Resource>) {
    let store = Arc::new(MemoryStore::new());
    let resource = pintle_groups::find("", "v1", plural).expect("there is such a resource");
    let cache = Cache::new(resource.storage.iter().map(|storage| storage.prefix.as_str()));
    store.start(Box::new(cache.writer())).expect("starts once");
    let admission = AdmissionChain::default();
    let registry = Registry::new(cache, store.clone(), Box::new(clock), admission, pintle_groups::resources());
    (Arc::new(registry), store, resource)
}

/// The pieces of a list, and its size if that is announced.
fn sent(encoder: ListEncoder, page: Page) -> (Vec<Bytes>, Option<u64>) {
    block_on(async {
        match encoder.list(page).await.expect("a list") {
            Body::Full(bytes) => (vec![bytes], None),
            Body::Chunks(pieces, Size::Exactly(size)) => (pieces.try_collect().await.expect("all of it"), Some(size)),
            Body::Chunks(pieces, Size::About(_)) => (pieces.try_collect().await.expect("all of it"), None),
            _ => panic!("a list ends"),
        }
    })
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
}

/// The cells of a list as a table.
fn cells(registry: &Arc<Registry>, target: &Target, include_object: IncludeObject) -> Vec<Value> {
    let rows = rows(registry, target, include_object);
    let rows = rows.as_ref().and_then(Value::as_list).unwrap_or_default();
    rows.iter().filter_map(|row| row.get("cells").cloned()).collect()
}

/// The `rows` of a list as a table.
fn rows(registry: &Arc<Registry>, target: &Target, include_object: IncludeObject) -> Option<Value> {
    let wanted = MediaTypeOptions { shape: ResponseKind::Table, ..MediaTypeOptions::JSON };
    let encoder = ListEncoder::new(registry, target, wanted, include_object);
    let everything = Selection::parse(&target.resource, &target.resource.selectable, "", "").expect("a selection");
    let page = registry.list_at_once(target, &everything, &ListOptions::default()).expect("a page");
    let table = json::parse(&sent(encoder, page).0.concat(), Strictness::Ignore).expect("JSON").value;
    table.get("rows").cloned()
}

#[test]
fn a_table_without_rows_is_null_for_kinds_without_columns_of_their_own() {
    for (plural, expected) in [("configmaps", value!([])), ("limitranges", Value::Null)] {
        let (registry, _store, resource) = stored(Clock::default(), plural);
        let target = registry.target(resource, "ns", "").expect("it is stored");
        assert_eq!(rows(&registry, &target, IncludeObject::None), Some(expected), "{plural}");
    }
}

#[test]
fn rows_are_cached_without_their_age() {
    let clock = Clock::default();
    let now = clock.0.clone();
    let (registry, store, resource) = config_maps(clock);
    // No server stores the second name: it reads like an age that was left open.
    let names = ["a", "\u{fdd0}100\u{fdd0}"];
    for name in names {
        let object = value!({
            "kind": "ConfigMap", "apiVersion": "v1", "data": {"x": "y"},
            "metadata": {"name": name, "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:10Z"}
        });
        let key = registry.target(resource, "ns", name).expect("it is stored").key().as_str().into();
        let write = Transaction::one(key, Expect::Absent, Some(encoded_object::encode(&object, &[])));
        store.commit(write).wait().expect("committed");
    }
    let target = registry.target(resource, "ns", "").expect("it is stored");
    for (time, age) in [(12, "2s"), (13, "3s"), (100_000, "27h"), (0, "<invalid>")] {
        now.store(time, Ordering::Relaxed);
        for include_object in [IncludeObject::None, IncludeObject::Metadata, IncludeObject::Object] {
            let wanted = names.map(|name| value!([name, 1, age]));
            assert_eq!(cells(&registry, &target, include_object), wanted, "at {time}");
        }
    }
}

#[test]
fn a_list_in_chunks_is_the_list() {
    let (registry, store, resource) = config_maps(Clock::default());
    let target = |namespace: &str, name: &str| registry.target(resource, namespace, name).expect("it is stored");
    for at in 0..120 {
        // Every now and then one that fills more than a chunk.
        let size = if at % 9 == 4 { PIECE + 10 } else { 1000 + at };
        let (namespace, name) = (format!("ns{}", at % 3), format!("m{at:03}"));
        let object = value!({
            "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": (name.as_str()), "namespace": (namespace.as_str())},
            "data": {"x": ("x".repeat(size))}
        });
        let key = target(&namespace, &name).key().as_str().into();
        let write = Transaction::one(key, Expect::Absent, Some(encoded_object::encode(&object, &[])));
        store.commit(write).wait().expect("committed");
    }
    let selected = Selection::parse(resource, &resource.selectable, "", "metadata.name!=m004").expect("a selection");
    let everything = Selection::parse(resource, &resource.selectable, "", "").expect("a selection");
    for (namespace, selection, limit, count) in
        [("", &everything, 0, 120), ("ns1", &everything, 0, 40), ("", &selected, 0, 119), ("", &everything, 50, 50)]
    {
        let target = target(namespace, "");
        let options = ListOptions { limit, ..ListOptions::default() };
        let page = registry.list_at_once(&target, selection, &options).expect("a page");
        let objects = page.items.iter().map(|object| object.encoded.json().clone());
        let wanted: Vec<_> = objects
            .map(|bytes| json::parse(&bytes, Strictness::Ignore).expect("JSON").value)
            .map(|object| (object.str_at(&["metadata", "name"]).to_owned(), object.str_at(&["data", "x"]).len()))
            .collect();
        assert_eq!(wanted.len(), count);
        let encoder = ListEncoder::new(&registry, &target, MediaTypeOptions::JSON, IncludeObject::None);
        let (chunks, total) = sent(encoder, page);
        let bytes = chunks.concat();
        assert_eq!(Some(bytes.len() as u64), total);
        assert!(chunks.len() > 2);
        let list = json::parse(&bytes, Strictness::Ignore).expect("JSON").value;
        let items = list.get("items").and_then(Value::as_list).expect("items");
        let shown = items
            .iter()
            .map(|object| (object.str_at(&["metadata", "name"]).to_owned(), object.str_at(&["data", "x"]).len()));
        assert!(shown.eq(wanted), "{namespace:?}, {limit}");
    }
}

#[test]
fn hidden_fields_are_not_encoded() {
    let mut metadata = value!({"name": "a", "annotations": {"x": "1", "y": "2"}});
    hide(&mut metadata, &["x"]);
    assert_eq!(metadata, value!({"name": "a", "annotations": {"y": "2"}}));
    hide(&mut metadata, &["x", "y"]);
    assert_eq!(metadata, value!({"name": "a"}));
}
