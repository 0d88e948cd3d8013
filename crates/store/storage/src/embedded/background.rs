//! The thread that rewrites segments and removes files, one job at a time, and runs only while there is one.
//! Guarantees that the writer waits for a job only when the store is closed.
//! Must never change the manifest: the writer installs the results of jobs.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread::JoinHandle;

use tracing::warn;

use super::rewrite::{Pace, Plan, RewriteError, Rewritten, rewrite};
use crate::files::Storage;

/// A completed job.
pub(crate) enum Job {
    Rewrite(Box<Plan>, Result<Rewritten, RewriteError>),
    /// The files that could not be removed.
    Remove(Vec<PathBuf>),
}

/// Runs jobs on a thread, or immediately if threads are disabled.
pub(crate) struct Background {
    threads: bool,
    pace: Arc<Pace>,
    running: Option<JoinHandle<Job>>,
    done: Option<Job>,
}

impl Background {
    pub fn new(threads: bool) -> Background {
        Background { threads, pace: Arc::default(), running: None, done: None }
    }

    pub fn is_busy(&self) -> bool {
        self.running.is_some()
    }

    /// The job that has completed since the last call.
    pub fn finished(&mut self) -> Option<Job> {
        if let Some(running) = self.running.take_if(|running| running.is_finished()) {
            // A job that panicked has reported it, and has changed nothing.
            self.done = running.join().ok();
        }
        self.done.take()
    }

    pub fn rewrite(&mut self, plan: Plan, gentle: bool) {
        self.pace.gentle.store(gentle && self.threads, Ordering::Relaxed);
        let pace = self.pace.clone();
        self.run("store-rewriter", move || {
            let outcome = rewrite(&plan, &pace);
            Job::Rewrite(Box::new(plan), outcome)
        });
    }

    /// Removes files. Files of a job that is lost are found again at the next start.
    pub fn remove(&mut self, storage: Arc<dyn Storage>, mut paths: Vec<PathBuf>) {
        self.run("store-remover", move || {
            paths.retain(|path| match storage.remove(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    warn!(path = %path.display(), err = %error, "a file of the store cannot be removed");
                    true
                }
                _ => false,
            });
            Job::Remove(paths)
        });
    }

    fn run(&mut self, name: &str, job: impl FnOnce() -> Job + Send + 'static) {
        if self.threads {
            // Without a thread the job is lost, and planned again after the next start.
            self.running = std::thread::Builder::new().name(name.to_owned()).spawn(job).ok();
        } else {
            self.done = Some(job());
        }
    }

    /// Cancels the running job. Its files are found and removed at the next start.
    pub fn stop(&mut self) {
        self.pace.stop.store(true, Ordering::Relaxed);
        if let Some(running) = self.running.take() {
            let _ = running.join();
        }
    }
}
