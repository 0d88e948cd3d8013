//! The paths of a resource and the methods of each.
//!
//! An unknown path is reported before an unsupported method.

use crate::context::Context;
use crate::request::{ResourcePath, Verb};
use http::Method;
use pintle_registry::create::WITHOUT_NAMESPACE;
use pintle_registry::{Details, Result, Status};
use pintle_resource::{Resource, Verbs};

/// The verbs of a collection, as far as its resource supports them.
const COLLECTION_VERBS: Verbs = Verbs::LIST.and(Verbs::CREATE).and(Verbs::DELETECOLLECTION);
/// The verbs of an object.
const OBJECT_VERBS: Verbs = Verbs::GET.and(Verbs::UPDATE).and(Verbs::PATCH).and(Verbs::DELETE);

/// That a resource has such a path, and takes such a method there.
///
/// # Errors
/// 404 where it has no such path, 405 for a method that the path does not take.
pub fn check(resource: &Resource, path: &ResourcePath, method: &Method) -> Result<()> {
    verb(resource, path, method).map(drop)
}

fn verb(resource: &Resource, path: &ResourcePath, method: &Method) -> Result<Verbs> {
    let is_custom = resource.custom.is_some();
    if is_custom && path.legacy_proxy && resource.namespaced == path.is_within_namespace() {
        return Err(not_allowed(resource, path, method));
    }
    let verbs = path_verbs(resource, path).ok_or_else(Status::no_such_path)?;
    let is_collection = path.name.is_empty() && path.subresource.is_empty();
    // The legacy path of a watch of custom resources is one whatever the method is.
    let reads = method == Method::GET || is_custom && (method == Method::HEAD || path.legacy_watch);
    if is_custom && !reads {
        // kube-apiserver has no router for these: it looks at the scope first, and lets the verb ask for the name.
        if resource.namespaced && path.namespace.is_empty() {
            return Err(Status::no_such_path());
        }
        if is_collection && (method == Method::PUT || method == Method::PATCH) {
            return Err(Status::bad_request("name must be provided"));
        }
    }
    let changes_object = method == Method::PUT || method == Method::PATCH;
    if is_custom && is_nameless_part(path) && !changes_object {
        return Err(not_allowed(resource, path, method));
    }
    let verb = match method.as_str() {
        _ if reads && path.legacy_watch => Verbs::WATCH,
        _ if reads && is_collection => Verbs::LIST,
        _ if reads => Verbs::GET,
        // A proxy forwards any method.
        "HEAD" | "OPTIONS" if !is_custom && verbs == Verbs::PROXY => Verbs::GET,
        "POST" => Verbs::CREATE,
        "PUT" => Verbs::UPDATE,
        "PATCH" => Verbs::PATCH,
        "DELETE" if is_collection => Verbs::DELETECOLLECTION,
        "DELETE" => Verbs::DELETE,
        _ => return Err(not_allowed(resource, path, method)),
    };
    if verbs.contains(verb) { Ok(verb) } else { Err(not_allowed(resource, path, method)) }
}

/// Whether a path names a subresource of an object without a name, which kube-apiserver takes for one of the collection.
fn is_nameless_part(path: &ResourcePath) -> bool {
    path.name.is_empty() && !path.subresource.is_empty()
}

/// The 405 for a method that a path does not take. That of a custom resource names the verb, if the method has one.
fn not_allowed(resource: &Resource, path: &ResourcePath, method: &Method) -> Status {
    if resource.custom.is_none() {
        return Status::method_not_allowed();
    }
    let verb = match method.as_str() {
        _ if path.legacy_proxy => "proxy",
        "GET" | "HEAD" if is_nameless_part(path) => "list",
        "DELETE" if is_nameless_part(path) => "deletecollection",
        "POST" => "create",
        "PUT" => "update",
        "PATCH" => "patch",
        "DELETE" => "delete",
        _ => "",
    };
    let (group, kind) = (resource.group.to_string(), resource.plural.to_string());
    let message = format!("{verb} is not supported on resources of kind \"{kind}.{group}\"");
    Status::new(405, "MethodNotAllowed", message).with_details(Details { group, kind, ..Details::default() })
}

/// The verbs of a path; `None` where there is no such path.
fn path_verbs(resource: &Resource, path: &ResourcePath) -> Option<Verbs> {
    let is_collection = path.name.is_empty() && path.subresource.is_empty();
    // Routes of built-in resources go through a namespace, whatever its name; custom resources have none.
    let is_within = if resource.custom.is_some() { path.is_within_namespace() } else { path.within_namespace };
    let is_everywhere = resource.namespaced && !is_within;
    if path.legacy_proxy || !resource.namespaced && is_within || is_everywhere && !is_collection {
        return None;
    }
    if path.legacy_watch {
        let watches = if is_collection { Verbs::LIST } else { Verbs::GET }.and(Verbs::WATCH);
        return (path.subresource.is_empty() && resource.verbs.contains(watches)).then_some(Verbs::WATCH);
    }
    let verbs = match path.subresource.as_str() {
        "" if is_everywhere => resource.verbs.within(Verbs::LIST),
        "" if is_collection => resource.verbs.within(COLLECTION_VERBS),
        // A client that creates an object may name it in the path.
        "" if resource.custom.is_some() => resource.verbs.within(OBJECT_VERBS.and(Verbs::CREATE)),
        "" => resource.verbs.within(OBJECT_VERBS),
        name => {
            let verbs = resource.subresource(name)?.verbs;
            // Of a path of a custom resource, kube-apiserver reads no more than the subresource.
            let is_read = path.rest.is_empty() || verbs == Verbs::PROXY || resource.custom.is_some();
            if is_read { verbs } else { Verbs::NONE }
        }
    };
    (verbs != Verbs::NONE).then_some(verbs)
}

/// Rejects requests for a subresource of an object without a name, or for an object of a namespace without one.
pub(crate) fn check_named(context: &Context, resource: &Resource, path: &ResourcePath, verb: Verb) -> Result<()> {
    let is_nameless = path.name.is_empty() && !path.subresource.is_empty();
    let is_in_nameless = resource.namespaced && path.within_namespace && path.namespace.is_empty();
    let why = match verb {
        _ if is_nameless => "name must be provided",
        Verb::List | Verb::Watch => return Ok(()),
        // The body is looked at first.
        Verb::Create | Verb::Update if path.subresource.is_empty() && resource.storage.is_some() => return Ok(()),
        _ if is_in_nameless => WITHOUT_NAMESPACE,
        _ => return Ok(()),
    };
    if verb == Verb::Patch {
        context.patch_type(resource)?;
    }
    Err(Status::bad_request(why))
}

/// Rejects watches of collections that support only lists.
pub(crate) fn check_watchable(resource: &Resource, verb: Verb) -> Result<()> {
    if verb != Verb::Watch || resource.verbs.contains(Verbs::WATCH) {
        return Ok(());
    }
    let message = format!("watch is not supported on resources of kind {:?}", resource.plural);
    let details =
        Details { kind: resource.plural.to_string(), group: resource.group.to_string(), ..Details::default() };
    Err(Status::new(405, "MethodNotAllowed", message).with_details(details))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::parse_path;

    fn answer(method: &str, path: &str) -> std::result::Result<Verbs, u16> {
        let path = parse_path(path).expect("a resource's path");
        let resource = pintle_groups::find(&path.group, &path.version, &path.resource).expect("a resource");
        verb(resource, &path, &method.parse().expect("a method")).map_err(|status| status.code)
    }

    #[test]
    fn paths_take_what_is_done_there() {
        let rows = [
            ("GET", "/api/v1/pods", Ok(Verbs::LIST)),
            ("POST", "/api/v1/pods", Err(405)),
            ("DELETE", "/api/v1/pods", Err(405)),
            ("GET", "/api/v1/pods/x", Err(404)),
            ("DELETE", "/api/v1/namespaces/n/pods", Ok(Verbs::DELETECOLLECTION)),
            ("POST", "/api/v1/namespaces/n/pods/x", Err(405)),
            ("HEAD", "/api/v1/namespaces/n/pods/x", Err(405)),
            ("POST", "/api/v1/bindings", Err(404)),
            ("GET", "/api/v1/namespaces/n/bindings", Err(405)),
            ("POST", "/api/v1/namespaces/n/bindings/x", Err(404)),
            ("PATCH", "/api/v1/namespaces/n", Ok(Verbs::PATCH)),
            ("DELETE", "/api/v1/namespaces", Err(405)),
            ("PUT", "/api/v1/namespaces/n/finalize", Ok(Verbs::UPDATE)),
            ("GET", "/api/v1/namespaces/n/finalize", Err(405)),
            ("GET", "/api/v1/namespaces/n/nodes", Err(404)),
            ("POST", "/api/v1/namespaces/n/nodes", Err(404)),
            ("DELETE", "/api/v1/namespaces/n/persistentvolumes/x", Err(404)),
            ("PUT", "/apis/rbac.authorization.k8s.io/v1/namespaces/n/clusterroles/x", Err(404)),
            ("GET", "/api/v1/namespaces//pods", Ok(Verbs::LIST)),
            ("GET", "/api/v1/namespaces//pods/x", Ok(Verbs::GET)),
            ("GET", "/api/v1/namespaces//nodes", Err(404)),
            ("GET", "/api/v1/pods//log", Err(404)),
            ("GET", "/api/v1/namespaces/n/pods//log", Ok(Verbs::GET)),
            ("PUT", "/api/v1/namespaces//status", Ok(Verbs::UPDATE)),
            ("DELETE", "/api/v1/namespaces/n/pods//status", Err(405)),
            ("GET", "/api/v1/namespaces/n/pods//x", Err(404)),
            ("GET", "/api/v1/proxy/nodes/x", Err(404)),
        ];
        for (method, path, expected) in rows {
            assert_eq!(answer(method, path), expected, "{method} {path}");
        }
    }

    #[test]
    fn only_proxies_have_paths_below_them() {
        for method in ["GET", "PUT", "PATCH", "POST", "DELETE", "HEAD", "OPTIONS"] {
            assert_eq!(answer(method, "/api/v1/namespaces/n/pods/x/status/y"), Err(404), "{method}");
            assert!(answer(method, "/api/v1/namespaces/n/pods/x/proxy/y").is_ok(), "{method}");
        }
        assert_eq!(answer("TRACE", "/api/v1/nodes/x/proxy"), Err(405));
    }

    #[test]
    fn the_legacy_paths_of_watches_do_nothing_else() {
        for path in ["pods", "namespaces/n/pods", "namespaces/n/pods/x", "nodes/x", "namespaces/n"] {
            let path = format!("/api/v1/watch/{path}");
            assert_eq!(answer("GET", &path), Ok(Verbs::WATCH), "{path}");
            for method in ["PUT", "PATCH", "POST", "DELETE", "HEAD"] {
                assert_eq!(answer(method, &path), Err(405), "{method} {path}");
            }
        }
        for path in ["pods/x", "namespaces/n/pods/x/status", "namespaces/n/nodes", "componentstatuses", "bindings"] {
            assert_eq!(answer("GET", &format!("/api/v1/watch/{path}")), Err(404), "{path}");
        }
    }
}
