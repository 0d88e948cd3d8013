//! A cluster for tests: a registry over a store in memory, with the chain as its admission.
//! Guarantees that nothing but the chain changes what tests give it.
//! Must never be used outside tests.

use crate::Chain;
use pintle_auth::authorization::rbac::{Rbac, RbacSnapshot};
use pintle_auth::{Authorizer, Mode};
use pintle_cache::Cache;
use pintle_registry::status::Result;
use pintle_registry::{Admission, AdmissionRequest, AdmitAll, Environment, Registry, Requester, Target, WriteOptions};
use pintle_schema::{Value, canonicalize, value};
use pintle_storage::{MemoryStore, Store};
use std::sync::Arc;

/// Time stands still, random bytes are zero.
struct Still;

impl Environment for Still {
    fn now_unix(&self) -> i64 {
        1_000_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn feature_enabled(&self, _: &str) -> bool {
        true
    }
}

pub struct Cluster {
    registry: Registry,
    chain: Chain,
}

impl Cluster {
    /// An empty cluster with namespace `ns`. Everybody but members of system:masters is forbidden everything.
    pub fn new() -> Self {
        let cache = Cache::new(pintle_kinds::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix)));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        store.start(Box::new(cache.feeder())).expect("an empty store starts");
        let registry = Registry::new(cache, store, Box::new(Still), Box::new(AdmitAll), pintle_kinds::all());
        let roles = Arc::new(Rbac::new(RbacSnapshot::default()));
        Cluster { registry, chain: Chain::new(Authorizer::new(vec![Mode::Rbac], roles)) }
    }

    /// The same with a service account whose token pods do not mount.
    pub async fn with_account(self, name: &str) -> Self {
        let account = value!({"metadata": {"name": name, "namespace": "ns"}, "automountServiceAccountToken": false});
        self.store("", "serviceaccounts", account).await;
        self
    }

    fn target(&self, group: &str, plural: &str, object: &Value) -> Target {
        let resource = pintle_kinds::find(group, "v1", plural).expect("a known resource");
        let namespace = if resource.namespaced { "ns" } else { "" };
        self.registry.target(resource, namespace, object.str_at(&["metadata", "name"])).expect("a stored resource")
    }

    /// Stores an object past the chain.
    pub async fn store(&self, group: &str, plural: &str, object: Value) {
        let target = self.target(group, plural, &object);
        self.registry
            .create_all(vec![(target, object, pintle_registry::WriteOptions::default())])
            .await
            .expect("stored");
    }

    /// What the chain makes of a new object.
    pub async fn create(&self, group: &str, plural: &str, object: Value) -> Result<Value> {
        self.admit((group, plural, ""), None, object, "alice", &mut Vec::new())
    }

    /// What the chain makes of a change by a user; (group, resource, subresource).
    pub fn update(&self, what: (&str, &str, &'static str), old: &Value, object: Value, user: &str) -> Result<Value> {
        self.admit(what, Some(old), object, user, &mut Vec::new())
    }

    /// What the chain warns of when an object is changed.
    pub fn warnings(&self, group: &str, plural: &str, old: &Value, object: Value) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        self.admit((group, plural, ""), Some(old), object, "alice", &mut warnings)?;
        Ok(warnings)
    }

    fn admit(
        &self,
        (group, plural, subresource): (&str, &str, &'static str),
        old: Option<&Value>,
        mut object: Value,
        user: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        let target = self.target(group, plural, &object);
        let groups = if user == "admin" { vec!["system:masters".to_owned()] } else { Vec::new() };
        let requester = Requester { name: user.into(), groups, ..Requester::default() };
        let options = WriteOptions { requester, ..WriteOptions::default() };
        let request = AdmissionRequest {
            registry: &self.registry,
            target: &target,
            subresource,
            old,
            options: &options,
            around: &(),
        };
        self.chain.mutate(&request, &mut object, warnings)?;
        canonicalize((target.storage.schema)(), &mut object);
        self.chain.validate(&request, &object, warnings)?;
        Ok(object)
    }
}
