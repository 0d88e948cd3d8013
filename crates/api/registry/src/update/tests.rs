//! Updates that come to nothing: whether the object gets a new version. The clock goes on by a second with each look.

use super::*;
use crate::testing::wait;
use crate::{AdmitAll, Applying, Environment};
use pintle_cache::Cache;
use pintle_schema::value;
use pintle_storage::{MemoryStore, Store};
use std::sync::atomic::{AtomicI64, Ordering};

struct Ticking(AtomicI64);

impl Environment for Ticking {
    fn now_unix(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn feature_enabled(&self, _: &str) -> bool {
        false
    }
}

fn registry() -> Registry {
    let store = Arc::new(MemoryStore::new());
    let cache = Cache::new(pintle_kinds::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix)));
    store.start(Box::new(cache.feeder())).unwrap();
    let environment = Box::new(Ticking(AtomicI64::new(1_700_000_000)));
    let registry = Registry::new(cache, store, environment, Box::new(AdmitAll), pintle_kinds::all());
    let namespaces = pintle_kinds::find("", "v1", "namespaces").unwrap();
    let namespace = registry.target(namespaces, "", "default").unwrap();
    wait(registry.create(&namespace, value!({"metadata": {"name": "default"}}), &WriteOptions::default())).unwrap();
    registry
}

#[test]
fn applying_what_is_undone_changes_nothing() {
    let registry = registry();
    let target = registry.target(pintle_kinds::find("", "v1", "configmaps").unwrap(), "default", "a").unwrap();
    let options = WriteOptions { field_manager: "team".to_owned(), ..WriteOptions::default() };
    let apply = |field: &str, value: Value| {
        let mut config =
            value!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
        config.set_at(&["metadata", field], value);
        let applying = Applying { config: &config, force: false, subresource: "" };
        let change = |live: Option<&Value>| registry.apply(&target, live, &applying, &options);
        let update = Update { change: &change, part: None, create: true, from_stored: true, owners: Owners::Settled };
        match wait(registry.update(&target, &update, &options)).unwrap().payload {
            Payload::Stored(stored) => stored.revision,
            Payload::Value(_) => panic!("nothing is stored"),
        }
    };
    let mut last = apply("name", value!("a"));
    for (field, value, is_change) in [
        ("creationTimestamp", Value::Null, false),
        ("creationTimestamp", value!("2001-01-01T00:00:00Z"), false),
        ("resourceVersion", Value::Null, false),
        ("uid", Value::Null, false),
        ("generation", value!(7), false),
        // It is there until the object is stored.
        ("selfLink", value!("/x"), true),
        ("labels", value!({"a": "b"}), true),
    ] {
        let version = apply(field, value.clone());
        assert_eq!(version != last, is_change, "{field} {value:?}");
        last = version;
    }
}
