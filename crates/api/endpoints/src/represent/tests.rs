//! Lists in chunks against the objects they are of; what is hidden; indentation.

use super::splice::CHUNK;
use super::*;
use futures_util::{FutureExt, StreamExt};
use pintle_cache::{Cache, image};
use pintle_registry::{AdmitAll, Environment, ListOptions, Selection};
use pintle_storage::{Expect, MemoryStore, Store, Transaction};

struct Nowhere;

impl Environment for Nowhere {
    fn now_unix(&self) -> i64 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn feature_enabled(&self, _: &str) -> bool {
        false
    }
}

#[test]
fn a_list_in_chunks_is_the_list() {
    let store = Arc::new(MemoryStore::new());
    let resource = pintle_kinds::find("", "v1", "configmaps").expect("there are config maps");
    let cache = Cache::new(resource.storage.iter().map(|storage| storage.prefix));
    store.start(Box::new(cache.feeder())).expect("starts once");
    let admission = Box::new(AdmitAll);
    let registry = Registry::new(cache, store.clone(), Box::new(Nowhere), admission, pintle_kinds::all());
    let target = |namespace: &str, name: &str| registry.target(resource, namespace, name).expect("it is stored");
    for at in 0..120 {
        // Every now and then one that fills more than a chunk.
        let size = if at % 9 == 4 { CHUNK + 10 } else { 1000 + at };
        let (namespace, name) = (format!("ns{}", at % 3), format!("m{at:03}"));
        let object = value!({
            "kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": (name.as_str()), "namespace": (namespace.as_str())},
            "data": {"x": ("x".repeat(size))}
        });
        let key = target(&namespace, &name).key().as_str().into();
        let write = Transaction::one(key, Expect::Absent, Some(image::encode(&object, &[])));
        store.commit(write).wait().expect("committed");
    }
    let selected = Selection::parse(resource, resource, "", "metadata.name!=m004").expect("a selection");
    let everything = Selection::parse(resource, resource, "", "").expect("a selection");
    for (namespace, selection, limit, count) in
        [("", &everything, 0, 120), ("ns1", &everything, 0, 40), ("", &selected, 0, 119), ("", &everything, 50, 50)]
    {
        let target = target(namespace, "");
        let options = ListOptions { limit, ..ListOptions::default() };
        let page = registry.list(&target, selection, &options).expect("a page");
        let objects = page.items.iter().map(|object| object.image.json().clone());
        let wanted: Vec<_> = objects
            .map(|bytes| json::parse(&bytes, Strictness::Ignore).expect("JSON").value)
            .map(|object| (object.str_at(&["metadata", "name"]).to_owned(), object.str_at(&["data", "x"]).len()))
            .collect();
        assert_eq!(wanted.len(), count);
        let presenter = Presenter {
            registry: &registry,
            target: &target,
            wanted: Wanted::JSON,
            include_object: IncludeObject::None,
        };
        let Ok(Body::Chunks(chunks, Size::Exactly(total))) = presenter.list(page) else { panic!("it has one chunk") };
        let chunks: Vec<Bytes> = chunks.collect().now_or_never().expect("it waits for nothing");
        let bytes = chunks.concat();
        assert_eq!(bytes.len() as u64, total);
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
fn what_is_hidden_leaves_no_trace() {
    let mut metadata = value!({"name": "a", "annotations": {"x": "1", "y": "2"}});
    hide(&mut metadata, &["x"]);
    assert_eq!(metadata, value!({"name": "a", "annotations": {"y": "2"}}));
    hide(&mut metadata, &["x", "y"]);
    assert_eq!(metadata, value!({"name": "a"}));
}

#[test]
fn indentation_is_gos() {
    let json = br#"{"a":[1,{"b":"x:{,}\"\\"}],"c":{},"d":[]}"#;
    let wanted =
        "{\n  \"a\": [\n    1,\n    {\n      \"b\": \"x:{,}\\\"\\\\\"\n    }\n  ],\n  \"c\": {},\n  \"d\": []\n}";
    assert_eq!(String::from_utf8_lossy(&indent(json)), wanted);
}
