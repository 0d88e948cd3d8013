//! The replay: what a store kept is taken in on a thread of its own, so that reading it, checking it and making
//! images of it go on at once.
//!
//! It is taken in in the order in which it came, and all of it before `finish` returns.

use crate::{Writers, prefix_of, take_in};
use pintle_storage::{Record, Unreadable};
use std::panic::resume_unwind;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

/// How much is handed over at a time, and how often before the store has to wait: enough that handing over costs nothing,
/// and little beside what is read.
const BATCH: usize = 128;
const BATCHES: usize = 8;

/// What a store kept under a key.
pub(crate) enum Kept {
    Record(Record, bool),
    Unreadable(Unreadable),
}

/// A replay under way.
pub(crate) struct Replay {
    batch: Vec<Kept>,
    batches: SyncSender<Vec<Kept>>,
    thread: JoinHandle<Writers>,
}

impl Replay {
    /// Begins a replay with the writers.
    pub fn begin(writers: Writers) -> Replay {
        let (batches, taken) = sync_channel(BATCHES);
        let thread = std::thread::spawn(move || run(writers, &taken));
        Replay { batch: Vec::with_capacity(BATCH), batches, thread }
    }

    pub fn push(&mut self, kept: Kept) {
        self.batch.push(kept);
        if self.batch.len() == BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        // If nobody takes it any more, the thread has died and `finish` tells.
        let _ = self.batches.send(batch);
    }

    /// The writers, with everything taken in.
    pub fn finish(mut self) -> Writers {
        self.hand_over();
        drop(self.batches);
        self.thread.join().unwrap_or_else(|panic| resume_unwind(panic))
    }
}

fn run(mut writers: Writers, batches: &Receiver<Vec<Kept>>) -> Writers {
    for kept in batches.iter().flatten() {
        match kept {
            Kept::Record(record, history) => take_in(&mut writers, &record, history),
            Kept::Unreadable(unreadable) => {
                if let Some(writer) = prefix_of(&unreadable.key, &mut writers) {
                    writer.unreadable(unreadable);
                }
            }
        }
    }
    writers
}
