//! ResourceQuota: what is created in a namespace fits its quotas, which are charged with it.
//! Guarantees that a quota and the objects charged to it change in one transaction, so that usage is exact with any number of writers
//! at the same time; and that a namespace without quotas costs a look at an index.
//! Must never wait for anything but the commit of the writes before while it holds a namespace's lock.

mod charge_queue;

use charge_queue::{ChargeQueue, ChargeQueues};
use pintle_cache::{Object, State};
use pintle_quota::{Countable, Limit, Profile, Refusal, Request, check};
use pintle_registry::status::{Result, Status};
use pintle_registry::{
    AdmissionPlugin, AdmissionRequest, Admitted, Charge, Committed, Operation, Phase, Registry, Target, WriteOptions,
    metadata,
};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::{Value, View, ViewMut};
use pintle_storage::{Transaction, Write};
use pintle_types::config_resourcequota::v1::LimitedResource;
use pintle_types::core::v1::{ResourceList, ResourceQuota, ResourceQuotaStatus};
use std::sync::Arc;
use tokio::sync::OwnedMutexGuard;

/// The plugin's name.
pub const NAME: &str = "ResourceQuota";

const PREFIX: &str = "/registry/resourcequotas/";
const QUOTAS: [&str; 3] = ["", "v1", "resourcequotas"];
/// The field manager of usage that is written here.
const MANAGER: &str = "kube-apiserver";

/// The plugin.
pub struct Quotas {
    limited: Arc<[LimitedResource]>,
    queues: Arc<ChargeQueues>,
}

impl Quotas {
    /// `limited`: resources that must not be consumed without a quota.
    pub fn new(limited: Vec<LimitedResource>) -> Self {
        Quotas { limited: limited.into(), queues: Arc::default() }
    }

    /// Checks a write against the quotas as they are now, and charges it unless it is a dry run.
    fn check(&self, request: &AdmissionRequest<'_>, object: &Value) -> Result<()> {
        let AdmissionRequest { registry, target, operation, subresource, old, .. } = *request;
        let countable = Countable::of(&target.resource).filter(|one| one.is_charged(operation, subresource));
        let Some(countable) = countable.filter(|one| one.may_change(subresource, object, old)) else { return Ok(()) };
        let Some((state, quotas)) = Quotas::of(registry, &target.namespace)? else { return Ok(()) };
        let name = match subresource {
            "" => metadata::text(object, "name"),
            _ => &target.name,
        };
        let demand = Demand {
            object: Profile::of(&countable, object, registry),
            old: old.map(|old| Profile::of(&countable, old, registry)),
            countable,
            is_status: subresource == "status",
            resource: target.resource.clone(),
            name: name.to_owned(),
            limited: self.limited.clone(),
        };
        let changes = demand.changes(registry, quotas.iter().map(|quota| &quota.limit))?;
        if changes.is_empty() || request.options.dry_run {
            return Ok(());
        }
        let (queues, demand) = (self.queues.clone(), Arc::new(demand));
        let (namespace, checked) = (target.namespace.clone(), Some(Checked { state, quotas, changes }));
        request.charges.add(Box::new(QuotaCharge { demand, namespace, checked, queues, lock: None }));
        Ok(())
    }

    /// The quotas of a namespace, with their snapshot; `None` where quotas are not stored.
    fn of(registry: &Registry, namespace: &str) -> Result<Option<(Arc<State>, Vec<Quota>)>> {
        let Some(target) = registry.target_of(QUOTAS, namespace, "") else { return Ok(None) };
        let state = target.cache.state();
        let quotas = state.objects.under(&target.key()).map(|entry| Quota::new(registry, &target, &entry.object));
        let quotas = quotas.collect::<Result<_>>()?;
        Ok(Some((state, quotas)))
    }
}

impl AdmissionPlugin for Quotas {
    fn name(&self) -> &str {
        NAME
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == Phase::Validate
            && request.operation != Operation::Delete
            && request.target.resource.namespaced
            && (!self.limited.is_empty() || has_quota(request.registry, &request.target.namespace))
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        _: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        self.check(request, object).into()
    }
}

/// Whether a namespace has a quota.
fn has_quota(registry: &Registry, namespace: &str) -> bool {
    let Some(cache) = registry.cache.resource(PREFIX) else { return false };
    let state: Arc<State> = cache.state();
    !state.objects.is_empty() && state.objects.under(&format!("{PREFIX}{namespace}/")).next().is_some()
}

/// A quota as it is stored.
struct Quota {
    stored: Arc<Object>,
    value: Value,
    limit: Limit,
}

impl Quota {
    fn new(registry: &Registry, target: &Target, stored: &Arc<Object>) -> Result<Self> {
        let value = registry.decode(target, stored)?;
        let limit = Limit::of(View::new(&value));
        Ok(Quota { stored: stored.clone(), value, limit })
    }

    /// The write of a new usage, which holds if the quota has not changed.
    async fn write(&self, registry: &Registry, namespace: &str, used: ResourceList) -> Result<Write> {
        let target = registry.target_of(QUOTAS, namespace, self.stored.name());
        let target = target.ok_or_else(|| Status::internal("resource quotas are not stored"))?;
        let mut changed = self.value.clone();
        let status = ViewMut::<ResourceQuota>::new(&mut changed).field(ResourceQuota::STATUS);
        status.field(ResourceQuotaStatus::USED).set(used);
        let options = WriteOptions::of_server(MANAGER);
        registry.part_write(&target, (&self.stored, &self.value), changed, "status", &options).await
    }
}

/// A write, as far as quotas are concerned.
struct Demand {
    object: Profile,
    old: Option<Profile>,
    countable: Countable,
    is_status: bool,
    resource: Arc<Resource>,
    name: String,
    limited: Arc<[LimitedResource]>,
}

impl Demand {
    /// The usage of quotas after the write, by their positions.
    fn changes<'q>(
        &self,
        registry: &Registry,
        limits: impl IntoIterator<Item = &'q Limit>,
    ) -> Result<Vec<(usize, ResourceList)>> {
        let request = Request {
            object: &self.object,
            old: self.old.as_ref(),
            is_status: self.is_status,
            limited: &self.limited,
            resource: (&self.resource.group, &self.resource.plural),
            counts_for: &|name| self.countable.counts_for(name, registry),
        };
        let refused = |refusal| match refusal {
            Refusal::Forbidden(why) => Status::forbidden(&self.resource, &self.name, &why),
            Refusal::Unexplained(why) => Status::unexplained(why),
        };
        check(&request, limits).map_err(refused)
    }
}

/// The outcome of a check.
struct Checked {
    state: Arc<State>,
    quotas: Vec<Quota>,
    changes: Vec<(usize, ResourceList)>,
}

impl Checked {
    /// Whether no quota has changed since.
    fn holds(&self, registry: &Registry) -> bool {
        registry.cache.resource(PREFIX).is_some_and(|cache| Arc::ptr_eq(&cache.state(), &self.state))
    }
}

/// The charge of a write to quotas.
struct QuotaCharge {
    demand: Arc<Demand>,
    namespace: String,
    /// The result of the plugin, until it is used.
    checked: Option<Checked>,
    queues: Arc<ChargeQueues>,
    /// Held until the outcome of the commit is known.
    lock: Option<(OwnedMutexGuard<()>, Arc<ChargeQueue>)>,
}

impl Charge for QuotaCharge {
    fn writes<'a>(&'a mut self, registry: &'a Registry) -> MaybeReady<'a, Result<Vec<Write>>> {
        MaybeReady::wait(async move {
            // A commit that is retried without managed fields asks again, and must not wait for its own lock.
            self.lock = None;
            let queue = self.queues.of(&self.namespace);
            self.lock = Some((queue.lock().await, queue));
            let (quotas, changes) = match self.checked.take().filter(|checked| checked.holds(registry)) {
                Some(checked) => (checked.quotas, checked.changes),
                None => {
                    let quotas = Quotas::of(registry, &self.namespace)?.map(|(_, quotas)| quotas).unwrap_or_default();
                    let changes = self.demand.changes(registry, quotas.iter().map(|quota| &quota.limit))?;
                    (quotas, changes)
                }
            };
            let mut writes = Vec::with_capacity(changes.len());
            for (at, used) in changes {
                let Some(quota) = quotas.get(at) else { continue };
                writes.push(quota.write(registry, &self.namespace, used).await?);
            }
            Ok(writes)
        })
    }

    fn commit<'a>(&'a mut self, registry: &'a Registry, transaction: Transaction) -> MaybeReady<'a, Result<Committed>> {
        MaybeReady::wait(async move {
            if registry.store.makes_several_revisions() {
                let waiting = (self.demand.clone(), self.checked.take(), transaction);
                return self.queues.of(&self.namespace).commit(registry, &self.namespace, waiting).await;
            }
            let mut transaction = transaction;
            transaction.writes.extend(self.writes(registry).get().await?);
            Ok(registry.store.commit(transaction).await)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::configuration::Configuration;
    use crate::testing::Cluster;
    use pintle_schema::value;

    fn quota(hard: Value, used: Value) -> Value {
        let status = value!({"hard": (hard.clone()), "used": used});
        value!({"metadata": {"name": "q", "namespace": "ns"}, "spec": {"hard": hard}, "status": status})
    }

    #[tokio::test]
    async fn objects_of_any_resource_are_counted() {
        let cluster = Cluster::new();
        let hard = value!({"configmaps": "1", "count/leases.coordination.k8s.io": "0", "count/secrets": "5"});
        let used = value!({"configmaps": "0", "count/leases.coordination.k8s.io": "0", "count/secrets": "0"});
        cluster.store("", "resourcequotas", quota(hard, used)).await;
        let object = || value!({"metadata": {"name": "o", "namespace": "ns"}});
        assert!(cluster.create("", "configmaps", object()).await.is_ok());
        assert!(cluster.create("", "services", object()).await.is_ok(), "nothing limits it");
        let refused = cluster.create("coordination.k8s.io", "leases", object()).await.expect_err("limited");
        let why = "exceeded quota: q, requested: count/leases.coordination.k8s.io=1, used: \
                   count/leases.coordination.k8s.io=0, limited: count/leases.coordination.k8s.io=0";
        assert_eq!(refused.message, format!("leases.coordination.k8s.io \"o\" is forbidden: {why}"));
    }

    #[tokio::test]
    async fn limited_resources_need_a_quota() {
        let limited = LimitedResource {
            resource: "secrets".to_owned(),
            match_contains: vec!["secrets".to_owned()],
            ..LimitedResource::default()
        };
        let configuration = Configuration { limited_resources: vec![limited], ..Configuration::default() };
        let cluster = Cluster::configured(&[], configuration);
        let object = || value!({"metadata": {"name": "o", "namespace": "ns"}});
        assert!(cluster.create("", "configmaps", object()).await.is_ok());
        let refused = cluster.create("", "secrets", object()).await.expect_err("limited");
        let why = "secrets \"o\" is forbidden: insufficient quota to consume: count/secrets,secrets";
        assert_eq!((refused.code, refused.message.as_str()), (403, why));
        let (hard, used) = (value!({"secrets": "1"}), value!({"secrets": "0"}));
        cluster.store("", "resourcequotas", quota(hard, used)).await;
        let why = "secrets \"o\" is forbidden: insufficient quota to consume: count/secrets";
        assert_eq!(cluster.create("", "secrets", object()).await.expect_err("limited").message, why);
    }
}
