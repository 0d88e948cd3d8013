//! Documents that describe the server: discovery, OpenAPI, version.
//!
//! Large ones are built when first requested: aggregated discovery, kept encoded, and OpenAPI documents, kept compressed. They
//! have an ETag, so that clients can get 304.

use crate::Api;
use crate::aggregated_discovery::AggregatedDiscovery;
use crate::negotiation::{
    AllowedMediaTypes, Format, GENERAL, MediaTypeOptions, find_path, negotiate, negotiate_aggregated, preferred,
};
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use crate::{encoding, zpages};
use arc_swap::{ArcSwap, ArcSwapOption};
use bytes::Bytes;
use http::Method;
use http::header::{ACCEPT, IF_MATCH, IF_NONE_MATCH, USER_AGENT};
use pintle_discovery::{Catalog, Document, PublishedPath, ServerDescription, discovery, etag, openapi};
use pintle_registry::{Result, Status};
use pintle_resource::{ResourceTable, Resources};
use pintle_schema::{GateSet, Time};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{SystemTime, UNIX_EPOCH};

/// The discovery and OpenAPI documents of the server.
pub struct DiscoveryCache {
    resources: Arc<Resources>,
    pub build: pintle_discovery::version::Build<'static>,
    server: ServerDescription,
    current: ArcSwap<DocumentSet>,
    with_aggregated: ArcSwapOption<AggregatedDiscovery>,
}

/// The documents of one table of resources.
pub struct DocumentSet {
    generation: u64,
    pub catalog: Catalog,
    pub documents: Documents,
    /// The hashes of documents that no definition has a part in: those of earlier tables hold.
    hashes: Arc<Mutex<HashMap<String, String>>>,
}

/// Documents that are built when first requested.
#[derive(Default)]
pub struct Documents {
    /// `/api` and `/apis`.
    aggregated: [OnceLock<Aggregated>; 2],
    made: Mutex<HashMap<String, Arc<CompressedDocument>>>,
}

/// Discovery of everything at once, as nearly all want it. Its ETag is that of its JSON, whatever the form.
struct Aggregated {
    json: Bytes,
    etag: String,
}

/// A document that was made, compressed, with its ETag.
struct CompressedDocument {
    compressed: Vec<u8>,
    length: usize,
    etag: String,
}

impl DiscoveryCache {
    pub fn new(resources: Arc<Resources>, server: ServerDescription) -> Self {
        let current = ArcSwap::from_pointee(DocumentSet::of(&resources.read(), &server, None));
        let build = pintle_discovery::version::Build::default();
        DiscoveryCache { resources, build, server, current, with_aggregated: ArcSwapOption::empty() }
    }

    /// The documents about this server's own and aggregated versions.
    pub(crate) fn with_aggregated(&self, api: &Api) -> Arc<AggregatedDiscovery> {
        let known = self.with_aggregated.load();
        let current = AggregatedDiscovery::current(api, &self.current(), known.as_ref());
        if known.as_ref().is_none_or(|known| !Arc::ptr_eq(known, &current)) {
            self.with_aggregated.store(Some(current.clone()));
        }
        current
    }

    /// The documents of the table that holds now.
    pub fn current(&self) -> Arc<DocumentSet> {
        let table = self.resources.read();
        let current = self.current.load_full();
        if current.generation == table.generation() {
            return current;
        }
        let new = Arc::new(DocumentSet::of(&table, &self.server, Some(&current)));
        // If another thread stored one of an older table meanwhile, the next caller replaces it.
        self.current.store(new.clone());
        new
    }
}

impl DocumentSet {
    fn of(table: &ResourceTable, server: &ServerDescription, before: Option<&DocumentSet>) -> Self {
        let catalog = match before {
            Some(before) => before.catalog.next(table),
            None => Catalog::of(table).of_server(server.clone()),
        };
        let built_in = |catalog: &Catalog| catalog.resources().filter(|resource| resource.custom.is_none()).count();
        // As long as only custom resources change, the other documents are not built again for the index.
        let before = before.filter(|before| built_in(&before.catalog) == built_in(&catalog));
        DocumentSet {
            generation: table.generation(),
            hashes: before.map(|before| before.hashes.clone()).unwrap_or_default(),
            catalog,
            documents: Documents::default(),
        }
    }

    /// Whether documents that no definition has a part in were hashed.
    fn has_hashes(&self) -> bool {
        self.hashes.lock().is_ok_and(|hashes| !hashes.is_empty())
    }

    /// The index of OpenAPI version 3. The key distinguishes indexes with validation rules from those without.
    fn index(&self, key: &str, gates: Option<&GateSet>) -> Vec<u8> {
        openapi::v3::index(&self.catalog, gates, &mut |path, make| {
            let key = format!("{key}/{path}");
            let known = self.hashes.lock().ok().and_then(|hashes| hashes.get(&key).cloned());
            known.unwrap_or_else(|| {
                let made = make();
                if let Ok(mut hashes) = self.hashes.lock() {
                    hashes.insert(key, made.clone());
                }
                made
            })
        })
    }
}

impl Documents {
    /// `/api` or `/apis` in the aggregated form, and its ETag.
    fn aggregated(&self, is_core: bool, catalog: &Catalog, wanted: MediaTypeOptions) -> (Bytes, String) {
        let [core, named] = &self.aggregated;
        let kept = if is_core { core } else { named };
        let make = if is_core { discovery::aggregated_api } else { discovery::aggregated_apis };
        let make_json = if is_core { discovery::aggregated_api_json } else { discovery::aggregated_apis_json };
        let Aggregated { json, etag } = kept.get_or_init(|| {
            let mut json = make_json(catalog);
            let etag = etag(&json);
            // As all JSON is sent.
            json.push(b'\n');
            Aggregated { json: json.into(), etag }
        });
        let bytes = if wanted == MediaTypeOptions::JSON { json.clone() } else { encode(&make(catalog), wanted) };
        (bytes, etag.clone())
    }

    /// The length of the document under a key, if it was built.
    fn length(&self, key: &str) -> Option<usize> {
        self.made.lock().ok()?.get(key).map(|made| made.length)
    }

    /// The document under a key, built when first requested.
    fn get_or_make(&self, key: &str, make: impl FnOnce() -> Option<Vec<u8>>) -> Option<(Vec<u8>, String)> {
        if let Some(made) = self.made.lock().ok().and_then(|made| made.get(key).cloned()) {
            return inflate(&made).map(|bytes| (bytes, made.etag.clone()));
        }
        let bytes = make()?;
        let made = CompressedDocument { compressed: deflate(&bytes), length: bytes.len(), etag: etag(&bytes) };
        let tag = made.etag.clone();
        if let Ok(mut all) = self.made.lock() {
            all.insert(key.to_owned(), Arc::new(made));
        }
        Some((bytes, tag))
    }
}

fn deflate(bytes: &[u8]) -> Vec<u8> {
    use std::io::Write;
    let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::default());
    // Writing to memory cannot fail.
    let _ = encoder.write_all(bytes);
    encoder.finish().unwrap_or_default()
}

fn inflate(made: &CompressedDocument) -> Option<Vec<u8>> {
    use std::io::Read;
    let mut bytes = Vec::with_capacity(made.length);
    flate2::read::DeflateDecoder::new(&made.compressed[..]).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// About how many bytes of documents are made or decompressed to answer a request outside of resources.
pub fn expected_bytes(api: &Api, path: &str) -> usize {
    let Some(key) = path.strip_prefix("/openapi/") else { return 0 };
    let documents = api.documents.current();
    let catalog = &documents.catalog;
    let made = documents.documents.length(key);
    if let Some(bytes) = made.or_else(|| api.documents.with_aggregated(api).documents().length(key)) {
        return bytes;
    }
    let of = |group: &str, version: &str| catalog.version(group, version).map_or(0, |entry| entry.resources.len());
    let path = key.trim_matches('/').split_once('/').map_or("", |(_, path)| path);
    let resources = match (path.split_once('/'), key) {
        (Some(("api", version)), _) => of("", version),
        (Some(("apis", path)), _) => path.split_once('/').map_or(0, |(group, version)| of(group, version)),
        (None, "v3" | "v3/") if documents.has_hashes() => return catalog.resources().count() * BYTES_OF_HASHED,
        (None, "v2" | "v3" | "v3/") => catalog.resources().count(),
        _ => 0,
    };
    resources * BYTES_OF_RESOURCE
}

/// About what the documents have for a resource.
const BYTES_OF_RESOURCE: usize = 20 << 10;

/// About what is hashed of a custom resource for the index of documents, once all others are.
const BYTES_OF_HASHED: usize = 256;

/// Whether the document at a path outside of resources depends on which resources are served.
pub fn describe_resources(path: &str) -> bool {
    let roots = ["/api", "/apis", "/openapi"];
    matches!(path, "" | "/" | "/index.html" | "/statusz")
        || roots
            .iter()
            .any(|root| path.strip_prefix(root).is_some_and(|below| below.is_empty() || below.starts_with('/')))
}

/// Serves a path outside of resources.
///
/// # Errors
/// 406 when the requested form is not available.
pub fn serve(api: &Api, request: &Request, query: &Query) -> Result<ApiResponse> {
    // The routers of services take any number of slashes at the end; these paths are none of a service.
    let trimmed = match request.path.trim_end_matches('/') {
        "" | "/apis" | "/index.html" if request.path.ends_with("//") => return Ok(not_found()),
        "/index.html" if request.path.ends_with('/') => return Ok(not_found()),
        "" => "/",
        trimmed => trimmed,
    };
    let documents = api.documents.current();
    match request.path.strip_prefix("/openapi/v3").map(|rest| rest.split_at_checked(1).unwrap_or_default()) {
        Some(("", _)) => return openapi_v3_index(api, request, query),
        Some(("/", path)) => return openapi_v3(api, request, query, path),
        _ if request.path == "/openapi/v2" => return openapi_v2(api, request),
        _ => {}
    }
    if let Some(answer) = zpages::serve(api, request, query)? {
        return Ok(answer);
    }
    let segments: Vec<&str> = trimmed.strip_prefix('/').unwrap_or(trimmed).split('/').collect();
    let catalog = &documents.catalog;
    let accept = request.header(ACCEPT);
    // `/apis/` is the list of groups whatever the client accepts.
    let may_be_aggregated = match segments[..] {
        ["api"] => true,
        ["apis"] => !request.path.ends_with('/'),
        _ => false,
    };
    let aggregated =
        may_be_aggregated.then(|| negotiate_aggregated(accept, request.header(USER_AGENT), query)).flatten();
    if let Some((wanted, is_local)) = aggregated {
        let is_core = segments == ["api"];
        let with_aggregated = api.documents.with_aggregated(api);
        if let Some(peers) = api.peers.as_ref().filter(|_| !is_core) {
            if is_local {
                api.peer_discovery.local.increment();
            } else if let Some((document, json, tag)) = api.peer_discovery.document(&with_aggregated, peers.groups()) {
                let bytes = if wanted == MediaTypeOptions::JSON { json } else { encode(&document, wanted) };
                return Ok(aggregated_response(request, bytes, tag, wanted.format));
            }
        }
        let (all, kept) = if is_core { (catalog, &documents.documents) } else { with_aggregated.served() };
        let (bytes, tag) = kept.aggregated(is_core, all, wanted);
        return Ok(aggregated_response(request, bytes, tag, wanted.format));
    }
    if let Some(document) = api.published.iter().find(|document| document.described.path == trimmed) {
        return published(document, request);
    }
    let document = match segments[..] {
        [""] | ["index.html"] => return Ok(root(api)),
        ["version"] => {
            only_get(request)?;
            negotiate(accept, request.header(USER_AGENT), query, AllowedMediaTypes::JsonDocuments, GENERAL)?;
            let document = pintle_discovery::version::version(&api.documents.build, api.settings.version);
            let wanted = MediaTypeOptions { pretty: true, ..MediaTypeOptions::JSON };
            return Ok(ApiResponse::new(
                200,
                "application/json",
                encoding::encode(&document.value, document.schema, wanted),
            ));
        }
        ["api"] => Some(discovery::api_versions(catalog, &api.settings.server_address)),
        ["apis"] => Some(discovery::group_list(api.documents.with_aggregated(api).listed())),
        ["api", version] => discovery::resource_list(catalog, "", version),
        ["apis", "", ..] => None,
        ["apis", group] => discovery::group(api.documents.with_aggregated(api).listed(), group),
        ["apis", group, version] if catalog.group(group).is_some() => discovery::resource_list(catalog, group, version),
        _ => None,
    };
    let known_group = match segments[..] {
        ["api", _] => true,
        // Versions of other groups have no routes of their own.
        ["apis", group, _] => catalog.group(group).is_some_and(|known| !group.is_empty() && known.is_built_in()),
        ["version", ..] => true,
        _ => api
            .published
            .iter()
            .any(|document| trimmed.strip_prefix(document.described.path).is_some_and(|below| below.starts_with('/'))),
    };
    match document {
        Some(document) => {
            // The documents of groups, and of versions of custom resources, are given whatever the method.
            let is_groups = match segments[..] {
                ["apis"] | ["apis", _] => true,
                ["apis", group, version] => catalog.version(group, version).is_some_and(|version| version.is_custom()),
                _ => false,
            };
            if !is_groups {
                only_get(request)?;
            }
            discovery_response(
                request,
                query,
                &document,
                if is_groups { AllowedMediaTypes::Groups } else { AllowedMediaTypes::DiscoveryCache },
            )
        }
        None if known_group => Err(Status::no_such_path()),
        None => Ok(not_found()),
    }
}

/// The response to a path that no router knows.
fn not_found() -> ApiResponse {
    ApiResponse::text(404, "404 page not found\n")
}

/// A document at a path of its own, such as the keys by which clients verify tokens.
pub struct PublishedDocument {
    pub described: PublishedPath,
    /// Its text as it is now, and for how many seconds clients may cache it.
    pub body: Box<dyn Fn() -> (Bytes, u64) + Send + Sync>,
}

fn published(document: &PublishedDocument, request: &Request) -> Result<ApiResponse> {
    only_get(request)?;
    let media_types = document.described.media_types;
    find_path(request.header(ACCEPT), media_types)?;
    let (body, max_age_seconds) = (document.body)();
    let mut answer = ApiResponse::new(200, media_types.first().copied().unwrap_or_default(), body);
    answer.headers.push(("cache-control", format!("public, max-age={max_age_seconds}")));
    Ok(answer)
}

fn only_get(request: &Request) -> Result<()> {
    if request.method == Method::GET { Ok(()) } else { Err(Status::method_not_allowed()) }
}

fn discovery_response(
    request: &Request,
    query: &Query,
    document: &Document,
    offer: AllowedMediaTypes,
) -> Result<ApiResponse> {
    let wanted = negotiate(request.header(ACCEPT), request.header(USER_AGENT), query, offer, GENERAL)?;
    Ok(ApiResponse::new(200, wanted.format.content_type(), encode(document, wanted)))
}

fn encode(document: &Document, wanted: MediaTypeOptions) -> Bytes {
    if wanted.format != Format::Protobuf {
        return encoding::encode(&document.value, document.schema, wanted);
    }
    let (mut raw, mut bytes) = (Vec::new(), Vec::new());
    pintle_codec::protobuf::encode(document.schema, &document.value, &mut raw);
    pintle_codec::protobuf::encode_envelope(document.api_version, document.kind, &raw, &mut bytes);
    bytes.into()
}

fn aggregated_response(request: &Request, bytes: Bytes, tag: String, format: Format) -> ApiResponse {
    let content_type = format!("{};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", format.content_type());
    let mut answer = with_etag(request, bytes, &content_type, &tag);
    answer.headers.push(("vary", "Accept".into()));
    answer.headers.push(("cache-control", "public".into()));
    answer
}

/// The paths the server knows, sorted.
pub(crate) fn listed_paths(api: &Api) -> Vec<String> {
    let mut paths = vec!["/api".to_owned(), "/apis".to_owned()];
    for group in api.documents.with_aggregated(api).listed().groups() {
        if group.name.is_empty() {
            paths.extend(group.versions.iter().map(|version| format!("/api/{}", version.name)));
            continue;
        }
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name)));
    }
    paths.extend(api.published.iter().map(|document| document.described.path.to_owned()));
    paths.extend(api.health.paths());
    paths.extend(
        ["/apis/", "/metrics", "/metrics/slis", "/openapi/v2", "/openapi/v3", "/openapi/v3/", "/version"]
            .map(str::to_owned),
    );
    let zpages = zpages::PATHS.iter().map(|(path, _)| *path).filter(|path| zpages::is_served(api, path));
    paths.extend(zpages.map(str::to_owned));
    paths.sort();
    paths
}

fn root(api: &Api) -> ApiResponse {
    let value = pintle_schema::value!({ "paths": (listed_paths(api)) });
    let schema = <pintle_meta::meta::v1::RootPaths as pintle_schema::ApiType>::schema();
    // It is written as it is, whatever the client accepts.
    let wanted = MediaTypeOptions { pretty: true, ..MediaTypeOptions::JSON };
    ApiResponse::new(200, "application/json", encoding::encode(&value, schema, wanted))
}

/// Validation rules are published only on request: kube-apiserver's documents do not have them.
fn shows_rules(query: &Query) -> bool {
    query.all("rules").any(|value| value == "true")
}

/// A document of version 3 as JSON, or their index under the empty path, with its ETag.
fn openapi_v3_json(api: &Api, rules: bool, path: &str) -> Option<(Vec<u8>, String)> {
    let documents = api.documents.current();
    let gates = rules.then(|| api.registry.environment.gates());
    let key = if rules { "v3+rules" } else { "v3" };
    let (kept, catalog) = (&documents.documents, &documents.catalog);
    if let Some(tag) = openapi::v3::custom_etag(catalog, path) {
        // Built on request and not kept: there may be ten thousand of them.
        return Some((openapi::v3::document(catalog, path, gates)?, tag));
    }
    if !path.is_empty() {
        return kept.get_or_make(&format!("{key}/{path}"), || openapi::v3::document(catalog, path, gates));
    }
    let own = kept.get_or_make(key, || Some(documents.index(key, gates)))?;
    let with_aggregated = api.documents.with_aggregated(api);
    match with_aggregated.openapi_v3(api) {
        [] => Some(own),
        others => with_aggregated.documents().get_or_make(key, || openapi::v3::index_with(&own.0, others)),
    }
}

/// The same document in protobuf, with the ETag of its JSON.
fn openapi_v3_protobuf(api: &Api, rules: bool, path: &str, json: &[u8]) -> Vec<u8> {
    let key = if rules { "v3.pb+rules" } else { "v3.pb" };
    let made = api.documents.current().documents.get_or_make(&format!("{key}/{path}"), || openapi::v3::protobuf(json));
    made.map_or_else(Vec::new, |(bytes, _)| bytes)
}

fn openapi_v3_index(api: &Api, request: &Request, query: &Query) -> Result<ApiResponse> {
    let Some((bytes, tag)) = openapi_v3_json(api, shows_rules(query), "") else { return Err(Status::no_such_path()) };
    // Not declared as JSON, as in kube-apiserver.
    Ok(file(request, bytes.into(), "text/plain; charset=utf-8", &tag))
}

fn openapi_v3(api: &Api, request: &Request, query: &Query, path: &str) -> Result<ApiResponse> {
    let rules = shows_rules(query);
    let is_document = !path.is_empty() && !path.ends_with('/');
    let Some((json, tag)) = is_document.then(|| openapi_v3_json(api, rules, path)).flatten() else {
        return Ok(ApiResponse::new(404, "", Bytes::new()));
    };
    let protobuf = |json: &[u8]| openapi_v3_protobuf(api, rules, path, json);
    Ok(openapi_v3_document(request, query, path, json, &tag, protobuf))
}

/// The response with a document of version 3, in the form that the client wants.
pub fn openapi_v3_document(
    request: &Request,
    query: &Query,
    path: &str,
    json: Vec<u8>,
    tag: &str,
    protobuf: impl FnOnce(&[u8]) -> Vec<u8>,
) -> ApiResponse {
    let Some((content_type, is_protobuf)) = openapi_form(request, openapi::v3::PROTOBUF_MEDIA_TYPE) else {
        return none_acceptable();
    };
    let hash = query.get("hash");
    let mut answer = if !hash.is_empty() && hash != tag {
        let mut answer = ApiResponse::new(301, content_type, Bytes::new());
        let asked = if shows_rules(query) { "&rules=true" } else { "" };
        answer.headers.push(("location", format!("/openapi/v3/{path}?hash={tag}{asked}")));
        answer.headers.push(("etag", format!("{tag:?}")));
        answer
    } else {
        let bytes = if is_protobuf { protobuf(&json) } else { json };
        file(request, bytes.into(), content_type, tag)
    };
    if hash == tag {
        // The address names the content, so it may be kept for ever.
        answer.headers.push(("cache-control", "public, immutable".into()));
        answer.headers.push(("expires", in_a_year()));
    }
    answer.headers.push(("vary", "Accept".into()));
    answer
}

/// The form in which a client wants an OpenAPI document: its media type, and whether it is protobuf.
fn openapi_form(request: &Request, protobuf: &'static str) -> Option<(&'static str, bool)> {
    // The media type of old had an at sign, which is none.
    let old = protobuf.replacen(".v1.0", "@v1.0", 1);
    let at = preferred(request.header(ACCEPT), &["application/json", protobuf, &old])?;
    Some(if at == 0 { ("application/json", false) } else { (protobuf, true) })
}

fn none_acceptable() -> ApiResponse {
    let mut answer = ApiResponse::new(406, "", Bytes::new());
    answer.headers.push(("vary", "Accept".into()));
    answer
}

fn openapi_v2(api: &Api, request: &Request) -> Result<ApiResponse> {
    let Some((content_type, is_protobuf)) = openapi_form(request, openapi::v2::PROTOBUF_MEDIA_TYPE) else {
        return Ok(none_acceptable());
    };
    let all = api.documents.with_aggregated(api);
    let make = || {
        let (catalog, parts) = (all.own_catalog(), all.openapi_v2(api));
        Some(if is_protobuf { openapi::v2::protobuf(&catalog, &parts) } else { openapi::v2::json(&catalog, &parts) })
    };
    let made = all.documents().get_or_make(if is_protobuf { "v2.pb" } else { "v2" }, make);
    let Some((bytes, tag)) = made else { return Err(Status::no_such_path()) };
    let mut answer = file(request, bytes.into(), content_type, &tag);
    answer.headers.push(("vary", "Accept".into()));
    Ok(answer)
}

/// Discovery, which a client has if it names this one tag.
fn with_etag(request: &Request, bytes: Bytes, content_type: &str, tag: &str) -> ApiResponse {
    let quoted = format!("{tag:?}");
    let code = if request.header(IF_NONE_MATCH) == quoted { 304 } else { 200 };
    tagged(code, bytes, content_type, quoted)
}

/// A file, with the conditions on its tag that HTTP defines.
fn file(request: &Request, bytes: Bytes, content_type: &str, tag: &str) -> ApiResponse {
    let quoted = format!("{tag:?}");
    let is_named = |tags: &str| tags.split(',').map(str::trim).any(|named| named == "*" || named == quoted);
    let wanted = request.header(IF_MATCH);
    let code = match is_named(&request.header(IF_NONE_MATCH).replace("W/", "")) {
        _ if !wanted.is_empty() && !is_named(wanted) => 412,
        true => 304,
        false => 200,
    };
    tagged(code, bytes, content_type, quoted)
}

fn tagged(code: u16, bytes: Bytes, content_type: &str, etag: String) -> ApiResponse {
    let mut answer = match code {
        304 => ApiResponse::new(304, "", Bytes::new()),
        412 => ApiResponse::new(412, content_type, Bytes::new()),
        code => ApiResponse::new(code, content_type, bytes),
    };
    answer.headers.push(("etag", etag));
    answer
}

/// In a year, as Go writes it.
fn in_a_year() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let time = Time::from_seconds(i64::try_from(since.as_secs()).unwrap_or_default() + 365 * 86_400);
    let ((day, month), at) = (zpages::day_and_month(time), time.civil());
    format!("{day}, {:02} {month} {:04} {:02}:{:02}:{:02} UTC", at.day, at.year, at.hour, at.minute, at.second)
}
