//! The log backend: a line for each event, in a file or on standard output.
//! Guarantees that a caller that waits for an event waits until its line and all earlier ones are written. A thread of its
//! own writes: a disk that hangs takes no thread from requests. Must never buffer a line that it acknowledged.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use crate::rotation::{LogFile, Rotation};
use futures_util::future::BoxFuture;
use std::io::{self, Write};
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::mpsc::error::TryRecvError;
use tokio::sync::{mpsc, oneshot};

/// Batches that wait for the thread. If it is full, senders wait.
const QUEUE: usize = 1024;
/// At most so many batches are written at a time.
const GROUP: usize = 256;
/// How long a line that nobody waits for may stay in the queue.
const LINGER: Duration = Duration::from_millis(100);
/// For so long after a line the thread looks at the queue by itself; later it sleeps until it is woken.
const BUSY: Duration = Duration::from_secs(1);

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    /// kube-apiserver's text.
    Legacy,
}

/// Lines that are written together.
struct Batch {
    lines: Vec<Vec<u8>>,
    events: Vec<Arc<Event>>,
    /// Who waits until they are written, and whether they were.
    written: Option<oneshot::Sender<bool>>,
}

/// Wakes the thread.
#[derive(Default)]
struct Waker {
    state: Mutex<ThreadState>,
    woken: Condvar,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ThreadState {
    #[default]
    Running,
    /// It is to look at the queue before it sleeps.
    Called,
    /// It looks at the queue within [`LINGER`].
    Pausing,
    /// It sleeps until it is called.
    Sleeping,
}

impl Waker {
    /// Calls the thread, unless it comes by itself soon and that is enough.
    fn call(&self, is_urgent: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            ThreadState::Called => return,
            ThreadState::Pausing if !is_urgent => return,
            ThreadState::Running => {}
            ThreadState::Pausing | ThreadState::Sleeping => self.woken.notify_one(),
        }
        *state = ThreadState::Called;
    }

    /// Waits for a call; while the log is busy, not for longer than [`LINGER`].
    fn wait(&self, is_busy: bool) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if *state != ThreadState::Called {
            *state = if is_busy { ThreadState::Pausing } else { ThreadState::Sleeping };
            let is_waiting = |state: &mut ThreadState| *state != ThreadState::Called;
            state = match is_busy {
                true => {
                    let waited = self.woken.wait_timeout_while(state, LINGER, is_waiting);
                    waited.unwrap_or_else(PoisonError::into_inner).0
                }
                false => self.woken.wait_while(state, is_waiting).unwrap_or_else(PoisonError::into_inner),
            };
        }
        *state = ThreadState::Running;
    }
}

/// The log backend.
pub struct Log {
    format: LogFormat,
    /// `None` when the log is dropped.
    queue: Option<mpsc::Sender<Batch>>,
    waker: Arc<Waker>,
    stats: Arc<Stats>,
}

impl Log {
    /// Opens the log; `-` is standard output.
    ///
    /// # Errors
    /// The file cannot be written, or there are no threads.
    pub fn open(path: &Path, format: LogFormat, rotation: Rotation, stats: Arc<Stats>) -> io::Result<Log> {
        let mut sink = match path.to_str() {
            Some("-") => Sink::Output,
            _ => Sink::File(LogFile::open(path, rotation)?),
        };
        let (queue, batches) = mpsc::channel(QUEUE);
        let waker = Arc::new(Waker::default());
        let mut writer = Writer { batches, waker: waker.clone(), stats: stats.clone() };
        std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || {
            if let Sink::File(file) = &sink {
                file.clean_up(SystemTime::now());
            }
            writer.run(&mut sink);
        })?;
        Ok(Log { format, queue: Some(queue), waker, stats })
    }

    /// Puts the lines of events into the queue. Returns whether there is somebody to write them.
    async fn enqueue(&self, events: Vec<Arc<Event>>, written: Option<oneshot::Sender<bool>>) -> bool {
        let line = |event: &Arc<Event>| match self.format {
            LogFormat::Json => event.json_line(),
            LogFormat::Legacy => (event.text() + "\n").into_bytes(),
        };
        let is_awaited = written.is_some();
        let batch = Batch { lines: events.iter().map(line).collect(), events, written };
        let Some(queue) = &self.queue else { return false };
        let room = match queue.try_reserve() {
            Ok(room) => Ok(room),
            Err(_) => {
                self.waker.call(true);
                queue.reserve().await
            }
        };
        match room {
            Ok(room) => {
                room.send(batch);
                self.waker.call(is_awaited || queue.capacity() < QUEUE / 2);
                true
            }
            Err(_) => {
                self.stats.lost(Plugin::Log, &"the log is closed", &batch.events);
                false
            }
        }
    }
}

impl Drop for Log {
    /// The thread writes what waits, and ends.
    fn drop(&mut self) {
        self.queue = None;
        self.waker.call(true);
    }
}

enum Sink {
    File(LogFile),
    Output,
}

impl Sink {
    fn append(&mut self, lines: &[Vec<u8>]) -> Result<(), (usize, String)> {
        match self {
            Sink::File(file) => file.append(lines).map_err(|(index, error)| (index, error.to_string())),
            Sink::Output => {
                let mut out = io::stdout().lock();
                let written = out.write_all(&lines.concat()).and_then(|()| out.flush());
                written.map_err(|error| (0, error.to_string()))
            }
        }
    }
}

/// What the thread works on.
struct Writer {
    batches: mpsc::Receiver<Batch>,
    waker: Arc<Waker>,
    stats: Arc<Stats>,
}

impl Writer {
    /// Writes until nobody sends any more; everything that waits goes out together.
    fn run(&mut self, sink: &mut Sink) {
        let mut group = Vec::new();
        let mut last_line = Instant::now();
        loop {
            let queue = loop {
                match self.batches.try_recv() {
                    Ok(batch) if group.len() + 1 < GROUP => group.push(batch),
                    Ok(batch) => {
                        group.push(batch);
                        break None;
                    }
                    Err(reason) => break Some(reason),
                }
            };
            if !group.is_empty() {
                self.write(sink, &mut group);
                last_line = Instant::now();
            } else if queue == Some(TryRecvError::Disconnected) {
                return;
            } else {
                self.waker.wait(last_line.elapsed() < BUSY);
            }
        }
    }

    fn write(&self, sink: &mut Sink, group: &mut Vec<Batch>) {
        let lines: Vec<Vec<u8>> = group.iter_mut().flat_map(|batch| std::mem::take(&mut batch.lines)).collect();
        // A line that cannot be written does not keep those after it from the log.
        let mut failed = Vec::new();
        let mut next = 0;
        while let Err((index, why)) = sink.append(&lines[next..]) {
            failed.push((next + index, why));
            next += index + 1;
        }
        let mut first = 0;
        for batch in group.drain(..) {
            let end = first + batch.events.len();
            let failure = failed.iter().find(|(index, _)| (first..end).contains(index));
            if let Some((index, why)) = failure {
                self.stats.lost(Plugin::Log, why, &batch.events[index - first..]);
            }
            if let Some(written) = batch.written {
                // Who waited may have left.
                let _ = written.send(failure.is_none());
            }
            first = end;
        }
    }
}

impl Backend for Log {
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let (written, outcome) = oneshot::channel();
            self.enqueue(events, Some(written)).await && outcome.await.unwrap_or(false)
        })
    }

    fn hand_over(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            self.enqueue(events, None).await;
        })
    }

    /// Waits until everything that was handed over is written.
    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.process(Vec::new()).await;
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::tests::event;

    fn lines(path: &Path) -> usize {
        std::fs::read_to_string(path).unwrap_or_default().lines().count()
    }

    #[tokio::test]
    async fn events_that_nobody_waits_for_are_written_before_those_that_somebody_waits_for_and_soon() {
        let directory = std::env::temp_dir().join(format!("pintle-audit-log-{}", std::process::id()));
        std::fs::create_dir_all(&directory).expect("a directory");
        let path = directory.join("audit.log");
        let log = Log::open(&path, LogFormat::Json, Rotation::default(), Arc::default()).expect("a log");
        log.hand_over(vec![Arc::new(event())]).await;
        assert!(log.process(vec![Arc::new(event())]).await);
        assert_eq!(lines(&path), 2);
        log.hand_over(vec![Arc::new(event())]).await;
        let due = Instant::now() + Duration::from_secs(120);
        while lines(&path) < 3 {
            assert!(Instant::now() < due, "the third line was not written");
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        log.hand_over(vec![Arc::new(event())]).await;
        log.shutdown().await;
        assert_eq!(lines(&path), 4);
        std::fs::remove_dir_all(&directory).expect("the directory");
    }

    #[test]
    fn the_thread_is_woken_for_what_is_urgent_only_while_it_looks_by_itself() {
        for (before, is_urgent, after) in [
            (ThreadState::Running, false, ThreadState::Called),
            (ThreadState::Pausing, false, ThreadState::Pausing),
            (ThreadState::Pausing, true, ThreadState::Called),
            (ThreadState::Sleeping, false, ThreadState::Called),
        ] {
            let waker = Waker { state: Mutex::new(before), woken: Condvar::new() };
            waker.call(is_urgent);
            assert_eq!(*waker.state.lock().expect("the state"), after, "{before:?}, {is_urgent}");
        }
    }
}
