//! Metrics of what is stored and cached, read from the cache when somebody asks.
//! Guarantees that a scrape copies nothing: it takes pointers to published states.
//! Must never decode an object.

use super::exposition::{Exposition, Family, Kind, Stability};
use crate::Api;
use pintle_kinds::resource::Resource;

const STORAGE_OBJECTS: Family = Family::new(
    "apiserver_storage_objects",
    Kind::Gauge,
    Stability::Stable,
    "Stored objects by resource, as it was counted before there were groups in the label.",
);
const RESOURCE_OBJECTS: Family =
    Family::new("apiserver_resource_objects", Kind::Gauge, Stability::Alpha, "Stored objects by group and resource.");
const RESOURCE_VERSION: Family = Family::new(
    "apiserver_watch_cache_resource_version",
    Kind::Gauge,
    Stability::Alpha,
    "Revision up to which the cache of a resource has come.",
);

pub(super) fn render(api: &Api, out: &mut Exposition) {
    let mut resources: Vec<(&Resource, usize, u64)> = api
        .router
        .resources()
        .filter_map(|resource| {
            let storage = resource.storage.as_ref()?;
            let hub = resource.api_version() == storage.api_version;
            let state = api.registry.cache.resource(storage.prefix).filter(|_| hub)?.state();
            Some((resource, state.objects.len(), state.last.0))
        })
        .collect();
    resources.sort_by_key(|(resource, ..)| (resource.group, resource.plural));
    out.family(&STORAGE_OBJECTS);
    for (resource, count, _) in &resources {
        out.sample(STORAGE_OBJECTS.name, &[("resource", &resource.qualified())], count);
    }
    out.family(&RESOURCE_OBJECTS);
    for (resource, count, _) in &resources {
        out.sample(RESOURCE_OBJECTS.name, &[("group", resource.group), ("resource", resource.plural)], count);
    }
    out.family(&RESOURCE_VERSION);
    // What is published for one resource is published for all: none is behind the whole.
    let current = api.registry.revision().0;
    for (resource, _, last) in &resources {
        let labels = [("group", resource.group), ("resource", resource.plural)];
        out.sample(RESOURCE_VERSION.name, &labels, current.max(*last));
    }
}
