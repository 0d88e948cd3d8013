//! Upgrades: handing a connection over after a 101 response. Guarantees that a connection that was handed over still ends with
//! the server's shutdown, as it stays in its own task. Must never read from or write to a connection before the response is
//! sent.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};

use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;

/// A connection that no longer speaks HTTP.
pub type UpgradedConnection = TokioIo<Upgraded>;

type Run = Box<dyn FnOnce(UpgradedConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send>;

/// Takes over a connection after a 101 response: put it into the response's extensions.
#[derive(Clone)]
pub struct Takeover(Arc<Mutex<Option<Run>>>);

impl Takeover {
    /// Calls `run` with the connection once the response is sent. Its future is dropped when the server stops.
    pub fn new(
        run: impl FnOnce(UpgradedConnection) -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + 'static,
    ) -> Takeover {
        Takeover(Arc::new(Mutex::new(Some(Box::new(run)))))
    }

    /// Runs it; nothing happens when the client went away first, or the second time.
    pub(crate) async fn run(self, connection: OnUpgrade) {
        let run = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let (Some(run), Ok(upgraded)) = (run, connection.await) {
            run(TokioIo::new(upgraded)).await;
        }
    }
}
