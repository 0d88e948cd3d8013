//! `ApiServices`: the versions that API services currently delegate to other servers. Guarantees that a request sees
//! every change that was acknowledged before it, and decodes no object if none has changed. Must never be used for
//! versions of which this server has built-in resources.

use crate::documents::Documents;
use crate::forward;
use crate::metrics::{self, AvailabilityMetrics};
use arc_swap::ArcSwapOption;
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use pintle_cache::State;
use pintle_cache::objects::{Difference, Objects};
use pintle_discovery::catalog::VersionEntry;
use pintle_discovery::extension::OpenApiPart;
use pintle_discovery::{AggregatedVersion, Catalog, openapi};
use pintle_endpoints::delegation::{AggregatedApi, AggregatedApis, DelegatedRequest};
use pintle_endpoints::documents::openapi_v3_document;
use pintle_endpoints::response::ApiResponse;
use pintle_metrics::Exposition;
use pintle_proxy::backend::ExtensionServers;
use pintle_registry::{Registry, Target};
use pintle_schema::ApiValue;
use pintle_services::routing::Routing;
use pintle_types::apiregistration::v1::{APIService, APIServiceConditionType, ConditionStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Semaphore;

/// The maximum number of requests that wait for one extension server, without long-running ones: as many as this server
/// accepts itself. More are rejected, so that a server that does not respond uses bounded memory.
const IN_FLIGHT: usize = 1024;

/// The default port of a service reference.
const HTTPS: i32 = 443;

/// The label of APIServices that follow definitions.
const AUTOMANAGED: &str = "kube-aggregator.kubernetes.io/automanaged";

/// The versions that API services delegate to other servers. Cheap to clone.
#[derive(Clone)]
pub struct ApiServices(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub servers: Arc<dyn ExtensionServers>,
    pub routing: Routing,
    /// Whether a redirection of an extension server is an error.
    pub reject_redirects: bool,
    pub documents: Documents,
    pub availability: AvailabilityMetrics,
    snapshot: ArcSwapOption<Snapshot>,
    generation: AtomicU64,
}

/// A version, as its API service describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExtensionApi {
    pub name: String,
    pub group: String,
    pub version: String,
    group_priority: i32,
    pub version_priority: i32,
    /// The service of its server; `None` if this server serves it.
    pub service: Option<Service>,
    pub ca_pem: Vec<u8>,
    pub insecure: bool,
    pub available: bool,
    /// Whether it only repeats what a server serves by a definition: a server that does not serve it does not list it.
    is_automanaged: bool,
    /// The reason of its condition.
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Service {
    pub namespace: String,
    pub name: String,
    pub port: i32,
}

impl ExtensionApi {
    pub fn of(service: APIService) -> ExtensionApi {
        let spec = service.spec;
        let automanaged = service.metadata.labels.iter().find(|(name, _)| *name == AUTOMANAGED);
        let is_automanaged = automanaged.is_some_and(|(_, value)| value == "true") && spec.service.is_none();
        let conditions = &service.status.conditions;
        let available = conditions.iter().find(|condition| condition.r#type == APIServiceConditionType::AVAILABLE);
        ExtensionApi {
            name: service.metadata.name,
            group: spec.group,
            version: spec.version,
            group_priority: spec.group_priority_minimum,
            version_priority: spec.version_priority,
            service: spec.service.map(|service| Service {
                namespace: service.namespace,
                name: service.name,
                port: service.port.unwrap_or(HTTPS),
            }),
            ca_pem: spec.ca_bundle.0,
            insecure: spec.insecure_skip_tls_verify,
            is_automanaged,
            available: available.is_some_and(|condition| condition.status == ConditionStatus::TRUE),
            reason: available.map(|condition| condition.reason.clone()).unwrap_or_default(),
        }
    }

    /// The path of its list of resources.
    pub fn path(&self) -> String {
        format!("/apis/{}/{}", self.group, self.version)
    }
}

/// A version, and the requests that wait for its server.
#[derive(Clone)]
pub(crate) struct Entry {
    pub api: Arc<ExtensionApi>,
    in_flight: Arc<Semaphore>,
}

/// All API services at one time.
pub(crate) struct Snapshot {
    state: Arc<State>,
    /// By name; persistent, since a version of each definition at run time is among them.
    entries: imbl::HashMap<String, Entry>,
}

impl Snapshot {
    /// The versions that other servers serve, unordered.
    pub fn extensions(&self) -> impl Iterator<Item = &Entry> {
        self.entries.values().filter(|entry| entry.api.service.is_some())
    }

    /// The version of a name, if another server serves it.
    pub fn extension(&self, name: &str) -> Option<&Entry> {
        self.entries.get(name).filter(|entry| entry.api.service.is_some())
    }
}

/// The collection of API services.
pub(crate) fn collection(registry: &Registry) -> Option<Target> {
    registry.target_of(["apiregistration.k8s.io", "v1", "apiservices"], "", "")
}

impl Shared {
    /// The current API services.
    pub fn snapshot(&self, registry: &Registry) -> Option<Arc<Snapshot>> {
        let target = collection(registry)?;
        let state = target.cache.state();
        let known = self.snapshot.load_full();
        if let Some(known) = known.as_ref().filter(|known| Arc::ptr_eq(&known.state, &state)) {
            return Some(known.clone());
        }
        let nothing = Objects::default();
        let before = known.as_ref().map_or(&nothing, |known| &known.state.objects);
        let mut entries = known.as_ref().map(|known| known.entries.clone()).unwrap_or_default();
        let mut is_same = known.is_some();
        for change in state.objects.changes_since(before) {
            let object = match change {
                Difference::Set(object) => object,
                Difference::Removed(object) => {
                    is_same &= entries.remove(object.name()).is_none();
                    continue;
                }
            };
            let decoded = registry.decode(&target, object).ok();
            let Some(api) = decoded.and_then(|value| APIService::from_value(&value).ok()).map(ExtensionApi::of) else {
                is_same &= entries.remove(object.name()).is_none();
                continue;
            };
            let in_flight = match entries.get(object.name()) {
                Some(before) if *before.api == api => continue,
                Some(before) => {
                    self.availability.changed(&before.api, &api);
                    before.in_flight.clone()
                }
                None => Arc::new(Semaphore::new(IN_FLIGHT)),
            };
            is_same = false;
            entries.insert(object.name().to_owned(), Entry { api: Arc::new(api), in_flight });
        }
        let snapshot = Arc::new(Snapshot { state, entries });
        self.snapshot.store(Some(snapshot.clone()));
        if !is_same {
            self.changed();
        }
        Some(snapshot)
    }

    /// Signals that versions or their documents have changed.
    pub fn changed(&self) {
        self.generation.fetch_add(1, Ordering::AcqRel);
    }

    /// The versions that other servers serve, with their cached documents.
    fn others<T>(
        &self,
        registry: &Registry,
        here: &Catalog,
        with_service: bool,
        make: impl Fn(&ExtensionApi) -> Option<T>,
    ) -> Vec<T> {
        let Some(snapshot) = self.snapshot(registry) else { return Vec::new() };
        let mut found: Vec<&Arc<ExtensionApi>> = snapshot.entries.values().map(|entry| &entry.api).collect();
        found.retain(|api| {
            let is_wanted = !api.group.is_empty() && (!with_service || api.service.is_some());
            // A server hides what is defined of its version here.
            let is_hidden = |known: &VersionEntry| api.service.is_none() || !known.is_custom();
            is_wanted && !api.is_automanaged && !here.version(&api.group, &api.version).is_some_and(is_hidden)
        });
        found.sort_by(|a, b| a.name.cmp(&b.name));
        found.into_iter().filter_map(|api| make(api)).collect()
    }
}

impl ApiServices {
    /// API services with these connections to their servers.
    pub fn new(servers: Arc<dyn ExtensionServers>, routing: Routing, reject_redirects: bool) -> ApiServices {
        ApiServices(Arc::new(Shared {
            servers,
            routing,
            reject_redirects,
            documents: Documents::default(),
            availability: AvailabilityMetrics::default(),
            snapshot: ArcSwapOption::empty(),
            generation: AtomicU64::new(0),
        }))
    }

    /// Writes the metrics of extension servers.
    pub fn render(&self, registry: &Registry, out: &mut Exposition) {
        metrics::render(&self.0, registry, out);
    }

    /// Refreshes the documents of extension servers until the future is dropped.
    pub async fn follow(self, registry: Arc<Registry>) {
        crate::documents::follow(self.0, registry).await;
    }
}

impl AggregatedApis for ApiServices {
    fn find(&self, registry: &Registry, group: &str, version: &str) -> Option<Arc<dyn AggregatedApi>> {
        if group.is_empty() {
            return None;
        }
        let snapshot = self.0.snapshot(registry)?;
        // A version may have a dot in a path, but not in a name.
        let found = snapshot.extension(&format!("{version}.{group}"));
        let entry = found.filter(|entry| entry.api.group == group)?.clone();
        Some(Arc::new(Extension { shared: self.0.clone(), entry }))
    }

    fn generation(&self, registry: &Registry) -> u64 {
        let _ = self.0.snapshot(registry);
        self.0.generation.load(Ordering::Acquire)
    }

    fn versions(&self, registry: &Registry, here: &Catalog, with_service: bool) -> Vec<AggregatedVersion> {
        self.0.others(registry, here, with_service, |api| {
            Some(AggregatedVersion {
                group: api.group.as_str().into(),
                version: api.version.as_str().into(),
                group_priority: api.group_priority,
                version_priority: api.version_priority,
                resources: self.0.documents.resources(&api.name),
            })
        })
    }

    fn openapi_v3(&self, registry: &Registry, here: &Catalog) -> Vec<(String, String)> {
        self.0.others(registry, here, true, |api| {
            let url = self.0.documents.openapi_v3(&api.name)?;
            Some((format!("apis/{}/{}", api.group, api.version), url))
        })
    }

    fn openapi_v2(&self, registry: &Registry, here: &Catalog) -> Vec<Arc<OpenApiPart>> {
        self.0.others(registry, here, true, |api| self.0.documents.openapi_v2(&api.name))
    }
}

/// A version that another server serves.
struct Extension {
    shared: Arc<Shared>,
    entry: Entry,
}

impl Extension {
    /// The response to a request for an OpenAPI document of version 3 that this server has converted, or that the
    /// extension server never had.
    fn openapi(&self, delegated: &DelegatedRequest) -> Option<ApiResponse> {
        let DelegatedRequest { request, query, .. } = delegated;
        let path = request.path.strip_prefix("/openapi/v3/")?;
        let (documents, name) = (&self.shared.documents, &self.entry.api.name);
        let Some(document) = documents.converted_openapi(name) else {
            let is_known = documents.openapi_v3(name).is_some();
            return (!is_known).then(|| ApiResponse::new(404, "", Bytes::new()));
        };
        let protobuf = |json: &[u8]| openapi::v3::protobuf(json).unwrap_or_default();
        let of_path = document.path == path;
        of_path.then(|| openapi_v3_document(request, query, path, document.json.clone(), &document.etag, protobuf))
    }
}

impl AggregatedApi for Extension {
    fn serve(self: Arc<Self>, delegated: DelegatedRequest) -> BoxFuture<'static, ApiResponse> {
        async move {
            if let Some(answer) = self.openapi(&delegated) {
                return answer;
            }
            // Long-running requests are counted elsewhere.
            let ends = delegated.context.deadline.is_some();
            let permit = if ends { Some(self.entry.in_flight.clone().try_acquire_owned()) } else { None };
            if matches!(permit, Some(Err(_))) {
                let mut answer = ApiResponse::text(429, "Too many requests, please try again later.\n");
                answer.headers.push(("retry-after", "1".to_owned()));
                return answer;
            }
            let mut answer = forward::pass(&self.shared, &self.entry.api, delegated).await;
            answer.body = answer.body.with_guard(permit);
            answer
        }
        .boxed()
    }
}
