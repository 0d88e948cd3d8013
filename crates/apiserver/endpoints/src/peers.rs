//! Other servers over the same store: requests for resources that only they serve, and discovery of all servers together.
//! Guarantees that a request is passed on once at most. Must never be asked about a resource that this server serves.

use crate::delegation::AggregatedApi;
use crate::documents::AggregatedDiscovery;
use crate::request::{Request, ResourcePath};
use bytes::Bytes;
use http::header::HeaderName;
use pintle_discovery::{Document, discovery, etag, peers};
use pintle_metrics::{Counter, Exposition, Family};
use pintle_schema::Value;
use std::sync::{Arc, Mutex, PoisonError};

/// Marks a request that another server has passed on.
pub const PEER_PROXIED: HeaderName = HeaderName::from_static("x-kubernetes-peer-proxied");

/// The other servers, as far as this one knows them.
pub trait Peers: Send + Sync {
    /// A server that has the resource of a request; `None` if none is known.
    fn find(&self, group: &str, version: &str, resource: &str) -> Option<Arc<dyn AggregatedApi>>;

    /// What the others serve; another object whenever that has changed.
    fn groups(&self) -> Arc<PeerGroups>;
}

/// The groups in aggregated discovery of each of the other servers, without the core group.
#[derive(Debug, Default)]
pub struct PeerGroups(pub Vec<Vec<Value>>);

/// The server that a request is passed on to.
pub fn find(peers: Option<&Arc<dyn Peers>>, request: &Request, path: &ResourcePath) -> Option<Arc<dyn AggregatedApi>> {
    let is_passed_on = request.headers.get(PEER_PROXIED).is_some_and(|value| value == "true");
    if is_passed_on || path.malformed {
        return None;
    }
    peers?.find(&path.group, &path.version, &path.resource)
}

/// Discovery of all servers together, made when it is first asked for and kept as long as nothing changes.
#[derive(Default)]
pub struct PeerDiscovery {
    kept: Mutex<Option<Kept>>,
    hits: Counter,
    misses: Counter,
    /// Requests for the document of this server alone.
    pub local: Counter,
}

struct Kept {
    here: Arc<AggregatedDiscovery>,
    there: Arc<PeerGroups>,
    document: Arc<Document>,
    json: Bytes,
    etag: String,
}

impl PeerDiscovery {
    /// The document, its JSON and its ETag; `None` while no other server is known.
    pub fn document(
        &self,
        here: &Arc<AggregatedDiscovery>,
        there: Arc<PeerGroups>,
    ) -> Option<(Arc<Document>, Bytes, String)> {
        if there.0.is_empty() {
            return None;
        }
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(kept) =
            kept.as_ref().filter(|kept| Arc::ptr_eq(&kept.here, here) && Arc::ptr_eq(&kept.there, &there))
        {
            self.hits.increment();
            return Some((kept.document.clone(), kept.json.clone(), kept.etag.clone()));
        }
        self.misses.increment();
        let local = discovery::aggregated_apis(here.served().0);
        let document = Arc::new(peers::merge(local, there.0.iter().map(Vec::as_slice)));
        let json = document.to_json();
        let tag = etag(&json);
        let json = Bytes::from(json);
        *kept =
            Some(Kept { here: here.clone(), there, document: document.clone(), json: json.clone(), etag: tag.clone() });
        Some((document, json, tag))
    }

    /// Writes the metrics.
    pub fn render(&self, out: &mut Exposition) {
        const HITS: Family = Family::counter(
            "aggregator_discovery_peer_aggregated_cache_hits_total",
            "Times that discovery of all servers together was served from the cache.",
        );
        const MISSES: Family = Family::counter(
            "aggregator_discovery_peer_aggregated_cache_misses_total",
            "Times that the discovery documents of all servers were merged.",
        );
        const LOCAL: Family = Family::counter(
            "aggregator_discovery_nopeer_requests_total",
            "Requests for discovery of this server alone.",
        );
        for (family, count) in [(&HITS, &self.hits), (&MISSES, &self.misses), (&LOCAL, &self.local)] {
            out.single(family, count.get());
        }
    }
}
