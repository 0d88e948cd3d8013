//! The resource and verb of a request, parsed from its method and path.
//!
//! The forms are those of kube-apiserver's RequestInfo: `/api/v1/...` and `/apis/<group>/<version>/...` name resources,
//! everything else is a path. Parsing never fails; an unknown resource is found at look-up.

use crate::query::Query;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::{self, StreamExt};
use http::{HeaderMap, Method};
use pintle_auth::CertCache;
use pintle_proxy::backend::ByteStream;
pub use pintle_registry::ResourcePath;
use pintle_registry::resource_path::NAMESPACES;
use rustls_pki_types::CertificateDer;
use std::sync::Arc;

/// Why a body could not be received.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BodyFailure {
    TooLarge,
    /// It came more slowly than is waited for.
    TooSlow,
    /// The bodies of its user, its connection, or everybody use too much memory.
    NoRoom,
    /// The connection broke or the body was malformed.
    Broken,
}

/// Called with the size of every chunk of a body; returns whether there is room for it.
pub type Room = Box<dyn FnMut(usize) -> bool + Send>;

/// A request body that has not been read yet.
pub trait UnreadBody: Send {
    /// Reads it to its end, up to the limit of bodies, at no less than their least rate, and as long as there is room.
    fn whole(self: Box<Self>, room: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>>;

    /// Its chunks as they arrive, without a limit, for proxies.
    fn pieces(self: Box<Self>) -> ByteStream;

    /// Whether it is known to be empty.
    fn is_empty(&self) -> bool;
}

/// A body that is read on demand, and not at all when the request is rejected first.
pub type LazyBody = Box<dyn UnreadBody>;

/// A request, independent of the connection it came over.
pub struct Request {
    pub method: Method,
    /// Percent-encoded at first; `serve` decodes it.
    pub path: String,
    pub query: String,
    pub headers: HeaderMap,
    pub body: LazyBody,
    /// The client's certificate chain, leaf first; it proved to own the leaf.
    pub client_certs: Vec<CertificateDer<'static>>,
    pub cert_cache: Option<Arc<CertCache>>,
    pub peer: Option<std::net::IpAddr>,
    pub over_http2: bool,
    /// The client is not authenticated; known once authentication was tried.
    pub is_unauthenticated: bool,
}

/// What is left where a request was taken away.
impl Default for Request {
    fn default() -> Self {
        Request {
            method: Method::default(),
            path: String::new(),
            query: String::new(),
            headers: HeaderMap::new(),
            body: Box::new(NoBody),
            client_certs: Vec::new(),
            cert_cache: None,
            peer: None,
            over_http2: false,
            is_unauthenticated: false,
        }
    }
}

/// The body of a request that was taken away.
struct NoBody;

impl UnreadBody for NoBody {
    fn whole(self: Box<Self>, _: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        ready(Err(BodyFailure::Broken)).boxed()
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        stream::empty().boxed()
    }

    fn is_empty(&self) -> bool {
        true
    }
}

impl Request {
    /// The path and the query: as sent, as long as the path is not decoded.
    pub fn uri(&self) -> String {
        let query = if self.query.is_empty() { "" } else { "?" };
        format!("{}{query}{}", self.path, self.query)
    }

    pub fn header(&self, name: http::header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }
}

/// Reads a path; `None` when it names no resource. Slashes around it do not count; a segment within it may be empty.
pub fn parse_path(path: &str) -> Option<ResourcePath> {
    let trimmed = path.trim_matches('/');
    let mut segments = trimmed.split('/');
    let mut found = ResourcePath { outside_apis: path.starts_with("//"), ..ResourcePath::default() };
    match segments.next()? {
        "api" => {}
        "apis" => {
            found.group = segments.next()?.to_owned();
            found.outside_apis |= found.group.is_empty();
        }
        _ => return None,
    }
    found.version = segments.next()?.to_owned();
    let mut rest: Vec<&str> = segments.collect();
    if rest.len() > 1 {
        found.legacy_watch = rest[0] == "watch";
        found.legacy_proxy = rest[0] == "proxy";
    }
    if found.legacy_watch || found.legacy_proxy {
        rest.remove(0);
    }
    if rest.first()? == &NAMESPACES && rest.len() > 1 {
        found.namespace = rest[1].to_owned();
        // namespaces/<name>[/status|finalize] is the namespace itself.
        if rest.len() > 2 && !matches!(rest[2], "status" | "finalize") {
            rest.drain(..2);
            found.within_namespace = true;
            found.malformed = rest[0] == NAMESPACES;
        } else if rest.len() > 3 {
            found.malformed = true;
        }
    }
    found.resource = rest[0].to_owned();
    found.name = rest.get(1).map(|name| (*name).to_owned()).unwrap_or_default();
    // What follows the object of a legacy proxy is a path there.
    let subresource = if found.legacy_proxy { None } else { rest.get(2) };
    found.subresource = subresource.map(|name| (*name).to_owned()).unwrap_or_default();
    if rest.len() > 3 {
        found.rest = rest[3..].join("/");
    }
    Some(found)
}

/// The verb of a request, as used by authorization, metrics and audit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    List,
    Watch,
    Create,
    Update,
    Patch,
    Delete,
    DeleteCollection,
    /// Of the legacy paths of proxies.
    Proxy,
    /// Any other method.
    Other,
}

impl Verb {
    /// The verb of a request for a resource.
    pub fn of(method: &Method, path: &ResourcePath, query: &Query) -> Self {
        match (method.as_str(), path.name.is_empty()) {
            _ if path.legacy_watch => Verb::Watch,
            _ if path.legacy_proxy => Verb::Proxy,
            ("POST", _) => Verb::Create,
            ("GET" | "HEAD", true) if query.flag("watch") => Verb::Watch,
            ("GET" | "HEAD", true) => Verb::List,
            ("GET" | "HEAD", false) => Verb::Get,
            ("PUT", _) => Verb::Update,
            ("PATCH", _) => Verb::Patch,
            ("DELETE", true) => Verb::DeleteCollection,
            ("DELETE", false) => Verb::Delete,
            _ => Verb::Other,
        }
    }

    /// As rules of authorization name it.
    pub fn name(self) -> &'static str {
        match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Proxy => "proxy",
            Verb::Other => "",
        }
    }

    /// Whether it changes nothing.
    pub fn reads(self) -> bool {
        matches!(self, Verb::Get | Verb::List | Verb::Watch)
    }
}

/// The verb of a request for a path that names no resource.
pub(crate) fn method_name(method: &Method) -> &'static str {
    match method.as_str() {
        "GET" => "get",
        "HEAD" => "head",
        "POST" => "post",
        "PUT" => "put",
        "PATCH" => "patch",
        "DELETE" => "delete",
        "OPTIONS" => "options",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_segments_are_names_like_others() {
        let rows = [
            ("/api/v1/namespaces/a/pods//log", "a", "pods", "", "log"),
            ("/api/v1/namespaces//pods/b", "", "pods", "b", ""),
            ("/api/v1/namespaces//status", "", "namespaces", "", "status"),
            ("/api/v1/namespaces/a//b", "a", "", "b", ""),
            ("/api/v1//pods", "", "", "pods", ""),
            ("/api//v1", "", "v1", "", ""),
            ("//api/v1/pods//", "", "pods", "", ""),
            ("/apis//v1/x/y", "", "x", "y", ""),
            ("/api/v1/proxy//x", "", "", "x", ""),
            ("/api/v1/proxy/namespaces/a/pods/b/c", "a", "pods", "b", ""),
            ("/api/v1/namespaces//watch", "", "watch", "", ""),
        ];
        for (path, namespace, resource, name, subresource) in rows {
            let found = parse_path(path).unwrap_or_else(|| panic!("{path} names a resource"));
            assert_eq!(
                (&*found.namespace, &*found.resource, &*found.name, &*found.subresource),
                (namespace, resource, name, subresource),
                "{path}"
            );
            let outside = path.starts_with("//") || path.starts_with("/apis//");
            assert_eq!((found.outside_apis, found.is_prefix_alone()), (outside, false), "{path}");
            assert_eq!(found.within_namespace, path.contains("/namespaces/") && resource != NAMESPACES, "{path}");
        }
    }

    #[test]
    fn paths_name_resources_as_the_reference_reads_them() {
        let rows = [
            ("/api/v1/pods", "", "pods", "", ""),
            ("/api/v1/namespaces/a/pods/b/status", "a", "pods", "b", "status"),
            ("/api/v1/namespaces/a", "a", "namespaces", "a", ""),
            ("/api/v1/namespaces/a/finalize", "a", "namespaces", "a", "finalize"),
            ("/api/v1/namespaces", "", "namespaces", "", ""),
            ("/apis/apps/v1/namespaces/a/deployments/", "a", "deployments", "", ""),
            ("/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", "", "clusterroles", "system:node", ""),
        ];
        for (path, namespace, resource, name, subresource) in rows {
            let found = parse_path(path).unwrap_or_else(|| panic!("{path} names a resource"));
            assert_eq!(
                (&*found.namespace, &*found.resource, &*found.name, &*found.subresource, found.malformed),
                (namespace, resource, name, subresource, false),
                "{path}"
            );
        }
        for path in ["/", "//", "/api", "/api/v1", "/api/v1//", "/apis/apps", "/apis/apps/v1", "/apis//v1", "/healthz"]
        {
            assert_eq!(parse_path(path), None, "{path}");
        }
        for (path, alone) in [("/api/v1/watch", true), ("/apis/apps/v1/proxy/", true), ("/api/v1/watch/pods", false)] {
            assert_eq!(parse_path(path).is_some_and(|found| found.is_prefix_alone()), alone, "{path}");
        }
        assert!(parse_path("/api/v1/namespaces/a/namespaces/b").is_some_and(|found| found.malformed));
        assert!(parse_path("/api/v1/watch/pods").is_some_and(|found| found.legacy_watch && found.resource == "pods"));
    }
}
