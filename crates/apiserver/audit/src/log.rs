//! The log backend: a line for each event, in a file or on standard output.
//! Guarantees that a caller that waits for an event waits until its line is written. A thread of its own writes: a disk that hangs takes no thread
//! from requests. Must never buffer a line that it acknowledged.

use crate::backend::{Backend, Plugin, Stats};
use crate::event::Event;
use crate::rotation::{LogFile, Rotation};
use futures_util::future::BoxFuture;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;
use tokio::sync::{mpsc, oneshot};

/// Batches that wait for the thread. Who finds no room waits, too.
const QUEUE: usize = 1024;
/// At most so many batches are written at a time.
const GROUP: usize = 256;

/// The form of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    Json,
    /// kube-apiserver's text.
    Legacy,
}

/// Lines that are written together, and whom to tell.
struct Batch {
    lines: Vec<Vec<u8>>,
    written: oneshot::Sender<Result<(), (usize, String)>>,
}

/// The log backend.
pub struct Log {
    format: LogFormat,
    queue: mpsc::Sender<Batch>,
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
        std::thread::Builder::new().name("audit-log".to_owned()).spawn(move || {
            if let Sink::File(file) = &sink {
                file.clean_up(SystemTime::now());
            }
            write_batches(&mut sink, batches);
        })?;
        Ok(Log { format, queue, stats })
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

/// Writes until nobody sends any more; everything that waits goes out together.
fn write_batches(sink: &mut Sink, mut batches: mpsc::Receiver<Batch>) {
    let mut group = Vec::new();
    while batches.blocking_recv_many(&mut group, GROUP) > 0 {
        let mut lines = Vec::new();
        let mut waiting = Vec::new();
        for batch in group.drain(..) {
            let first = lines.len();
            lines.extend(batch.lines);
            waiting.push((first, lines.len(), batch.written));
        }
        // A line that cannot be written does not keep those after it from the log.
        let mut failed = Vec::new();
        let mut next = 0;
        while let Err((index, why)) = sink.append(&lines[next..]) {
            failed.push((next + index, why));
            next += index + 1;
        }
        for (first, end, written) in waiting {
            let failure = failed.iter().find(|(index, _)| (first..end).contains(index));
            let _ = written.send(match failure {
                Some((index, why)) => Err((index - first, why.clone())),
                None => Ok(()),
            });
        }
    }
}

impl Backend for Log {
    fn process(&self, events: Vec<Arc<Event>>) -> BoxFuture<'_, bool> {
        Box::pin(async move {
            let line = |event: &Arc<Event>| match self.format {
                LogFormat::Json => event.json_line(),
                LogFormat::Legacy => (event.text() + "\n").into_bytes(),
            };
            let (written, outcome) = oneshot::channel();
            let batch = Batch { lines: events.iter().map(line).collect(), written };
            let outcome = match self.queue.send(batch).await {
                Ok(()) => outcome.await.unwrap_or_else(|_| Err((0, "the log is closed".to_owned()))),
                Err(_) => Err((0, "the log is closed".to_owned())),
            };
            if let Err((first, why)) = &outcome {
                self.stats.lost(Plugin::Log, why, &events[(*first).min(events.len())..]);
            }
            outcome.is_ok()
        })
    }

    fn shutdown(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {})
    }
}
