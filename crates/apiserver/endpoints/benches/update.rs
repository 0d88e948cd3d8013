//! How long the registry takes for an update of a pod: `cargo bench -p pintle-endpoints`. Nothing here decides a test.
//!
//! Over a store in memory, whose writer is a thread of its own; `-- merge` runs one kind of update alone. Under an emulator
//! that counts instructions, those between the entry of `measured` and its end are the caller's own.

#[expect(dead_code, reason = "of the objects of validation's bench only the pod is written")]
#[path = "../../../kubernetes/groups/tests/objects/mod.rs"]
mod objects;

use pintle_cache::Cache;
use pintle_codec::json;
use pintle_endpoints::encoding::PatchType;
use pintle_endpoints::patch::Patch;
use pintle_endpoints::query::{FieldValidation, WriteQuery};
use pintle_endpoints::scheme::Scheme;
use pintle_registry::update::{Change, ManagedFieldsUpdate, Update};
use pintle_registry::{AdmissionChain, ApplyRequest, Environment, Registry, Target, WriteOptions};
use pintle_schema::{GateSet, Value, value};
use pintle_storage::{MemoryStore, Store};
use std::future::Future;
use std::hint::black_box;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Instant;
use tokio::runtime::Runtime;

/// Each look at the clock is a second later, so that times of managed fields change.
struct Ticking(AtomicI64);

impl Environment for Ticking {
    fn now_unix(&self) -> i64 {
        self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn gates(&self) -> &GateSet {
        objects::gates()
    }
}

fn wait<T>(future: impl Future<Output = T>) -> T {
    static RUNTIME: LazyLock<Runtime> =
        LazyLock::new(|| tokio::runtime::Builder::new_current_thread().build().expect("a runtime"));
    RUNTIME.block_on(future)
}

/// A registry with one pod.
struct Home {
    registry: Registry,
    target: Target,
}

fn options(manager: &str) -> WriteOptions {
    WriteOptions { field_manager: manager.to_owned(), ..WriteOptions::default() }
}

impl Home {
    fn new() -> Self {
        let cache =
            Cache::new(pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str())));
        let store = Arc::new(MemoryStore::new());
        store.start(Box::new(cache.writer())).expect("a store in memory starts");
        let environment = Box::new(Ticking(AtomicI64::new(1_700_000_000)));
        let registry = Registry::new(cache, store, environment, AdmissionChain::default(), pintle_groups::resources());
        let (_, pod) = objects::pod();
        let name = pod.str_at(&["metadata", "name"]).to_owned();
        let find = |plural, namespace: &str, name: &str| {
            let resource = pintle_groups::find("", "v1", plural).expect("a built-in resource");
            registry.target(resource, namespace, name).expect("a stored resource")
        };
        let namespace = find("namespaces", "", "default");
        let create = |target: &Target, object| wait(registry.create(target, object, &options("controller")));
        create(&namespace, value!({"metadata": {"name": "default"}})).expect("a good namespace");
        let target = find("pods", "default", &name);
        create(&target, pod).expect("a good pod");
        Home { registry, target }
    }

    fn update(&self, change: &dyn Change, owners: ManagedFieldsUpdate, from_stored: bool, manager: &str) {
        let update = Update { change, part: None, create: false, from_stored, owners };
        black_box(wait(self.registry.update(&self.target, &update, &options(manager)))).expect("a good update");
    }

    fn patch(&self, kind: PatchType, round: usize) {
        let patch = format!("{{\"metadata\":{{\"annotations\":{{\"example.com/round\":\"{round}\"}}}}}}");
        let patch = Patch::read(kind, patch.as_bytes(), FieldValidation::Warn).expect("a good patch");
        let query = WriteQuery { options: options("patcher"), field_validation: FieldValidation::Warn, force: None };
        let change = |stored: Option<&Value>| {
            patch.apply(
                &self.target.resource.schema,
                stored.expect("a pod"),
                &query,
                &Scheme::default(),
                &mut Vec::new(),
            )
        };
        self.update(&change, ManagedFieldsUpdate::Compute, true, "patcher");
    }

    /// The object as its owner reads it, changes it and sends it back.
    fn put(&self, mut object: Value, round: usize) {
        object.set_at(&["metadata", "annotations", "example.com/round"], round.to_string());
        self.update(&|_: Option<&Value>| Ok(object.clone()), ManagedFieldsUpdate::Compute, false, "replacer");
    }

    fn apply(&self, round: usize) {
        let config = value!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": (self.target.name.as_str()), "annotations": {"example.com/round": (round.to_string())}},
            "spec": {"containers": [{"name": "one", "image": "registry.example.com/team/app:1.2.3"}]},
        });
        let applying = ApplyRequest { config: &config, force: true, subresource: "" };
        let options = options("applier");
        let change = |live: Option<&Value>| wait(self.registry.apply(&self.target, live, applying, &options).get());
        self.update(&change, ManagedFieldsUpdate::Provided, true, "applier");
    }

    fn read(&self) -> Value {
        let stored = self.target.get().expect("the pod");
        let bytes = stored.encoded.json();
        json::decode_trusted(&self.target.resource.schema, bytes).expect("a stored pod")
    }
}

#[inline(never)]
fn measured(run: &mut dyn FnMut()) {
    run();
}

fn main() {
    let asked = std::env::args().skip(1).find(|arg| !arg.starts_with('-'));
    let rounds: usize = std::env::var("ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(20_000);
    for name in ["merge", "strategic", "replace", "apply", "same"] {
        if asked.as_ref().is_some_and(|asked| asked != name) {
            continue;
        }
        let home = Home::new();
        let mut best = f64::INFINITY;
        for round in 0..rounds {
            let object = if name == "replace" { home.read() } else { Value::Null };
            let run = &mut || match name {
                "merge" => home.patch(PatchType::Merge, round),
                "strategic" => home.patch(PatchType::Strategic, round),
                "replace" => home.put(object.clone(), round),
                "apply" => home.apply(round),
                _ => home.apply(0),
            };
            let start = Instant::now();
            measured(run);
            best = best.min(start.elapsed().as_nanos() as f64);
        }
        println!("{name:<12} {:>9.1} µs", best / 1000.0);
    }
}
