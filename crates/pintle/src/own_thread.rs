//! A thread for tasks that are not requests. Guarantees that what they compute takes no worker thread from requests: the
//! operating system divides the processors between them. The thread ends when this is dropped, with the tasks that are left.

use std::io;
use std::thread;
use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

/// A running thread with a runtime of its own.
pub struct OwnThread {
    handle: Handle,
    _ends: oneshot::Sender<()>,
}

impl OwnThread {
    /// # Errors
    /// The system has no room for another thread.
    pub fn start(name: &str) -> io::Result<OwnThread> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (ends, ended) = oneshot::channel::<()>();
        let run = move || {
            // An error is the end.
            let _ = runtime.block_on(ended);
        };
        thread::Builder::new().name(name.to_owned()).spawn(run)?;
        Ok(OwnThread { handle, _ends: ends })
    }

    /// Calls a function whose tasks are spawned on this thread.
    pub fn within<T>(&self, spawn: impl FnOnce() -> T) -> T {
        let _entered = self.handle.enter();
        spawn()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_run_on_the_thread_until_it_is_dropped() {
        let own = OwnThread::start("own").expect("a thread");
        let name = || thread::current().name().map(str::to_owned);
        let (started, waits) = oneshot::channel();
        let (held, dropped) = oneshot::channel::<()>();
        let endless = async move {
            let _ = started.send(name());
            std::future::pending::<()>().await;
            drop(held);
        };
        own.within(|| drop(tokio::spawn(endless)));
        assert_eq!(waits.blocking_recv().expect("it runs").as_deref(), Some("own"));
        drop(own);
        assert!(dropped.blocking_recv().is_err());
    }
}
