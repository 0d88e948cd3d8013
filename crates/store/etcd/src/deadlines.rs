//! `Deadlines`: how long calls may take, kept by one timer. Most calls end long before, and a timer for each would call the
//! runtime's attention to every one of them.
//! Guarantees that a call ends with its time.
//! Must never be what keeps time for anything that usually runs out of it.

use std::collections::BTreeMap;
use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

#[derive(Default)]
pub struct Deadlines {
    line: Mutex<Line>,
    /// Somebody has less time than the timer was set for.
    sooner: Notify,
}

#[derive(Default)]
struct Line {
    /// Whom to wake, by when, and by a number of their own.
    waiting: BTreeMap<(Instant, u64), Waker>,
    numbers: u64,
    /// What the timer was set for.
    set: Option<Instant>,
}

/// A place among those who wait, given up with this.
struct Place<'a> {
    deadlines: &'a Deadlines,
    end: Instant,
    number: Option<u64>,
}

impl Deadlines {
    fn line(&self) -> MutexGuard<'_, Line> {
        // Nothing that holds the lock can fail half way.
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What comes of a future, or `None` when its time is over. There must be somebody who keeps time.
    pub async fn within<T>(&self, time: Duration, mut future: Pin<&mut impl Future<Output = T>>) -> Option<T> {
        let mut place = Place { deadlines: self, end: Instant::now() + time, number: None };
        poll_fn(|context| match future.as_mut().poll(context) {
            Poll::Ready(outcome) => Poll::Ready(Some(outcome)),
            Poll::Pending => place.poll(context).map(|()| None),
        })
        .await
    }

    /// Keeps time, until it is dropped.
    pub async fn run(&self) {
        loop {
            let set = {
                let mut line = self.line();
                line.set = line.waiting.first_key_value().map(|((end, _), _)| *end);
                line.set
            };
            let Some(end) = set else {
                self.sooner.notified().await;
                continue;
            };
            tokio::select! {
                () = sleep_until(end) => self.wake(Instant::now()),
                () = self.sooner.notified() => {}
            }
        }
    }

    fn wake(&self, now: Instant) {
        let over = {
            let mut line = self.line();
            let later = line.waiting.split_off(&(now, u64::MAX));
            std::mem::replace(&mut line.waiting, later)
        };
        over.into_values().for_each(Waker::wake);
    }
}

impl Place<'_> {
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        let mut line = self.deadlines.line();
        if let Some(number) = self.number {
            // Who keeps time has taken it away.
            let Some(waker) = line.waiting.get_mut(&(self.end, number)) else { return Poll::Ready(()) };
            waker.clone_from(context.waker());
            return Poll::Pending;
        }
        line.numbers += 1;
        let number = line.numbers;
        self.number = Some(number);
        line.waiting.insert((self.end, number), context.waker().clone());
        if line.set.is_none_or(|set| self.end < set) {
            line.set = Some(self.end);
            drop(line);
            self.deadlines.sooner.notify_one();
        }
        Poll::Pending
    }
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        if let Some(number) = self.number {
            self.deadlines.line().waiting.remove(&(self.end, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::pending;
    use std::pin::pin;
    use std::sync::Arc;
    use tokio::time::sleep;

    #[tokio::test(start_paused = true)]
    async fn each_has_its_time_whoever_came_first() {
        let deadlines = Arc::new(Deadlines::default());
        let keeper = deadlines.clone();
        let keeper = tokio::spawn(async move { keeper.run().await });
        let began = Instant::now();
        let seconds = |seconds| Duration::from_secs(seconds);
        let over = async |time| {
            assert_eq!(deadlines.within(seconds(time), pin!(pending::<()>())).await, None);
            began.elapsed().as_secs()
        };
        let two = pin!(async {
            sleep(seconds(2)).await;
            began.elapsed().as_secs()
        });
        let in_time = deadlines.within(seconds(3), two);
        assert_eq!(tokio::join!(over(5), over(1), in_time, over(4)), (5, 1, Some(2), 4));
        // The timer was set to no end, and is set again.
        sleep(seconds(5)).await;
        assert_eq!(over(2).await, 12);
        assert!(deadlines.line().waiting.is_empty());
        keeper.abort();
    }
}
