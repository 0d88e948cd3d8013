//! `Objects`: the objects of a resource by storage key, each with a summary of its labels.
//! Guarantees that a copy is cheap and does not change (it is persistent), and that a summary never excludes a
//! matching object.
//! Must never fetch an object that its summary excludes: summaries are adjacent in the map, objects are not.

use crate::object::Object;
use imbl::ordmap::DiffItem;
use imbl::{OrdMap, OrdSet};
use pintle_storage::Key;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Bound;
use std::sync::Arc;

/// The storage keys of some objects.
pub type Keys = OrdSet<Key>;

/// The objects of a resource, by storage key.
#[derive(Clone, Default)]
pub struct Objects(OrdMap<Key, Entry>);

/// An object and the summary of its labels.
#[derive(Clone)]
pub struct Entry {
    labels: LabelSketch,
    pub object: Arc<Object>,
}

impl Entry {
    /// Whether the object may have these labels. There are few false positives.
    pub fn may_have(&self, labels: LabelSketch) -> bool {
        self.labels.0 & labels.0 == labels.0
    }
}

/// Entries are the same if they have the same state of an object; states are not compared.
impl PartialEq for Entry {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.object, &other.object)
    }
}

/// How the objects under one key differ from those before.
#[derive(Clone, Copy, Debug)]
pub enum Difference<'a> {
    /// The object is new, or was changed.
    Set(&'a Arc<Object>),
    Removed(&'a Arc<Object>),
}

/// Labels as bits of a word, two for each key and value: an object with these labels has all their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LabelSketch(u64);

impl<'a> FromIterator<(&'a str, &'a str)> for LabelSketch {
    fn from_iter<T: IntoIterator<Item = (&'a str, &'a str)>>(labels: T) -> Self {
        LabelSketch(labels.into_iter().fold(0, |bits, label| {
            let mut hasher = DefaultHasher::new();
            label.hash(&mut hasher);
            let hash = hasher.finish();
            bits | 1 << (hash % 64) | 1 << (hash / 64 % 64)
        }))
    }
}

/// The first key after all keys with this prefix.
pub fn end_of(prefix: &str) -> String {
    format!("{prefix}{}", char::MAX)
}

impl Objects {
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn contains_key(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    pub fn get(&self, key: &str) -> Option<&Arc<Object>> {
        self.0.get(key).map(|entry| &entry.object)
    }

    pub fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    /// All objects, in key order.
    pub fn values(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.0.values().map(|entry| &entry.object)
    }

    /// What is different from the objects before, in key order. What both share is skipped, so that a few changes of many
    /// objects cost little.
    pub fn changes_since<'a>(&'a self, before: &'a Objects) -> impl Iterator<Item = Difference<'a>> {
        before.0.diff(&self.0).map(|item| match item {
            DiffItem::Add(_, entry) | DiffItem::Update { new: (_, entry), .. } => Difference::Set(&entry.object),
            DiffItem::Remove(_, entry) => Difference::Removed(&entry.object),
        })
    }

    /// The entries with this key prefix, in key order.
    pub fn under<'a>(&'a self, prefix: &str) -> impl Iterator<Item = &'a Entry> + use<'a> {
        let end = end_of(prefix);
        self.0.range::<_, str>((Bound::Included(prefix), Bound::Excluded(&*end))).map(|(_, entry)| entry)
    }

    /// The entries within a range, in key order: only those with the given keys, or all.
    pub fn within<'a>(
        &'a self,
        keys: Option<&'a Keys>,
        range: (Bound<&'a str>, Bound<&'a str>),
    ) -> impl Iterator<Item = &'a Entry> {
        let named = keys.map(|keys| keys.range::<_, str>(range).filter_map(|key| self.0.get(key)));
        let all = keys.is_none().then(|| self.0.range::<_, str>(range).map(|(_, entry)| entry));
        named.into_iter().flatten().chain(all.into_iter().flatten())
    }

    /// Inserts an object; returns the previous one.
    pub(crate) fn insert(&mut self, object: Arc<Object>) -> Option<Arc<Object>> {
        let entry = Entry { labels: object.encoded.labels().collect(), object };
        self.0.insert(entry.object.key.clone(), entry).map(|previous| previous.object)
    }

    pub(crate) fn remove(&mut self, key: &Key) -> Option<Arc<Object>> {
        self.0.remove(key).map(|entry| entry.object)
    }
}

impl FromIterator<Arc<Object>> for Objects {
    fn from_iter<T: IntoIterator<Item = Arc<Object>>>(all: T) -> Self {
        let mut objects = Objects::default();
        all.into_iter().for_each(|object| drop(objects.insert(object)));
        objects
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoded_object::{self, EncodedObject};
    use pintle_schema::{Value, value};
    use pintle_storage::Revision;

    #[test]
    fn changes_are_found_among_many_objects() {
        let before: Objects = (0..700).map(labelled).collect();
        assert_eq!(before.changes_since(&before.clone()).count(), 0);
        let mut after = before.clone();
        let keys: Vec<Key> = before.keys().cloned().collect();
        after.remove(&keys[3]);
        let changed = labelled(400);
        after.insert(changed.clone());
        let added = labelled(9_999);
        after.insert(added.clone());
        let (mut set, mut removed) = (Vec::new(), Vec::new());
        for change in after.changes_since(&before) {
            match change {
                Difference::Set(object) => set.push(object.id),
                Difference::Removed(object) => removed.push(object.key.clone()),
            }
        }
        set.sort_unstable();
        assert_eq!((set, removed), (vec![changed.id, added.id], vec![keys[3].clone()]));
    }

    fn labelled(number: u64) -> Arc<Object> {
        let mut labels = Value::map();
        for (key, among) in [("app", 7), ("tier", 3), ("pod-template-hash", 50), ("zone", 2)] {
            labels.set_at(&[key], format!("{key}-{}", number % among));
        }
        let object = value!({"metadata": {"name": (format!("o{number}")), "labels": labels}});
        let encoded =
            EncodedObject::from_record(&encoded_object::encode(&object, &[]), Revision(1)).expect("an encoded object");
        Arc::new(Object::new(format!("/o/o{number:03}").into(), 3, Revision(1), encoded))
    }

    #[test]
    fn sketches_have_no_false_negatives_and_few_false_positives() {
        let objects: Objects = (0..700).map(labelled).collect();
        for number in 0..50 {
            let label = ("pod-template-hash", &*format!("pod-template-hash-{number}"));
            let wanted: LabelSketch = [label, ("zone", &*format!("zone-{}", number % 2))].into_iter().collect();
            let found: Vec<_> = objects
                .within(None, (Bound::Unbounded, Bound::Unbounded))
                .filter(|entry| entry.may_have(wanted))
                .map(|entry| &entry.object)
                .collect();
            let having = |object: &&&Arc<Object>| object.encoded.label(label.0) == Some(label.1);
            assert_eq!(found.iter().filter(having).count(), 14);
            assert!(found.len() < 100, "{} of 700", found.len());
            assert!(objects.values().all(|object| objects.get(&object.key).is_some_and(|it| it.id == object.id)));
        }
        assert!(objects.within(None, (Bound::Unbounded, Bound::Unbounded)).all(|entry| entry.may_have(<_>::default())));
    }

    #[test]
    fn keys_under_a_prefix_end_with_it() {
        let objects: Objects = (0..30).map(labelled).collect();
        let names: Vec<_> = objects.under("/o/o01").map(|entry| entry.object.name()).collect();
        assert_eq!((names.len(), names.first(), names.last()), (10, Some(&"o010"), Some(&"o019")));
    }
}
