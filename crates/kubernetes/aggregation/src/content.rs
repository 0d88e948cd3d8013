//! `ExtensionContent`: what extension servers store, for the deletion of namespaces. Guarantees that each request ends in
//! time, reads a bounded response, and is made in the name of the controller. Must never report a version as known whose
//! server has not described it.

use crate::fetch::{FetchError, deletion_of, fetch_from, request_of};
use crate::resolve;
use crate::services::{ApiServices, ExtensionApi};
use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http::{Method, Request};
use pintle_codec::{Strictness, json};
use pintle_controllers::{
    AggregatedClient, AggregatedCollection, AggregatedError, AggregatedResource, AggregatedResources,
};
use pintle_discovery::catalog::compare_versions;
use pintle_gates as gates;
use pintle_proxy::backend::{ByteStream, Unreachable};
use pintle_proxy::forward::encode_path;
use pintle_registry::Registry;
use pintle_schema::{ApiType, ApiValue, Value};
use pintle_types::meta::v1::{ObjectMeta, PartialObjectMetadataList};
use pintle_webhook::StatusError;
use std::collections::HashSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Time for a request: half of the time for a resource, which takes several.
const TIMEOUT: Duration = Duration::from_secs(30);
/// Largest response: the metadata of about ten thousand objects.
const LIMIT: usize = 16 << 20;
const METADATA: &str = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json";
const IN_BACKGROUND: &str = r#"{"kind":"DeleteOptions","apiVersion":"v1","propagationPolicy":"Background"}"#;

/// Sends requests of controllers to extension servers.
#[derive(Clone)]
pub struct ExtensionContent(pub ApiServices);

impl fmt::Debug for ExtensionContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ExtensionContent").finish_non_exhaustive()
    }
}

impl ExtensionContent {
    /// Sends a request for a collection or one of its objects; returns the body of the response.
    async fn send(
        &self,
        of: AggregatedCollection<'_>,
        name: Option<&str>,
        method: Method,
    ) -> Result<Bytes, AggregatedError> {
        let AggregatedResource { group, version, name: plural, .. } = of.resource;
        let snapshot = self.0.0.snapshot(of.registry);
        let api = snapshot.and_then(|snapshot| Some(snapshot.extension(&format!("{version}.{group}"))?.api.clone()));
        let api = api.ok_or(AggregatedError::Unsupported)?;
        let path = format!("{}/namespaces/{}/{plural}", api.path(), of.namespace);
        let path = match name {
            Some(name) => encode_path(&format!("{path}/{name}")),
            None => encode_path(&path),
        };
        let with_uid = of.registry.environment.gates().is_on(&gates::REMOTE_REQUEST_HEADER_UID);
        let request = match method {
            Method::DELETE => deletion_of(&path, IN_BACKGROUND, of.user, with_uid),
            _ => request_of(&path, METADATA, of.user, with_uid),
        };
        self.exchange(of.registry, &api, request, &method).await.map_err(|error| match error.code {
            404 | 405 => AggregatedError::Unsupported,
            _ => AggregatedError::Failed(error.message),
        })
    }

    async fn exchange(
        &self,
        registry: &Registry,
        api: &ExtensionApi,
        request: Result<Request<ByteStream>, Unreachable>,
        method: &Method,
    ) -> Result<Bytes, StatusError> {
        let method = method.as_str();
        let of_code = |code| StatusError::of_code(code, method, "", None);
        if !api.available {
            return Err(of_code(503));
        }
        let shared = &*self.0.0;
        let sent = async {
            let to = resolve::server(registry, shared.routing, api)?;
            let request = request.map_err(FetchError::Unreachable)?;
            fetch_from(&*shared.servers, &to, request, TIMEOUT, LIMIT).await
        };
        let fetched = match sent.await {
            Ok(fetched) => fetched,
            Err(FetchError::TooSlow(_)) => return Err(of_code(504)),
            Err(FetchError::Resolve(_) | FetchError::Unreachable(_) | FetchError::Broken(_)) => {
                return Err(of_code(503));
            }
            Err(error @ (FetchError::TooLarge(_) | FetchError::Refused(_))) => {
                return Err(StatusError { message: error.to_string(), ..of_code(500) });
            }
        };
        match StatusError::of_response(fetched.code, &fetched.headers, method, &fetched.body) {
            Some(error) => Err(error),
            None => Ok(fetched.body),
        }
    }
}

impl AggregatedClient for ExtensionContent {
    fn resources(&self, registry: &Registry) -> AggregatedResources {
        let shared = &self.0.0;
        let mut found = AggregatedResources::default();
        let Some(snapshot) = shared.snapshot(registry) else { return found };
        let mut apis: Vec<&Arc<ExtensionApi>> = snapshot.extensions().map(|entry| &entry.api).collect();
        if apis.is_empty() {
            return found;
        }
        let table = registry.resources.snapshot();
        let own: HashSet<(&str, &str)> =
            table.served().map(|resource| (resource.group.as_str(), resource.version.as_str())).collect();
        apis.retain(|api| !api.group.is_empty() && !own.contains(&(api.group.as_str(), api.version.as_str())));
        // The preferred version of a group is the first.
        apis.sort_by(|a, b| {
            let by_priority = b.version_priority.cmp(&a.version_priority);
            a.group.cmp(&b.group).then(by_priority).then_with(|| compare_versions(&a.version, &b.version))
        });
        let mut known = HashSet::new();
        for api in apis {
            let Some(resources) = shared.documents.resources(&api.name) else {
                found.undiscovered.push(format!("{}/{}", api.group, api.version));
                continue;
            };
            let new = resources.iter().filter_map(|resource| namespaced(api, resource));
            found.namespaced.extend(new.filter(|new| known.insert((new.group.clone(), new.name.clone()))));
        }
        found
    }

    fn delete<'a>(
        &'a self,
        of: AggregatedCollection<'a>,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), AggregatedError>> {
        async move {
            if name.is_some_and(|name| !is_segment(name)) {
                return Err(AggregatedError::Failed("an object has a name that no path can have".to_owned()));
            }
            self.send(of, name, Method::DELETE).await.map(drop)
        }
        .boxed()
    }

    fn list<'a>(&'a self, of: AggregatedCollection<'a>) -> BoxFuture<'a, Result<Vec<ObjectMeta>, AggregatedError>> {
        async move {
            let body = self.send(of, None, Method::GET).await?;
            metadata(&body).ok_or_else(|| {
                let why = "unable to decode returned object as PartialObjectMetadataList";
                AggregatedError::Failed(why.to_owned())
            })
        }
        .boxed()
    }
}

/// A resource in the form of aggregated discovery, if its objects are in namespaces.
fn namespaced(api: &ExtensionApi, resource: &Value) -> Option<AggregatedResource> {
    let name = resource.str_at(&["resource"]);
    let verbs = resource.get("verbs").and_then(Value::as_list).unwrap_or_default();
    (resource.str_at(&["scope"]) == "Namespaced" && is_segment(name)).then(|| AggregatedResource {
        group: api.group.clone(),
        version: api.version.clone(),
        name: name.to_owned(),
        verbs: verbs.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
    })
}

/// Whether a name of another server is one part of a path.
fn is_segment(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '%'])
}

/// The metadata of the objects in a list, whether the server has left out the rest or not.
fn metadata(list: &[u8]) -> Option<Vec<ObjectMeta>> {
    let decoded = json::decode(PartialObjectMetadataList::schema(), list, Strictness::Ignore).ok()?;
    let list = PartialObjectMetadataList::from_value(&decoded.value).ok()?;
    Some(list.items.into_iter().map(|item| item.metadata).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_read_with_and_without_the_content_of_objects() {
        let whole =
            br#"{"kind":"ThingList","apiVersion":"fun.example.com/v1","metadata":{"resourceVersion":"7"},"items":[
            {"metadata":{"name":"a","finalizers":["example.com/hold"]},"spec":{"size":1}},{"metadata":{"name":"b"}}]}"#;
        let found = metadata(whole).expect("a list");
        let names: Vec<_> = found.iter().map(|item| (item.name.as_str(), item.finalizers.len())).collect();
        assert_eq!(names, [("a", 1), ("b", 0)]);
        let empty = br#"{"kind":"PartialObjectMetadataList","apiVersion":"meta.k8s.io/v1","metadata":{},"items":[]}"#;
        assert_eq!(metadata(empty).map(|found| found.len()), Some(0));
        for bad in [&b"no list"[..], &br#"{"items":[{"metadata":{"finalizers":"all"}}]}"#[..]] {
            assert!(metadata(bad).is_none(), "{}", String::from_utf8_lossy(bad));
        }
    }

    #[test]
    fn names_of_other_servers_do_not_change_the_path() {
        let rows = [("things", true), ("a.b:c", true), ("", false), ("..", false), ("a/b", false), ("%2e", false)];
        for (name, expected) in rows {
            assert_eq!(is_segment(name), expected, "{name}");
        }
    }
}
