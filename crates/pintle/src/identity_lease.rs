//! `IdentityLease`: renews the lease of the server's identity, recreates deleted bootstrap objects and, if servers
//! share the store, renews the lease of its address and updates the endpoints of the `kubernetes` service from all
//! leases.
//!
//! The lease of a server that crashes expires; a server that is stopped deletes its lease.

use crate::advertised::{AdvertisedServer, EndpointReconciler};
use crate::bootstrap;
use crate::clock::now;
use crate::repair::Repairs;
use crate::storage_versions;
use crate::token_tracking::TokenTracking;
use data_encoding::BASE32_NOPAD;
use futures_util::future::join;
use pintle_bootstrap::{Settings, kept_objects, needed_objects, servers};
use pintle_cache::encoded_object;
use pintle_groups::internal::SERVER_ADDRESSES;
use pintle_metrics::{Counter, Exposition, Family};
use pintle_registry::environment::new_uid;
use pintle_registry::update::{ManagedFieldsUpdate, Update};
use pintle_registry::{DeleteOptions, Registry, Result, Status, Target, WriteOptions};
use pintle_resource::Resource;
use pintle_schema::{ApiType, ApiValue, Time, Value, View, ViewMut, canonicalize};
use pintle_server::Opened;
use pintle_services::Allocators;
use pintle_storage::{Expect, Transaction};
use pintle_types::coordination::v1::{Lease, LeaseSpec};
use pintle_types::core::v1::{EndpointAddress, EndpointSubset, Endpoints};
use pintle_types::meta::v1::{ObjectMeta, TypeMeta};
use ring::digest::{SHA256, digest};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;
use tokio::task::AbortHandle;

/// The time to live of an address lease.
#[cfg(feature = "etcd")]
pub const LIFETIME_SECONDS: u32 = 15;

const RENEW_PERIOD: Duration = Duration::from_secs(10);

/// The maximum number of attempts to write the endpoints, which other servers write too. It exceeds the number of
/// servers, because one of them succeeds each time.
const PUBLISH_ATTEMPTS: usize = 16;

/// The label of identity leases.
const IDENTITY_LABEL: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";
const IDENTITY_SECONDS: i32 = 3600;
const NAMESPACE: &str = "kube-system";

/// The number of renewals between two writes if no other server reads the lease, and between two reports of storage
/// versions: ten minutes.
const RENEWALS_BETWEEN_WRITES: u32 = 60;

/// The number of renewals between two checks of namespaces and flow control: a minute, as in kube-apiserver.
const RENEWALS_BETWEEN_KEPT: u32 = 6;

/// The number of renewals between two repairs of node ports: three minutes, as in kube-apiserver.
const RENEWALS_BETWEEN_REPAIRS: u32 = 18;

/// What renewals go on with.
struct Kept {
    repairs: Repairs,
    tracking: TokenTracking,
}

/// The leases of one server.
pub struct IdentityLease {
    registry: Arc<Registry>,
    allocators: Arc<Allocators>,
    first_objects: Settings,
    /// The current certificate authorities.
    authorities: Arc<RwLock<BTreeMap<String, String>>>,
    address: Option<IpAddr>,
    port: u16,
    host: String,
    name: String,
    holder: String,
    endpoints: EndpointReconciler,
    /// Where other servers reach this one.
    peer_address: Option<SocketAddr>,
    /// Failed repairs of node ports.
    repair_errors: Arc<Counter>,
    /// The time between two renewals.
    period: Duration,
}

impl IdentityLease {
    /// For a server that wrote these bootstrap objects and is reached at these addresses.
    pub fn new(
        registry: Arc<Registry>,
        allocators: Arc<Allocators>,
        first_objects: Settings,
        server: AdvertisedServer,
    ) -> Self {
        let AdvertisedServer { address, endpoint_reconciler: endpoints, peer_address, host, authorities } = server;
        let ((peer_ip, peer_port), host) = (peer_address, host.unwrap_or_default());
        let (name, port) = (identity(&host), first_objects.secure_port);
        let peer_address = peer_ip.map(|ip| SocketAddr::new(ip, peer_port.unwrap_or(port)));
        let holder = format!("{name}_{}", new_uid(registry.environment.as_ref()));
        let repair_errors = Arc::default();
        IdentityLease {
            registry,
            allocators,
            first_objects,
            authorities,
            address,
            port,
            host,
            name,
            holder,
            endpoints,
            peer_address,
            repair_errors,
            period: RENEW_PERIOD,
        }
    }

    /// Renews the leases until the server stops, and adds the metric of repairs. The handle ends it earlier.
    pub(crate) fn install(self: &Arc<Self>, opened: &mut Opened) -> AbortHandle {
        opened.metrics().add_source(self.stats());
        let kept = self.clone();
        opened.spawn("the renewal of the server's leases", async move { kept.keep().await })
    }

    /// The metric of repairs.
    fn stats(&self) -> impl Fn(&mut Exposition) + Send + Sync + 'static {
        const REPAIR_ERRORS: Family = Family::counter(
            "apiserver_nodeport_repair_reconcile_errors_total",
            "Times that node ports could not be brought in line with services.",
        );
        let repair_errors = self.repair_errors.clone();
        move |out| out.single(&REPAIR_ERRORS, repair_errors.get())
    }

    /// Publishes the server, whose address has its lease.
    async fn announce(&self) -> Result<()> {
        self.publish_endpoints().await?;
        self.publish_identity().await
    }

    /// Renews the identity lease.
    ///
    /// # Errors
    /// The write is refused, or the store fails.
    pub async fn publish_identity(&self) -> Result<()> {
        match self.renew_identity().await {
            // The host name may be an invalid label value: then there is no lease.
            Err(status) if status.code == 422 => Ok(()),
            outcome => outcome,
        }
    }

    /// Tells other servers in which versions this one stores objects, if servers do so. The identity lease must exist:
    /// reports without one are removed.
    ///
    /// # Errors
    /// The store fails.
    pub async fn report_storage_versions(&self) -> Result<()> {
        match storage_versions::is_enabled(&self.registry) {
            true => storage_versions::report(&self.registry, &self.name).await,
            false => Ok(()),
        }
    }

    /// Renews the leases and repairs objects until the future is dropped. What a webhook holds up does not hold up the
    /// lease of the address, without which the server would be taken out of the endpoints.
    pub async fn keep(&self) {
        join(self.keep_address(), self.keep_others()).await;
    }

    async fn keep_address(&self) {
        loop {
            tokio::time::sleep(self.period).await;
            // A failure is retried at the next renewal; the lease outlives one failure.
            let _ = self.renew_address().await;
        }
    }

    async fn keep_others(&self) {
        let mut kept = Kept {
            repairs: Repairs::new(self.registry.clone(), self.allocators.clone(), self.host.clone()),
            tracking: TokenTracking::new(TokenTracking::is_created(&self.registry, &self.first_objects)),
        };
        // The first repair reads all services, so that requests need not.
        kept.repairs.addresses().await;
        self.repair_ports(&mut kept.repairs).await;
        for number in 1u32.. {
            tokio::time::sleep(self.period).await;
            self.renew(number, &mut kept).await;
        }
    }

    /// One renewal, and what is due with it. A failure is retried at the next one.
    async fn renew(&self, number: u32, kept: &mut Kept) {
        let is_shared = self.registry.is_shared() || self.endpoints != EndpointReconciler::Lease;
        if is_shared || number.is_multiple_of(RENEWALS_BETWEEN_WRITES) || !self.has_identity() {
            let _ = self.announce().await;
        }
        let authorities = self.authorities.read().unwrap_or_else(PoisonError::into_inner).clone();
        let now = Time::from_seconds(self.registry.environment.now_unix());
        let settings = Settings { authorities, now, ..self.first_objects.clone() };
        let objects = match number % RENEWALS_BETWEEN_KEPT == 1 {
            true => kept_objects(&settings),
            false => Vec::new(),
        };
        for object in objects.into_iter().chain(needed_objects(&settings)) {
            let _ = bootstrap::restore(&self.registry, object).await;
        }
        kept.tracking.look(&self.registry, &settings).await;
        kept.repairs.addresses().await;
        if number.is_multiple_of(RENEWALS_BETWEEN_REPAIRS) {
            self.repair_ports(&mut kept.repairs).await;
        }
        if number.is_multiple_of(RENEWALS_BETWEEN_WRITES) {
            // They may have been changed or deleted.
            let _ = self.report_storage_versions().await;
        }
        self.sweep().await;
    }

    /// A failed repair is repeated the next time.
    async fn repair_ports(&self, repairs: &mut Repairs) {
        self.repair_errors.add(u64::from(repairs.node_ports().await.is_err()));
    }

    /// Removes the server from the endpoints, before it stops.
    pub async fn withdraw(&self) {
        if let (EndpointReconciler::Count(_), Some(own)) = (self.endpoints, self.address) {
            // If this fails, other servers remove the address once there are too many.
            for _ in 0..PUBLISH_ATTEMPTS {
                let mut others = self.counted().unwrap_or_default();
                others.retain(|address| *address != own);
                let written = bootstrap::reconcile(&self.registry, servers(&others, self.port)).await;
                if !written.is_err_and(|status| status.code == 409) {
                    return;
                }
            }
        }
        let Some(lease) = self.lease() else { return };
        let removal = Transaction::one(lease.key().into(), Expect::Any, None);
        // If this fails the lease expires, and other servers update the endpoints.
        if self.registry.store.commit(removal).await.is_ok() {
            let _ = self.publish_endpoints().await;
        }
    }

    /// The lease of the address, if servers share the store.
    fn lease(&self) -> Option<Target> {
        if !self.registry.is_shared() || self.endpoints != EndpointReconciler::Lease {
            return None;
        }
        self.registry.target(&SERVER_ADDRESSES, "", &self.address?.to_string())
    }

    /// Renews the lease of the address, which no admission sees.
    ///
    /// # Errors
    /// The store fails.
    pub async fn renew_address(&self) -> Result<()> {
        let Some(target) = self.lease() else { return Ok(()) };
        let stored = target.cache.get(&target.key());
        let generation = stored.as_ref().map_or(0, |stored| i64::try_from(stored.revision.0).unwrap_or(0));
        let mut lease = Endpoints {
            type_meta: TypeMeta { kind: "Endpoints".to_owned(), api_version: "v1".to_owned() },
            // An unchanged lease would not be written.
            metadata: ObjectMeta { generation: generation + 1, ..ObjectMeta::default() },
            subsets: vec![EndpointSubset {
                addresses: vec![EndpointAddress { ip: target.name.clone(), ..EndpointAddress::default() }],
                ..EndpointSubset::default()
            }],
        }
        .to_value();
        canonicalize(Endpoints::schema(), &mut lease);
        let record = encoded_object::encode(&lease, &[]);
        let commit = self.registry.store.commit(Transaction::one(target.key().into(), Expect::Any, Some(record)));
        commit.await.map(drop).map_err(Status::internal)
    }

    /// Brings the endpoints of the service in line with the leases. Servers that start together write the same object;
    /// on a conflict the leases are read again when the other write is known.
    ///
    /// # Errors
    /// The write is refused, or the store fails.
    pub async fn publish_endpoints(&self) -> Result<()> {
        for _ in 1..PUBLISH_ATTEMPTS {
            let since = self.registry.revisions();
            match self.try_publish_endpoints().await {
                Err(status) if status.code == 409 => {
                    self.registry.has_learned_any(&since).await;
                }
                outcome => return outcome,
            }
        }
        self.try_publish_endpoints().await
    }

    /// The addresses of the endpoints, if these have the form that servers write.
    fn counted(&self) -> Option<Vec<IpAddr>> {
        let resource = pintle_groups::find("", "v1", "endpoints")?;
        let target = self.registry.target(resource, "default", "kubernetes")?;
        let stored = target.get().ok()?;
        let endpoints = self.registry.decode(&target, &stored).ok()?;
        let subsets = View::<Endpoints>::new(&endpoints).field(Endpoints::SUBSETS).get();
        let [subset] = &subsets[..] else { return None };
        Some(subset.addresses.iter().filter_map(|address| address.ip.parse().ok()).collect())
    }

    async fn try_publish_endpoints(&self) -> Result<()> {
        match (self.endpoints, self.address) {
            (EndpointReconciler::Lease, _) => {}
            (EndpointReconciler::Count(count), Some(own)) => {
                let addresses = with_own(self.counted().unwrap_or_default(), own, count);
                return bootstrap::reconcile(&self.registry, servers(&addresses, self.port)).await;
            }
            _ => return Ok(()),
        }
        let Some(leases) = self.registry.target(&SERVER_ADDRESSES, "", "") else { return Ok(()) };
        let state = leases.cache.state();
        let leased: BTreeSet<IpAddr> = state.objects.values().filter_map(|lease| lease.path().parse().ok()).collect();
        // The endpoints have one IP family: that of this server's address.
        let is_v6 = self.address.is_some_and(|address| address.is_ipv6());
        let leased: Vec<IpAddr> = leased.into_iter().filter(|address| address.is_ipv6() == is_v6).collect();
        if leased.is_empty() {
            return Ok(());
        }
        bootstrap::reconcile(&self.registry, servers(&leased, self.port)).await
    }

    fn identity(&self) -> Option<Target> {
        self.registry.target(leases()?, NAMESPACE, &self.name)
    }

    /// Whether the identity lease exists.
    fn has_identity(&self) -> bool {
        self.identity().is_none_or(|target| target.cache.get(&target.key()).is_some())
    }

    async fn renew_identity(&self) -> Result<()> {
        let Some(target) = self.identity() else { return Ok(()) };
        let labels = [IDENTITY_LABEL, ("kubernetes.io/hostname", &self.host)];
        let labels = BTreeMap::from(labels.map(|(key, value)| (key.to_owned(), value.to_owned())));
        let address = self.peer_address.map(|address| (PEER_ADDRESS.to_owned(), address.to_string()));
        let annotations: BTreeMap<String, String> = address.into_iter().collect();
        let lease = Lease {
            type_meta: TypeMeta { kind: "Lease".to_owned(), api_version: "coordination.k8s.io/v1".to_owned() },
            metadata: ObjectMeta {
                name: self.name.clone(),
                namespace: NAMESPACE.to_owned(),
                labels: labels.clone(),
                annotations: annotations.clone(),
                ..ObjectMeta::default()
            },
            spec: LeaseSpec {
                holder_identity: Some(self.holder.clone()),
                lease_duration_seconds: Some(IDENTITY_SECONDS),
                renew_time: Some(now()),
                ..LeaseSpec::default()
            },
        }
        .to_value();
        let change = move |old: Option<&Value>| {
            // As in kube-apiserver, a renewal keeps the first holder: the lease belongs to the host.
            let Some(mut renewed) = old.cloned() else { return Ok(lease.clone()) };
            let mut view = ViewMut::<Lease>::new(&mut renewed);
            view.by_ref().field(Lease::SPEC).field(LeaseSpec::RENEW_TIME).set(Some(now()));
            let mut metadata = view.field(Lease::METADATA);
            for (field, own) in [(ObjectMeta::LABELS, &labels), (ObjectMeta::ANNOTATIONS, &annotations)] {
                let field = metadata.by_ref().field(field);
                let mut all = field.view().get();
                all.remove(PEER_ADDRESS);
                all.extend(own.clone());
                field.set(all);
            }
            Ok(renewed)
        };
        let update = Update {
            change: &change,
            part: None,
            create: true,
            from_stored: true,
            owners: ManagedFieldsUpdate::Compute,
        };
        let options = WriteOptions::of_server("kube-apiserver");
        self.registry.update(&target, &update, &options).await.map(drop)
    }

    /// Deletes the expired identity leases of other servers. As in kube-apiserver, a lease without a time or a duration
    /// has expired.
    async fn sweep(&self) {
        let Some(resource) = leases() else { return };
        let Some(all) = self.registry.target(resource, NAMESPACE, "") else { return };
        let expired = |lease: &View<Lease>| {
            let spec = lease.field(Lease::SPEC);
            let renewed = spec.field(LeaseSpec::RENEW_TIME).get();
            let ends = renewed.zip(spec.field(LeaseSpec::LEASE_DURATION_SECONDS).get());
            ends.is_none_or(|(renewed, seconds)| renewed.seconds.saturating_add(seconds.into()) < now().seconds)
        };
        // The leases of nodes are many, and in another namespace.
        let state = all.cache.state();
        for object in state.objects.under(&all.key()).map(|entry| &entry.object) {
            let is_identity =
                object.name() != self.name && object.encoded.label(IDENTITY_LABEL.0) == Some(IDENTITY_LABEL.1);
            let lease = is_identity.then(|| self.registry.decode(&all, object).ok()).flatten();
            if lease.is_some_and(|lease| expired(&View::new(&lease))) {
                let Some(target) = self.registry.target(resource, NAMESPACE, object.name()) else { continue };
                let options = DeleteOptions {
                    uid: Some(object.encoded.uid().to_owned()),
                    resource_version: Some(object.revision.0.to_string()),
                    ..DeleteOptions::default()
                };
                // Another server may have deleted the lease, or its owner may have renewed it.
                let _ = self.registry.delete(&target, &options).await;
            }
        }
    }
}

/// Adds this server's address. If there are too many, those that follow it in order are removed, wrapping around.
fn with_own(mut addresses: Vec<IpAddr>, own: IpAddr, count: usize) -> Vec<IpAddr> {
    addresses.retain(|address| address.is_ipv6() == own.is_ipv6());
    if !addresses.contains(&own) {
        addresses.push(own);
    }
    addresses.sort_by_key(IpAddr::to_string);
    while addresses.len() > count.max(1) {
        let at = addresses.iter().position(|address| *address == own).unwrap_or(0);
        addresses.remove((at + 1) % addresses.len());
    }
    addresses
}

fn leases() -> Option<&'static Arc<Resource>> {
    pintle_groups::find("coordination.k8s.io", "v1", "leases")
}

/// The identity of the server on a host, computed as in kube-apiserver: the same after every start.
pub(crate) fn identity(host: &str) -> String {
    let mut text = Vec::new();
    for part in [host, IDENTITY_LABEL.1] {
        text.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
        text.extend(part.as_bytes());
    }
    let digest = digest(&SHA256, &text);
    let start = digest.as_ref().get(..16).unwrap_or_default();
    format!("apiserver-{}", BASE32_NOPAD.encode(start).to_ascii_lowercase())
}

#[cfg(test)]
mod tests;
