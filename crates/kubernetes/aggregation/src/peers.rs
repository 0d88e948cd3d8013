//! `PeerServers`: the other servers over the same store, found by their identity leases, and what they serve. Guarantees that no
//! request waits for discovery of another server, and that a server which does not answer harms only requests for what it
//! alone serves. Must never pass on a request for a custom resource: all servers have the same definitions.

use crate::fetch::{FetchError, fetch_from, request_of};
use crate::forward::{self, ProxyTarget};
use arc_swap::ArcSwap;
use futures_util::FutureExt;
use futures_util::future::{BoxFuture, try_join};
use futures_util::stream::{FuturesUnordered, StreamExt};
use http::header::{HeaderMap, HeaderValue};
use pintle_auth::UserInfo;
use pintle_cache::{Object, WatchFilter};
use pintle_discovery::peers;
use pintle_endpoints::delegation::{AggregatedApi, DelegatedRequest};
use pintle_endpoints::peers::{PEER_PROXIED, PeerGroups, Peers};
use pintle_endpoints::response::ApiResponse;
use pintle_metrics::{Counter, Exposition, Family, Keyed};
use pintle_proxy::backend::{ExtensionServer, ExtensionServers};
use pintle_registry::{Registry, Target};
use pintle_schema::{Value, View};
use pintle_types::apiregistration::v1::{APIService, APIServiceSpec};
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::Instant;
use tracing::debug;

const NAMESPACE: &str = "kube-system";
/// The label of identity leases, and the annotation with the address of the server.
const IDENTITY: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
const ADDRESS: &str = "kubernetes.io/peer-advertise-address";
/// The name that certificates of servers have, as kube-apiserver verifies it.
const SERVER_NAME: &str = "kubernetes.default.svc";
/// Discovery of the other server alone.
const ACCEPT: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList;profile=nopeer,\
                      application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
/// Time for a document.
const TIMEOUT: Duration = Duration::from_secs(5);
/// Largest document: that of kube-apiserver with ten thousand definitions.
const LIMIT: usize = 16 << 20;
/// How often what servers serve is fetched again: one that was restarted may keep its lease.
const REFRESH: Duration = Duration::from_secs(60);
/// The wait after a first failure; it doubles with each further one, up to the time between refreshes.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// How long a version stays excluded that was served by a definition or an extension server: others may not have seen its
/// removal.
const EXCLUDED: Duration = Duration::from_secs(5 * 60);
/// The maximum number of other servers: a bound for memory, far more than share a store.
const MOST: usize = 64;
/// The maximum number of requests that wait for one server, without long-running ones.
const IN_FLIGHT: usize = 1024;

const REROUTED: Family = Family::counter(
    "apiserver_rerouted_request_total",
    "Requests that were passed on to another server because this one does not serve the resource, by resource and status code.",
);
const SYNC_ERRORS: Family = Family::counter(
    "apiserver_peer_discovery_sync_errors_total",
    "Times that discovery of another server could not be fetched.",
);

/// How other servers are reached.
pub struct PeerSettings {
    /// Connections that show the certificate of the front proxy.
    pub servers: Arc<dyn ExtensionServers>,
    /// The authorities of their serving certificates.
    pub ca_pem: Vec<u8>,
}

/// The other servers over the same store. Cheap to clone.
#[derive(Clone)]
pub struct PeerServers(Arc<Shared>);

struct Shared {
    servers: Arc<dyn ExtensionServers>,
    ca_pem: Vec<u8>,
    /// The identity of this server.
    own: String,
    state: ArcSwap<State>,
    /// Chooses among servers.
    turn: AtomicUsize,
    rerouted: Keyed<[String; 4], Counter>,
    sync_errors: Counter,
}

/// What is known at one time.
#[derive(Default)]
struct State {
    peers: Vec<Arc<Peer>>,
    groups: Arc<PeerGroups>,
    /// Versions of definitions and extension servers.
    excluded: HashSet<(String, String)>,
}

/// Another server.
struct Peer {
    id: String,
    address: SocketAddr,
    groups: Arc<Vec<Value>>,
    /// By group, version and plural name.
    resources: Arc<HashSet<[String; 3]>>,
    in_flight: Arc<Semaphore>,
    /// Failed fetches since the last that succeeded.
    failures: u32,
    /// When its documents are fetched again.
    due: Instant,
}

impl PeerServers {
    /// For a server with this identity.
    pub fn new(settings: PeerSettings, own: String) -> PeerServers {
        let PeerSettings { servers, ca_pem } = settings;
        PeerServers(Arc::new(Shared {
            servers,
            ca_pem,
            own,
            state: ArcSwap::default(),
            turn: AtomicUsize::new(0),
            rerouted: Keyed::default(),
            sync_errors: Counter::default(),
        }))
    }

    /// Writes the metrics.
    pub fn render(&self, out: &mut Exposition) {
        out.family(&REROUTED);
        for ([code, group, version, resource], count) in self.0.rerouted.sorted() {
            let labels = [("code", &*code), ("group", &*group), ("version", &*version), ("resource", &*resource)];
            out.sample(REROUTED.name, &labels, count.get());
        }
        out.single(&SYNC_ERRORS, self.0.sync_errors.get());
    }

    /// Follows the identity leases, and fetches what the servers serve, until the future is dropped.
    pub async fn follow(self, registry: Arc<Registry>) {
        let leases = registry.target_of(["coordination.k8s.io", "v1", "leases"], NAMESPACE, "");
        let Some(leases) = leases else { return };
        let mut recent = HashMap::new();
        loop {
            let filter = WatchFilter::Namespace(NAMESPACE.into());
            let mut changes = leases.cache.watch_matching(leases.cache.current(), filter);
            loop {
                self.0.refresh(&registry, &leases, &mut recent).await;
                let next = self.0.state.load().peers.iter().map(|peer| peer.due).min();
                let next = next.unwrap_or_else(|| Instant::now() + REFRESH);
                tokio::select! {
                    () = changes.changed() => {
                        if changes.visit(usize::MAX, |_| ()).is_err() {
                            break;
                        }
                    }
                    () = tokio::time::sleep_until(next) => {}
                }
            }
        }
    }
}

impl Shared {
    /// Brings the servers in line with the leases, and fetches the documents that are due.
    async fn refresh(&self, registry: &Registry, leases: &Target, recent: &mut HashMap<(String, String), Instant>) {
        let now = Instant::now();
        let before = self.state.load_full();
        let found = self.peers(registry, leases);
        let known = |id: &str, address: SocketAddr| {
            before.peers.iter().find(|peer| peer.id == id && peer.address == address).cloned()
        };
        let mut peers: Vec<_> = found.iter().map(|(id, address)| known(id, *address)).collect();
        let due = found.into_iter().zip(peers.clone()).enumerate();
        let due = due.filter(|(_, (_, known))| known.as_ref().is_none_or(|peer| peer.due <= now));
        let mut fetches: FuturesUnordered<_> =
            due.map(async |(at, ((id, address), known))| (at, self.fetched(id, address, known).await)).collect();
        self.publish(registry, &peers, recent);
        // A server that does not answer delays only what it alone serves.
        while let Some((at, peer)) = fetches.next().await {
            if let Some(place) = peers.get_mut(at) {
                *place = Some(Arc::new(peer));
            }
            self.publish(registry, &peers, recent);
        }
    }

    /// Publishes the servers whose documents are known.
    fn publish(
        &self,
        registry: &Registry,
        peers: &[Option<Arc<Peer>>],
        recent: &mut HashMap<(String, String), Instant>,
    ) {
        let (now, before) = (Instant::now(), self.state.load_full());
        let peers: Vec<_> = peers.iter().flatten().cloned().collect();
        let active = versions_of_others(registry);
        recent.retain(|_, since| since.elapsed() < EXCLUDED);
        recent.extend(active.into_iter().map(|version| (version, now)));
        let excluded: HashSet<(String, String)> = recent.keys().cloned().collect();
        let is_same_peer = |(a, b): (&Arc<Peer>, &Arc<Peer>)| a.id == b.id && Arc::ptr_eq(&a.groups, &b.groups);
        let is_same = peers.len() == before.peers.len() && peers.iter().zip(&before.peers).all(is_same_peer);
        let groups = match is_same && excluded == before.excluded {
            true => before.groups.clone(),
            false => {
                let is_excluded =
                    |group: &str, version: &str| excluded.contains(&(group.to_owned(), version.to_owned()));
                let lists = peers.iter().map(|peer| peers::without(&peer.groups, &is_excluded));
                Arc::new(PeerGroups(lists.filter(|groups| !groups.is_empty()).collect()))
            }
        };
        self.servers.retain(&|name| peers.iter().any(|peer| peer.id == name));
        self.state.store(Arc::new(State { peers, groups, excluded }));
    }

    /// The identities and addresses of the other servers, sorted.
    fn peers(&self, registry: &Registry, leases: &Target) -> Vec<(String, SocketAddr)> {
        let state = leases.cache.state();
        let prefix = format!("{}{NAMESPACE}/", leases.storage().prefix);
        let all = state.objects.under(&prefix).map(|entry| entry.object.clone());
        let is_identity =
            |object: &Arc<Object>| object.encoded.label(IDENTITY.0) == Some(IDENTITY.1) && object.name() != self.own;
        let now = registry.environment.now_unix();
        let mut found: Vec<(String, SocketAddr)> = all
            .filter(is_identity)
            .filter_map(|object| {
                let lease = registry.decode(leases, &object).ok()?;
                let lease = View::<Lease>::new(&lease);
                let spec = lease.field(Lease::SPEC).get();
                let LeaseSpec { renew_time: Some(renewed), lease_duration_seconds: Some(seconds), .. } = spec else {
                    return None;
                };
                let address = lease.field(Lease::METADATA).field(ObjectMeta::ANNOTATIONS).get().remove(ADDRESS)?;
                let is_alive = renewed.seconds.saturating_add(seconds.into()) >= now;
                is_alive.then_some((object.name().to_owned(), address.parse().ok()?))
            })
            .collect();
        found.sort();
        found.truncate(MOST);
        found
    }

    /// A server with what it serves now; if it does not answer, with what it served before.
    async fn fetched(&self, id: String, address: SocketAddr, known: Option<Arc<Peer>>) -> Peer {
        let to = self.server(&id, address);
        let fetched = try_join(self.groups_at(&to, "/api"), self.groups_at(&to, "/apis")).await;
        let in_flight =
            known.as_ref().map_or_else(|| Arc::new(Semaphore::new(IN_FLIGHT)), |known| known.in_flight.clone());
        match fetched {
            Ok((core, named)) => {
                let of = |groups: &[Value]| -> HashSet<[String; 3]> {
                    peers::resources(groups).map(|names| names.map(str::to_owned)).collect()
                };
                let resources = of(&core).into_iter().chain(of(&named)).collect();
                let same = known.filter(|known| *known.groups == named).map(|known| known.groups.clone());
                Peer {
                    groups: same.unwrap_or_else(|| Arc::new(named)),
                    resources: Arc::new(resources),
                    id,
                    address,
                    in_flight,
                    failures: 0,
                    due: Instant::now() + REFRESH,
                }
            }
            Err(error) => {
                debug!(id, %address, err = %error, "discovery of another server could not be fetched");
                self.sync_errors.increment();
                let failures = known.as_ref().map_or(0, |known| known.failures).saturating_add(1);
                let wait = FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16)).min(REFRESH);
                let (groups, resources) = match known {
                    Some(known) => (known.groups.clone(), known.resources.clone()),
                    None => Default::default(),
                };
                Peer { id, address, groups, resources, in_flight, failures, due: Instant::now() + wait }
            }
        }
    }

    async fn groups_at(&self, to: &ExtensionServer, path: &str) -> Result<Vec<Value>, FetchError> {
        let user = UserInfo {
            name: "system:apiserver".into(),
            uid: "system:apiserver".into(),
            groups: vec!["system:authenticated".into()],
            ..UserInfo::default()
        };
        let mut request = request_of(path, ACCEPT, &user, true).map_err(FetchError::Unreachable)?;
        request.headers_mut().insert(PEER_PROXIED, HeaderValue::from_static("true"));
        let fetched = fetch_from(&*self.servers, to, request, TIMEOUT, LIMIT).await?;
        self.count(fetched.code, ["", "", ""]);
        let groups = (fetched.code == 200).then(|| peers::groups(&fetched.body)).flatten();
        groups.ok_or(FetchError::Refused(fetched.code))
    }

    fn server(&self, id: &str, address: SocketAddr) -> ExtensionServer {
        ExtensionServer {
            name: id.to_owned(),
            host: address.ip().to_string(),
            port: address.port(),
            server_name: SERVER_NAME.to_owned(),
            ca_pem: self.ca_pem.clone(),
            insecure: false,
        }
    }

    fn count(&self, code: u16, [group, version, resource]: [&str; 3]) {
        let labels = [code.to_string(), group.to_owned(), version.to_owned(), resource.to_owned()];
        self.rerouted.get(&labels, Counter::default).increment();
    }
}

/// The versions that definitions and extension servers serve.
fn versions_of_others(registry: &Registry) -> HashSet<(String, String)> {
    let table = registry.resources.snapshot();
    let custom = table.served().filter(|resource| resource.custom.is_some());
    let mut versions: HashSet<(String, String)> =
        custom.map(|resource| (resource.group.to_string(), resource.version.to_string())).collect();
    let Some(services) = crate::services::collection(registry) else { return versions };
    for object in services.cache.state().objects.values() {
        let Ok(service) = registry.decode(&services, object) else { continue };
        let spec = View::<APIService>::new(&service).field(APIService::SPEC);
        if spec.field(APIServiceSpec::SERVICE).get().is_some() {
            versions.insert((spec.field(APIServiceSpec::GROUP).get(), spec.field(APIServiceSpec::VERSION).get()));
        }
    }
    versions
}

impl Peers for PeerServers {
    fn find(&self, group: &str, version: &str, resource: &str) -> Option<Arc<dyn AggregatedApi>> {
        let state = self.0.state.load();
        let names = [group, version, resource].map(str::to_owned);
        let able: Vec<&Arc<Peer>> = state.peers.iter().filter(|peer| peer.resources.contains(&names)).collect();
        if able.is_empty() || state.excluded.contains(&(names[0].clone(), names[1].clone())) {
            return None;
        }
        // A server that answers is better than one that did not.
        let healthy: Vec<&Arc<Peer>> = able.iter().copied().filter(|peer| peer.failures == 0).collect();
        let candidates = if healthy.is_empty() { &able } else { &healthy };
        let peer = candidates[self.0.turn.fetch_add(1, Ordering::Relaxed) % candidates.len()].clone();
        Some(Arc::new(Passing { shared: self.0.clone(), peer, names }))
    }

    fn groups(&self) -> Arc<PeerGroups> {
        self.0.state.load().groups.clone()
    }
}

/// A request on its way to another server.
struct Passing {
    shared: Arc<Shared>,
    peer: Arc<Peer>,
    names: [String; 3],
}

impl AggregatedApi for Passing {
    fn serve(self: Arc<Self>, delegated: DelegatedRequest) -> BoxFuture<'static, ApiResponse> {
        async move {
            // Long-running requests are counted elsewhere.
            let ends = delegated.context.deadline.is_some();
            let permit = if ends { Some(self.peer.in_flight.clone().try_acquire_owned()) } else { None };
            if matches!(permit, Some(Err(_))) {
                let mut answer = ApiResponse::text(429, "Too many requests, please try again later.\n");
                answer.headers.push(("retry-after", "1".to_owned()));
                return answer;
            }
            let to = self.shared.server(&self.peer.id, self.peer.address);
            let target = ProxyTarget { servers: &*self.shared.servers, to: &to, reject_redirects: false, failure: "" };
            let passed_on = [(PEER_PROXIED, HeaderValue::from_static("true"))];
            let mut answer = forward::send(&target, delegated, true, HeaderMap::from_iter(passed_on)).await;
            let [group, version, resource] = &self.names;
            self.shared.count(answer.code, [group, version, resource]);
            answer.body = answer.body.with_guard(permit);
            answer
        }
        .boxed()
    }
}
