//! Addresses of services that webhooks refer to, from the objects in the cache.
//! Guarantees kube-apiserver's choice: the cluster address, or the name of a service elsewhere.
//! Must never keep a registry alive.

use pintle_registry::{Registry, Target};
use pintle_schema::{Value, names};
use pintle_webhook::{ResolveError, ServiceResolver};
use std::sync::{OnceLock, Weak};

/// Services of a registry that is opened later.
#[derive(Default)]
pub struct RegistryServices {
    registry: OnceLock<Weak<Registry>>,
}

impl RegistryServices {
    /// Says where services are. Only the first call counts.
    pub fn set(&self, registry: Weak<Registry>) {
        let _ = self.registry.set(registry);
    }

    fn find(&self, namespace: &str, name: &str) -> Option<Value> {
        let registry = self.registry.get()?.upgrade()?;
        let target: Target = registry.target_of(["", "v1", "services"], namespace, name)?;
        let stored = target.cache.get(&target.key())?;
        registry.decode(&target, &stored).ok()
    }
}

impl ServiceResolver for RegistryServices {
    fn resolve(&self, namespace: &str, name: &str, port: u16) -> Result<(String, u16), ResolveError> {
        let not_found = || ResolveError(format!("service {} not found", names::quoted(name)));
        let service = self.find(namespace, name).ok_or_else(not_found)?;
        address(&service, name, port)
    }
}

fn address(service: &Value, name: &str, port: u16) -> Result<(String, u16), ResolveError> {
    let field = |field| service.str_at(&["spec", field]);
    match field("type") {
        "ExternalName" => Ok((field("externalName").to_owned(), port)),
        "ClusterIP" if field("clusterIP") == "None" => {
            Err(ResolveError("cannot route to service with ClusterIP \"None\"".to_owned()))
        }
        "ClusterIP" | "NodePort" | "LoadBalancer" => {
            let ports = service.at(&["spec", "ports"]).and_then(Value::as_list).unwrap_or_default();
            let is_port = |of: &Value| of.get("port").and_then(Value::as_i64) == Some(i64::from(port));
            match ports.iter().any(is_port) {
                true => Ok((field("clusterIP").to_owned(), port)),
                false => {
                    let name = names::quoted(name);
                    Err(ResolveError(format!("no service port {port} found for service {name}")))
                }
            }
        }
        other => Err(ResolveError(format!("unsupported service type {}", names::quoted(other)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    #[test]
    fn addresses() {
        let ports = value!([{"port": 443}]);
        let rows = [
            (value!({"type": "ExternalName", "externalName": "a.example"}), 8443, Ok(("a.example".to_owned(), 8443))),
            (
                value!({"type": "ClusterIP", "clusterIP": "10.0.0.9", "ports": (ports.clone())}),
                443,
                Ok(("10.0.0.9".to_owned(), 443)),
            ),
            (
                value!({"type": "NodePort", "clusterIP": "10.0.0.9", "ports": (ports.clone())}),
                80,
                Err("no service port 80 found for service \"s\""),
            ),
            (
                value!({"type": "ClusterIP", "clusterIP": "None"}),
                443,
                Err("cannot route to service with ClusterIP \"None\""),
            ),
        ];
        for (spec, port, expected) in rows {
            let found = address(&value!({"spec": spec}), "s", port);
            assert_eq!(found, expected.map_err(|text| ResolveError(text.to_owned())));
        }
    }
}
