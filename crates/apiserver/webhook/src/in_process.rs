//! Webhooks that are closures of this process. Guarantees that a closure gets the request and returns a response like a server.
//! Must never be reachable by a name that was not registered.

use std::future::Future;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response};

/// The last labels of the host name of a registered closure's URL.
pub(crate) const DOMAIN: &str = ".in-process.invalid";

/// A closure that serves requests.
#[derive(Clone)]
pub struct InProcess(Arc<dyn Fn(Request<Bytes>) -> BoxFuture<'static, Response<Bytes>> + Send + Sync>);

impl InProcess {
    /// Wraps an async function of a request.
    pub fn new<F>(handler: impl Fn(Request<Bytes>) -> F + Send + Sync + 'static) -> InProcess
    where
        F: Future<Output = Response<Bytes>> + Send + 'static,
    {
        InProcess(Arc::new(move |request| Box::pin(handler(request))))
    }

    pub(crate) async fn call(&self, request: Request<Bytes>) -> Response<Bytes> {
        (self.0)(request).await
    }
}
