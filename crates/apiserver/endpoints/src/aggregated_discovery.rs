//! API groups and versions that are served by other servers (aggregation).
//!
//! `AggregatedApis` provides them. A version that another server serves hides what is defined of it here. It must never be asked about
//! a version of which this server has built-in resources.

use crate::backend::ByteStream;
use crate::body::Body;
use crate::documents::{DocumentSet, Documents};
use crate::error_responses::timed_out;
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use crate::{Api, SharedApi};
use futures_util::future::BoxFuture;
use futures_util::stream::{self, StreamExt};
use pintle_discovery::extension::OpenApiPart;
use pintle_discovery::{AggregatedVersion, Catalog};
use pintle_registry::{Registry, RequestContext, Status};
use std::borrow::Cow;
use std::io;
use std::sync::{Arc, OnceLock};
use tokio::time::Instant;

/// The aggregated groups and versions, as declared by the API services of this server.
pub trait AggregatedApis: Send + Sync {
    /// The server of a version; `None` if no other server serves it.
    fn find(&self, registry: &Registry, group: &str, version: &str) -> Option<Arc<dyn AggregatedApi>>;

    /// Another number whenever anything below has changed.
    fn generation(&self, registry: &Registry) -> u64;

    /// The aggregated versions of which `here` has no built-in resources. With `with_service`, API services that name no service are left
    /// out.
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

/// Sends a request to another server. If the request has a deadline, its response ends by then, whatever that server does.
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

/// The documents about this server's own and aggregated versions. Rebuilt when either changes.
pub struct AggregatedDiscovery {
    here: Arc<DocumentSet>,
    generation: u64,
    /// The content of discovery by group, including versions of API services that name no service.
    listed: Option<Catalog>,
    /// The content of aggregated discovery; `None` without aggregated versions.
    served: Option<Catalog>,
    /// Documents that describe more than this server alone.
    documents: Documents,
    openapi_v3: OnceLock<Vec<(String, String)>>,
}

impl AggregatedDiscovery {
    /// The documents of now: the ones given, if nothing has changed.
    pub fn current(
        api: &Api,
        here: &Arc<DocumentSet>,
        known: Option<&Arc<AggregatedDiscovery>>,
    ) -> Arc<AggregatedDiscovery> {
        let generation = api.aggregated.generation(&api.registry);
        if let Some(known) = known
            && Arc::ptr_eq(&known.here, here)
            && known.generation == generation
        {
            return known.clone();
        }
        let with = |with_service: bool| {
            let versions = api.aggregated.versions(&api.registry, &here.catalog, with_service);
            let mut catalog = (!versions.is_empty()).then(|| here.catalog.clone());
            catalog.iter_mut().for_each(|catalog| versions.iter().for_each(|other| catalog.add_aggregated(other)));
            catalog
        };
        Arc::new(AggregatedDiscovery {
            here: here.clone(),
            generation,
            listed: with(false),
            served: with(true),
            documents: Documents::default(),
            openapi_v3: OnceLock::new(),
        })
    }

    /// Everything that discovery by group lists.
    pub fn listed(&self) -> &Catalog {
        self.listed.as_ref().unwrap_or(&self.here.catalog)
    }

    /// Everything that aggregated discovery lists, and where its documents are kept.
    pub fn served(&self) -> (&Catalog, &Documents) {
        match &self.served {
            Some(catalog) => (catalog, &self.documents),
            None => (&self.here.catalog, &self.here.documents),
        }
    }

    /// What this server adds itself to documents about all servers.
    pub fn own_catalog(&self) -> Cow<'_, Catalog> {
        match &self.served {
            Some(catalog) => Cow::Owned(catalog.without_aggregated()),
            None => Cow::Borrowed(&self.here.catalog),
        }
    }

    /// Where documents are kept to which other servers add.
    pub fn documents(&self) -> &Documents {
        self.served().1
    }

    /// The OpenAPI documents of version 3 that other servers have.
    pub fn openapi_v3(&self, api: &Api) -> &[(String, String)] {
        self.openapi_v3.get_or_init(|| match &self.served {
            Some(_) => api.aggregated.openapi_v3(&api.registry, &self.here.catalog),
            None => Vec::new(),
        })
    }

    /// The additions of other servers to the document of version 2.
    pub fn openapi_v2(&self, api: &Api) -> Vec<Arc<OpenApiPart>> {
        match &self.served {
            Some(_) => api.aggregated.openapi_v2(&api.registry, &self.here.catalog),
            None => Vec::new(),
        }
    }
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
