//! The replay: stored records are applied on a separate thread, so that reading, verifying and decoding them run in
//! parallel.
//! Guarantees that records are applied in their order, and all of them before `finish` returns.
//! Must never queue more than a few batches.

use crate::Cache;
use crate::resource::Writer;
use pintle_storage::{Record, Unreadable};
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// The size of a batch, and the number of batches before the store has to wait: large enough that the transfer costs
/// nothing, and small compared with the data.
const BATCH: usize = 128;
const BATCHES: usize = 8;

/// A stored record.
pub(crate) enum StoredRecord {
    Record(Record, bool),
    Unreadable(Unreadable),
}

/// A running replay.
pub(crate) struct Replay {
    batch: Vec<StoredRecord>,
    batches: SyncSender<Vec<StoredRecord>>,
    thread: JoinHandle<()>,
}

impl Replay {
    /// Begins a replay into the part of a cache with this number.
    pub fn begin(cache: Arc<Cache>, number: usize) -> Replay {
        let (batches, taken) = sync_channel(BATCHES);
        let thread = std::thread::spawn(move || run(&cache, number, &taken));
        Replay { batch: Vec::with_capacity(BATCH), batches, thread }
    }

    pub fn push(&mut self, kept: StoredRecord) {
        self.batch.push(kept);
        if self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // If the receiver is gone, the thread has panicked, and `finish` reports it.
        let _ = self.batches.send(batch);
    }

    /// Returns when everything has been applied.
    pub fn finish(mut self) {
        self.hand_over();
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

fn run(cache: &Cache, number: usize, batches: &Receiver<Vec<StoredRecord>>) {
    for batch in batches {
        let mut writers = cache.part(number).writers();
        for kept in batch {
            match kept {
                StoredRecord::Record(record, history) => writers.apply(&record, history, cache.decode_unannounced()),
                StoredRecord::Unreadable(unreadable) => writers.unreadable(unreadable),
            }
        }
        writers.all().for_each(Writer::trim);
    }
}

#[cfg(test)]
mod tests {
    use crate::{Cache, encoded_object};
    use pintle_schema::value;
    use pintle_storage::{Observer, Record, Revision, Started, Unreadable, UnreadableReason};
    use std::collections::BTreeMap;

    #[test]
    fn replay_is_complete_and_in_order() {
        let prefixes = ["/registry/things/", "/registry/others/"];
        let cache = Cache::new(prefixes);
        let mut writer = cache.writer();
        let mut model = BTreeMap::new();
        let value =
            encoded_object::encode(&value!({"kind": "Thing", "apiVersion": "v1", "metadata": {"name": "a"}}), &[]);
        let (compacted, current) = (Revision(30), Revision(2000));
        for revision in 2..=current.0 {
            let key = format!("{}a{}", prefixes[usize::from(revision % 3 == 0)], revision % 50);
            let removed = revision > compacted.0 && revision % 7 == 0;
            match removed {
                true => drop(model.remove(&key)),
                false => drop(model.insert(key.clone(), revision)),
            }
            let record = Record {
                revision: Revision(revision),
                key: key.as_str().into(),
                value: (!removed).then(|| value.clone()),
            };
            writer.replay(record, revision > compacted.0);
        }
        let lost = model.pop_first().expect("there are some");
        let reason = UnreadableReason::Undecodable("damaged".into());
        writer.unreadable(Unreadable { key: lost.0.as_str().into(), revision: Revision(lost.1), reason });
        writer.replayed(Started { compacted, current });
        assert_eq!(cache.current(), current);
        let states: Vec<_> = cache.resources().iter().map(|resource| resource.state()).collect();
        let shown = states.iter().flat_map(|state| state.objects.values());
        let shown: BTreeMap<_, _> = shown.map(|object| (object.key.to_string(), object.revision.0)).collect();
        assert_eq!(shown, model);
        for state in states {
            assert!(state.at(Revision(compacted.0 - 1)).is_err());
            assert!(state.at(compacted).is_ok());
        }
    }
}
