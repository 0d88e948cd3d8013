//! A cluster for tests: a registry over a store in memory, with the chain as its admission. Guarantees that only the chain
//! changes the objects of tests. Must never be used outside tests.

use crate::configuration::Configuration;
use pintle_auth::{Authorizer, AuthorizerUnion, NamedAuthorizer, UserInfo};
use pintle_cache::Cache;
use pintle_gates as gates;
use pintle_kubernetes_auth::rbac::{
    Binding, PolicyRule, Rbac, RbacAuthorizer, RbacSnapshot, Role, RoleKind, RoleRef, Subject, SubjectKind,
};
use pintle_registry::status::Result;
use pintle_registry::{
    AdmissionChain, AdmissionRequest, Charges, Environment, Operation, Registry, RequestContext, Target, WriteOptions,
};
use pintle_schema::{GateSet, Value, canonicalize, value};
use pintle_storage::{MemoryStore, Store};
use std::pin::pin;
use std::sync::{Arc, LazyLock};
use std::task::{Context, Poll, Waker};

/// A fixed time, and zero as random bytes.
struct Still;

impl Environment for Still {
    fn now_unix(&self) -> i64 {
        1_000_000_000
    }

    fn random(&self, buffer: &mut [u8]) {
        buffer.fill(0);
    }

    fn gates(&self) -> &GateSet {
        static GATES: LazyLock<GateSet> =
            LazyLock::new(|| GateSet::all_but([&gates::ALLOW_INSECURE_KUBELET_CERTIFICATE_SIGNING_REQUESTS]));
        &GATES
    }
}

/// The uid of every object that a cluster stores.
pub const UID: &str = "00000000-0000-4000-8000-000000000000";

/// RBAC alone, with these roles and bindings.
pub fn rbac(snapshot: RbacSnapshot) -> (AuthorizerUnion, Arc<Rbac>) {
    let roles = Arc::new(Rbac::new(snapshot));
    let authorizer: Arc<dyn Authorizer> = Arc::new(RbacAuthorizer(roles.clone()));
    (AuthorizerUnion::new(vec![NamedAuthorizer::new("RBAC", "rbac", authorizer)]), roles)
}

/// One cluster role with these rules, bound to a user.
pub fn bound_to(user: &str, rules: Vec<PolicyRule>) -> RbacSnapshot {
    let (namespace, name) = ("", "own");
    let subject = Subject { kind: SubjectKind::User, name: user.into(), namespace: namespace.into() };
    let role_ref = RoleRef { kind: RoleKind::ClusterRole, name: name.into() };
    let role = Role { namespace: namespace.into(), name: name.into(), rules };
    let binding = Binding { namespace: namespace.into(), name: name.into(), subjects: vec![subject], role_ref };
    RbacSnapshot::build([role], [binding])
}

pub struct Cluster {
    registry: Registry,
    chain: AdmissionChain,
    charges: Charges,
}

impl Cluster {
    /// An empty cluster with namespace `ns`. Only members of system:masters are allowed anything.
    pub fn new() -> Self {
        Cluster::with_plugins(&[])
    }

    /// The same with plugins that are off by default.
    pub fn with_plugins(plugins: &[&str]) -> Self {
        Cluster::configured(plugins, Configuration::default())
    }

    /// The same with settings of plugins.
    pub fn configured(plugins: &[&str], configuration: Configuration) -> Self {
        Cluster::built(plugins, configuration, RbacSnapshot::default())
    }

    /// The same with roles and bindings.
    pub fn with_roles(snapshot: RbacSnapshot) -> Self {
        Cluster::built(&[], Configuration::default(), snapshot)
    }

    fn built(plugins: &[&str], configuration: Configuration, snapshot: RbacSnapshot) -> Self {
        let cache =
            Cache::new(pintle_groups::all().filter_map(|resource| Some(resource.storage.as_ref()?.prefix.as_str())));
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new());
        store.start(Box::new(cache.writer())).expect("an empty store starts");
        let registry =
            Registry::new(cache, store, Box::new(Still), AdmissionChain::default(), pintle_groups::resources());
        let enabled: Vec<String> = plugins.iter().map(ToString::to_string).collect();
        let (authorizer, roles) = rbac(snapshot);
        Cluster {
            registry,
            chain: crate::chain(&authorizer, roles, &enabled, &[], configuration, Vec::new()),
            charges: Charges::default(),
        }
    }

    /// The same with a service account without token automounting.
    pub async fn with_account(self, name: &str) -> Self {
        let account = value!({"metadata": {"name": name, "namespace": "ns"}, "automountServiceAccountToken": false});
        self.store("", "serviceaccounts", account).await;
        self
    }

    fn target(&self, group: &str, plural: &str, object: &Value) -> Target {
        let versions = ["v1", "v1beta1", "v1alpha2"];
        let resource = versions.iter().find_map(|version| pintle_groups::find(group, version, plural));
        let resource = resource.expect("a known resource");
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

    /// Creates an object; returns the result of the chain.
    pub async fn create(&self, group: &str, plural: &str, object: Value) -> Result<Value> {
        self.admit((group, plural, ""), None, object, "alice", &mut Vec::new())
    }

    /// The same of an object of a user.
    pub fn create_as(&self, group: &str, plural: &str, object: Value, user: &str) -> Result<Value> {
        self.admit((group, plural, ""), None, object, user, &mut Vec::new())
    }

    /// The result of the chain for a POST to a subresource; (group, resource, subresource) of the named object.
    pub fn post(&self, what: (&str, &str, &'static str), name: &str, object: Value, user: &str) -> Result<Value> {
        let mut target = self.target(what.0, what.1, &object);
        name.clone_into(&mut target.name);
        self.admit_at(&target, what.2, None, object, user, &mut Vec::new())
    }

    /// The result of the chain for a deletion by a user.
    pub fn delete(&self, group: &str, plural: &str, old: &Value, user: &str) -> Result<()> {
        let options = WriteOptions { context: context(user), ..WriteOptions::default() };
        let target = self.target(group, plural, old);
        let request = self.request(&target, "", Operation::Delete, Some(old), &options);
        now(self.chain.delete(&request, old))
    }

    /// The result of the chain for an update by a user; (group, resource, subresource).
    pub fn update(&self, what: (&str, &str, &'static str), old: &Value, object: Value, user: &str) -> Result<Value> {
        self.admit(what, Some(old), object, user, &mut Vec::new())
    }

    /// The warnings of the chain for an update.
    pub fn warnings(&self, group: &str, plural: &str, old: &Value, object: Value) -> Result<Vec<String>> {
        let mut warnings = Vec::new();
        self.admit((group, plural, ""), Some(old), object, "alice", &mut warnings)?;
        Ok(warnings)
    }

    fn admit(
        &self,
        (group, plural, subresource): (&str, &str, &'static str),
        old: Option<&Value>,
        object: Value,
        user: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        self.admit_at(&self.target(group, plural, &object), subresource, old, object, user, warnings)
    }

    fn admit_at(
        &self,
        target: &Target,
        subresource: &'static str,
        old: Option<&Value>,
        mut object: Value,
        user: &str,
        warnings: &mut Vec<String>,
    ) -> Result<Value> {
        let options = WriteOptions { context: context(user), ..WriteOptions::default() };
        let operation = if old.is_some() { Operation::Update } else { Operation::Create };
        let request = self.request(target, subresource, operation, old, &options);
        now(self.chain.mutate(&request, &mut object, warnings))?;
        if subresource.is_empty() {
            canonicalize(&target.storage().schema, &mut object);
        }
        now(self.chain.validate(&request, &object, warnings))?;
        Ok(object)
    }

    fn request<'a>(
        &'a self,
        target: &'a Target,
        subresource: &'static str,
        operation: Operation,
        old: Option<&'a Value>,
        options: &'a WriteOptions,
    ) -> AdmissionRequest<'a> {
        let charges = &self.charges;
        AdmissionRequest {
            old,
            ..AdmissionRequest::new(&self.registry, target, subresource, operation, options, charges)
        }
    }
}

/// The result of a chain that does not wait.
fn now<T>(answer: impl Future<Output = T>) -> T {
    let mut context = Context::from_waker(Waker::noop());
    match pin!(answer).poll(&mut context) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a plugin waits"),
    }
}

/// `admin` is a member of system:masters, and `system:node:...` one of system:nodes.
fn context(user: &str) -> Arc<RequestContext> {
    let groups = match user {
        "admin" => vec!["system:masters".into()],
        user if user.starts_with("system:node:") => vec!["system:nodes".into()],
        _ => Vec::new(),
    };
    let user = UserInfo { name: user.into(), groups, ..UserInfo::default() };
    Arc::new(RequestContext::default().acting_as(Arc::new(user)))
}
