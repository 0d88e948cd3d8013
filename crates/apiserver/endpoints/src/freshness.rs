//! How fresh a read has to be: waits for revisions that are not in the cache yet. Guarantees that a request which waits
//! long holds no slot. Must never wait without a bound.

use crate::context::Context;
use crate::request::Verb;
use pintle_cache::ResourceCache;
use pintle_registry::Result;
use pintle_resource::Resource;
use pintle_storage::Revision;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a read waits for a revision of the future.
const FRESHNESS_WAIT: Duration = Duration::from_secs(3);

/// Waits up to three seconds for a future revision. Returns whether it was reached.
pub(crate) async fn wait_for_revision(cache: &ResourceCache, revision: Revision) -> bool {
    if cache.current() >= revision {
        return true;
    }
    let mut progress = cache.progress.changes();
    tokio::time::timeout(FRESHNESS_WAIT, progress.wait_for(|current| *current >= revision)).await.is_ok()
}

/// Waits for a future revision, without a slot: requests that wait do not block others.
///
/// # Errors
/// Too many of the user's requests wait, or there is no slot afterwards.
pub(crate) async fn await_revision(context: &Context, cache: &ResourceCache, revision: Revision) -> Result<()> {
    if cache.current() >= revision {
        return Ok(());
    }
    match context.in_flight.wait(wait_for_revision(cache, revision)).await? {
        true => context.in_flight.enter().await,
        // The error is returned where the version is checked, which takes no work.
        false => Ok(()),
    }
}

/// Waits until all earlier writes are in the cache; without a slot where the store is shared and has to be asked.
///
/// # Errors
/// Too many of the user's requests wait, there is no slot afterwards, or the store does not say what there is.
pub(crate) async fn catch_up(context: &Context, resource: &Resource, verb: Verb) -> Result<()> {
    let registry = &context.api.registry;
    let started = Instant::now();
    let cache = cache_of(context, resource);
    let caught_up = async {
        match &cache {
            Some(cache) => registry.catch_up(cache).await,
            None => registry.catch_up_main().await,
        }
    };
    let outcome = match registry.is_shared() {
        true => context.in_flight.wait(caught_up).await?,
        false => caught_up.await,
    };
    context.in_flight.enter().await?;
    if let Some(cache) = cache {
        if verb == Verb::List && context.query.get("resourceVersion").is_empty() {
            cache.stats().consistent(outcome.is_ok());
        }
        if registry.is_shared() {
            cache.stats().waited(started.elapsed());
        }
    }
    outcome
}

/// The cache of a resource that is stored.
fn cache_of(context: &Context, resource: &Resource) -> Option<Arc<ResourceCache>> {
    context.api.registry.cache.resource(&resource.storage.as_ref()?.prefix)
}

/// Whether a read needs all earlier writes, or a revision that may not be in the cache yet.
pub(crate) fn needs_fresh_state(context: &Context, resource: &Resource) -> bool {
    let current =
        || cache_of(context, resource).map_or_else(|| context.api.registry.cache.current(), |it| it.current());
    let version = context.query.get("resourceVersion");
    !context.query.get("continue").is_empty()
        || version.is_empty()
        || version.parse().is_ok_and(|version: u64| version > current().0)
}
