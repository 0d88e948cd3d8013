//! Deletes the content of a namespace kind by kind, and counts what remains. Guarantees that pods, which have a grace
//! period, are deleted first, and that no namespace waits for the extension servers of another one. Must never touch
//! another namespace.
//!
//! A namespace may have a hundred thousand objects: each is visited in a step of the work, which is done in slices.

use super::NamespaceController;
use crate::requests::AT_A_TIME;
use crate::resource_index::{Kind, KindId, ResourceIndex, finalizers};
use crate::slices::{DECODING, Slices};
use futures_util::StreamExt;
use futures_util::stream;
use pintle_cache::Object;
use pintle_registry::Status;
use pintle_registry::options::Propagation;
use pintle_resource::Verbs;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

/// How long finalizers are expected to take.
const FINALIZERS_SECONDS: i64 = 15;

/// The finalizers that a condition of the namespace counts: more make a status that cannot be stored.
const COUNTED_FINALIZERS: usize = 1000;

/// The objects that are taken from the cache at a time.
const PAGE: usize = 256;

/// The finalizers that the garbage collector adds and removes; a delete in the background removes them, too.
const OF_COLLECTOR: [&str; 2] = ["orphan", "foregroundDeletion"];

/// The result of an attempt to empty a namespace.
#[derive(Default)]
pub struct Emptied {
    /// The versions of extension servers, as `group/version`, whose resources are not known.
    pub undiscovered: Vec<String>,
    /// Whether objects with a grace period remain, for which the others wait.
    pub has_pods: bool,
    /// The number of remaining objects, by `resource.group`.
    pub remaining: BTreeMap<String, usize>,
    /// The kinds of this server of which objects remain.
    pub awaited: HashSet<KindId>,
    /// The number of remaining objects by finalizer.
    pub finalizers: BTreeMap<String, usize>,
    /// The estimated seconds until the rest is gone.
    pub estimate_seconds: i64,
    /// The errors, one text per kind.
    pub failures: Vec<String>,
}

impl Emptied {
    /// Counts what remains of a resource, given as group, version and plural name. `estimate_seconds`: how long the grace
    /// periods of its objects last.
    pub(super) fn count(
        &mut self,
        [group, version, plural]: [&str; 3],
        namespace: &str,
        left: Remaining,
        estimate_seconds: i64,
    ) {
        if left.objects == 0 {
            return;
        }
        self.remaining.insert(format!("{plural}.{group}"), left.objects);
        let held = !left.finalizers.is_empty();
        for (finalizer, objects) in left.finalizers {
            add(&mut self.finalizers, &finalizer, objects);
        }
        let estimate = match (estimate_seconds, held) {
            (0, true) => FINALIZERS_SECONDS,
            (0, false) => {
                let resource = format!("{group}/{version}, Resource={plural}");
                let why = format!("unexpected items still remain in namespace: {namespace} for gvr: {resource}");
                self.failures.push(why);
                0
            }
            (estimate, _) => estimate,
        };
        self.estimate_seconds = self.estimate_seconds.max(estimate);
    }
}

/// What remains of a resource.
#[derive(Default)]
pub(super) struct Remaining {
    objects: usize,
    finalizers: BTreeMap<String, usize>,
}

impl Remaining {
    /// Adds an object with its finalizers.
    pub fn add<'a>(&mut self, finalizers: impl Iterator<Item = &'a str>) {
        self.objects += 1;
        finalizers.for_each(|finalizer| add(&mut self.finalizers, finalizer, 1));
    }
}

/// Counts a finalizer, if not too many others have been counted.
fn add(counts: &mut BTreeMap<String, usize>, finalizer: &str, objects: usize) {
    if let Some(count) = counts.get_mut(finalizer) {
        *count += objects;
    } else if counts.len() < COUNTED_FINALIZERS {
        counts.insert(finalizer.to_owned(), objects);
    }
}

impl NamespaceController {
    /// Deletes the content of a namespace whose deletion began this many seconds ago.
    pub(super) async fn empty(&self, namespace: &str, age_seconds: i64) -> Emptied {
        let client = self.aggregated.as_deref();
        let known = client.map(|client| client.resources(&self.index.registry)).unwrap_or_default();
        let mut emptied = self.empty_own(namespace, age_seconds).await;
        emptied.undiscovered = known.undiscovered;
        if let Some(client) = client.filter(|_| !emptied.has_pods) {
            self.empty_aggregated(client, &known.namespaced, namespace, &mut emptied).await;
        }
        emptied
    }

    /// Deletes the content that this server stores.
    async fn empty_own(&self, namespace: &str, age_seconds: i64) -> Emptied {
        // Nothing closes the semaphore.
        let _permit = self.emptying.acquire().await;
        let mut emptied = Emptied::default();
        let deletable =
            |(_, kind): &(KindId, &Arc<Kind>)| kind.resource.namespaced && kind.resource.verbs.contains(Verbs::DELETE);
        let graceful = |(_, kind): &(KindId, &Arc<Kind>)| kind.resource.strategy.grace_period.is_some();
        let all = self.index.kinds();
        let kinds = || all.iter().filter(deletable);
        for kind in kinds().filter(graceful) {
            self.empty_kind(kind, namespace, age_seconds, &mut emptied).await;
        }
        emptied.has_pods = !(emptied.remaining.is_empty() && emptied.failures.is_empty());
        if !emptied.has_pods {
            for kind in kinds().filter(|kind| !graceful(kind)) {
                self.empty_kind(kind, namespace, age_seconds, &mut emptied).await;
            }
        }
        emptied
    }

    async fn empty_kind(
        &self,
        (id, kind): (KindId, &Arc<Kind>),
        namespace: &str,
        age_seconds: i64,
        emptied: &mut Emptied,
    ) {
        let unreadable = ResourceIndex::unreadable(kind, namespace);
        if unreadable > 0 {
            let resource = kind.resource.qualified();
            emptied.failures.push(format!("{unreadable} {resource} in namespace {namespace} cannot be read"));
        }
        let (registry, cache) = (&self.index.registry, &kind.target.cache);
        // Where the store has other revisions, what was written before the namespace was deleted may still be missing.
        let namespaces = self.index.kind(self.namespaces);
        let is_apart = |of: &Kind| !registry.is_in_same_store(&of.target.cache.prefix, &cache.prefix);
        if namespaces.is_some_and(|namespaces| is_apart(&namespaces))
            && let Err(status) = registry.catch_up(cache).await
        {
            emptied.failures.push(status.message);
            return;
        }
        if !ResourceIndex::has_content(kind, namespace) {
            return;
        }
        let mut slices = self.work.slices();
        let (longest, outcome) = self.delete_all(kind, namespace, &mut slices).await;
        // An object whose grace period has passed takes longer than estimated.
        let estimate = if longest > age_seconds { longest } else { 0 };
        if let Err(status) = outcome {
            emptied.awaited.insert(id);
            emptied.failures.push(status.message);
            emptied.estimate_seconds = emptied.estimate_seconds.max(estimate);
            return;
        }
        let mut left = Remaining::default();
        for entry in cache.state().objects.under(&ResourceIndex::prefix(kind, namespace)) {
            slices.step().await;
            left.add(finalizers(&entry.object));
        }
        if left.objects > 0 {
            emptied.awaited.insert(id);
        }
        let resource = &kind.resource;
        emptied.count([&resource.group, &resource.version, &resource.plural], namespace, left, estimate);
    }

    /// The grace period of an object's deletion.
    async fn grace_seconds(&self, kind: &Kind, object: &Object, slices: &mut Slices<'_>) -> i64 {
        let Some(compute) = kind.resource.strategy.grace_period else { return 0 };
        slices.steps(DECODING).await;
        self.index.registry.decode(&kind.target, object).map_or(0, |object| compute(&object, None))
    }

    /// Deletes the objects of a kind in a namespace; returns their longest grace period, and the first failure.
    async fn delete_all(&self, kind: &Kind, namespace: &str, slices: &mut Slices<'_>) -> (i64, Result<(), Status>) {
        let requests = self.requests();
        let options = requests.delete_options(Propagation::Background);
        let (requests, options) = (&requests, &options);
        let state = kind.target.cache.state();
        let mut objects = state.objects.under(&ResourceIndex::prefix(kind, namespace)).map(|entry| &entry.object);
        let (mut longest, mut result) = (0, Ok(()));
        loop {
            let mut deletions = Vec::new();
            let mut is_end = true;
            for object in objects.by_ref().take(PAGE) {
                slices.step().await;
                is_end = false;
                longest = longest.max(self.grace_seconds(kind, object, slices).await);
                if !is_left_to_others(kind, object) {
                    let target = kind.at(object);
                    deletions.push(async move { requests.delete(&target, options).await });
                }
            }
            if is_end {
                return (longest, result);
            }
            let mut outcomes = stream::iter(deletions).buffer_unordered(AT_A_TIME);
            while let Some(outcome) = outcomes.next().await {
                slices.steps(DECODING).await;
                result = result.and(outcome);
            }
        }
    }
}

/// Whether an object is being deleted and waits only for finalizers that others remove: deleting it again does nothing.
fn is_left_to_others(kind: &Kind, object: &Object) -> bool {
    let mut finalizers = finalizers(object).peekable();
    object.encoded.terminating
        && kind.resource.strategy.grace_period.is_none()
        && finalizers.peek().is_some()
        && !finalizers.any(|finalizer| OF_COLLECTOR.contains(&finalizer))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_all_finalizers_are_counted_if_there_are_very_many() {
        let mut emptied = Emptied::default();
        for plural in ["as", "bs"] {
            let mut left = Remaining::default();
            for number in 0..2 * COUNTED_FINALIZERS {
                let own = format!("example.com/{plural}{number}");
                left.add(["example.com/all", &own].into_iter());
            }
            emptied.count(["", "v1", plural], "n", left, 0);
        }
        assert_eq!(emptied.finalizers.len(), COUNTED_FINALIZERS);
        assert_eq!(emptied.finalizers.get("example.com/all"), Some(&(4 * COUNTED_FINALIZERS)));
        assert_eq!((emptied.remaining.len(), emptied.failures.len()), (2, 0));
    }
}
