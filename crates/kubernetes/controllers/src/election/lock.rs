//! `ServerLock`: which of the servers elects the leaders of components: the one that holds a lease. Guarantees that a server
//! whose renewals fail stops to elect before another may begin. Must never take a lease that another server renews.

use super::{CONTROLLER, now};
use pintle_registry::update::{ManagedFieldsUpdate, Update};
use pintle_registry::{Registry, Status, WriteOptions};
use pintle_schema::{ApiType, ApiValue, Value, View, ViewMut, canonicalize};
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::Instant;

const NAMESPACE: &str = "kube-system";

/// The times of the servers' own election, as kube-apiserver's flags name them.
#[derive(Clone, Copy, Debug)]
pub struct Leadership {
    /// How long others wait after the last renewal.
    pub lease_duration: Duration,
    /// How long a leader tries to renew before it stops.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry_period: Duration,
}

impl Default for Leadership {
    fn default() -> Self {
        let [lease_duration, renew_deadline, retry_period] = [15, 10, 2].map(Duration::from_secs);
        Leadership { lease_duration, renew_deadline, retry_period }
    }
}

/// What a server saw of the lease last, and when it saw that first.
struct Observed {
    spec: LeaseSpec,
    since: Instant,
}

pub struct ServerLock {
    registry: Arc<Registry>,
    times: Leadership,
    /// The host and a random part, as the holder of the lease.
    identity: String,
    leads: AtomicBool,
    observed: Mutex<Option<Observed>>,
}

impl ServerLock {
    pub fn new(registry: Arc<Registry>, times: Leadership, identity: String) -> Self {
        ServerLock { registry, times, identity, leads: AtomicBool::new(false), observed: Mutex::default() }
    }

    /// Whether this server elects.
    pub fn leads(&self) -> bool {
        self.leads.load(Ordering::Acquire)
    }

    /// Takes and renews the lease until the future is dropped.
    pub async fn keep(&self) {
        let mut renewed = Instant::now();
        loop {
            // An attempt that hangs must not outlive the deadline, which counts from the beginning of the last renewal: others
            // see the lease renewed no later than that.
            let began = Instant::now();
            let left = match self.leads() {
                true => self.times.renew_deadline.saturating_sub(renewed.elapsed()),
                false => self.times.renew_deadline,
            };
            let attempt = tokio::time::timeout(left, self.acquire()).await;
            match attempt {
                Ok(Ok(())) => {
                    renewed = began;
                    self.leads.store(true, Ordering::Release);
                }
                _ if renewed.elapsed() >= self.times.renew_deadline || !self.leads() => {
                    self.leads.store(false, Ordering::Release);
                }
                _ => {}
            }
            tokio::time::sleep(self.times.retry_period).await;
        }
    }

    /// Takes or renews the lease.
    async fn acquire(&self) -> Result<(), Status> {
        let resource = ["coordination.k8s.io", "v1", "leases"];
        let target = self.registry.target_of(resource, NAMESPACE, CONTROLLER);
        let target = target.ok_or_else(|| Status::internal("leases are not stored"))?;
        let change = |stored: Option<&Value>| {
            let Some(stored) = stored else { return Ok(self.first()) };
            let spec = View::<Lease>::new(stored).field(Lease::SPEC).get();
            let holder = spec.holder_identity.clone().unwrap_or_default();
            if holder != self.identity && !holder.is_empty() && !self.is_abandoned(&spec) {
                return Err(Status::new(409, "Conflict", format!("the lease is held by {holder}")));
            }
            let mut renewed = stored.clone();
            let taken = holder != self.identity;
            let next = LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: Some(self.seconds()),
                renew_time: Some(now()),
                acquire_time: if taken { Some(now()) } else { spec.acquire_time },
                lease_transitions: Some(spec.lease_transitions.unwrap_or(0).saturating_add(i32::from(taken))),
                ..spec
            };
            ViewMut::<Lease>::new(&mut renewed).field(Lease::SPEC).set(next);
            Ok(renewed)
        };
        let update = Update {
            change: &change,
            part: None,
            create: true,
            from_stored: true,
            owners: ManagedFieldsUpdate::Compute,
        };
        self.registry.update(&target, &update, &WriteOptions::of_server("kube-apiserver")).await.map(drop)
    }

    /// Whether the holder has not renewed the lease for its duration, by the clock of this server.
    fn is_abandoned(&self, spec: &LeaseSpec) -> bool {
        let mut observed = self.observed.lock().unwrap_or_else(PoisonError::into_inner);
        match observed.as_ref().filter(|observed| observed.spec == *spec) {
            Some(known) => known.since.elapsed() >= self.times.lease_duration,
            None => {
                *observed = Some(Observed { spec: spec.clone(), since: Instant::now() });
                false
            }
        }
    }

    fn seconds(&self) -> i32 {
        i32::try_from(self.times.lease_duration.as_secs()).unwrap_or(i32::MAX).max(1)
    }

    /// The lease of the first holder.
    fn first(&self) -> Value {
        let now = now();
        let mut lease = Lease {
            type_meta: TypeMeta { kind: "Lease".to_owned(), api_version: "coordination.k8s.io/v1".to_owned() },
            metadata: ObjectMeta {
                name: CONTROLLER.to_owned(),
                namespace: NAMESPACE.to_owned(),
                ..ObjectMeta::default()
            },
            spec: LeaseSpec {
                holder_identity: Some(self.identity.clone()),
                lease_duration_seconds: Some(self.seconds()),
                acquire_time: Some(now),
                renew_time: Some(now),
                lease_transitions: Some(0),
                ..LeaseSpec::default()
            },
        }
        .to_value();
        canonicalize(Lease::schema(), &mut lease);
        lease
    }
}
