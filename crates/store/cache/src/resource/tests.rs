//! The cache against a model that keeps everything: every snapshot and every watch must tell the same story.

use super::*;
use crate::image;
use pintle_schema::value;
use std::collections::BTreeMap;

const PREFIX: &str = "/registry/things/";

/// A small generator of pseudo-random numbers, so that a failing seed is the bug report.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// What the resource was after a revision: key to the revision of its last change.
type Model = BTreeMap<String, u64>;

struct Subject {
    cache: Arc<ResourceCache>,
    writer: Writer,
    models: Vec<Model>,
    revision: u64,
}

impl Subject {
    fn new(bounds: Bounds) -> Self {
        let cache = Arc::new(ResourceCache::new(PREFIX));
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
            let image = (!removes).then(|| image_of(&key, self.revision));
            self.writer.apply(&key.as_str().into(), Revision(self.revision), image, true);
        }
        self.writer.publish();
        self.models.push(model);
    }
}

fn image_of(key: &str, revision: u64) -> Image {
    let name = key.rsplit('/').next().unwrap_or("");
    let record = image::encode(&value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": name}}), &[]);
    Image::from_record(&record, Revision(revision)).expect("just encoded")
}

fn shown(objects: &OrdMap<Key, Arc<Object>>) -> Model {
    objects.iter().map(|(key, object)| (key.to_string(), object.revision.0)).collect()
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
fn what_is_beyond_the_bounds_is_refused_and_the_rest_is_right() {
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
        let bytes: usize = subject.cache.state().events.iter().map(|event| weight(event)).sum();
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
fn a_cursor_that_the_history_has_passed_is_told() {
    let mut random = Random(3);
    let mut subject = Subject::new(Bounds { events: 10, ..Bounds::default() });
    let mut cursor = subject.cache.cursor(Revision(1));
    (0..30).for_each(|_| subject.step(&mut random));
    assert!(matches!(cursor.take(100), Err(Expired { requested: Revision(1), .. })));
}

#[test]
fn names_come_from_keys() {
    let object = Object::new("/registry/things/ns/a".into(), PREFIX.len(), Revision(1), image_of("a", 1));
    assert_eq!((object.namespace(), object.name()), ("ns", "a"));
    let object = Object::new("/registry/things/a".into(), PREFIX.len(), Revision(1), image_of("a", 1));
    assert_eq!((object.namespace(), object.name()), ("", "a"));
}
