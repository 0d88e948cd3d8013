//! `Page`: the objects of a list, and its metadata.
//!
//! A range of a snapshot is held as the snapshot and two keys: no reference counts change, however many objects there are and
//! however many lists are read at once. Only objects picked by a selector are held one by one.

use pintle_cache::Object;
use pintle_cache::objects::Objects;
use pintle_storage::Revision;
use std::ops::Bound;
use std::sync::Arc;

/// The objects of a list, and its metadata.
pub struct Page {
    pub items: Items,
    pub revision: Revision,
    /// "" at the end.
    pub continue_token: String,
    /// How many follow; unknown when a selector is in the way.
    pub remaining: Option<i64>,
    /// The selector of the shard that the objects are of.
    pub shard: Option<String>,
}

/// Objects of one snapshot, in the order of their keys.
pub enum Items {
    /// All from one key to another, both included; and how many these are.
    Stretch {
        objects: Objects,
        from: Box<str>,
        to: Box<str>,
        count: usize,
    },
    Picked(Vec<Arc<Object>>),
}

impl Default for Items {
    fn default() -> Self {
        Items::Picked(Vec::new())
    }
}

impl Items {
    pub(crate) fn stretch(objects: &Objects, from: &str, to: &str, count: usize) -> Self {
        Items::Stretch { objects: objects.clone(), from: from.into(), to: to.into(), count }
    }

    pub fn len(&self) -> usize {
        match self {
            Items::Stretch { count, .. } => *count,
            Items::Picked(objects) => objects.len(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn iter(&self) -> impl Iterator<Item = &Arc<Object>> {
        self.after(None)
    }

    /// Those that follow an object in the page, or all.
    pub fn after<'a>(&'a self, last: Option<&'a Object>) -> impl Iterator<Item = &'a Arc<Object>> {
        let (stretch, picked) = match self {
            Items::Stretch { objects, from, to, .. } => {
                let from = last.map_or(Bound::Included(&**from), |last| Bound::Excluded(&*last.key));
                (Some(objects.within(None, (from, Bound::Included(&**to))).map(|entry| &entry.object)), None)
            }
            Items::Picked(objects) => {
                let passed = last.map_or(0, |last| objects.partition_point(|object| object.key <= last.key));
                (None, objects.get(passed..))
            }
        };
        stretch.into_iter().flatten().chain(picked.into_iter().flatten())
    }

    /// Detaches the items from their snapshot, so that keeping a few of them does not keep the whole snapshot in memory.
    #[must_use]
    pub fn detached(self) -> Items {
        match &self {
            Items::Stretch { objects, count, .. } if *count < objects.len() / 2 => {
                Items::Picked(self.iter().cloned().collect())
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_cache::{EncodedObject, encoded_object};
    use pintle_schema::value;

    fn objects(names: &[&str]) -> Objects {
        let objects = names.iter().map(|name| {
            let record = encoded_object::encode(&value!({"metadata": {"name": (*name)}}), &[]);
            let encoded = EncodedObject::from_record(&record, Revision(1)).unwrap();
            Arc::new(Object::new((*name).into(), 0, Revision(1), encoded))
        });
        objects.collect()
    }

    fn names<'a>(items: impl Iterator<Item = &'a Arc<Object>>) -> Vec<&'a str> {
        items.map(|object| &*object.key).collect()
    }

    #[test]
    fn ranges_and_selections_iterate_alike() {
        let all = objects(&["a", "b", "c", "d", "e", "f", "g", "h"]);
        let stretch = Items::stretch(&all, "aa", "d", 3);
        let detached = Items::stretch(&all, "aa", "d", 3).detached();
        assert!(matches!(stretch, Items::Stretch { .. }) && matches!(detached, Items::Picked(_)));
        for items in [stretch, detached] {
            assert_eq!((names(items.iter()), items.len(), items.is_empty()), (vec!["b", "c", "d"], 3, false));
            for (last, rest) in [("b", vec!["c", "d"]), ("c", vec!["d"]), ("d", vec![])] {
                assert_eq!(names(items.after(all.get(last).map(|last| &**last))), rest, "after {last}");
            }
        }
        assert!(matches!(Items::stretch(&all, "b", "g", 6).detached(), Items::Stretch { .. }));
        assert!(Items::default().is_empty() && Items::default().iter().next().is_none());
    }
}
