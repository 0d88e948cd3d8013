//! The controllers of kube-controller-manager that a server on its own needs. They may run beside a
//! kube-controller-manager: two instances do not undo each other's work. The conditions that an API server itself sets
//! are always on. Guarantees that they continue after a restart: all their state is in the objects.
//!
//! One task passes them every change from the cache; workers process queues and make requests within the process.

mod conditions;
mod definitions;
mod election;
mod expiry;
mod feed;
mod garbage;
mod names;
mod namespaces;
mod queue;
mod reconcile;
mod requests;
mod resource_index;
mod served_versions;
mod slices;
mod stats;
#[cfg(test)]
mod tests;

pub use conditions::api_services::ApiServiceCheck;
pub use definitions::ServedDefinitions;
pub use election::Leadership;
pub use names::{Controller, UnknownController};
pub use namespaces::{
    AggregatedClient, AggregatedCollection, AggregatedError, AggregatedResource, AggregatedResources,
};
pub use reconcile::storage_versions::set_common_version;
pub use stats::{QueueSnapshot, Stats};

use conditions::api_services::Available;
use conditions::flow_schemas::Dangling;
use conditions::{Rule, StatusController};
use definitions::Definitions;
use election::{Election, ServerLock};
use expiry::Expiry;
use feed::Observer;
use garbage::GarbageCollector;
use namespaces::NamespaceController;
use pintle_gates as gates;
use pintle_registry::Registry;
use pintle_registry::environment::new_uid;
use reconcile::default_accounts::DefaultAccounts;
use reconcile::root_certificates::RootCertificates;
use reconcile::{Reconciler, Reconciling};
use resource_index::ResourceIndex;
use std::future::poll_fn;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;
use tokio::task::JoinSet;

/// The number of namespaces that are emptied concurrently: many, since each may wait for an extension server.
const NAMESPACE_WORKERS: usize = 64;
/// The number of objects that the garbage collector processes concurrently: enough for their writes to share a sync.
const GARBAGE_WORKERS: usize = 32;
/// Changes are collected for this fraction of the settle time.
const BATCHES_PER_SETTLE_TIME: u32 = 5;

/// Which controllers run, and how.
#[derive(Clone, Debug)]
pub struct Settings {
    pub enabled: Vec<Controller>,
    /// The delay before a controller acts on a change, so that a client that deletes an object and reads it at once
    /// sees the result of its own delete, and that changes are batched.
    pub settle_time: Duration,
    /// The certificate authorities by which clients in the cluster verify the server, as PEM; `None` disables
    /// publishing.
    pub root_ca: Option<String>,
    /// The lifetime of events; `None` for that of their kind, zero for ever.
    pub event_ttl: Option<Duration>,
    /// Whether the conditions that an API server itself sets are maintained, independent of the controllers.
    pub conditions: bool,
    /// How the servers of API services are asked whether they answer; without it none is called available.
    pub api_services: Option<Arc<dyn ApiServiceCheck>>,
    /// Deletes what extension servers have in a namespace; without it that stays.
    pub aggregated: Option<Arc<dyn AggregatedClient>>,
    /// The times of the election among servers of the one that elects the leaders of components.
    pub leadership: Leadership,
    /// The host of the server, by which it is known among servers.
    pub host: String,
}

impl Default for Settings {
    /// The controllers of a server that is a part of a control plane, without delay.
    fn default() -> Self {
        Settings {
            enabled: Controller::beside_others(),
            settle_time: Duration::ZERO,
            root_ca: None,
            event_ttl: None,
            conditions: true,
            api_services: None,
            aggregated: None,
            leadership: Leadership::default(),
            host: String::new(),
        }
    }
}

/// Running controllers. Dropping this stops them.
pub struct Controllers {
    tasks: JoinSet<()>,
    observers: Vec<Arc<dyn Observer>>,
}

/// The queues of running controllers.
pub struct Queues(Vec<Arc<dyn Observer>>);

impl Queues {
    /// Their statistics.
    pub fn read(&self) -> Vec<QueueSnapshot<'_>> {
        self.0.iter().filter_map(|observer| observer.queue()).collect()
    }
}

impl Controllers {
    /// Starts the controllers, which first process the existing objects. Call it within a runtime. `definitions` are served without
    /// them; they set their conditions.
    pub fn start(
        registry: Arc<Registry>,
        settings: &Settings,
        definitions: Option<Arc<ServedDefinitions>>,
    ) -> Controllers {
        let mut tasks = JoinSet::new();
        let index = Arc::new(ResourceIndex::new(registry));
        let mut observers: Vec<Arc<dyn Observer>> = Vec::new();
        let on = |controller| settings.enabled.contains(&controller);
        let namespaces = on(Controller::Namespace)
            .then(|| NamespaceController::new(index.clone(), settings.settle_time, settings.aggregated.clone()));
        if let Some(controller) = namespaces.flatten().map(Arc::new) {
            observers.push(controller.clone());
            for _ in 0..NAMESPACE_WORKERS {
                let controller = controller.clone();
                tasks.spawn(restarted(async move || controller.work().await));
            }
        }
        if on(Controller::GarbageCollector) {
            let controller = Arc::new(GarbageCollector::new(index.clone(), settings.settle_time));
            observers.push(controller.clone());
            for _ in 0..GARBAGE_WORKERS {
                let controller = controller.clone();
                tasks.spawn(restarted(async move || controller.work().await));
            }
        }
        if on(Controller::EventTtl) {
            let controller = Arc::new(Expiry::new(index.clone(), settings.event_ttl));
            observers.push(controller.clone());
            tasks.spawn(restarted(async move || controller.work().await));
        }
        for controller in &settings.enabled {
            reconcilers::start(*controller, &index, settings, &mut observers, &mut tasks);
        }
        if settings.conditions {
            keep(Dangling, &index, &mut observers, &mut tasks);
            keep(Available(settings.api_services.clone()), &index, &mut observers, &mut tasks);
        }
        if let Some(served) = definitions {
            if let Some(controller) = Definitions::new(index.clone(), served.clone()).map(Arc::new) {
                observers.push(controller.clone());
                tasks.spawn(restarted(async move || controller.work().await));
            }
            tasks.spawn(restarted(async move || served.work().await));
        }
        if settings.conditions && index.registry.environment.gates().is_on(&gates::COORDINATED_LEADER_ELECTION) {
            elect(settings, &index, &mut observers, &mut tasks);
        }
        if !observers.is_empty() {
            let (batch, shown) = (settings.settle_time / BATCHES_PER_SETTLE_TIME, observers.clone());
            tasks.spawn(restarted(async move || feed::run(index.clone(), shown.clone(), batch).await));
        }
        Controllers { tasks, observers }
    }

    /// Gives the namespace `default` what controllers give every namespace, if they are enabled: a pod can be created as soon as
    /// the server serves. What fails is tried again by the controllers.
    pub async fn prepare(registry: Arc<Registry>, settings: &Settings) {
        let index = Arc::new(ResourceIndex::new(registry));
        let namespace = index.stored("", "namespaces").and_then(|kind| index.place(kind, "", "default"));
        let Some(namespace) = namespace else { return };
        let on = |controller| settings.enabled.contains(&controller);
        let accounts = on(Controller::ServiceAccount).then(|| DefaultAccounts::new(index.clone())).flatten();
        let bundle = settings.root_ca.clone().filter(|_| on(Controller::RootCaCertificatePublisher));
        let certificates = bundle.and_then(|bundle| RootCertificates::publishing(index.clone(), bundle));
        // At the same time, so that they share a sync.
        tokio::join!(
            async {
                if let Some(accounts) = &accounts {
                    accounts.sync(&namespace).await;
                }
            },
            async {
                if let Some(certificates) = &certificates {
                    certificates.sync(&namespace).await;
                }
            }
        );
    }

    /// Their queues, for metrics.
    pub fn queues(&self) -> Queues {
        Queues(self.observers.clone())
    }

    /// Stops the controllers and waits for them.
    pub async fn stop(mut self) {
        self.tasks.shutdown().await;
    }
}

/// The delay before a restart after a panic.
const RESTART_AFTER: Duration = Duration::from_secs(1);

/// Runs a worker, and restarts it after a panic. The key that it processed stays in progress, so that it is not
/// processed again before the next start.
async fn restarted(run: impl AsyncFn()) {
    loop {
        let mut running = pin!(run());
        poll_fn(|context| {
            let polled = catch_unwind(AssertUnwindSafe(|| running.as_mut().poll(context)));
            polled.unwrap_or(Poll::Ready(()))
        })
        .await;
        tokio::time::sleep(RESTART_AFTER).await;
    }
}

/// The reconciler of each controller.
mod reconcilers {
    use super::reconcile::aggregation::Aggregation;
    use super::reconcile::finished_jobs::FinishedJobs;
    use super::reconcile::legacy_tokens::LegacyTokens;
    use super::reconcile::migrations::Migrations;
    use super::reconcile::policy_status::PolicyStatus;
    use super::reconcile::quotas::Quotas;
    use super::reconcile::storage_versions::StorageVersions;
    use super::reconcile::tokens::Tokens;
    use super::*;

    /// Starts a controller, if it is a reconciler and the kinds that it needs are stored.
    pub fn start(
        controller: Controller,
        index: &Arc<ResourceIndex>,
        settings: &Settings,
        observers: &mut Vec<Arc<dyn Observer>>,
        tasks: &mut JoinSet<()>,
    ) {
        let mut starting = Starting { settle: settings.settle_time, observers, tasks };
        let index = index.clone();
        match controller {
            Controller::Namespace | Controller::GarbageCollector | Controller::EventTtl => {}
            Controller::ResourceQuota => starting.run(Quotas::new(index)),
            Controller::ServiceAccount => starting.run(DefaultAccounts::new(index)),
            Controller::RootCaCertificatePublisher => {
                let bundle = settings.root_ca.clone();
                starting.run(bundle.and_then(|bundle| RootCertificates::publishing(index, bundle)));
            }
            Controller::ClusterRoleAggregation => starting.run(Aggregation::new(index)),
            Controller::TokenCleaner => starting.run(Tokens::new(index)),
            Controller::TtlAfterFinished => starting.run(FinishedJobs::new(index)),
            Controller::LegacyServiceAccountTokenCleaner => starting.run(LegacyTokens::new(index)),
            Controller::StorageVersionMigrator => starting.run(Migrations::new(index)),
            Controller::ValidatingAdmissionPolicyStatus => starting.run(PolicyStatus::new(index)),
            Controller::StorageVersionGarbageCollector => starting.run(StorageVersions::new(index)),
        }
    }

    struct Starting<'a> {
        settle: Duration,
        observers: &'a mut Vec<Arc<dyn Observer>>,
        tasks: &'a mut JoinSet<()>,
    }

    impl Starting<'_> {
        fn run<R: Reconciler>(&mut self, reconciler: Option<R>) {
            let Some(reconciler) = reconciler else { return };
            let settle = if R::SETTLES { self.settle } else { Duration::ZERO };
            let controller = Arc::new(Reconciling::new(reconciler, settle));
            self.observers.push(controller.clone());
            for _ in 0..R::WORKERS {
                let controller = controller.clone();
                self.tasks.spawn(restarted(async move || controller.work().await));
            }
        }
    }
}

/// Starts the election of the leaders of components.
fn elect(
    settings: &Settings,
    index: &Arc<ResourceIndex>,
    observers: &mut Vec<Arc<dyn Observer>>,
    tasks: &mut JoinSet<()>,
) {
    let identity = format!("{}_{}", settings.host, new_uid(&*index.registry.environment));
    let lock = Arc::new(ServerLock::new(index.registry.clone(), settings.leadership, identity));
    let Some(election) = Election::new(index.clone(), lock.clone()) else { return };
    let controller = Arc::new(Reconciling::new(election, Duration::ZERO));
    observers.push(controller.clone());
    tasks.spawn(restarted(async move || controller.work().await));
    tasks.spawn(restarted(async move || lock.keep().await));
}

fn keep<R: Rule>(rule: R, index: &Arc<ResourceIndex>, observers: &mut Vec<Arc<dyn Observer>>, tasks: &mut JoinSet<()>) {
    let Some(keeper) = StatusController::new(rule, index.clone()).map(Arc::new) else { return };
    observers.push(keeper.clone());
    for _ in 0..R::WORKERS {
        let keeper = keeper.clone();
        tasks.spawn(restarted(async move || keeper.work().await));
    }
}
