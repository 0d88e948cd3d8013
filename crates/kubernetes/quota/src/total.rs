//! The usage of all objects of a namespace under a quota. Guarantees that every countable name is in the result, if only as
//! zero, and that all of it is of one revision, or the newest of a resource in a store of its own. Must never trust earlier
//! results.

use crate::amounts::merge;
use crate::countable::Countable;
use crate::profile::Profile;
use crate::scopes;
use pintle_cache::objects::Objects;
use pintle_registry::{Registry, Result, Status, Target};
use pintle_schema::Quantity;
use pintle_storage::Revision;
use pintle_types::core::v1::{ResourceList, ResourceQuotaSpec};

/// The cost of looking at an object that is only counted.
const COUNTING: u32 = 1;
/// The cost of decoding an object: microseconds.
const DECODING: u32 = 16;

/// Lets others run between two pieces of a long computation.
pub trait Pause: Send {
    /// Gives way before a piece, if what has been done since is long enough. A cost of 1 is that of a look-up.
    fn before(&mut self, cost: u32) -> impl Future<Output = ()> + Send;
}

/// The objects of a resource that a quota counts.
struct Counted<'a> {
    countable: Countable,
    names: Vec<&'a String>,
    target: Target,
    /// At the revision of the count.
    objects: Objects,
}

/// The usage of a namespace at a revision, for the names that a quota limits; names without a countable resource are
/// absent. It gives way before each object.
///
/// # Errors
/// A stored object cannot be decoded, or the revision is older than the history of a resource.
pub async fn used(
    registry: &Registry,
    namespace: &str,
    spec: &ResourceQuotaSpec,
    at: Revision,
    pause: &mut impl Pause,
) -> Result<ResourceList> {
    let scopes = scopes::requirements(spec);
    let mut used = ResourceList::new();
    // All snapshots are taken before the first pause, after which the revision may be older than the history.
    for Counted { countable, names, target, objects } in counted(registry, namespace, spec, at)? {
        let mut sum: ResourceList = names.iter().map(|name| ((*name).clone(), Quantity::default())).collect();
        let prefix = target.key();
        let objects = objects.under(&prefix).map(|entry| &entry.object);
        if matches!(countable, Countable::Objects { .. }) {
            // Objects that are only counted are in no scope.
            let mut count = 0;
            for _ in objects.take_while(|_| scopes.is_empty()) {
                pause.before(COUNTING).await;
                count += 1;
            }
            sum.values_mut().for_each(|amount| *amount = Quantity::from_i64(count));
        } else {
            for object in objects {
                pause.before(DECODING).await;
                let mut profile = Profile::of(&countable, &registry.decode(&target, object)?, registry);
                if scopes.iter().all(|scope| profile.scopes.are_in(scope)) {
                    profile.usage.retain(|name, _| sum.contains_key(name));
                    merge(&mut sum, &profile.usage);
                }
            }
        }
        merge(&mut used, &sum);
    }
    Ok(used)
}

/// The resources that a quota counts, with the objects of a revision.
fn counted<'a>(
    registry: &Registry,
    namespace: &str,
    spec: &'a ResourceQuotaSpec,
    at: Revision,
) -> Result<Vec<Counted<'a>>> {
    let table = registry.resources.snapshot();
    let mut all = Vec::new();
    for stored in table.all_stored() {
        let Some(countable) = Countable::of(&stored.hub) else { continue };
        let names: Vec<&String> = spec.hard.keys().filter(|name| countable.counts_for(name, registry)).collect();
        let Some(target) = registry.target(&stored.hub, namespace, "").filter(|_| !names.is_empty()) else { continue };
        let state = target.cache.state();
        let objects = match registry.is_apart(&target.cache.prefix) {
            true => Ok(state.objects.clone()),
            false => state.at(at),
        };
        let objects = objects.map_err(|_| Status::internal("the usage was counted too late"))?;
        all.push(Counted { countable, names, target, objects });
    }
    Ok(all)
}
