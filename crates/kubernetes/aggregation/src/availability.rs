//! Checks whether the servers of API services respond, by a request for the list of their resources. Guarantees a
//! result within seconds, whatever the server does, and that a server whose certificate requests would not accept is
//! unavailable. Must never depend on the content of the list.

use crate::fetch;
use crate::resolve;
use crate::services::{ApiServices, ExtensionApi, Shared};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesUnordered, StreamExt};
use pintle_controllers::ApiServiceCheck;
use pintle_registry::Registry;
use pintle_schema::{ApiValue, Value};
use pintle_types::apiregistration::v1::APIService;
use std::fmt;
use std::time::Duration;

/// The number of concurrent requests: one response is enough.
const ATTEMPTS: usize = 5;
/// Time for one, as in kube-apiserver.
const TIMEOUT: Duration = Duration::from_secs(5);
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
            check(&self.0.0, registry, &ExtensionApi::of(service)).await
        }
        .boxed()
    }
}

async fn check(shared: &Shared, registry: &Registry, api: &ExtensionApi) -> Result<(), String> {
    let mut attempts: FuturesUnordered<_> = (0..ATTEMPTS).map(|_| attempt(shared, registry, api)).collect();
    let mut outcome = Ok(());
    while let Some(attempt) = attempts.next().await {
        outcome = attempt;
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

async fn attempt(shared: &Shared, registry: &Registry, api: &ExtensionApi) -> Result<(), String> {
    let to = resolve::server(registry, shared.routing, api).map_err(|error| error.to_string())?;
    let path = api.path();
    let url = format!("https://{}{path}", to.authority());
    let request = fetch::request(&path, "", USER).map_err(|error| error.to_string())?;
    let failed = |why: String| format!("failing or missing response from {url}: {why}");
    let sent = match tokio::time::timeout(TIMEOUT, shared.servers.send(&to, request)).await {
        Ok(sent) => sent.map_err(|error| failed(format!("Get \"{url}\": {error}")))?,
        Err(_) => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            return Err(failed(format!("Get \"{url}\": {why}")));
        }
    };
    match sent.response.status {
        status if status.is_success() => Ok(()),
        status => Err(failed(format!("bad status from {url}: {}", status.as_u16()))),
    }
}
