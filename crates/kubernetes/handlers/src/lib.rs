//! The handlers of the built-in groups: bindings, evictions, tokens for service accounts, reviews, and component
//! statuses.
//!
//! They use the handler interface of the generic API server, as those of any other group. Must never be called for a
//! request that is not authorized.

mod binding;
mod component;
mod eviction;
pub mod known_kinds;
mod review;
mod token;

pub use known_kinds::KubernetesKinds;

use pintle_endpoints::handler::{Handler, Handlers};
use pintle_kubernetes_auth::service_account::ServiceAccountTokens;
use pintle_registry::{Result, Status, metadata};
use pintle_schema::Value;
use std::sync::Arc;

const PODS: [&str; 3] = ["", "v1", "pods"];

/// Registers the handlers of the built-in groups, but for connections to nodes, pods and services.
pub fn install(handlers: &Handlers, tokens: Arc<ServiceAccountTokens>) {
    let reviews: Arc<dyn Handler> = Arc::new(review::Reviews);
    handlers.register("", "pods", "binding", Arc::new(binding::PodBinding));
    handlers.register("", "pods", "eviction", Arc::new(eviction::Eviction));
    handlers.register("", "bindings", "", Arc::new(binding::Bindings));
    handlers.register("", "componentstatuses", "", Arc::new(component::ComponentStatuses));
    handlers.register("", "serviceaccounts", "token", Arc::new(token::TokenRequests(tokens)));
    for resource in ["selfsubjectreviews", "tokenreviews"] {
        handlers.register("authentication.k8s.io", resource, "", reviews.clone());
    }
    for resource in
        ["localsubjectaccessreviews", "selfsubjectaccessreviews", "selfsubjectrulesreviews", "subjectaccessreviews"]
    {
        handlers.register("authorization.k8s.io", resource, "", reviews.clone());
    }
}

/// Sets the namespace of a posted object to that of its path.
fn in_namespace(object: &mut Value, namespace: &str) -> Result<()> {
    let stated = metadata::text(object, "namespace");
    if !stated.is_empty() && stated != namespace {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(Status::bad_request(why));
    }
    metadata::set(object, "namespace", namespace);
    Ok(())
}
