//! What other servers on the same store have written: waiting for it, and whether a decision may change with it.
//! Guarantees that nothing waits when no other server writes to the store. Must never compare revisions of two stores.

use crate::{Registry, Result, Status, Target, commit_failed};
use pintle_cache::{Object, ResourceCache};
use pintle_storage::Revision;

/// How far the caches were when a decision was made.
#[derive(Clone, Copy, Debug)]
pub struct CacheRevisions {
    main: Revision,
    own: Revision,
}

impl Registry {
    /// Waits until a cache holds every write of its resource that any server acknowledged before this call. Returns at once
    /// when no other server writes to the store.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub async fn catch_up(&self, cache: &ResourceCache) -> Result<()> {
        self.catch_up_with(&cache.prefix).await
    }

    /// The same for all resources of the main store.
    ///
    /// # Errors
    /// The store cannot be reached.
    pub async fn catch_up_main(&self) -> Result<()> {
        self.catch_up_with("").await
    }

    async fn catch_up_with(&self, key: &str) -> Result<()> {
        match self.store.catch_up(key) {
            None => Ok(()),
            Some(reached) => reached.await.map(drop).map_err(|error| commit_failed(&error)),
        }
    }

    /// Whether a key is in another store than the main one, and has no common revisions and transactions with it.
    pub fn is_apart(&self, key: &str) -> bool {
        self.store.partitions().iter().any(|partition| partition.holds(key))
    }

    /// Whether two keys are in the same store, so that one transaction can be about both.
    pub fn is_in_same_store(&self, one: &str, other: &str) -> bool {
        let place = |key: &str| self.store.partitions().iter().position(|partition| partition.holds(key));
        place(one) == place(other)
    }

    /// The state that a decision about objects of a cache is based on: theirs, and that of the main store, which has the
    /// namespaces and quotas.
    pub fn cache_revisions(&self, cache: &ResourceCache) -> CacheRevisions {
        CacheRevisions { main: self.cache.current(), own: cache.current() }
    }

    /// Whether a decision made on a state may change now, since other servers write too: catches up with the store.
    pub async fn has_learned(&self, cache: &ResourceCache, since: CacheRevisions) -> bool {
        let is_known = self.is_shared()
            && self.catch_up(cache).await.is_ok()
            && (!self.is_apart(&cache.prefix) || self.catch_up_main().await.is_ok());
        let now = self.cache_revisions(cache);
        is_known && (now.main > since.main || now.own > since.own)
    }

    /// The revisions of all stores that the cache has reached.
    pub fn revisions(&self) -> Vec<Revision> {
        self.cache.progress().map(|progress| progress.current()).collect()
    }

    /// The same as `has_learned` for a decision about objects of several resources.
    pub async fn has_learned_any(&self, since: &[Revision]) -> bool {
        if !self.is_shared() {
            return false;
        }
        let apart = self.store.partitions().iter().filter_map(|partition| partition.prefixes.first());
        for key in [""].into_iter().chain(apart.map(|prefix| &**prefix)) {
            // What one store does not tell says nothing about the others.
            let _ = self.catch_up_with(key).await;
        }
        self.revisions().iter().zip(since).any(|(now, since)| now > since)
    }

    /// Whether a rejection may be due to writes of others that were not visible yet: catches up with the store. Other
    /// failures may have committed, and must not be retried.
    pub(crate) async fn should_retry(&self, refusal: &Status, cache: &ResourceCache, since: CacheRevisions) -> bool {
        refusal.code < 500 && self.has_learned(cache, since).await
    }

    /// Whether an object has not changed since it was found, by this server or another.
    pub(crate) async fn is_current(&self, target: &Target, found: &Object) -> Result<bool> {
        if !self.is_shared() {
            return Ok(true);
        }
        self.catch_up(&target.cache).await?;
        Ok(target.cache.get(&found.key).is_some_and(|now| now.revision == found.revision))
    }

    /// How many attempts to make at something for which `usual` attempts are enough when one server writes.
    pub(crate) fn attempts(&self, usual: usize) -> usize {
        if self.is_shared() { usual * 8 } else { usual }
    }

    /// Whether others write to the store too.
    pub fn is_shared(&self) -> bool {
        self.store.is_shared()
    }
}
