//! How many seats a request takes, by what it costs here.
//! Guarantees at least one, and that estimating takes a few look-ups. Must never read an object.

use super::InFlight;
use crate::Api;
use crate::encoding::{Format, MediaTypeOptions, ResponseKind};
use crate::query::Query;
use crate::request::{ResourcePath, Verb};
use pintle_cache::ResourceCache;
use pintle_flowcontrol::{FlowClass, ListWork, WorkEstimate};
use pintle_resource::Found;
use std::sync::Arc;

/// More watches than these are not counted: they would cost no more seats, but the time to count them.
const COUNTED_WATCHES: usize = 1000;

/// A namespace with more objects than these counts as the whole resource.
const COUNTED_OBJECTS: usize = 1000;

/// The work of a request for a resource.
pub(crate) fn estimate(
    api: &Api,
    path: &ResourcePath,
    verb: Verb,
    query: &Query,
    wanted: MediaTypeOptions,
    class: &FlowClass<InFlight>,
) -> WorkEstimate {
    let cache = || -> Option<Arc<ResourceCache>> {
        let table = api.registry.resources.read();
        let Found::Resource(resource) = table.find(&path.group, &path.version, &path.resource) else { return None };
        api.registry.cache.resource(&resource.storage.as_ref()?.prefix)
    };
    let most = class.most_seats;
    match verb {
        Verb::List => cache().map_or(WorkEstimate::ONE, |cache| list(&cache, path, query, wanted, most)),
        Verb::Watch if query.flag("sendInitialEvents") => {
            cache().map_or(WorkEstimate::ONE, |cache| list(&cache, path, query, wanted, most))
        }
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete => cache().map_or(WorkEstimate::ONE, |cache| {
            let key = match path.is_within_namespace() {
                true => format!("{}{}/{}", cache.prefix, path.namespace, path.name),
                false => format!("{}{}", cache.prefix, path.name),
            };
            let watches = cache.watches_of(&path.namespace, Some(&key), COUNTED_WATCHES) as u64;
            class.stats.watches.observe(watches as f64);
            WorkEstimate::write(watches, most)
        }),
        _ => WorkEstimate::ONE,
    }
}

fn list(
    cache: &ResourceCache,
    path: &ResourcePath,
    query: &Query,
    wanted: MediaTypeOptions,
    most: u64,
) -> WorkEstimate {
    if !path.name.is_empty() {
        return WorkEstimate::ONE;
    }
    let state = cache.state();
    // What is selected is not known before it is looked for; then a limit says little of what is looked through.
    let is_selected = ["labelSelector", "fieldSelector"].iter().any(|selector| !query.get(selector).is_empty());
    let limit = query.get("limit").parse().ok().filter(|_| !is_selected).unwrap_or(0);
    let (all, prefix) = (state.objects.len(), format!("{}{}/", cache.prefix, path.namespace));
    let objects = match path.is_within_namespace() {
        // Counting takes a small part of the time of the list itself.
        true => state.objects.under(&prefix).take(COUNTED_OBJECTS + 1).count(),
        false => all,
    };
    let objects = if objects > COUNTED_OBJECTS { all } else { objects } as u64;
    let bytes = state.object_bytes as u64 / (all as u64).max(1) * objects;
    let as_stored = wanted.format == Format::Json && wanted.shape == ResponseKind::Object;
    let work = ListWork { objects, bytes, limit, as_stored };
    WorkEstimate::list(&work, most)
}
