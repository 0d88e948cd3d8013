//! Documents that describe the server: discovery, OpenAPI, version.
//!
//! Large ones are built when first requested: aggregated discovery, kept encoded, and OpenAPI documents, kept
//! compressed. They have an ETag, so that clients can get 304.

mod aggregated;
mod cache;
mod dates;
mod files;
mod openapi;
mod paths;
mod set;
mod zpages;

pub use aggregated::AggregatedDiscovery;
pub use cache::DiscoveryCache;
pub use openapi::openapi_v3_document;

use crate::Api;
use crate::encoding::{
    self, AllowedMediaTypes, Format, GENERAL, MediaTypeOptions, find_path, negotiate, negotiate_aggregated,
};
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use bytes::Bytes;
use files::with_etag;
use http::Method;
use http::header::{ACCEPT, USER_AGENT};
use paths::listed_paths;
use pintle_discovery::{Document, PublishedPath, discovery};
use pintle_registry::{Result, Status};
use set::encode;

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
        Some(("", _)) => return openapi::v3_index(api, request, query),
        Some(("/", path)) => return openapi::v3(api, request, query, path),
        _ if request.path == "/openapi/v2" => return openapi::v2(api, request),
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

fn aggregated_response(request: &Request, bytes: Bytes, tag: String, format: Format) -> ApiResponse {
    let content_type = format!("{};g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", format.content_type());
    let mut answer = with_etag(request, bytes, &content_type, &tag);
    answer.headers.push(("vary", "Accept".into()));
    answer.headers.push(("cache-control", "public".into()));
    answer
}

fn root(api: &Api) -> ApiResponse {
    let value = pintle_schema::value!({ "paths": (listed_paths(api)) });
    let schema = <pintle_meta::meta::v1::RootPaths as pintle_schema::ApiType>::schema();
    // It is written as it is, whatever the client accepts.
    let wanted = MediaTypeOptions { pretty: true, ..MediaTypeOptions::JSON };
    ApiResponse::new(200, "application/json", encoding::encode(&value, schema, wanted))
}
