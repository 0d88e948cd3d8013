//! Deletes the content of a namespace kind by kind, and counts what remains. Guarantees that pods, which have a grace
//! period, are deleted first, and that no namespace waits for the extension servers of another one. Must never touch
//! another namespace.

use super::NamespaceController;
use crate::requests::AT_A_TIME;
use crate::resource_index::{Kind, ResourceIndex, finalizers};
use futures_util::StreamExt;
use futures_util::stream;
use pintle_cache::Object;
use pintle_registry::Status;
use pintle_registry::options::Propagation;
use pintle_resource::Verbs;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long finalizers are expected to take.
const FINALIZERS_SECONDS: i64 = 15;

/// The result of an attempt to empty a namespace.
#[derive(Default)]
pub struct Emptied {
    /// The versions of extension servers, as `group/version`, whose resources are not known.
    pub undiscovered: Vec<String>,
    /// Whether objects with a grace period remain, for which the others wait.
    pub has_pods: bool,
    /// The number of remaining objects, by `resource.group`.
    pub remaining: BTreeMap<String, usize>,
    /// The number of remaining objects by finalizer.
    pub finalizers: BTreeMap<String, usize>,
    /// The estimated seconds until the rest is gone.
    pub estimate_seconds: i64,
    /// The errors, one text per kind.
    pub failures: Vec<String>,
}

impl Emptied {
    /// Counts what remains of a resource, given as group, version and plural name, from the finalizers of its objects.
    /// `estimate_seconds`: how long their grace periods last.
    pub(super) fn count(
        &mut self,
        [group, version, plural]: [&str; 3],
        namespace: &str,
        left: impl ExactSizeIterator<Item = Vec<String>>,
        estimate_seconds: i64,
    ) {
        if left.len() == 0 {
            return;
        }
        self.remaining.insert(format!("{plural}.{group}"), left.len());
        let mut held = false;
        for finalizer in left.flatten() {
            held = true;
            *self.finalizers.entry(finalizer).or_insert(0) += 1;
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

impl NamespaceController {
    /// Deletes the content of a namespace whose deletion began this many seconds ago.
    pub(super) async fn empty(&self, namespace: &str, age_seconds: i64) -> Emptied {
        let client = self.aggregated.as_deref();
        let known = client.map(|client| client.resources(&self.world.registry)).unwrap_or_default();
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
        let deletable = |kind: &&Kind| kind.resource.namespaced && kind.resource.verbs.contains(Verbs::DELETE);
        let graceful = |kind: &&Kind| kind.resource.strategy.grace_period.is_some();
        let all = self.world.kinds();
        let kinds = || all.iter().map(|(_, kind)| &**kind).filter(deletable);
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

    async fn empty_kind(&self, kind: &Kind, namespace: &str, age_seconds: i64, emptied: &mut Emptied) {
        let unreadable = ResourceIndex::unreadable(kind, namespace);
        if unreadable > 0 {
            let resource = kind.resource.qualified();
            emptied.failures.push(format!("{unreadable} {resource} in namespace {namespace} cannot be read"));
        }
        let (registry, cache) = (&self.world.registry, &kind.target.cache);
        // Where the store has other revisions, what was written before the namespace was deleted may still be missing.
        let namespaces = self.world.kind(self.namespaces);
        let is_apart = |of: &Kind| !registry.is_in_same_store(&of.target.cache.prefix, &cache.prefix);
        if namespaces.is_some_and(|namespaces| is_apart(&namespaces))
            && let Err(status) = registry.catch_up(cache).await
        {
            emptied.failures.push(status.message);
            return;
        }
        let objects = ResourceIndex::content(kind, namespace);
        if objects.is_empty() {
            return;
        }
        let longest = objects.iter().map(|object| self.grace_seconds(kind, object)).max().unwrap_or(0);
        // An object whose grace period has passed takes longer than estimated.
        let estimate = if longest > age_seconds { longest } else { 0 };
        if let Err(status) = self.delete_all(kind, objects).await {
            emptied.failures.push(status.message);
            emptied.estimate_seconds = emptied.estimate_seconds.max(estimate);
            return;
        }
        let resource = &kind.resource;
        let left = ResourceIndex::content(kind, namespace);
        let finalizers = left.iter().map(|object| finalizers(object).map(str::to_owned).collect());
        emptied.count([&resource.group, &resource.version, &resource.plural], namespace, finalizers, estimate);
    }

    /// The grace period of an object's deletion.
    fn grace_seconds(&self, kind: &Kind, object: &Object) -> i64 {
        let Some(compute) = kind.resource.strategy.grace_period else { return 0 };
        self.world.registry.decode(&kind.target, object).map_or(0, |object| compute(&object, None))
    }

    async fn delete_all(&self, kind: &Kind, objects: Vec<Arc<Object>>) -> Result<(), Status> {
        let requests = self.requests();
        let options = requests.delete_options(Propagation::Background);
        let (requests, options) = (&requests, &options);
        let deletes =
            objects.into_iter().map(|object| async move { requests.delete(&kind.at(&object), options).await });
        let deletes: Vec<_> = deletes.collect();
        let outcomes: Vec<_> = stream::iter(deletes).buffer_unordered(AT_A_TIME).collect().await;
        outcomes.into_iter().collect()
    }
}
