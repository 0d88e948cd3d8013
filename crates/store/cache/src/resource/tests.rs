//! The cache compared with a model that keeps everything: every snapshot and every watch must agree with it.

use super::*;
use crate::encoded_object;
use pintle_schema::value;
use std::collections::BTreeMap;
use std::ops::Bound;

const PREFIX: &str = "/registry/things/";

/// A small generator of pseudo-random numbers, so that a failing seed reproduces a bug.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// The state of the resource after a revision: key to the revision of its last change.
type Model = BTreeMap<String, u64>;

struct Subject {
    cache: Arc<ResourceCache>,
    writer: Writer,
    models: Vec<Model>,
    revision: u64,
}

impl Subject {
    fn new(bounds: Bounds) -> Self {
        let cache = Arc::new(ResourceCache::new(PREFIX, [0]));
        Subject {
            writer: Writer::with_bounds(cache.clone(), bounds),
            cache,
            models: vec![Model::new(); 2],
            revision: 1,
        }
    }

    /// One transaction of up to three changes.
    fn step(&mut self, random: &mut Random) {
        self.revision += 1;
        let mut model = self.models.last().cloned().unwrap_or_default();
        for _ in 0..=random.below(3) {
            let key = format!("{PREFIX}ns{}/n{}", random.below(3), random.below(12));
            let removes = random.below(3) == 0;
            match removes {
                true => drop(model.remove(&key)),
                false => drop(model.insert(key.clone(), self.revision)),
            }
            let encoded = (!removes).then(|| encoded_with(&key, self.revision, &format!("node{}", random.below(3))));
            self.writer.apply(&key.as_str().into(), Revision(self.revision), encoded, true);
        }
        self.writer.publish();
        self.models.push(model);
    }
}

fn encoded_of(key: &str, revision: u64) -> EncodedObject {
    encoded_with(key, revision, "")
}

fn encoded_with(key: &str, revision: u64, field: &str) -> EncodedObject {
    let name = key.rsplit('/').next().unwrap_or("");
    let record =
        encoded_object::encode(&value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name}}), &[field]);
    EncodedObject::from_record(&record, Revision(revision)).expect("just encoded")
}

fn shown(objects: &Objects) -> Model {
    objects.values().map(|object| (object.key.to_string(), object.revision.0)).collect()
}

#[test]
fn a_snapshot_of_any_retained_revision_is_what_was_then() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let mut subject = Subject::new(Bounds { checkpoint_events: 7, ..Bounds::default() });
        for _ in 0..60 {
            subject.step(&mut random);
        }
        let state = subject.cache.state();
        for revision in 1..=subject.revision {
            let objects = state.at(Revision(revision)).expect("retained");
            assert_eq!(shown(&objects), subject.models[revision as usize], "seed {seed}, revision {revision}");
        }
    }
}

#[test]
fn the_index_finds_what_a_scan_finds() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let mut subject = Subject::new(Bounds { checkpoint_events: 7, ..Bounds::default() });
        (0..random.below(30)).for_each(|_| subject.step(&mut random));
        assert_eq!(
            subject.writer.state.keys_with(0, "node1"),
            None,
            "what is being read at the start is not indexed yet"
        );
        subject.writer.set_base(Revision(1));
        subject.writer.publish();
        let mut states = vec![subject.cache.state()];
        for _ in 0..60 {
            subject.step(&mut random);
            states.push(subject.cache.state());
        }
        // Published states do not change.
        for state in states {
            for value in ["node0", "node1", "node2", "node", "", "node3"] {
                let scanned: Vec<_> = state.objects.values().filter(|object| object.field(0) == value).collect();
                let keys = state.keys_with(0, value).expect("indexed");
                for from in ["", PREFIX, "/registry/things/ns1/", "/registry/things/ns1/n5\0", "/registry/things/ns9/"]
                {
                    let found = state.objects.within(Some(&keys), (Bound::Included(from), Bound::Unbounded));
                    let rest = scanned.iter().filter(|object| *object.key >= *from);
                    assert!(
                        found.map(|entry| entry.object.id).eq(rest.map(|object| object.id)),
                        "seed {seed}, {value:?}"
                    );
                }
            }
            assert_eq!(state.keys_with(1, "node1"), None, "another field");
        }
    }
}

#[test]
fn only_another_value_touches_the_index() {
    let mut subject = Subject::new(Bounds::default());
    subject.writer.set_base(Revision(1));
    let mut put = |revision: u64, field: &str| {
        let key = format!("{PREFIX}ns/a");
        let encoded = encoded_with(&key, revision, field);
        subject.writer.apply(&key.as_str().into(), Revision(revision), Some(encoded), true);
        subject.writer.publish();
        subject.cache.state()
    };
    let [first, same, other] = [put(2, "a"), put(3, "a"), put(4, "b")];
    assert!(first.index.is_shared_with(&same.index));
    assert!(!same.index.is_shared_with(&other.index));
    assert_eq!(other.index.values(), 1, "a value nobody has is dropped");
}

#[test]
fn reads_beyond_the_history_fail_and_others_succeed() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let mut subject = Subject::new(Bounds { events: 25, checkpoint_events: 4, ..Bounds::default() });
        for _ in 0..80 {
            subject.step(&mut random);
            let state = subject.cache.state();
            assert!(state.events.len() <= 25);
            for revision in 1..=subject.revision {
                match state.at(Revision(revision)) {
                    Ok(objects) => assert_eq!(shown(&objects), subject.models[revision as usize], "seed {seed}"),
                    Err(expired) => assert!(revision < expired.oldest.0, "seed {seed}: {expired:?}"),
                }
            }
        }
        let state = subject.cache.state();
        let bytes: usize =
            (0..state.events.len()).filter_map(|at| state.events.get(at)).map(|event| weight(event)).sum();
        assert_eq!(bytes, subject.cache.state().history_bytes, "seed {seed}");
    }
}

#[test]
fn a_cursor_sees_every_change_once_and_in_order() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        let mut subject = Subject::new(Bounds::default());
        (0..10).for_each(|_| subject.step(&mut random));
        let start = subject.revision;
        let mut cursor = subject.cache.cursor(Revision(start));
        let mut model = subject.models[start as usize].clone();
        for _ in 0..40 {
            (0..random.below(4)).for_each(|_| subject.step(&mut random));
            let limit = 1 + random.below(6) as usize;
            loop {
                let events = cursor.take(limit).expect("retained");
                if events.is_empty() {
                    break;
                }
                for event in events {
                    let key = event.object.key.to_string();
                    assert_eq!(
                        event.previous.as_ref().map(|object| object.revision.0),
                        model.get(&key).copied(),
                        "seed {seed}"
                    );
                    assert_eq!(event.object.revision, event.revision, "a removed object shows when it was removed");
                    match event.removed {
                        true => drop(model.remove(&key)),
                        false => drop(model.insert(key, event.revision.0)),
                    }
                }
                assert_eq!(model, subject.models[cursor.revision().0 as usize], "seed {seed}: whole revisions only");
            }
            assert_eq!(Some(&model), subject.models.last(), "seed {seed}");
        }
    }
}

#[test]
fn a_visitor_that_breaks_gets_one_revision() {
    let mut random = Random(5);
    let mut subject = Subject::new(Bounds::default());
    let [mut cursor, mut other] = [(); 2].map(|()| subject.cache.cursor(Revision(1)));
    (0..20).for_each(|_| subject.step(&mut random));
    let mut seen = Vec::new();
    loop {
        let before = seen.len();
        let visited = cursor.visit_until(usize::MAX, |event| {
            seen.push(event.revision);
            ControlFlow::Break(())
        });
        visited.expect("retained");
        let of_revision = seen.get(before..).unwrap_or_default();
        assert!(!of_revision.is_empty() && of_revision.iter().all(|revision| Some(revision) == of_revision.first()));
        if !cursor.is_behind() {
            break;
        }
        assert_eq!(Some(&cursor.revision()), seen.last());
    }
    let all = other.take(usize::MAX).expect("retained");
    assert!(all.iter().map(|event| event.revision).eq(seen));
}

/// Whether a cursor without pending events would be woken now.
fn is_woken(cursor: &mut Watcher) -> bool {
    use std::future::Future;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    std::pin::pin!(cursor.changed()).poll(&mut context).is_ready()
}

fn filters() -> [WatchFilter; 6] {
    let key = format!("{PREFIX}ns1/n4");
    [
        WatchFilter::Everything,
        WatchFilter::Namespace("ns1".into()),
        WatchFilter::Key(key.as_str().into()),
        WatchFilter::Field(0, "node2".into()),
        WatchFilter::Field(70, "".into()),
        WatchFilter::Lifecycle,
    ]
}

#[test]
fn a_cursor_is_woken_by_what_concerns_it_and_sees_all_of_it() {
    for seed in 1..=20 {
        let mut random = Random(seed);
        // A short history, so that rarely matching filters outlive most of it.
        let mut subject = Subject::new(Bounds { events: 30, checkpoint_events: 4, ..Bounds::default() });
        (0..10).for_each(|_| subject.step(&mut random));
        let start = Revision(subject.revision);
        let mut all = subject.cache.cursor(start);
        let mut cursors = filters().map(|filter| subject.cache.watch_matching(start, filter));
        for cursor in &mut cursors {
            assert!(cursor.take(9).expect("retained").is_empty());
            while is_woken(cursor) {}
        }
        for _ in 0..200 {
            (0..=random.below(2)).for_each(|_| subject.step(&mut random));
            let happened = all.take(usize::MAX).expect("retained");
            for cursor in &mut cursors {
                let concerned: Vec<_> = happened.iter().filter(|event| cursor.filter.concerns(event)).collect();
                if is_woken(cursor) {
                    let mut seen = cursor.take(1).expect("retained");
                    while is_woken(cursor) {
                        seen.extend(cursor.take(1).expect("retained"));
                    }
                    let same = seen.iter().zip(&concerned).all(|(seen, concerned)| Arc::ptr_eq(seen, concerned));
                    assert!(same && seen.len() == concerned.len(), "seed {seed}, {:?}", cursor.filter);
                    assert_eq!(cursor.revision(), subject.cache.state().last, "seed {seed}, {:?}", cursor.filter);
                } else {
                    assert!(concerned.is_empty(), "seed {seed}, {:?}", cursor.filter);
                }
            }
        }
    }
}

#[test]
fn only_those_concerned_are_woken() {
    let mut subject = Subject::new(Bounds::default());
    let mut cursors = filters().map(|filter| subject.cache.watch_matching(Revision(1), filter));
    for cursor in &mut cursors {
        assert!(cursor.take(9).expect("retained").is_empty());
    }
    let mut woken = |subject: &mut Subject, key: &str, field: &str| {
        subject.revision += 1;
        let key = format!("{PREFIX}{key}");
        let encoded = encoded_with(&key, subject.revision, field);
        subject.writer.apply(&key.as_str().into(), Revision(subject.revision), Some(encoded), true);
        subject.writer.publish();
        cursors.each_mut().map(|cursor| {
            let woken = is_woken(cursor);
            let seen = cursor.take(9).expect("retained");
            assert_eq!(seen.len(), usize::from(woken), "{:?} sees what it was woken by", cursor.filter);
            while is_woken(cursor) {}
            woken
        })
    };
    // Fields without an index are searched in all objects.
    assert_eq!(woken(&mut subject, "ns1/n4", "node2"), [true; 6]);
    assert_eq!(woken(&mut subject, "ns1/n5", "node1"), [true, true, false, false, true, true]);
    assert_eq!(woken(&mut subject, "ns2/n4", "node2"), [true, false, false, true, true, true]);
    assert_eq!(woken(&mut subject, "ns2/n4", "node3"), [true, false, false, true, true, false], "it had the value");
    assert_eq!(woken(&mut subject, "ns2/n4", "node3"), [true, false, false, false, true, false]);
}

#[test]
fn owners_deletion_and_finalizers_are_lifecycle_changes() {
    let mut subject = Subject::new(Bounds::default());
    let mut cursor = subject.cache.watch_matching(Revision(1), WatchFilter::Lifecycle);
    assert!(cursor.take(9).expect("retained").is_empty());
    let mut seen = |metadata: &pintle_schema::Value, phase: &str| {
        subject.revision += 1;
        let object = value!({"kind": "Thing", "metadata": (metadata.clone()), "status": {"phase": phase}});
        let encoded = EncodedObject::from_record(&encoded_object::encode(&object, &[""]), Revision(subject.revision))
            .expect("just encoded");
        subject.writer.apply(&format!("{PREFIX}ns/a").as_str().into(), Revision(subject.revision), Some(encoded), true);
        subject.writer.publish();
        !cursor.take(9).expect("retained").is_empty()
    };
    let owned = |block: bool| value!({"name": "a", "ownerReferences": [{"uid": "o", "blockOwnerDeletion": block}]});
    assert!(seen(&owned(true), "Pending"), "it is new");
    assert!(!seen(&owned(true), "Running"));
    assert!(seen(&owned(false), "Running"), "its owner waits for it no longer");
    let mut metadata = value!({"name": "a", "finalizers": ["f"]});
    assert!(seen(&metadata, "Running"), "it has no owner any more");
    assert!(!seen(&metadata, "Failed"));
    metadata.set_at(&["deletionTimestamp"], "2026-01-01T00:00:00Z");
    assert!(seen(&metadata, "Failed"), "it begins to end");
    assert!(seen(&metadata, "Succeeded"), "it is held");
    let metadata = value!({"name": "a", "deletionTimestamp": "2026-01-01T00:00:00Z"});
    assert!(seen(&metadata, "Succeeded"), "it is let go");
    assert!(!seen(&metadata, "Failed"), "nothing but time holds it");
}

/// Watches start at any moment of a commit: none may lose an event between its first state and its first wait.
#[test]
fn nothing_is_lost_between_joining_and_waiting() {
    const LAST: u64 = 3000;
    let mut subject = Subject::new(Bounds::default());
    let cache = subject.cache.clone();
    std::thread::scope(|scope| {
        for filter in filters().into_iter().take(4).cycle().take(8) {
            let cache = cache.clone();
            scope.spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
                let mut seen = 0;
                while seen < LAST {
                    let shown = cache.state();
                    let mut cursor = cache.watch_matching(shown.last, filter.clone());
                    seen = shown.last.0;
                    for _ in 0..20 {
                        let events = cursor.take(5).expect("retained");
                        for event in &events {
                            // Every commit of this test concerns every watch.
                            assert_eq!(event.revision.0, seen.max(1) + 1, "{filter:?}");
                            seen = event.revision.0;
                        }
                        if seen >= LAST {
                            break;
                        }
                        runtime.block_on(cursor.changed());
                    }
                }
            });
        }
        while subject.revision < LAST {
            subject.revision += 1;
            let key = format!("{PREFIX}ns1/n4");
            let encoded = encoded_with(&key, subject.revision, "node2");
            subject.writer.apply(&key.as_str().into(), Revision(subject.revision), Some(encoded), true);
            subject.writer.publish();
        }
    });
}

#[test]
fn a_watcher_behind_the_history_gets_an_error() {
    let mut random = Random(3);
    let mut subject = Subject::new(Bounds { events: 10, ..Bounds::default() });
    let mut cursor = subject.cache.cursor(Revision(1));
    (0..30).for_each(|_| subject.step(&mut random));
    assert!(matches!(cursor.take(100), Err(Expired { requested: Revision(1), .. })));
}

#[test]
fn names_come_from_keys() {
    let object = Object::new("/registry/things/ns/a".into(), PREFIX.len(), Revision(1), encoded_of("a", 1));
    assert_eq!((object.namespace(), object.name()), ("ns", "a"));
    let object = Object::new("/registry/things/a".into(), PREFIX.len(), Revision(1), encoded_of("a", 1));
    assert_eq!((object.namespace(), object.name()), ("", "a"));
}
