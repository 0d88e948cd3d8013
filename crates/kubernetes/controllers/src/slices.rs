//! Long work in slices: after a bounded number of steps a task lets the others of its thread run. Guarantees that a task
//! that counts each look-up and each object that it visits never runs longer than a slice. Must never be used while a
//! lock is held.

use std::sync::atomic::{AtomicU64, Ordering};

/// The steps of a slice. A step takes some microseconds, so that a slice takes less than a millisecond.
pub const STEPS: u32 = 128;

/// The steps that decoding an object is worth.
pub const DECODING: u32 = 16;

/// The steps that a controller has made since its start.
#[derive(Default)]
pub struct Work(AtomicU64);

impl Work {
    /// Begins the work of one task.
    pub fn slices(&self) -> Slices<'_> {
        Slices { work: self, left: STEPS }
    }

    #[cfg(test)]
    pub fn steps(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// The work of one task.
pub struct Slices<'a> {
    work: &'a Work,
    /// The steps that are left in this slice.
    left: u32,
}

impl Slices<'_> {
    /// Counts a step: a look-up, or an object that is visited. Ends the slice if it has no step left.
    pub async fn step(&mut self) {
        self.steps(1).await;
    }

    /// Counts as many steps as the next work is worth, such as decoding an object.
    pub async fn steps(&mut self, count: u32) {
        if self.left < count {
            tokio::task::yield_now().await;
            self.left = STEPS;
        }
        self.left = self.left.saturating_sub(count);
        self.work.0.fetch_add(count.into(), Ordering::Relaxed);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::future::poll_fn;

    /// Runs work, and checks that it makes no more steps at a time than a slice has. Returns the number of steps.
    pub(crate) async fn in_slices<F: Future>(work: &Work, future: F) -> (F::Output, u64) {
        let mut future = Box::pin(future);
        let begin = work.steps();
        let polled = poll_fn(|context| {
            let before = work.steps();
            let polled = future.as_mut().poll(context);
            assert!(work.steps() - before <= STEPS.into(), "{} steps at a time", work.steps() - before);
            polled
        });
        (polled.await, work.steps() - begin)
    }

    #[tokio::test]
    async fn a_slice_ends_after_its_steps() {
        let work = Work::default();
        let long = async {
            let mut slices = work.slices();
            for count in (0..1000).map(|number| number % 7) {
                slices.steps(count).await;
            }
        };
        assert_eq!(in_slices(&work, long).await.1, 2997);
    }
}
