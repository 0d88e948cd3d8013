//! `History`: the retained events of a resource, in order, shared by published states.
//! Guarantees that a copy does not change when another copy grows at one end or shrinks at the other.
//! Must never count references per event: an event costs one slot, and a publication touches no event. A segment is
//! added now and then.

use crate::resource::Event;
use imbl::Vector;
use std::array;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Events that are allocated and freed together: few, because the last of a segment keeps those before it alive.
const SEGMENT: usize = 16;

type Segment = [OnceLock<Arc<Event>>; SEGMENT];

#[derive(Clone, Default)]
pub(crate) struct History {
    segments: Vector<Arc<Segment>>,
    /// The slots of the retained events, counted from the beginning of the first segment.
    slots: Range<usize>,
}

impl History {
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    pub fn get(&self, index: usize) -> Option<&Arc<Event>> {
        let slot = self.slots.start.checked_add(index).filter(|slot| self.slots.contains(slot))?;
        self.segments.get(slot / SEGMENT)?.get(slot % SEGMENT)?.get()
    }

    pub fn front(&self) -> Option<&Arc<Event>> {
        self.get(0)
    }

    pub fn push_back(&mut self, event: Arc<Event>) {
        let at = self.slots.end % SEGMENT;
        let taken = self.segments.back().filter(|last| at > 0 && last[at].get().is_some());
        if let Some(last) = taken {
            // Another copy has appended here: this one continues in a segment of its own.
            let own = array::from_fn(|slot| if slot < at { last[slot].clone() } else { OnceLock::new() });
            self.segments.pop_back();
            self.segments.push_back(Arc::new(own));
        } else if self.slots.end == self.segments.len() * SEGMENT {
            self.segments.push_back(Arc::new(array::from_fn(|_| OnceLock::new())));
        }
        if let Some(slot) = self.segments.back().and_then(|last| last.get(at)) {
            slot.get_or_init(|| event);
        }
        self.slots.end += 1;
    }

    pub fn pop_front(&mut self) -> Option<Arc<Event>> {
        let event = self.front().cloned()?;
        self.slots.start += 1;
        if self.slots.start == SEGMENT {
            self.segments.pop_front();
            self.slots = 0..self.slots.end - SEGMENT;
        }
        Some(event)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoded_object::{self, EncodedObject};
    use crate::object::Object;
    use pintle_schema::value;
    use pintle_storage::Revision;

    fn event(revision: u64) -> Arc<Event> {
        let record = encoded_object::encode(&value!({"kind": "Thing", "metadata": {"name": "a"}}), &[]);
        let encoded = EncodedObject::from_record(&record, Revision(revision)).expect("an encoded object");
        let object = Arc::new(Object::new("/things/a".into(), 8, Revision(revision), encoded));
        Arc::new(Event { revision: Revision(revision), object, previous: None, removed: false })
    }

    fn revisions(history: &History) -> Vec<u64> {
        (0..history.len()).filter_map(|index| history.get(index)).map(|event| event.revision.0).collect()
    }

    #[test]
    fn clones_keep_their_events_while_the_original_advances() {
        let mut history = History::default();
        let mut expected = 1..1;
        let mut copies = Vec::new();
        // Grows and shrinks over many segments, and is empty in between.
        for (grow, shrink) in [(5, 0), (40, 20), (1, 26), (0, 3), (33, 1), (16, 48)] {
            for _ in 0..grow {
                history.push_back(event(expected.end));
                expected.end += 1;
            }
            for _ in 0..shrink {
                assert_eq!(history.pop_front().map(|event| event.revision.0), expected.next());
            }
            copies.push((history.clone(), expected.clone()));
        }
        for (copy, expected) in &copies {
            assert_eq!(revisions(copy), expected.clone().collect::<Vec<_>>());
            assert_eq!((copy.len(), copy.get(copy.len()).is_none()), (expected.clone().count(), true));
        }
        // Two copies may continue from one, and do not see each other's events.
        let (mut one, mut other) = (copies[1].0.clone(), copies[1].0.clone());
        (0..20).for_each(|n| one.push_back(event(1000 + n)));
        (0..20).for_each(|n| other.push_back(event(2000 + n)));
        let before = copies[1].1.clone();
        assert_eq!(revisions(&one), before.clone().chain(1000..1020).collect::<Vec<_>>());
        assert_eq!(revisions(&other), before.chain(2000..2020).collect::<Vec<_>>());
        drop((one, other));
        let weak = Arc::downgrade(copies[1].0.front().expect("retained"));
        copies.clear();
        assert!(weak.upgrade().is_none(), "what nobody retains is let go");
    }
}
