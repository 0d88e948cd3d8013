//! Checks whether the servers of API services respond, by a request for the list of their resources. Guarantees a
//! result within seconds, whatever the server does, and that a server whose certificate requests would not accept is
//! unavailable. Must never depend on the content of the list.

use crate::fetch;
use crate::resolve;
use crate::services::{ApiServices, ExtensionApi};
use futures_util::FutureExt;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use pintle_controllers::ApiServiceCheck;
use pintle_proxy::backend::{ByteStream, ExtensionServer, ExtensionServers};
use pintle_registry::Registry;
use pintle_schema::{ApiValue, Value};
use pintle_types::apiregistration::v1::APIService;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// The number of concurrent requests: one response is enough.
const ATTEMPTS: usize = 5;
/// Time for one, as in kube-apiserver.
const TIMEOUT: Duration = Duration::from_secs(5);
/// How much of a list is read.
const LIMIT: usize = 4 << 20;
/// The user of the requests.
const USER: &str = "system:kube-aggregator";

/// Requests the resource lists of the servers of API services.
#[derive(Clone)]
pub struct DiscoveryCheck(pub ApiServices);

impl fmt::Debug for DiscoveryCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DiscoveryCheck").finish_non_exhaustive()
    }
}

impl ApiServiceCheck for DiscoveryCheck {
    fn check<'a>(&'a self, registry: &'a Registry, object: &'a Value) -> BoxFuture<'a, Result<(), String>> {
        async move {
            let service = APIService::from_value(object).map_err(|error| error.to_string())?;
            let (api, shared) = (ExtensionApi::of(service), &self.0.0);
            let server = || resolve::server(registry, shared.routing, &api).map_err(|error| error.to_string());
            first_success(&shared.servers, (0..ATTEMPTS).map(|_| server()).collect(), &api.path()).await
        }
        .boxed()
    }
}

/// Requests a list from several servers, and waits for the first success or for all failures. The other requests go on
/// without being waited for: a server reports each request that is broken off as its own failure.
async fn first_success(
    servers: &Arc<dyn ExtensionServers>,
    targets: Vec<Result<ExtensionServer, String>>,
    path: &str,
) -> Result<(), String> {
    let (results, mut outcomes) = mpsc::channel(targets.len().max(1));
    for target in targets {
        let (servers, path, results) = (servers.clone(), path.to_owned(), results.clone());
        tokio::spawn(async move {
            match target {
                Ok(to) => attempt(&*servers, &to, &path, &results).await,
                Err(why) => report(&results, Err(why)),
            }
        });
    }
    drop(results);
    let mut outcome = Err("no request was made".to_owned());
    while let Some(result) = outcomes.recv().await {
        outcome = result;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

type Results = mpsc::Sender<Result<(), String>>;

/// Nobody waits for an outcome after a success.
fn report(results: &Results, outcome: Result<(), String>) {
    let _ = results.try_send(outcome);
}

/// Makes a request, reports its outcome, and reads the rest of the response.
async fn attempt(servers: &dyn ExtensionServers, to: &ExtensionServer, path: &str, results: &Results) {
    let deadline = Instant::now() + TIMEOUT;
    match request(servers, to, path, deadline).await {
        Ok(body) => {
            report(results, Ok(()));
            let _ = timeout_at(deadline, discard(body)).await;
        }
        Err(why) => report(results, Err(why)),
    }
}

async fn request(
    servers: &dyn ExtensionServers,
    to: &ExtensionServer,
    path: &str,
    deadline: Instant,
) -> Result<ByteStream, String> {
    let url = format!("https://{}{path}", to.authority());
    let request = fetch::request(path, "", USER).map_err(|error| error.to_string())?;
    let failed = |why: String| format!("failing or missing response from {url}: {why}");
    let sent = match timeout_at(deadline, servers.send(to, request)).await {
        Ok(sent) => sent.map_err(|error| failed(format!("Get \"{url}\": {error}")))?,
        Err(_) => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            return Err(failed(format!("Get \"{url}\": {why}")));
        }
    };
    match sent.response.status {
        status if status.is_success() => Ok(sent.body),
        status => Err(failed(format!("bad status from {url}: {}", status.as_u16()))),
    }
}

/// Reads a body up to the limit.
async fn discard(mut body: ByteStream) {
    let mut left = LIMIT;
    while let Some(Ok(piece)) = body.next().await {
        left = left.saturating_sub(piece.len());
        if left == 0 {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::pending;
    use futures_util::stream;
    use pintle_proxy::backend::{BackendResponse, Unreachable};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// Responds to the first request at once and to the others later, all with the same status.
    struct Slow {
        status: u16,
        started: AtomicUsize,
        finished: Arc<AtomicUsize>,
    }

    impl ExtensionServers for Slow {
        fn send<'a>(
            &'a self,
            _: &'a ExtensionServer,
            _: http::Request<ByteStream>,
        ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>> {
            async move {
                if self.started.fetch_add(1, Ordering::SeqCst) > 0 {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
                let response = http::Response::builder().status(self.status).body(()).expect("a status");
                let finished = self.finished.clone();
                let end = stream::once(async move {
                    finished.fetch_add(1, Ordering::SeqCst);
                    Ok(bytes::Bytes::new())
                });
                let upgraded = pending().boxed();
                Ok(BackendResponse { response: response.into_parts().0, body: end.boxed(), upgraded })
            }
            .boxed()
        }

        fn upgrade<'a>(
            &'a self,
            _: &'a ExtensionServer,
            _: http::Request<ByteStream>,
        ) -> BoxFuture<'a, Result<BackendResponse, Unreachable>> {
            pending().boxed()
        }

        fn retain(&self, _: &dyn Fn(&str) -> bool) {}
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_is_broken_off_after_a_success() {
        let failed =
            "failing or missing response from https://h:443/apis/g/v1: bad status from https://h:443/apis/g/v1: 500";
        for (status, expected, seconds, read) in [(200, Ok(()), 0, ATTEMPTS), (500, Err(failed.to_owned()), 1, 0)] {
            let finished = Arc::new(AtomicUsize::new(0));
            let servers: Arc<dyn ExtensionServers> =
                Arc::new(Slow { status, started: AtomicUsize::new(0), finished: finished.clone() });
            let to = ExtensionServer {
                name: "v1.g".to_owned(),
                host: "h".to_owned(),
                port: 443,
                server_name: "h".to_owned(),
                ca_pem: Vec::new(),
                insecure: false,
            };
            let start = Instant::now();
            let targets = (0..ATTEMPTS).map(|_| Ok(to.clone())).collect();
            assert_eq!(first_success(&servers, targets, "/apis/g/v1").await, expected);
            assert_eq!(start.elapsed().as_secs(), seconds);
            tokio::time::sleep(Duration::from_secs(2)).await;
            assert_eq!(finished.load(Ordering::SeqCst), read, "status {status}");
        }
    }
}
