//! A registry in memory for commands without a server. Guarantees that an object passes the steps of a create on a server:
//! defaults, conversion, strategy, allocation, validation. Must never check what depends on other objects or on a cluster's settings:
//! every address and port of a service can be allocated, and of the admission plugins only those run that need nothing but the object.

use pintle_auth::AuthorizerUnion;
use pintle_cache::Cache;
use pintle_kubernetes_auth::rbac::{Rbac, RbacSnapshot};
use pintle_plugins::configuration::Configuration;
use pintle_registry::{
    AdmissionChain, Environment, Payload, Registry, Status, Target, WriteOptions, prepare::validate_review,
};
use pintle_resource::Resource;
use pintle_schema::version::CURRENT_MINOR;
use pintle_schema::{GateSet, Value, canonicalize};
use pintle_services::Allocators;
use pintle_storage::{MemoryStore, Store};
use std::sync::Arc;
use tokio::runtime::{Builder, Runtime};

/// The plugins that a server has by default and that decide by the object alone.
const PLUGINS: [&str; 5] = [
    "TaintNodesByCondition",
    "DefaultTolerationSeconds",
    "StorageObjectInUseProtection",
    "PodGroupProtection",
    "CertificateSubjectRestriction",
];

/// All addresses of both families.
const RANGES: [&str; 2] = ["0.0.0.0/0", "::/0"];

/// No rule depends on when or where it is asked.
struct Nowhere;

impl Environment for Nowhere {
    fn now_unix(&self) -> i64 {
        0
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(7);
    }

    fn gates(&self) -> &GateSet {
        static GATES: GateSet = GateSet::of_release(CURRENT_MINOR);
        &GATES
    }
}

/// What is wrong with an object: a field, or "", and a message.
pub type Problem = (String, String);

/// The registry, and the runtime for its futures, none of which waits.
pub struct Offline {
    registry: Registry,
    runtime: Runtime,
}

impl Offline {
    /// # Errors
    /// The process has no room for a runtime.
    pub fn new() -> Result<Offline, String> {
        let runtime = Builder::new_current_thread().build().map_err(|error| error.to_string())?;
        let prefixes = pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str()));
        let (cache, store) = (Cache::new(prefixes), Arc::new(MemoryStore::new()));
        store.start(Box::new(cache.writer())).map_err(|error| error.to_string())?;
        let roles = Arc::new(Rbac::new(RbacSnapshot::default()));
        let authorizer = AuthorizerUnion::default();
        let mut chain = pintle_plugins::chain(&authorizer, roles, &[], &[], Configuration::default(), Vec::new());
        chain.plugins.retain(|plugin| PLUGINS.contains(&plugin.name()));
        let admission = AdmissionChain { plugins: chain.plugins, ..AdmissionChain::default() };
        let mut registry = Registry::new(cache, store, Box::new(Nowhere), admission, pintle_groups::resources());
        registry.allocators = vec![Arc::new(Allocators::new(RANGES, 1..=u16::MAX))];
        Ok(Offline { registry, runtime })
    }

    /// Creates a decoded object, but does not keep it.
    ///
    /// # Errors
    /// It is refused, for these reasons.
    pub fn create(&self, resource: &Arc<Resource>, mut object: Value) -> Result<Value, Vec<Problem>> {
        if let Some(why) = resource.strategy.malformed.and_then(|malformed| malformed(&object)) {
            return Err(vec![(String::new(), why)]);
        }
        let namespace = match object.str_at(&["metadata", "namespace"]) {
            _ if !resource.namespaced => "",
            "" => "default",
            namespace => namespace,
        };
        let Some(target) = self.target(resource, namespace, object.str_at(&["metadata", "name"])) else {
            let completed = resource.complete_now(&mut object, 0);
            completed.map_err(|error| vec![(String::new(), error.to_string())])?;
            canonicalize(&resource.schema, &mut object);
            return validate_review(resource, &object, &Nowhere).map(|()| object).map_err(problems);
        };
        let options = WriteOptions { dry_run: true, ..WriteOptions::of_server("pintle") };
        let created = self.runtime.block_on(self.registry.create(&target, object, &options));
        match created.map_err(problems)?.payload {
            Payload::Value(object) => Ok(*object),
            Payload::Stored(stored) => self.registry.decode(&target, &stored).map_err(problems),
        }
    }

    /// Where an object is created; `None` for kinds that are not stored.
    fn target(&self, resource: &Arc<Resource>, namespace: &str, name: &str) -> Option<Target> {
        if resource.custom.is_none() {
            return self.registry.target(resource, namespace, name);
        }
        // Each version of a definition has rules of its own.
        let target = self.registry.posted_target(resource, namespace)?;
        Some(Target { name: name.to_owned(), ..target })
    }
}

fn problems(status: Status) -> Vec<Problem> {
    let causes = status.details.map(|details| details.causes).unwrap_or_default();
    if status.code != 422 || causes.is_empty() {
        return vec![(String::new(), status.message)];
    }
    let problem = |cause: pintle_registry::status::Cause| {
        let text = if cause.field.is_empty() { cause.message } else { format!("{}: {}", cause.field, cause.message) };
        (cause.field, text)
    };
    causes.into_iter().map(problem).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::value;

    fn created(version: &str, kind: &str, object: Value) -> Result<Value, Vec<Problem>> {
        let resource = pintle_groups::all().find(|one| one.api_version() == version && one.kind == kind);
        Offline::new().expect("a registry").create(resource.expect("a kind"), object)
    }

    #[test]
    fn what_a_server_fills_or_clears_is_not_missed() {
        let container = value!({"name": "c", "image": "i"});
        let template = value!({"spec": {"restartPolicy": "Never", "containers": [(container.clone())]}});
        let ports = value!([{"port": 80}]);
        let rows = [
            ("batch/v1", "Job", value!({"spec": {"template": (template.clone())}})),
            (
                "batch/v1",
                "CronJob",
                value!({"spec": {"schedule": "@daily", "jobTemplate": {"spec": {"template": template}}}}),
            ),
            ("v1", "Service", value!({"spec": {"clusterIP": "None"}})),
            (
                "v1",
                "Service",
                value!({"spec": {"clusterIP": "None", "selector": {"a": "b"}, "ports": (ports.clone())}}),
            ),
            ("v1", "Service", value!({"spec": {"clusterIP": "10.96.0.10", "ports": (ports.clone())}})),
            (
                "v1",
                "Service",
                value!({"spec": {"clusterIP": "fd00::10", "ipFamilies": ["IPv6"], "ports": (ports.clone())}}),
            ),
            ("v1", "Service", value!({"spec": {"ipFamilyPolicy": "RequireDualStack", "ports": (ports.clone())}})),
            ("v1", "Service", value!({"spec": {"type": "NodePort", "ports": [{"port": 80, "nodePort": 80}]}})),
            ("v1", "Service", value!({"spec": {"type": "ExternalName", "externalName": "a.example.com"}})),
            (
                "v1",
                "Service",
                value!({"spec": {"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": ports}}),
            ),
            ("v1", "Pod", value!({"spec": {"containers": [(container.clone())]}, "status": {"phase": "Nonsense"}})),
            ("v1", "Namespace", value!({"status": {"phase": "Nonsense"}})),
            (
                "v1",
                "PersistentVolumeClaim",
                value!({
                    "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
                    "status": {"capacity": {"storage": "-1"}}
                }),
            ),
            (
                "authorization.k8s.io/v1",
                "SelfSubjectAccessReview",
                value!({"spec": {"nonResourceAttributes": {"path": "/"}}}),
            ),
        ];
        for (version, kind, mut object) in rows {
            if !kind.ends_with("Review") {
                object.set_at(&["metadata", "name"], "a");
            }
            object.set_at(&["kind"], kind);
            object.set_at(&["apiVersion"], version);
            assert_eq!(created(version, kind, object.clone()).err(), None, "{object:?}");
        }
    }

    #[test]
    fn what_is_wrong_is_told() {
        let service = value!({"metadata": {"name": "a"}, "spec": {"clusterIP": "None", "type": "NodePort", "ports": [{"port": 80}]}});
        let wrong = created("v1", "Service", service).expect_err("a node port without an address");
        let expected = "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services";
        assert_eq!(wrong, [("spec.clusterIPs[0]".to_owned(), expected.to_owned())]);
        let pod = value!({"metadata": {"name": "a"}, "spec": {"containers": []}});
        let wrong = created("v1", "Pod", pod).expect_err("no container");
        assert_eq!(wrong, [("spec.containers".to_owned(), "spec.containers: Required value".to_owned())]);
    }
}
