//! A backend that is given events in batches, later: requests never wait for it.
//! Guarantees that at most a given number of events wait, and that everything taken is passed on before the end.
//! Must never wait in [`Backend::process`]: events without room are lost, and counted.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use futures_util::future::BoxFuture;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::{Notify, mpsc};
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::{Instant, sleep_until};

/// Batches that are passed on at a time: a backend that hangs does not gather more.
const CONCURRENT_BATCHES: usize = 64;

/// How events are gathered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchOptions {
    /// Events that wait.
    pub buffer_size: usize,
    pub max_batch_size: usize,
    /// How long a batch that is not full waits.
    pub max_wait: Duration,
    /// Batches per second, and how many may follow each other at once; `None` is no limit.
    pub throttle: Option<(f32, u32)>,
    /// Whether the next batch is passed on before the one before has been taken.
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
                // Nothing more is taken, but what was taken is passed on.
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

    /// A batch that is full, or whose time is over; and whether the end has come.
    async fn collect(&mut self, closing: &Notify) -> (Vec<Arc<Event>>, bool) {
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

    async fn pass_on(&mut self, batch: Vec<Arc<Event>>) {
        if batch.is_empty() {
            return;
        }
        if let Some(bucket) = &mut self.bucket {
            bucket.take().await;
        }
        if !self.options.concurrent {
            self.backend.process(batch).await;
            return;
        }
        while self.sending.len() >= CONCURRENT_BATCHES || self.sending.try_join_next().is_some() {
            if self.sending.len() >= CONCURRENT_BATCHES {
                self.sending.join_next().await;
            }
        }
        let backend = self.backend.clone();
        self.sending.spawn(async move {
            backend.process(batch).await;
        });
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
