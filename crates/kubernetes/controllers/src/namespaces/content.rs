//! Deletes the content of a namespace kind by kind, and counts what remains. Guarantees that pods, which have a grace
//! period, are deleted first. Must never touch another namespace.

use super::NamespaceController;
use crate::requests::AT_A_TIME;
use crate::resource_index::{Kind, ResourceIndex, metadata};
use futures_util::StreamExt;
use futures_util::stream;
use pintle_cache::Object;
use pintle_registry::Status;
use pintle_registry::options::Propagation;
use pintle_resource::Verbs;
use pintle_schema::View;
use pintle_types::meta::v1::ObjectMeta;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How long finalizers are expected to take.
const FINALIZERS_SECONDS: i64 = 15;

/// The result of an attempt to empty a namespace.
#[derive(Default)]
pub struct Emptied {
    /// The number of remaining objects, by `resource.group`.
    pub remaining: BTreeMap<String, usize>,
    /// The number of remaining objects by finalizer.
    pub finalizers: BTreeMap<String, usize>,
    /// The estimated seconds until the rest is gone.
    pub estimate_seconds: i64,
    /// The errors, one text per kind.
    pub failures: Vec<String>,
}

impl NamespaceController {
    /// Deletes the content of a namespace whose deletion began this many seconds ago.
    pub(super) async fn empty(&self, namespace: &str, age_seconds: i64) -> Emptied {
        let mut emptied = Emptied::default();
        let deletable = |kind: &&Kind| kind.resource.namespaced && kind.resource.verbs.contains(Verbs::DELETE);
        let graceful = |kind: &&Kind| kind.resource.strategy.grace_period.is_some();
        let all = self.world.kinds();
        let kinds = || all.iter().map(|(_, kind)| &**kind).filter(deletable);
        for kind in kinds().filter(graceful) {
            self.empty_kind(kind, namespace, age_seconds, &mut emptied).await;
        }
        if emptied.remaining.is_empty() && emptied.failures.is_empty() {
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
        let left = ResourceIndex::content(kind, namespace);
        if left.is_empty() {
            return;
        }
        let resource = &kind.resource;
        emptied.remaining.insert(format!("{}.{}", resource.plural, resource.group), left.len());
        let mut held = false;
        for object in &left {
            let metadata = metadata(object);
            for finalizer in View::<ObjectMeta>::new(&metadata).field(ObjectMeta::FINALIZERS).iter() {
                held = true;
                *emptied.finalizers.entry(finalizer.as_str().to_owned()).or_insert(0) += 1;
            }
        }
        let estimate = match (estimate, held) {
            (0, true) => FINALIZERS_SECONDS,
            (0, false) => {
                emptied.failures.push(format!(
                    "unexpected items still remain in namespace: {namespace} for gvr: {}/{}, Resource={}",
                    resource.group, resource.version, resource.plural
                ));
                0
            }
            (estimate, _) => estimate,
        };
        emptied.estimate_seconds = emptied.estimate_seconds.max(estimate);
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
