//! The first writes of a server: the bootstrap objects, and what it announces of itself. Guarantees that a start
//! neither waits for another process nor fails because a write is refused: what is left is tried again beside serving,
//! and readiness names it. Must never bypass admission.

use crate::bootstrap;
use crate::hooks::STORAGE_VERSIONS;
use crate::identity_lease::IdentityLease;
use crate::start_error::StartError;
use futures_util::future::{FutureExt, join_all};
use futures_util::{StreamExt, stream};
use pintle_bootstrap::{BootstrapObject, SERVICE_HOOK, Settings, objects_one_by_one};
use pintle_endpoints::Api;
use pintle_endpoints::health::Health;
use pintle_registry::{Registry, Result, Status};
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// The number of concurrent writes of one hook.
const AT_A_TIME: usize = 4;

/// The first pause between two attempts. It doubles with each, up to [`MAX_PAUSE`].
const MIN_PAUSE: Duration = Duration::from_secs(1);
/// As often as leases are renewed.
const MAX_PAUSE: Duration = Duration::from_secs(10);

/// The check that passes with that of the registration of API services.
const REGISTRATION: &str = "poststarthook/kube-apiserver-autoregistration";
const REGISTERED: &str = "autoregister-completion";
const IDENTITY: &str = "poststarthook/start-kube-apiserver-identity-lease-controller";

/// What has to be written before a health check passes.
pub(crate) struct Work {
    hook: &'static str,
    objects: Vec<BootstrapObject>,
}

impl Work {
    /// All of a server's, by hook.
    fn all(registry: &Registry, settings: &Settings) -> Vec<Work> {
        let mut all = [SERVICE_HOOK, IDENTITY].map(|hook| Work { hook, objects: Vec::new() }).into_iter().collect();
        for object in objects_one_by_one(settings) {
            // Objects are split from others before these are reconciled.
            let object = bootstrap::split(registry, object.clone()).unwrap_or(object);
            add(&mut all, object);
        }
        all
    }

    /// The checks that pass when it is done.
    fn hooks(&self) -> impl Iterator<Item = &'static str> {
        let further = match self.hook {
            REGISTRATION => Some(REGISTERED),
            IDENTITY => Some(STORAGE_VERSIONS),
            _ => None,
        };
        [self.hook].into_iter().chain(further)
    }

    /// Sets its health checks. Checks that the server does not have are not added.
    pub(crate) fn show(&self, health: &Health, is_done: bool) {
        self.hooks().filter(|hook| health.has(hook)).for_each(|hook| health.set_started(hook, is_done));
    }
}

fn add(all: &mut Vec<Work>, object: BootstrapObject) {
    let hook = object.hook();
    match all.iter_mut().find(|work| work.hook == hook) {
        Some(work) => work.objects.push(object),
        None => all.push(Work { hook, objects: vec![object] }),
    }
}

/// The first writes of one server.
pub(crate) struct FirstWrites {
    registry: Arc<Registry>,
    identity_lease: Arc<IdentityLease>,
    settings: Settings,
}

impl FirstWrites {
    pub(crate) fn new(registry: Arc<Registry>, identity_lease: Arc<IdentityLease>, settings: Settings) -> Self {
        FirstWrites { registry, identity_lease, settings }
    }

    /// Makes the writes, unless one may have to wait for another process, such as a webhook. Returns what is left to be
    /// written beside serving.
    ///
    /// # Errors
    /// The store fails.
    pub(crate) async fn before_serving(&self) -> std::result::Result<Vec<Work>, StartError> {
        let failed = |why: String| StartError::Bootstrap(why);
        self.identity_lease.renew_address().await.map_err(|status| failed(status.message))?;
        if self.registry.admission.may_wait(&self.registry) {
            return Ok(Work::all(&self.registry, &self.settings));
        }
        let left = match self.write_together().await {
            Ok(()) => Vec::new(),
            Err(status) => {
                report(&status, "the first objects");
                Work::all(&self.registry, &self.settings)
            }
        };
        match self.registry.store.ended().now_or_never() {
            Some(why) => Err(failed(why.to_string())),
            None => Ok(left),
        }
    }

    /// All in as few transactions as possible.
    async fn write_together(&self) -> Result<()> {
        bootstrap::ensure(&self.registry, &self.settings).await?;
        self.announce(SERVICE_HOOK).await?;
        self.announce(IDENTITY).await
    }

    /// Writes what is left until all of it is written.
    pub(crate) async fn beside_serving(self, left: Vec<Work>, api: Arc<Api>) {
        join_all(left.into_iter().map(|work| self.until_written(work, &api.health))).await;
    }

    async fn until_written(&self, mut work: Work, health: &Health) {
        let (mut pause, mut last) = (MIN_PAUSE, String::new());
        while let Err(status) = self.write(&mut work).await {
            if status.message != last {
                report(&status, work.hook);
                last = status.message;
            }
            tokio::time::sleep(pause).await;
            pause = MAX_PAUSE.min(pause * 2);
        }
        work.show(health, true);
    }

    /// Writes the objects one by one, so that one that is refused keeps no other from being written. Those that are
    /// written are removed from the work.
    async fn write(&self, work: &mut Work) -> Result<()> {
        let objects = std::mem::take(&mut work.objects);
        let writes: Vec<_> = objects.into_iter().map(|object| restored(&self.registry, object)).collect();
        let outcomes: Vec<_> = stream::iter(writes).buffered(AT_A_TIME).collect().await;
        let mut refused = Ok(());
        for (object, status) in outcomes.into_iter().filter_map(|(object, outcome)| Some((object, outcome.err()?))) {
            work.objects.push(object);
            refused = refused.and(Err(status));
        }
        refused?;
        self.announce(work.hook).await
    }

    /// Writes what a hook announces of this server.
    async fn announce(&self, hook: &str) -> Result<()> {
        match hook {
            SERVICE_HOOK => self.identity_lease.publish_endpoints().await,
            IDENTITY => {
                self.identity_lease.publish_identity().await?;
                self.identity_lease.report_storage_versions().await
            }
            _ => Ok(()),
        }
    }
}

async fn restored(registry: &Registry, object: BootstrapObject) -> (BootstrapObject, Result<()>) {
    let outcome = bootstrap::restore(registry, object.clone()).await;
    (object, outcome)
}

fn report(status: &Status, what: &str) {
    let err = &*status.message;
    warn!(err, what, "a first write of the server is refused, and tried again while it serves");
}

#[cfg(test)]
mod tests;
