//! Addresses of services that webhooks refer to: from a resolver of the embedder, then from the objects in the cache.
//! Guarantees for the latter the route that extension servers are reached by, too. Must never keep a registry alive.

use pintle_registry::Registry;
use pintle_services::routing::{RouteError, Routing, ServicePortReference, route};
use pintle_webhook::{ResolveError, ServiceResolver};
use std::sync::{Arc, OnceLock, Weak};

/// Services of a registry that is opened later.
#[derive(Default)]
pub struct RegistryServices {
    registry: OnceLock<(Weak<Registry>, Routing)>,
    /// Is asked before the registry.
    first: OnceLock<Arc<dyn ServiceResolver>>,
}

impl RegistryServices {
    /// Sets how services are resolved and reached. Only the first call has an effect.
    pub fn set(&self, registry: Weak<Registry>, routing: Routing) {
        let _ = self.registry.set((registry, routing));
    }

    /// Has a resolver asked before the registry. Only the first call has an effect.
    pub fn set_first(&self, resolver: Arc<dyn ServiceResolver>) {
        let _ = self.first.set(resolver);
    }
}

impl ServiceResolver for RegistryServices {
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), ResolveError> {
        if let Some(Ok(found)) = self.first.get().map(|first| first.resolve(namespace, name, port)) {
            return Ok(found);
        }
        let to = ServicePortReference { namespace, name, port: port.into() };
        let registry = self.registry.get().and_then(|(registry, routing)| Some((registry.upgrade()?, *routing)));
        let found = match registry {
            Some((registry, routing)) => route(&registry, routing, to),
            None => Err(RouteError::NotFound(name.to_owned())),
        };
        found.map_err(|error| ResolveError(error.to_string()))
    }
}
