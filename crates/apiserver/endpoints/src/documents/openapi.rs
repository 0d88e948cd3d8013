//! OpenAPI documents, of version 2 and of version 3, with the additions of other servers. Guarantees kube-apiserver's
//! media types and caching headers. Must never publish validation rules unless they are asked for.

use super::dates::in_a_year;
use super::files::file;
use crate::Api;
use crate::encoding::preferred;
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use bytes::Bytes;
use http::header::ACCEPT;
use pintle_discovery::openapi;
use pintle_registry::{Result, Status};

/// Validation rules are published only on request: kube-apiserver's documents do not have them.
fn shows_rules(query: &Query) -> bool {
    query.all("rules").any(|value| value == "true")
}

/// A document of version 3 as JSON, or their index under the empty path, with its ETag.
fn v3_json(api: &Api, rules: bool, path: &str) -> Option<(Vec<u8>, String)> {
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
fn v3_protobuf(api: &Api, rules: bool, path: &str, json: &[u8]) -> Vec<u8> {
    let key = if rules { "v3.pb+rules" } else { "v3.pb" };
    let made = api.documents.current().documents.get_or_make(&format!("{key}/{path}"), || openapi::v3::protobuf(json));
    made.map_or_else(Vec::new, |(bytes, _)| bytes)
}

pub(super) fn v3_index(api: &Api, request: &Request, query: &Query) -> Result<ApiResponse> {
    let Some((bytes, tag)) = v3_json(api, shows_rules(query), "") else { return Err(Status::no_such_path()) };
    // Not declared as JSON, as in kube-apiserver.
    Ok(file(request, bytes.into(), "text/plain; charset=utf-8", &tag))
}

pub(super) fn v3(api: &Api, request: &Request, query: &Query, path: &str) -> Result<ApiResponse> {
    let rules = shows_rules(query);
    let is_document = !path.is_empty() && !path.ends_with('/');
    let Some((json, tag)) = is_document.then(|| v3_json(api, rules, path)).flatten() else {
        return Ok(ApiResponse::new(404, "", Bytes::new()));
    };
    let protobuf = |json: &[u8]| v3_protobuf(api, rules, path, json);
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
    let Some((content_type, is_protobuf)) = form(request, openapi::v3::PROTOBUF_MEDIA_TYPE) else {
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
fn form(request: &Request, protobuf: &'static str) -> Option<(&'static str, bool)> {
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

pub(super) fn v2(api: &Api, request: &Request) -> Result<ApiResponse> {
    let Some((content_type, is_protobuf)) = form(request, openapi::v2::PROTOBUF_MEDIA_TYPE) else {
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
