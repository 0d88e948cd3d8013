//! How much memory a list takes while it is encoded and sent, in every form. Counts of bytes, not times: they decide the same
//! everywhere. Guarantees that a list takes a window, whatever its length, and that nothing is encoded before the client takes it.
use pintle_schema::gates::{GateSet, NO_GATES};

use allocation_counter::measure;
use futures_util::StreamExt;
use pintle_cache::{Cache, EncodedObject, Object, encoded_object};
use pintle_compute::{Turns, run as run_in_turns};
use pintle_endpoints::Body;
use pintle_endpoints::encoding::{Format, IncludeObject, ListEncoder, MediaTypeOptions, ResponseKind};
use pintle_registry::{AdmissionChain, Environment, Items, Page, Registry, Target};
use pintle_schema::{Str, value};
use pintle_storage::{MemoryStore, Revision};
use std::hint::black_box;
use std::sync::Arc;

struct Clock;

impl Environment for Clock {
    fn now_unix(&self) -> i64 {
        1_700_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn gates(&self) -> &GateSet {
        &NO_GATES
    }
}

/// Together 29 MB: more than the side cache keeps.
const OBJECTS: usize = 2400;
const OBJECT_BYTES: usize = 12_000;

/// What a list may hold at a time: a piece of 64 KiB that is sent, one that is made, and a decoded object.
const WINDOW: u64 = 512 << 10;

fn registry() -> (Arc<Registry>, Target) {
    let resource = pintle_groups::find("", "v1", "configmaps").expect("there is such a resource");
    let cache = Cache::new(resource.storage.iter().map(|storage| storage.prefix.as_str()));
    let (store, admission) = (Arc::new(MemoryStore::new()), AdmissionChain::default());
    let registry = Registry::new(cache, store, Box::new(Clock), admission, pintle_groups::resources());
    let target = registry.target(resource, "", "").expect("it is stored");
    (Arc::new(registry), target)
}

fn objects(target: &Target) -> Vec<Arc<Object>> {
    let prefix = &target.storage().prefix;
    let object = |at: usize| {
        let name = format!("m{at:05}");
        // Many values, so that what is decoded is larger than what is stored.
        let data =
            (0..OBJECT_BYTES / 60).map(|at| (format!("key-{at:03}"), "a text of some forty characters, as usual"));
        let data: pintle_schema::Map =
            pintle_schema::Map::from_entries(data.map(|(key, text)| (key.into(), text.into())).collect());
        let object = value!({
            "kind": "ConfigMap", "apiVersion": "v1",
            "metadata": {"name": (name.as_str()), "namespace": "ns", "creationTimestamp": "1970-01-01T00:00:10Z"},
            "data": data
        });
        let record = encoded_object::encode(&object, &[]);
        let encoded = EncodedObject::from_record(&record, Revision(7)).expect("a record");
        Arc::new(Object::new(format!("{prefix}ns/{name}").as_str().into(), prefix.len(), Revision(7), encoded))
    };
    (0..OBJECTS).map(object).collect()
}

fn page(objects: &[Arc<Object>]) -> Page {
    let items = Items::Picked(objects.to_vec());
    Page { items, revision: Revision(12), continue_token: String::new(), remaining: None, shard: None }
}

fn forms() -> Vec<(MediaTypeOptions, IncludeObject)> {
    let mut forms = Vec::new();
    for format in [Format::Json, Format::Yaml, Format::Protobuf, Format::Cbor] {
        // Only JSON is indented.
        for pretty in if format == Format::Json { &[false, true][..] } else { &[false] } {
            let of = |shape| MediaTypeOptions { format, shape, pretty: *pretty, beta: false };
            forms.push((of(ResponseKind::Object), IncludeObject::None));
            forms.push((of(ResponseKind::PartialList), IncludeObject::None));
            if matches!(format, Format::Json | Format::Yaml) {
                forms.push((of(ResponseKind::Table), IncludeObject::Object));
            }
        }
    }
    forms
}

/// Runs what waits for nothing but its own turn.
fn run<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().expect("a runtime").block_on(work)
}

#[test]
fn lists_take_a_window_of_memory_in_every_form() {
    let (registry, target) = registry();
    let objects = objects(&target);
    let protobuf = MediaTypeOptions { format: Format::Protobuf, ..MediaTypeOptions::JSON };
    // The side cache is full then, and keeps its size.
    let encoder = ListEncoder::new(&registry, &target, protobuf, IncludeObject::None);
    let Ok(Body::Chunks(pieces, _)) = run(encoder.list(page(&objects))) else { panic!("it is long") };
    run(pieces.for_each(|piece| async { drop(black_box(piece.expect("a piece"))) }));
    for (wanted, include_object) in forms() {
        let encoder = ListEncoder::new(&registry, &target, wanted, include_object);
        let page = page(&objects);
        let mut body = None;
        let begun = measure(|| body = Some(run(encoder.list(page)).expect("a list")));
        assert!(begun.bytes_max < WINDOW, "{wanted:?} begins with {} bytes", begun.bytes_max);
        let Some(Body::Chunks(mut pieces, _)) = body else { panic!("{wanted:?}: it is long") };
        let (mut sent, mut count) = (0, 0);
        let all = measure(|| {
            run(async {
                while let Some(piece) = pieces.next().await {
                    sent += piece.expect("a piece").len();
                    count += 1;
                }
            });
        });
        assert!(all.bytes_max < WINDOW, "{wanted:?} takes {} bytes", all.bytes_max);
        if wanted.shape == ResponseKind::Object {
            assert!(sent > OBJECTS * OBJECT_BYTES / 2 && count > 100, "{wanted:?}: {sent} bytes in {count} pieces");
        }
    }
}

#[test]
fn nothing_is_encoded_before_it_is_taken() {
    let (registry, target) = registry();
    let objects = objects(&target);
    for (wanted, include_object) in forms() {
        // In protobuf the size of all objects comes first.
        if wanted.format == Format::Protobuf {
            continue;
        }
        let encoder = ListEncoder::new(&registry, &target, wanted, include_object);
        let page = page(&objects);
        let mut body = None;
        // A decoded object is several times as large as its text.
        let share = (OBJECTS * OBJECT_BYTES / 8) as u64;
        let begun = measure(|| body = Some(run(encoder.list(page)).expect("a list")));
        assert!(begun.bytes_total < share, "{wanted:?} begins with {} bytes", begun.bytes_total);
        let Some(Body::Chunks(mut pieces, _)) = body else { panic!("{wanted:?}: it is long") };
        for _ in 0..2 {
            let next = measure(|| drop(black_box(run(pieces.next()))));
            assert!(next.bytes_total < share, "{wanted:?} goes on with {} bytes", next.bytes_total);
        }
        // A client that takes nothing has nothing made for it, and one that goes away leaves nothing behind.
        let kept = measure(|| drop(pieces));
        assert!(kept.bytes_current <= 0, "{wanted:?}");
    }
}

#[test]
fn a_list_that_is_encoded_before_it_is_sent_takes_turns() {
    let (registry, target) = registry();
    let objects = objects(&target);
    // All objects are encoded before the first byte, but others get their turn meanwhile.
    let wanted = MediaTypeOptions { format: Format::Protobuf, ..MediaTypeOptions::JSON };
    let encoder = ListEncoder::new(&registry, &target, wanted, IncludeObject::None);
    let (turns, user) = (Arc::<Turns>::default(), Str::new_static("user"));
    let body = run(run_in_turns(&turns, &user, 0, Box::pin(encoder.list(page(&objects)))));
    assert!(body.is_ok() && turns.taken() > 0);
}
