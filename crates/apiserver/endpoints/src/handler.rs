//! Handlers of requests that the registry does not serve, and the table that holds them.
//!
//! A handler belongs to a subresource (`pods/eviction`, `pods/exec`) or to a resource that stores nothing (`tokenreviews`).
//! Guarantees that a request is authenticated, has its slot and is authorized before its handler is called, and that its path
//! supports its method. Must never know a group: handlers are registered where a group is installed.

use crate::connection;
use crate::context::Context;
use crate::query::Query;
use crate::request::{Request, ResourcePath, Verb};
use crate::response::ApiResponse;
use arc_swap::ArcSwap;
use futures_util::future::BoxFuture;
use pintle_registry::{Result, Status, Target};
use pintle_resource::{Resource, Subresource};
use std::collections::HashMap;
use std::sync::Arc;

/// A request for a handler.
#[derive(Clone, Copy)]
pub struct Call<'a> {
    pub context: &'a Context,
    pub resource: &'a Arc<Resource>,
    pub path: &'a ResourcePath,
    pub verb: Verb,
    /// The options of a connection as admission leaves them; `None` if they are those of the query and the path.
    pub admitted: Option<&'a Query>,
}

impl<'a> Call<'a> {
    /// The query, or the options of a connection as admission leaves them.
    pub fn options(&self) -> &'a Query {
        self.admitted.unwrap_or(&self.context.query)
    }

    /// The subresource that the path names.
    ///
    /// # Errors
    /// The resource has none of that name.
    pub fn subresource(&self) -> Result<&'a Subresource> {
        self.resource.subresource(&self.path.subresource).ok_or_else(Status::no_such_path)
    }

    /// The object that the path names.
    ///
    /// # Errors
    /// The resource stores nothing.
    pub fn target(&self) -> Result<Target> {
        let namespace = if self.resource.namespaced { self.path.namespace.as_str() } else { "" };
        let target = self.context.api.registry.target(self.resource, namespace, &self.path.name);
        target.ok_or_else(Status::no_such_path)
    }
}

/// Serves requests for a subresource, or for a resource that stores nothing.
pub trait Handler: Send + Sync {
    /// The response to a request. An error is encoded in the form that the client accepts.
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>>;
}

/// By group, resource and subresource, which is "" for a resource that stores nothing.
type Table = HashMap<[String; 3], Arc<dyn Handler>>;

/// The handlers of a server. Registering and removing takes effect with the next request.
#[derive(Default)]
pub struct Handlers(ArcSwap<Table>);

impl Handlers {
    /// Registers a handler for all versions of a resource, in place of one that may be there.
    pub fn register(&self, group: &str, resource: &str, subresource: &str, handler: Arc<dyn Handler>) {
        let key = [group, resource, subresource].map(str::to_owned);
        self.0.rcu(|table| {
            let mut table = Table::clone(table);
            table.insert(key.clone(), handler.clone());
            table
        });
    }

    /// Removes the handlers of a resource and its subresources.
    pub fn remove(&self, group: &str, resource: &str) {
        self.0.rcu(|table| {
            let mut table = Table::clone(table);
            table
                .retain(|[of_group, of_resource, _], _| (of_group.as_str(), of_resource.as_str()) != (group, resource));
            table
        });
    }

    /// The handler of a request; `None` when none is registered.
    pub fn find(&self, resource: &Resource, subresource: &str) -> Option<Arc<dyn Handler>> {
        let key = [resource.group.as_str(), resource.plural.as_str(), subresource].map(str::to_owned);
        self.0.load().get(&key).cloned()
    }
}

/// Serves a request by its handler.
///
/// # Errors
/// There is no handler, or it rejects the request.
pub(crate) async fn serve(call: Call<'_>, request: Request) -> Result<ApiResponse> {
    let handler = call.context.api.handlers.find(call.resource, &call.path.subresource);
    let admitted = connection::admit(call.context, call.resource, call.path, request.path.ends_with('/')).await?;
    let call = Call { admitted: admitted.as_ref(), ..call };
    handler.ok_or_else(Status::method_not_allowed)?.handle(call, request).await
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::FutureExt;

    struct Teapot;

    impl Handler for Teapot {
        fn handle<'a>(&'a self, _: Call<'a>, _: Request) -> BoxFuture<'a, Result<ApiResponse>> {
            async { Ok(ApiResponse::text(418, "")) }.boxed()
        }
    }

    #[test]
    fn handlers_come_and_go_with_their_resource() {
        let handlers = Handlers::default();
        let pods = pintle_groups::find("", "v1", "pods").unwrap();
        handlers.register("", "pods", "brew", Arc::new(Teapot));
        handlers.register("", "pods", "pour", Arc::new(Teapot));
        handlers.register("", "nodes", "brew", Arc::new(Teapot));
        assert!(handlers.find(pods, "brew").is_some() && handlers.find(pods, "pour").is_some());
        assert!(handlers.find(pods, "").is_none());
        handlers.remove("", "pods");
        assert!(handlers.find(pods, "brew").is_none() && handlers.find(pods, "pour").is_none());
        assert!(handlers.find(pintle_groups::find("", "v1", "nodes").unwrap(), "brew").is_some());
    }
}
