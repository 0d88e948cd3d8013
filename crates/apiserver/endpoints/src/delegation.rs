//! Requests that other servers answer: those for API groups and versions that they serve (aggregation).
//!
//! `AggregatedApis` provides these. A version that another server serves hides what is defined of it here. It must
//! never be asked about a version of which this server has built-in resources.

use crate::body::Body;
use crate::error_responses::timed_out;
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use crate::{Api, SharedApi};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use pintle_discovery::extension::OpenApiPart;
use pintle_discovery::{AggregatedVersion, Catalog};
use pintle_proxy::backend::ByteStream;
use pintle_registry::{Registry, RequestContext, Status};
use std::io;
use std::sync::Arc;
use tokio::time::Instant;

/// The aggregated groups and versions, as declared by the API services of this server.
pub trait AggregatedApis: Send + Sync {
    /// The server of a version; `None` if no other server serves it.
    fn find(&self, registry: &Registry, group: &str, version: &str) -> Option<Arc<dyn AggregatedApi>>;

    /// Another number whenever anything below has changed.
    fn generation(&self, registry: &Registry) -> u64;

    /// The aggregated versions of which `here` has no built-in resources. With `with_service`, API services that name
    /// no service are left out.
    fn versions(&self, registry: &Registry, here: &Catalog, with_service: bool) -> Vec<AggregatedVersion>;

    /// The OpenAPI documents of version 3 of these versions: the path of each, and where it is.
    fn openapi_v3(&self, registry: &Registry, here: &Catalog) -> Vec<(String, String)>;

    /// The additions of other servers to the OpenAPI document of version 2.
    fn openapi_v2(&self, registry: &Registry, here: &Catalog) -> Vec<Arc<OpenApiPart>>;
}

/// A request that is answered by another server.
pub struct DelegatedRequest {
    pub api: SharedApi,
    pub request: Request,
    pub query: Query,
    pub context: Arc<RequestContext>,
}

/// A version of a group that another server serves.
pub trait AggregatedApi: Send + Sync {
    /// Passes a request on and waits for the head of the response.
    fn serve(self: Arc<Self>, delegated: DelegatedRequest) -> BoxFuture<'static, ApiResponse>;
}

/// A server without aggregation.
impl AggregatedApis for () {
    fn find(&self, _: &Registry, _: &str, _: &str) -> Option<Arc<dyn AggregatedApi>> {
        None
    }

    fn generation(&self, _: &Registry) -> u64 {
        0
    }

    fn versions(&self, _: &Registry, _: &Catalog, _: bool) -> Vec<AggregatedVersion> {
        Vec::new()
    }

    fn openapi_v3(&self, _: &Registry, _: &Catalog) -> Vec<(String, String)> {
        Vec::new()
    }

    fn openapi_v2(&self, _: &Registry, _: &Catalog) -> Vec<Arc<OpenApiPart>> {
        Vec::new()
    }
}

/// The other server of a version.
pub fn find(api: &Api, group: &str, version: &str) -> Option<Arc<dyn AggregatedApi>> {
    if api.registry.resources.read().serves_built_in(group, version) {
        return None;
    }
    api.aggregated.find(&api.registry, group, version)
}

/// The server of a document outside of resources: that of a version's resources, or its OpenAPI document.
pub fn server_of_document(api: &Api, path: &str) -> Option<Arc<dyn AggregatedApi>> {
    let below = path.strip_prefix("/openapi/v3").unwrap_or(path).strip_prefix("/apis/")?;
    let (group, version) = below.split_once('/')?;
    let version = version.strip_suffix('/').unwrap_or(version);
    if version.is_empty() || version.contains('/') {
        return None;
    }
    find(api, group, version)
}

/// Sends a request to another server. If the request has a deadline, its response ends by then, whatever that server
/// does.
///
/// # Errors
/// 504 when the response has not begun before the deadline.
pub async fn forward(server: Arc<dyn AggregatedApi>, delegated: DelegatedRequest) -> Result<ApiResponse, Status> {
    let deadline = delegated.context.deadline.map(Instant::from);
    let answering = server.serve(delegated);
    let Some(deadline) = deadline else { return Ok(answering.await) };
    let Ok(mut answer) = tokio::time::timeout_at(deadline, answering).await else { return Ok(timed_out()) };
    if let Body::Proxied(pieces) = answer.body {
        answer.body = Body::Proxied(with_deadline(pieces, deadline));
    }
    Ok(answer)
}

/// A body that breaks off when its time is over.
fn with_deadline(pieces: ByteStream, deadline: Instant) -> ByteStream {
    let late = || io::Error::from(io::ErrorKind::TimedOut);
    let limited = stream::unfold(Some(pieces), move |pieces| async move {
        let mut pieces = pieces?;
        match tokio::time::timeout_at(deadline, pieces.next()).await {
            Ok(piece) => Some((piece?, Some(pieces))),
            Err(_) => Some((Err(late()), None)),
        }
    });
    limited.boxed()
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::Bytes;
    use std::time::Duration;

    #[tokio::test(start_paused = true)]
    async fn a_body_breaks_off_when_its_time_is_over() {
        let first = stream::iter([Ok(Bytes::from_static(b"a"))]);
        let endless = first.chain(stream::pending()).boxed();
        let started = Instant::now();
        let mut limited = with_deadline(endless, started + Duration::from_secs(7));
        assert_eq!(limited.next().await.expect("a piece").expect("no error"), "a");
        assert!(limited.next().await.expect("an end").is_err());
        assert!(limited.next().await.is_none());
        assert_eq!(started.elapsed(), Duration::from_secs(7));
        let mut whole = with_deadline(stream::iter([Ok(Bytes::new())]).boxed(), started);
        assert!(whole.next().await.expect("a piece").is_ok() && whole.next().await.is_none());
    }
}
