//! The status of resource quotas: limits when they are set, usage when objects were deleted. Guarantees that usage is
//! computed from all objects at one revision, at which the quota is the one that is replaced or left as it is, so that
//! no charge of admission is lost or counted twice, except for resources in a store of their own. Must never count created
//! objects: admission charges them with their creation.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use crate::slices::{Slices, Work};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_quota::{Countable, Pause, Profile, same_amounts, used};
use pintle_registry::{Result, Status, Target, metadata};
use pintle_schema::{Value, View, ViewMut};
use pintle_types::core::v1::{ResourceQuota, ResourceQuotaStatus};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The interval of complete recounts.
const RECOUNT: Duration = Duration::from_secs(5 * 60);
/// The longest wait after a conflict with a charge: long enough that counting a large namespace, whose quota is charged
/// all the time, leaves the processor to others.
const LAST_RETRY: Duration = Duration::from_secs(2);

/// The wait before a count in a namespace that is being deleted: each object that goes frees something, and nobody can
/// use it.
const IN_ENDING_NAMESPACE: Duration = Duration::from_secs(10);

/// With several stores a quota is charged in one before its object is in another, and a count between the two would take the charge back.
/// A count stands if it is the same after this time, in which the quota was not charged again. An object that takes longer to get there is
/// missed until the next count, as in kube-apiserver.
const CHARGE_TO_OBJECT: Duration = Duration::from_secs(1);

pub struct Quotas {
    index: Arc<ResourceIndex>,
    quotas: KindId,
    known: Mutex<KnownQuotas>,
    pub(crate) work: Work,
}

#[derive(Default)]
struct KnownQuotas {
    by_namespace: HashMap<String, BTreeSet<ObjectKey>>,
    /// Those with a limit whose usage is unknown, such as one for a resource that is not defined yet.
    incomplete: BTreeSet<ObjectKey>,
}

impl Quotas {
    fn known(&self) -> MutexGuard<'_, KnownQuotas> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The wanted status of a quota; `None` if it is up to date.
    ///
    /// # Errors
    /// A conflict if the quota is not the one of the current revision: it may have been charged with objects that would
    /// be counted, or the objects that it was charged with are not visible yet.
    pub(crate) async fn status(&self, quota: &Value) -> Result<Option<ResourceQuotaStatus>> {
        let (registry, namespace) = (&self.index.registry, metadata::text(quota, "namespace"));
        let (name, version) = (metadata::text(quota, "name"), metadata::text(quota, "resourceVersion"));
        let kind = self.index.kind(self.quotas).ok_or_else(|| Status::internal("resource quotas are not stored"))?;
        let target = Target { namespace: namespace.to_owned(), name: name.to_owned(), ..kind.target.clone() };
        let at = registry.cache.current();
        let then = target.cache.state().at(at).ok();
        let then = then.as_ref().and_then(|quotas| quotas.get(&target.key()));
        if then.is_none_or(|then| then.revision.0.to_string() != version) {
            return Err(Status::modified(&target.resource, name));
        }
        let view = View::<ResourceQuota>::new(quota);
        let (spec, status) = (view.field(ResourceQuota::SPEC).get(), view.field(ResourceQuota::STATUS).get());
        let counted = used(registry, namespace, &spec, at, &mut self.work.slices()).await?;
        // Resources that no evaluator counts keep the amount that another client wrote.
        let mut usage = status.used.clone();
        usage.extend(counted);
        usage.retain(|name, _| spec.hard.contains_key(name));
        let stands = same_amounts(&spec.hard, &status.hard) && same_amounts(&usage, &status.used);
        Ok((!stands).then_some(ResourceQuotaStatus { hard: spec.hard, used: usage }))
    }

    /// Whether the limits in a quota's status are outdated.
    fn is_behind(&self, quota: &Object) -> bool {
        let kind = self.index.kind(self.quotas);
        let decoded = kind.and_then(|kind| self.index.registry.decode(&kind.target, quota).ok());
        let Some(quota) = decoded else { return false };
        let view = View::<ResourceQuota>::new(&quota);
        let (spec, status) = (view.field(ResourceQuota::SPEC).get(), view.field(ResourceQuota::STATUS).get());
        !same_amounts(&spec.hard, &status.hard) || spec.hard.keys().any(|name| !status.used.contains_key(name))
    }

    /// Whether an event releases resources that quotas count.
    fn frees(&self, kind: KindId, event: &Event) -> bool {
        let Some(kind) = self.index.kind(kind) else { return false };
        let Some(countable) = Countable::of(&kind.resource) else { return false };
        let Some(previous) = event.previous.as_ref().filter(|_| !event.removed) else { return event.removed };
        if matches!(countable, Countable::Objects { .. }) {
            return false;
        }
        let registry = &self.index.registry;
        let profile = |object: &Object| {
            registry.decode(&kind.target, object).ok().map(|object| Profile::of(&countable, &object, registry))
        };
        profile(previous) != profile(&event.object)
    }
}

impl Pause for Slices<'_> {
    async fn before(&mut self, cost: u32) {
        self.steps(cost).await;
    }
}

impl Reconciler for Quotas {
    const QUEUE: &'static str = "resourcequota_primary";
    const WORKERS: usize = 5;

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let quotas = index.stored("", "resourcequotas")?;
        Some(Quotas { index, quotas, known: Mutex::default(), work: Work::default() })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        if kind == self.quotas {
            return Some(WatchFilter::Everything);
        }
        match Countable::of(&self.index.kind(kind)?.resource)? {
            Countable::Objects { .. } => Some(WatchFilter::Lifecycle),
            _ => Some(WatchFilter::Everything),
        }
    }

    fn forget(&self) {
        *self.known() = KnownQuotas::default();
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.quotas {
            let place = ObjectKey { kind, key: object.key.clone() };
            let is_removed = is_removal(event);
            let is_behind = !is_removed && self.is_behind(object);
            let KnownQuotas { by_namespace, incomplete } = &mut *self.known();
            match is_behind {
                true => incomplete.insert(place.clone()),
                false => incomplete.remove(&place),
            };
            if !is_removed {
                by_namespace.entry(object.namespace().to_owned()).or_default().insert(place.clone());
                // Admission charges increases.
                if event.is_none() || is_behind {
                    due(place, Duration::ZERO);
                }
            } else if let Some(quotas) = by_namespace.get_mut(object.namespace()) {
                quotas.remove(&place);
                if quotas.is_empty() {
                    by_namespace.remove(object.namespace());
                }
            }
        }
        let Some(event) = event else { return };
        let quotas = self.known().by_namespace.get(object.namespace()).cloned();
        let Some(quotas) = quotas.filter(|_| self.frees(kind, event)) else { return };
        let home = self.index.registry.namespace(object.namespace()).and_then(|home| home.get().ok());
        let delay = match home.is_some_and(|home| home.encoded.terminating) {
            true => IN_ENDING_NAMESPACE,
            false => Duration::ZERO,
        };
        quotas.into_iter().for_each(|place| due(place, delay));
    }

    /// A quota may limit a resource that is defined later. Until its usage is known, admission refuses new objects.
    fn added(&self, _: KindId, due: &mut dyn FnMut(ObjectKey, Duration)) {
        let incomplete = self.known().incomplete.clone();
        incomplete.into_iter().for_each(|place| due(place, Duration::ZERO));
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, quota)) = read(&self.index, place) else { return Outcome::Done };
        let wanted = match self.status(&quota).await {
            Ok(Some(wanted)) => wanted,
            Ok(None) => return Outcome::After(RECOUNT),
            Err(status) => return retry(&status),
        };
        if self.index.has_several_stores() {
            tokio::time::sleep(CHARGE_TO_OBJECT).await;
            match self.status(&quota).await {
                Ok(Some(again)) if same_amounts(&again.used, &wanted.used) => {}
                Ok(_) => return Outcome::RetryWithin(LAST_RETRY),
                Err(status) => return retry(&status),
            }
        }
        let requests = Requests { index: &self.index, who: Who::Account("resourcequota-controller") };
        let target = kind.at(&stored);
        let counted = metadata::text(&quota, "resourceVersion");
        let count = |quota: &mut Value| {
            // One that has been charged since is counted again.
            if metadata::text(quota, "resourceVersion") != counted {
                return Err(Status::modified(&target.resource, &target.name));
            }
            let mut status = ViewMut::<ResourceQuota>::new(quota).field(ResourceQuota::STATUS);
            status.by_ref().field(ResourceQuotaStatus::HARD).set(wanted.hard.clone());
            status.field(ResourceQuotaStatus::USED).set(wanted.used.clone());
            Ok(())
        };
        match requests.try_change(&target, "status", count).await {
            Ok(()) => Outcome::After(RECOUNT),
            Err(status) => retry(&status),
        }
    }
}

/// A conflict says nothing about the next attempt, and the usage is wrong until one succeeds.
fn retry(status: &Status) -> Outcome {
    match status.code {
        409 => Outcome::RetryWithin(LAST_RETRY),
        _ => Outcome::Retry,
    }
}
