//! The usage of all objects of a namespace under a quota. Guarantees that every countable name is in the result, if only as
//! zero, and that all of it is of one revision, or the newest of a resource in a store of its own. Must never trust earlier
//! results.

use crate::amounts::merge;
use crate::countable::Countable;
use crate::profile::Profile;
use crate::scopes;
use pintle_registry::{Registry, Result, Status};
use pintle_schema::Quantity;
use pintle_storage::Revision;
use pintle_types::core::v1::{ResourceList, ResourceQuotaSpec};

/// The usage of a namespace at a revision, for the names that a quota limits; names without a countable resource are
/// absent.
///
/// # Errors
/// A stored object cannot be decoded, or the revision is older than the history of a resource.
pub fn used(registry: &Registry, namespace: &str, spec: &ResourceQuotaSpec, at: Revision) -> Result<ResourceList> {
    let scopes = scopes::requirements(spec);
    let table = registry.resources.snapshot();
    let mut used = ResourceList::new();
    for stored in table.all_stored() {
        let Some(countable) = Countable::of(&stored.hub) else { continue };
        let names: Vec<&String> = spec.hard.keys().filter(|name| countable.counts_for(name, registry)).collect();
        let Some(target) = registry.target(&stored.hub, namespace, "").filter(|_| !names.is_empty()) else { continue };
        let mut sum: ResourceList = names.iter().map(|name| ((*name).clone(), Quantity::default())).collect();
        let state = target.cache.state();
        let objects = match registry.is_apart(&target.cache.prefix) {
            true => Ok(state.objects.clone()),
            false => state.at(at),
        };
        let objects = objects.map_err(|_| Status::internal("the usage was counted too late"))?;
        let objects = objects.under(&target.key()).map(|entry| &entry.object);
        if matches!(countable, Countable::Objects { .. }) {
            // Objects that are only counted are in no scope.
            let count = if scopes.is_empty() { objects.count() } else { 0 };
            let count = Quantity::from_i64(i64::try_from(count).unwrap_or(i64::MAX));
            sum.values_mut().for_each(|amount| *amount = count.clone());
        } else {
            for object in objects {
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
