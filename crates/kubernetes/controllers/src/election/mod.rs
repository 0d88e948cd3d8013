//! Coordinated leader election: one of the servers makes the best of the candidates for a lease its leader, or the one that
//! the leader should yield to. Guarantees that only the server that holds the controller's own lease elects. Must never
//! renew the lease of a component.

mod candidates;
mod lock;

pub use lock::{Leadership, ServerLock};

use crate::queue::Outcome;
use crate::reconcile::{Reconciler, is_removal, read};
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{Kind, KindId, ObjectKey, ResourceIndex};
use candidates::{ELECTION_SECONDS, LEASE_SECONDS, Step, VALID_SECONDS, has_passed, is_expired, next_step};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_registry::options::Propagation;
use pintle_registry::{DeleteOptions, Result, Status, Target};
use pintle_schema::{ApiType, ApiValue, MicroTime, Value, View, ViewMut, canonicalize};
use pintle_types::coordination::v1::{CoordinatedLeaseStrategy, Lease, LeaseSpec};
use pintle_types::coordination::v1beta1::{LeaseCandidate, LeaseCandidateSpec};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use tracing::debug;

/// The name of the controller, and of its own lease.
pub const CONTROLLER: &str = "leader-election-controller";
/// The delay before a lease with candidates is processed again.
const REQUEUE: Duration = Duration::from_secs(5);

pub struct Election {
    index: Arc<ResourceIndex>,
    lock: Arc<ServerLock>,
    leases: KindId,
    candidates: KindId,
}

impl Election {
    /// `None` if the kinds that it needs are not stored.
    pub fn new(index: Arc<ResourceIndex>, lock: Arc<ServerLock>) -> Option<Self> {
        let leases = index.stored("coordination.k8s.io", "leases")?;
        let candidates = index.stored("coordination.k8s.io", "leasecandidates")?;
        Some(Election { index, lock, leases, candidates })
    }

    fn requests(&self) -> Requests<'_> {
        Requests { index: &self.index, who: Who::Server("kube-apiserver") }
    }

    /// The candidates for a lease that take part in its election.
    fn candidates(&self, namespace: &str, lease: &str) -> Vec<LeaseCandidate> {
        let now = now();
        let decoded = self.index.decoded_in(("coordination.k8s.io", "leasecandidates"), namespace, |_| true);
        let candidates = decoded.iter().filter_map(|object| LeaseCandidate::from_value(object).ok());
        candidates.filter(|it| it.spec.lease_name == lease && is_admissible(it, now)).collect()
    }

    /// Asks a candidate for a sign of life.
    async fn ping(&self, namespace: &str, name: &str) -> Result<()> {
        let Some(kind) = self.index.kind(self.candidates) else { return Ok(()) };
        let target = Target { namespace: namespace.to_owned(), name: name.to_owned(), ..kind.target.clone() };
        let change = |object: &mut Value| {
            let spec = ViewMut::<LeaseCandidate>::new(object).field(LeaseCandidate::SPEC);
            spec.field(LeaseCandidateSpec::PING_TIME).set(Some(now()));
        };
        self.requests().change(&target, "", change).await
    }

    /// One step of the election for a lease.
    async fn step(&self, kind: &Kind, place: &ObjectKey) -> Outcome {
        let path = place.key.strip_prefix(kind.target.storage().prefix.as_str());
        let Some((namespace, name)) = path.and_then(|path| path.split_once('/')) else { return Outcome::Done };
        let candidates = self.candidates(namespace, name);
        if candidates.is_empty() {
            return Outcome::Done;
        }
        if !self.lock.leads() {
            return Outcome::After(REQUEUE);
        }
        let lease = read(&self.index, place).map(|(_, lease)| View::<Lease>::new(&lease).field(Lease::SPEC).get());
        match next_step(&candidates, lease.as_ref(), now()) {
            Step::Keep => Outcome::After(REQUEUE),
            Step::Wait => Outcome::After(Duration::from_secs(ELECTION_SECONDS.unsigned_abs())),
            Step::Ping(asked) => {
                for candidate in &asked {
                    if self.ping(namespace, candidate).await.is_err() {
                        return Outcome::Retry;
                    }
                }
                Outcome::After(REQUEUE)
            }
            Step::Elect { leader, strategy } => {
                match self.elect(kind, namespace, name, leader.as_deref(), &strategy).await {
                    Ok(()) => Outcome::After(REQUEUE),
                    Err(_) => Outcome::Retry,
                }
            }
            Step::None(reason) => {
                debug!(namespace, name, reason, "no leader is elected");
                Outcome::After(REQUEUE)
            }
        }
    }

    /// Makes a candidate the holder of a lease that is free, or the preferred holder of one that is not. Without one the lease only
    /// gets the strategy, by which another controller elects.
    async fn elect(
        &self,
        kind: &Kind,
        namespace: &str,
        name: &str,
        leader: Option<&str>,
        strategy: &CoordinatedLeaseStrategy,
    ) -> Result<()> {
        let target = Target { namespace: namespace.to_owned(), name: name.to_owned(), ..kind.target.clone() };
        let change = |object: &mut Value| {
            let before = View::<Lease>::new(object).field(Lease::SPEC).get();
            let holder = before.holder_identity.clone().unwrap_or_default();
            let now = now();
            let is_free = holder.is_empty() || is_expired(&before, now);
            let spec = LeaseSpec { strategy: Some(strategy.clone()), ..before.clone() };
            let changed = match leader.filter(|leader| *leader != holder) {
                Some(leader) if is_free => LeaseSpec {
                    preferred_holder: None,
                    holder_identity: Some(leader.to_owned()),
                    renew_time: Some(now),
                    lease_duration_seconds: Some(LEASE_SECONDS),
                    acquire_time: None,
                    ..spec
                },
                Some(leader) => LeaseSpec { preferred_holder: Some(leader.to_owned()), ..spec },
                None => spec,
            };
            if changed != before {
                ViewMut::<Lease>::new(object).field(Lease::SPEC).set(changed);
            }
        };
        let (lease, options) = (new_lease(namespace, name, leader, strategy), self.requests().write_options());
        match self.index.registry.create(&target, lease, &options).await {
            Err(Status { code: 409, .. }) => self.requests().change(&target, "", change).await,
            outcome => outcome.map(drop),
        }
    }

    /// Deletes a candidate that has shown no sign of life for long.
    async fn collect(&self, kind: &Kind, place: &ObjectKey) -> Outcome {
        let Some((stored, object)) = read(&self.index, place) else { return Outcome::Done };
        let Ok(candidate) = LeaseCandidate::from_value(&object) else { return Outcome::Done };
        let now = now();
        let until = kept_until(&candidate);
        if !has_passed(until, 0, now) {
            let left = until.seconds.saturating_add(1).saturating_sub(now.seconds);
            return Outcome::After(Duration::from_secs(u64::try_from(left).unwrap_or(0).max(1)));
        }
        let requests = self.requests();
        let options = DeleteOptions {
            uid: Some(stored.encoded.uid().to_owned()),
            ..requests.delete_options(Propagation::Background)
        };
        retry_on_failure(&requests.delete(&kind.at(&stored), &options).await)
    }
}

impl Reconciler for Election {
    const QUEUE: &'static str = "leader-election-controller";

    fn new(_: Arc<ResourceIndex>) -> Option<Self> {
        // It needs the lock of the server.
        None
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.leases || kind == self.candidates).then_some(WatchFilter::Everything)
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.leases {
            return due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
        let Some(candidates) = self.index.kind(kind) else { return };
        let Ok(candidate) = self.index.registry.decode(&candidates.target, object) else { return };
        let spec = View::<LeaseCandidate>::new(&candidate).field(LeaseCandidate::SPEC);
        let lease = spec.field(LeaseCandidateSpec::LEASE_NAME).get();
        if let Some(place) = self.index.place(self.leases, object.namespace(), &lease) {
            due(place, Duration::ZERO);
        }
        if !is_removal(event) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        if place.kind == self.candidates { self.collect(&kind, place).await } else { self.step(&kind, place).await }
    }
}

/// The lease of an elected leader, or of candidates whose leader another controller elects.
fn new_lease(namespace: &str, name: &str, leader: Option<&str>, strategy: &CoordinatedLeaseStrategy) -> Value {
    let mut lease = Lease {
        type_meta: TypeMeta { kind: "Lease".to_owned(), api_version: "coordination.k8s.io/v1".to_owned() },
        metadata: ObjectMeta { name: name.to_owned(), namespace: namespace.to_owned(), ..ObjectMeta::default() },
        spec: LeaseSpec {
            holder_identity: leader.map(str::to_owned),
            strategy: Some(strategy.clone()),
            lease_duration_seconds: Some(LEASE_SECONDS),
            renew_time: Some(now()),
            ..LeaseSpec::default()
        },
    }
    .to_value();
    canonicalize(Lease::schema(), &mut lease);
    lease
}

/// Until when a candidate is kept. kube-apiserver looks for those that are to be deleted twice an hour, so that each has time to
/// show that it lives after it was created.
fn kept_until(candidate: &LeaseCandidate) -> MicroTime {
    let created = MicroTime { seconds: candidate.metadata.creation_timestamp.seconds, nanos: 0 };
    let last_sign = candidate.spec.renew_time.map_or(created, |renewed| renewed.max(created));
    MicroTime { seconds: last_sign.seconds.saturating_add(VALID_SECONDS), ..last_sign }
}

/// Whether a candidate takes part in elections: it has shown that it lives, not too long ago.
fn is_admissible(candidate: &LeaseCandidate, now: MicroTime) -> bool {
    candidate.spec.renew_time.is_some_and(|renewed| !has_passed(renewed, VALID_SECONDS, now))
}

pub(crate) fn now() -> MicroTime {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    MicroTime { seconds: i64::try_from(since.as_secs()).unwrap_or(i64::MAX), nanos: since.subsec_micros() * 1_000 }
}
