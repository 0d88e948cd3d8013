//! The documents of extension servers: their resources for discovery, and their OpenAPI. Guarantees that no request
//! waits for such a server: cached documents are served and refreshed in the background, one fetch for each server at a
//! time. Must never serve a document of a server for another version than its own.

use crate::fetch::{FetchError, FetchRequest, Fetched, fetch};
use crate::services::{Entry, ExtensionApi, Shared, collection};
use http::header::CONTENT_TYPE;
use pintle_discovery::conversion::openapi_v3_of_v2;
use pintle_discovery::extension::{self, OpenApiPart};
use pintle_registry::Registry;
use pintle_schema::Value;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::task::JoinSet;
use tokio::time::Instant;
use tracing::debug;

/// How often documents are fetched again, as in kube-apiserver.
const REFRESH: Duration = Duration::from_secs(60);
/// The wait after a first failure; it doubles with each further one, up to the time between refreshes.
const FIRST_RETRY: Duration = Duration::from_millis(500);
/// Time for a document of discovery, as in kube-apiserver.
const DISCOVERY_TIMEOUT: Duration = Duration::from_secs(5);
/// Time for an OpenAPI document, as in kube-apiserver.
const OPENAPI_TIMEOUT: Duration = Duration::from_secs(60);
/// Largest document of discovery: kube-apiserver's own has a tenth of it.
const DISCOVERY_BYTES: usize = 4 << 20;
/// Largest OpenAPI document: kube-apiserver's own has half of it.
const OPENAPI_BYTES: usize = 16 << 20;

const DISCOVERY_USER: &str = "system:kube-aggregator";
const OPENAPI_USER: &str = "system:aggregator";
const JSON: &str = "application/json";
const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";

/// The cached documents of all servers, by the names of their API services.
#[derive(Default)]
pub struct Documents(Mutex<HashMap<String, CachedDocuments>>);

/// The cached documents of one server.
#[derive(Clone, Default)]
struct CachedDocuments {
    /// The API service at the time of the fetch.
    api: Option<Arc<ExtensionApi>>,
    found: FetchedDocuments,
    fetching: bool,
    failures: u32,
    /// When it is fetched again.
    due: Option<Instant>,
}

/// The documents of one server.
#[derive(Clone, Default, PartialEq)]
struct FetchedDocuments {
    resources: Option<Arc<Vec<Value>>>,
    openapi_v3: Option<OpenApiV3>,
    openapi_v2: Option<Arc<OpenApiPart>>,
}

/// The OpenAPI document of version 3.
#[derive(Clone, PartialEq)]
enum OpenApiV3 {
    /// Where the server has it.
    Served(String),
    /// Converted from the document of version 2 of a server that has no other.
    Converted(Arc<ConvertedOpenApi>),
}

/// A document of version 3 that this server has converted.
#[derive(PartialEq)]
pub struct ConvertedOpenApi {
    /// Its path below `/openapi/v3/`.
    pub path: String,
    pub json: Vec<u8>,
    pub etag: String,
}

impl Documents {
    fn all(&self) -> MutexGuard<'_, HashMap<String, CachedDocuments>> {
        // No code that holds the lock can panic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn of<T>(&self, name: &str, get: impl Fn(&FetchedDocuments) -> Option<T>) -> Option<T> {
        self.all().get(name).and_then(|known| get(&known.found))
    }

    /// The resources of a version; `None` while its server does not respond.
    pub fn resources(&self, name: &str) -> Option<Arc<Vec<Value>>> {
        self.of(name, |found| found.resources.clone())
    }

    /// Where the OpenAPI document of version 3 is.
    pub fn openapi_v3(&self, name: &str) -> Option<String> {
        self.of(name, |found| match found.openapi_v3.as_ref()? {
            OpenApiV3::Served(url) => Some(url.clone()),
            OpenApiV3::Converted(document) => Some(format!("/openapi/v3/{}?hash={}", document.path, document.etag)),
        })
    }

    /// The OpenAPI document of version 3 of a server that has none.
    pub fn converted_openapi(&self, name: &str) -> Option<Arc<ConvertedOpenApi>> {
        self.of(name, |found| match &found.openapi_v3 {
            Some(OpenApiV3::Converted(document)) => Some(document.clone()),
            _ => None,
        })
    }

    /// What a version adds to the OpenAPI document of version 2.
    pub fn openapi_v2(&self, name: &str) -> Option<Arc<OpenApiPart>> {
        self.of(name, |found| found.openapi_v2.clone())
    }

    /// Drops removed servers; returns those to fetch from now, and when the next is due.
    fn plan<'a>(
        &self,
        entries: impl Iterator<Item = &'a Entry>,
        now: Instant,
    ) -> (Vec<Arc<ExtensionApi>>, Option<Instant>) {
        let mut all = self.all();
        let mut before = std::mem::take(&mut *all);
        let (mut fetches, mut next) = (Vec::new(), None::<Instant>);
        for Entry { api, .. } in entries {
            let mut known = before.remove(&api.name).unwrap_or_default();
            let has_changed = known.api.as_ref() != Some(api);
            if !known.fetching && (has_changed || known.due.is_none_or(|due| due <= now)) {
                known.fetching = true;
                known.api = Some(api.clone());
                fetches.push(api.clone());
            }
            if !known.fetching {
                next = next.into_iter().chain(known.due).min();
            }
            all.insert(api.name.clone(), known);
        }
        (fetches, next)
    }

    /// Stores fetched resources; returns whether they are new.
    fn keep_resources(&self, name: &str, resources: Option<Arc<Vec<Value>>>) -> bool {
        let mut all = self.all();
        let Some(known) = all.get_mut(name) else { return false };
        known.failures = if resources.is_none() { known.failures.saturating_add(1) } else { 0 };
        let is_new = known.found.resources != resources;
        known.found.resources = resources;
        is_new
    }

    /// Stores the fetched OpenAPI and ends the fetch; returns whether it is new. If the server did not respond the old
    /// document stays.
    fn keep_openapi(&self, name: &str, v3: Option<OpenApiV3>, v2: Option<Arc<OpenApiPart>>, now: Instant) -> bool {
        let mut all = self.all();
        let Some(known) = all.get_mut(name) else { return false };
        let wait = match known.failures {
            0 => REFRESH,
            failures => FIRST_RETRY.saturating_mul(1 << (failures - 1).min(16)).min(REFRESH),
        };
        known.fetching = false;
        known.due = Some(now + wait);
        let before = known.found.clone();
        known.found.openapi_v3 = v3.or(known.found.openapi_v3.take());
        known.found.openapi_v2 = v2.or(known.found.openapi_v2.take());
        before != known.found
    }
}

/// Fetches documents when API services change, and periodically, until the future is dropped.
pub async fn follow(shared: Arc<Shared>, registry: Arc<Registry>) {
    let Some(target) = collection(&registry) else { return };
    let mut fetches = JoinSet::new();
    loop {
        let mut changes = target.cache.cursor(target.cache.current());
        loop {
            let mut next = None;
            if let Some(snapshot) = shared.snapshot(&registry) {
                let planned = shared.documents.plan(snapshot.extensions(), Instant::now());
                next = planned.1;
                for api in planned.0 {
                    let (shared, registry) = (shared.clone(), registry.clone());
                    fetches.spawn(async move { fetch_all(&shared, &registry, &api).await });
                }
                shared.servers.retain(&|name| snapshot.extension(name).is_some());
            }
            tokio::select! {
                () = changes.changed() => {
                    if changes.visit(usize::MAX, |_| ()).is_err() {
                        break;
                    }
                }
                Some(_) = fetches.join_next() => {}
                () = wait(next) => {}
            }
        }
    }
}

async fn wait(until: Option<Instant>) {
    match until {
        Some(until) => tokio::time::sleep_until(until).await,
        None => std::future::pending().await,
    }
}

/// Fetches and stores all documents of a version's server. Those that fail are left out.
async fn fetch_all(shared: &Shared, registry: &Registry, api: &ExtensionApi) {
    let keep_resources = |resources: Option<Vec<Value>>| {
        if shared.documents.keep_resources(&api.name, resources.map(Arc::new)) {
            shared.changed();
        }
    };
    if !api.available {
        keep_resources(None);
        shared.documents.keep_openapi(&api.name, None, None, Instant::now());
        return;
    }
    let fails = |what: &str, error: &FetchError| {
        debug!(name = api.name, err = %error, "{what} of an API service could not be fetched");
    };
    let resources = resources(shared, registry, api).await.unwrap_or_else(|error| {
        fails("discovery", &error);
        None
    });
    keep_resources(resources);
    let openapi =
        |path| FetchRequest { path, accept: JSON, user: OPENAPI_USER, timeout: OPENAPI_TIMEOUT, limit: OPENAPI_BYTES };
    let (v3, v2) = (openapi("/openapi/v3"), openapi("/openapi/v2"));
    let [v3, v2] = [fetch(shared, registry, api, &v3).await, fetch(shared, registry, api, &v2).await]
        .map(|fetched| fetched.inspect_err(|error| fails("OpenAPI", error)).ok());
    let v2 = v2.filter(|fetched| fetched.code == 200).map(|fetched| fetched.body);
    let v3 = v3.and_then(|fetched| match fetched.code {
        200 => extension::openapi_v3_url(&fetched.body, &api.group, &api.version).map(OpenApiV3::Served),
        404 => converted(api, v2.as_ref()?),
        _ => None,
    });
    let v2 = v2.and_then(|document| OpenApiPart::of(&document, &api.group, &api.version)).map(Arc::new);
    if shared.documents.keep_openapi(&api.name, v3, v2, Instant::now()) {
        shared.changed();
    }
}

/// The document of version 3 of a server that has only version 2.
fn converted(api: &ExtensionApi, v2: &[u8]) -> Option<OpenApiV3> {
    let json = openapi_v3_of_v2(v2)?;
    let etag = pintle_discovery::etag(&json);
    let path = format!("apis/{}/{}", api.group, api.version);
    Some(OpenApiV3::Converted(Arc::new(ConvertedOpenApi { path, json, etag })))
}

/// The resources of a version: from aggregated discovery if the server has it, and from the version's own document if not.
async fn resources(shared: &Shared, registry: &Registry, api: &ExtensionApi) -> Result<Option<Vec<Value>>, FetchError> {
    let wanted = |path, accept| FetchRequest {
        path,
        accept,
        user: DISCOVERY_USER,
        timeout: DISCOVERY_TIMEOUT,
        limit: DISCOVERY_BYTES,
    };
    let aggregated = fetch(shared, registry, api, &wanted("/apis", AGGREGATED)).await?;
    if aggregated.code == 200 && is_aggregated(&aggregated) {
        return Ok(extension::of_aggregated(&aggregated.body, &api.group, &api.version));
    }
    let path = api.path();
    let list = fetch(shared, registry, api, &wanted(&path, JSON)).await?;
    Ok((list.code == 200).then(|| extension::of_resource_list(&list.body)).flatten())
}

fn is_aggregated(fetched: &Fetched) -> bool {
    let content_type = fetched.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    content_type.contains("as=APIGroupDiscoveryList")
}
