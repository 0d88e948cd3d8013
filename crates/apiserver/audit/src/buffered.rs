//! A backend that is given events in batches, later: requests never wait for it.
//! Guarantees that at most a given number of events wait, and that everything taken is passed on before the end, even if
//! the backend panics in between.
//! Must never wait in [`Backend::process`]: events without room are lost, and counted.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use futures_util::future::{BoxFuture, FutureExt};
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// Batches that are passed on at a time: a backend that hangs does not gather more.
const CONCURRENT_BATCHES: usize = 64;
/// How long events of single-event batches wait for others, so that a busy server wakes the worker once for all of them.
const MAX_LINGER: Duration = Duration::from_millis(10);
/// The part of that time for each place in the buffer: a small one must not overflow meanwhile.
const LINGER_PER_EVENT: Duration = Duration::from_micros(2);
/// Single-event batches that are passed on together.
const JOINED_BATCHES: usize = 4096;

/// How events are gathered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchOptions {
    /// Events that wait.
    pub buffer_size: usize,
    pub max_batch_size: usize,
    /// How long a batch that is not full waits.
    pub max_wait: Duration,
    /// Batches per second, and the burst; `None` is no limit.
    pub throttle: Option<(f32, u32)>,
    /// Whether batches may be passed on concurrently.
    pub concurrent: bool,
}

/// A backend behind a buffer.
pub struct Buffered {
    backend: Arc<dyn Backend>,
    queue: mpsc::Sender<Arc<Event>>,
    stats: Arc<Stats>,
    closing: Arc<Notify>,
    worker: Mutex<Option<JoinHandle<()>>>,
}

impl Buffered {
    /// Starts a task that passes events on. Needs a runtime.
    pub fn new(backend: Arc<dyn Backend>, options: BatchOptions, stats: Arc<Stats>) -> Buffered {
        let (queue, events) = mpsc::channel(options.buffer_size.max(1));
        let closing = Arc::new(Notify::new());
        let worker = Worker {
            backend: backend.clone(),
            stats: stats.clone(),
            events,
            options,
            closing: closing.clone(),
            bucket: options.throttle.map(|(rate, burst)| Bucket::new(rate, burst)),
            sending: JoinSet::new(),
        };
        let worker = Mutex::new(Some(tokio::spawn(worker.run())));
        Buffered { backend, queue, stats, closing, worker }
    }
}

impl Backend for Buffered {
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
        let mut lost: Vec<Arc<Event>> = Vec::new();
        let mut why = "audit buffer queue blocked";
        for event in events {
            match self.queue.try_send(event) {
                Ok(()) => {}
                Err(mpsc::error::TrySendError::Full(event)) => lost.push(event),
                Err(mpsc::error::TrySendError::Closed(event)) => {
                    why = "audit backend shut down";
                    lost.push(event);
                }
            }
        }
        if !lost.is_empty() {
            self.stats.lost(Plugin::Buffered, &why, &lost);
        }
        Box::pin(std::future::ready(true))
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.closing.notify_one();
            let worker = self.worker.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(worker) = worker {
                let _ = worker.await;
            }
            self.backend.shutdown().await;
        })
    }
}

struct Worker {
    backend: Arc<dyn Backend>,
    stats: Arc<Stats>,
    events: mpsc::Receiver<Arc<Event>>,
    options: BatchOptions,
    closing: Arc<Notify>,
    bucket: Option<Bucket>,
    sending: JoinSet<()>,
}

impl Worker {
    async fn run(mut self) {
        let closing = self.closing.clone();
        loop {
            let (batch, is_over) = self.collect(&closing).await;
            if is_over {
                // No more events are accepted, but buffered ones are passed on.
                self.events.close();
            }
            let is_empty = batch.is_empty();
            self.pass_on(batch).await;
            if is_empty && self.events.is_closed() && self.events.is_empty() {
                break;
            }
        }
        while self.sending.join_next().await.is_some() {}
    }

    /// The next batch, full or due, and whether the buffer is closed.
    async fn collect(&mut self, closing: &Notify) -> (Vec<Arc<Event>>, bool) {
        if let Some(linger) = self.options.linger() {
            return self.collect_joined(linger, closing).await;
        }
        let size = self.options.max_batch_size.max(1);
        let mut batch = Vec::new();
        let due = Instant::now() + self.options.max_wait;
        while batch.len() < size {
            let room = size - batch.len();
            tokio::select! {
                received = self.events.recv_many(&mut batch, room) => if received == 0 { break },
                () = closing.notified() => return (batch, true),
                () = sleep_until(due), if size > 1 => break,
            }
        }
        (batch, false)
    }

    /// Batches of one event each: that of the first event, and those of the events that come within a short time.
    async fn collect_joined(&mut self, linger: Duration, closing: &Notify) -> (Vec<Arc<Event>>, bool) {
        let mut batch = Vec::new();
        tokio::select! {
            received = self.events.recv_many(&mut batch, JOINED_BATCHES) => if received == 0 { return (batch, false) },
            () = closing.notified() => return (batch, true),
        }
        // Nobody waits for the queue now, so that an event that comes wakes no task.
        let is_over = tokio::select! {
            () = tokio::time::sleep(linger) => false,
            () = closing.notified() => true,
        };
        while batch.len() < JOINED_BATCHES
            && let Ok(event) = self.events.try_recv()
        {
            batch.push(event);
        }
        (batch, is_over)
    }

    async fn pass_on(&mut self, batch: Vec<Arc<Event>>) {
        if batch.is_empty() {
            return;
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.take().await;
        }
        let processed = process(self.backend.clone(), batch, self.stats.clone());
        if !self.options.concurrent {
            processed.await;
            return;
        }
        while self.sending.len() >= CONCURRENT_BATCHES || self.sending.try_join_next().is_some() {
            if self.sending.len() >= CONCURRENT_BATCHES {
                self.sending.join_next().await;
            }
        }
        self.sending.spawn(processed);
    }
}

impl BatchOptions {
    /// How long events wait for others although each is a batch of its own; `None` if batches are formed or counted.
    fn linger(&self) -> Option<Duration> {
        let applies = self.max_batch_size <= 1 && self.throttle.is_none() && !self.concurrent;
        let for_buffer = LINGER_PER_EVENT.saturating_mul(u32::try_from(self.buffer_size).unwrap_or(u32::MAX));
        applies.then_some(MAX_LINGER.min(for_buffer))
    }
}

/// Passes a batch on. If the backend panics, the batch is lost, and counted.
async fn process(backend: Arc<dyn Backend>, batch: Vec<Arc<Event>>, stats: Arc<Stats>) {
    if AssertUnwindSafe(backend.process(batch.clone())).catch_unwind().await.is_err() {
        stats.lost(Plugin::Buffered, &"audit backend panicked", &batch);
    }
}

/// A token bucket.
struct Bucket {
    rate: f64,
    burst: f64,
    tokens: f64,
    filled: Instant,
}

impl Bucket {
    fn new(rate: f32, burst: u32) -> Bucket {
        let burst = f64::from(burst.max(1));
        Bucket { rate: f64::from(rate).max(f64::MIN_POSITIVE), burst, tokens: burst, filled: Instant::now() }
    }

    async fn take(&mut self) {
        let now = Instant::now();
        self.tokens = self.burst.min(self.tokens + (now - self.filled).as_secs_f64() * self.rate);
        self.filled = now;
        self.tokens -= 1.0;
        if self.tokens < 0.0 {
            let pause = Duration::try_from_secs_f64(-self.tokens / self.rate);
            tokio::time::sleep(pause.unwrap_or(Duration::from_secs(60))).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;

    /// Notes the sizes of batches; takes them when there is a permit.
    struct Sink {
        batches: Mutex<Vec<usize>>,
        permits: tokio::sync::Semaphore,
    }

    impl Sink {
        fn new(permits: usize) -> Arc<Sink> {
            Arc::new(Sink { batches: Mutex::default(), permits: tokio::sync::Semaphore::new(permits) })
        }

        fn batches(&self) -> Vec<usize> {
            self.batches.lock().expect("the batches").clone()
        }
    }

    impl Backend for Sink {
        fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
            Box::pin(async move {
                let permit = self.permits.acquire().await;
                permit.expect("a permit").forget();
                self.batches.lock().expect("the batches").push(events.len());
                true
            })
        }

        fn shutdown(&self) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    const OPTIONS: BatchOptions = BatchOptions {
        buffer_size: 10,
        max_batch_size: 3,
        max_wait: Duration::from_secs(30),
        throttle: None,
        concurrent: false,
    };

    fn events(count: usize) -> Vec<Arc<Event>> {
        (0..count).map(|_| Arc::new(event())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_full_or_due_and_nothing_taken_is_lost_at_the_end() {
        let (sink, stats) = (Sink::new(100), Arc::new(Stats::default()));
        let buffered = Buffered::new(sink.clone(), OPTIONS, stats.clone());
        buffered.process(events(4)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert_eq!(sink.batches(), [3]);
        tokio::time::sleep(Duration::from_secs(30)).await;
        assert_eq!(sink.batches(), [3, 1]);
        buffered.process(events(2)).await;
        buffered.shutdown().await;
        assert_eq!(sink.batches(), [3, 1, 2]);
        buffered.process(events(1)).await;
        assert_eq!(stats.failed().collect::<Vec<_>>(), [("buffered", 1)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_backend_that_hangs_costs_events_but_never_waits() {
        let (sink, stats) = (Sink::new(0), Arc::new(Stats::default()));
        let buffered = Buffered::new(sink.clone(), OPTIONS, stats.clone());
        buffered.process(events(3)).await;
        tokio::time::sleep(Duration::from_secs(1)).await;
        // Three are on their way, ten wait.
        assert!(buffered.process(events(15)).await);
        assert_eq!(stats.failed().collect::<Vec<_>>(), [("buffered", 5)]);
        sink.permits.add_permits(100);
        buffered.shutdown().await;
        assert_eq!(sink.batches().iter().sum::<usize>(), 13);
    }

    /// Panics at its first batch.
    struct Faulty(Arc<Sink>, std::sync::atomic::AtomicBool);

    impl Backend for Faulty {
        fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
            Box::pin(async move {
                let is_first = !self.1.swap(true, std::sync::atomic::Ordering::Relaxed);
                assert!(!is_first, "the first batch");
                self.0.process(events).await
            })
        }

        fn shutdown(&self) -> BoxFuture<'_, ()> {
            Box::pin(async {})
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_backend_that_panics_loses_its_batch_only() {
        for concurrent in [false, true] {
            let (sink, stats) = (Sink::new(100), Arc::new(Stats::default()));
            let options = BatchOptions { concurrent, ..OPTIONS };
            let faulty = Arc::new(Faulty(sink.clone(), std::sync::atomic::AtomicBool::new(false)));
            let buffered = Buffered::new(faulty, options, stats.clone());
            buffered.process(events(3)).await;
            tokio::time::sleep(Duration::from_secs(1)).await;
            assert_eq!(stats.failed().collect::<Vec<_>>(), [("buffered", 3)]);
            buffered.process(events(4)).await;
            buffered.shutdown().await;
            assert_eq!(sink.batches().iter().sum::<usize>(), 4, "concurrent: {concurrent}");
            assert_eq!(stats.failed().collect::<Vec<_>>(), [("buffered", 3)]);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn single_events_that_come_close_together_are_passed_on_together() {
        for (buffer_size, expected) in [(10_000, vec![3, 1]), (10, vec![1, 1, 1, 1])] {
            let (sink, stats) = (Sink::new(100), Arc::new(Stats::default()));
            let options = BatchOptions { max_batch_size: 1, buffer_size, ..OPTIONS };
            let buffered = Buffered::new(sink.clone(), options, stats.clone());
            for _ in 0..3 {
                buffered.process(events(1)).await;
                tokio::time::sleep(Duration::from_millis(2)).await;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
            buffered.process(events(1)).await;
            buffered.shutdown().await;
            assert_eq!(sink.batches(), expected);
            assert_eq!(stats.failed().count(), 0);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn batches_are_throttled() {
        let (sink, stats) = (Sink::new(100), Arc::new(Stats::default()));
        let options = BatchOptions { max_batch_size: 1, throttle: Some((1.0, 2)), concurrent: true, ..OPTIONS };
        let buffered = Buffered::new(sink.clone(), options, stats);
        buffered.process(events(5)).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        assert_eq!(sink.batches().len(), 2);
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert_eq!(sink.batches().len(), 4);
    }
}
