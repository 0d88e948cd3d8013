//! Metrics of stored and cached objects, read from the cache at a scrape. Guarantees that a scrape copies nothing: it
//! takes pointers to published states and reads counters. Must never decode an object.

use crate::Api;
use pintle_cache::{ResourceCache, State};
use pintle_metrics::{Exposition, Family, Label};
use pintle_resource::Resource;
use pintle_storage::Revision;
use std::sync::Arc;

const STORAGE_OBJECTS: Family = Family::gauge(
    "apiserver_storage_objects",
    "Stored objects by resource, as it was counted before there were groups in the label.",
)
.stable();
const RESOURCE_OBJECTS: Family = Family::gauge("apiserver_resource_objects", "Stored objects by group and resource.");
const RESOURCE_SIZE: Family =
    Family::gauge("apiserver_resource_size_estimate_bytes", "Bytes of the stored objects by group and resource.");
const RESOURCE_VERSION: Family =
    Family::gauge("apiserver_watch_cache_resource_version", "Revision up to which the cache of a resource has come.");
const STORAGE_EVENTS: Family =
    Family::counter("apiserver_storage_events_received_total", "Changes that came from the store.").beta();
const EVENTS_RECEIVED: Family =
    Family::counter("apiserver_watch_cache_events_received_total", "Changes that the cache of a resource took in.");
const EVENTS_DISPATCHED: Family = Family::counter(
    "apiserver_watch_cache_events_dispatched_total",
    "Changes that the cache of a resource published to those who watch.",
);
const INITIALIZATIONS: Family = Family::counter(
    "apiserver_watch_cache_initializations_total",
    "How often the cache of a resource was filled from the store.",
);
const CAPACITY: Family =
    Family::gauge("watch_cache_capacity", "How many changes the cache of a resource retains at most.");
const LISTS: Family = Family::counter("apiserver_cache_list_total", "Lists answered from the cache.");
const LIST_FETCHED: Family =
    Family::counter("apiserver_cache_list_fetched_objects_total", "Objects that lists from the cache looked at.");
const LIST_RETURNED: Family = Family::counter(
    "apiserver_cache_list_returned_objects_total",
    "Objects that lists from the cache were answered with.",
);

const DECODE_ERRORS: Family =
    Family::counter("apiserver_storage_decode_errors_total", "States of stored objects that could not be decoded.");
const CONSISTENT_READS: Family = Family::counter(
    "apiserver_watch_cache_consistent_read_total",
    "Lists from the cache that were to show everything written before them, by whether they did.",
);
const READ_WAIT: Family = Family::histogram(
    "apiserver_watch_cache_read_wait_seconds",
    "Time that readers waited for the cache to have everything written before.",
);

/// A stored resource as it is now.
struct Row {
    resource: Arc<Resource>,
    cache: Arc<ResourceCache>,
    /// Read before the state.
    current: Revision,
    state: Arc<State>,
}

impl Row {
    fn labels(&self) -> [Label<'_>; 2] {
        [("group", &self.resource.group), ("resource", &self.resource.plural)]
    }
}

pub(super) fn render(api: &Api, out: &mut Exposition) {
    let table = api.registry.resources.snapshot();
    let mut rows: Vec<Row> = table
        .served()
        .filter_map(|resource| {
            let storage = resource.storage.as_ref()?;
            let hub = resource.api_version() == storage.api_version;
            let cache = api.registry.cache.resource(&storage.prefix).filter(|_| hub)?;
            Some(Row { resource: resource.clone(), current: cache.current(), state: cache.state(), cache })
        })
        .collect();
    rows.sort_by(|a, b| (&a.resource.group, &a.resource.plural).cmp(&(&b.resource.group, &b.resource.plural)));
    out.family(&STORAGE_OBJECTS);
    for row in &rows {
        out.sample(STORAGE_OBJECTS.name, &[("resource", &row.resource.qualified())], row.state.objects.len());
    }
    let mut each = |family: &Family, value: &dyn Fn(&Row) -> u64| {
        out.family(family);
        rows.iter().for_each(|row| out.sample(family.name, &row.labels(), value(row)));
    };
    each(&RESOURCE_OBJECTS, &|row| row.state.objects.len() as u64);
    each(&RESOURCE_SIZE, &|row| row.state.object_bytes as u64);
    // A revision is published for all resources of a store together: none is behind.
    each(&RESOURCE_VERSION, &|row| row.current.max(row.state.last).0);
    // A change is published by the call that takes it in.
    for family in [STORAGE_EVENTS, EVENTS_RECEIVED, EVENTS_DISPATCHED] {
        each(&family, &|row| row.cache.stats().events());
    }
    each(&DECODE_ERRORS, &|row| row.cache.stats().undecodable.get());
    // A cache follows the store for as long as it lives.
    each(&INITIALIZATIONS, &|_| 1);
    each(&CAPACITY, &|_| pintle_cache::limits::HISTORY_EVENTS as u64);
    render_lists(&rows, out);
    render_waits(&rows, out);
}

fn render_waits(rows: &[Row], out: &mut Exposition) {
    out.family(&CONSISTENT_READS);
    for row in rows {
        let [group, resource] = row.labels();
        for (success, label) in [(false, "false"), (true, "true")] {
            let count = row.cache.stats().consistent_lists(success);
            if count > 0 {
                // There is nowhere else to read from.
                let labels = [("fallback", "false"), group, resource, ("success", label)];
                out.sample(CONSISTENT_READS.name, &labels, count);
            }
        }
    }
    out.family(&READ_WAIT);
    for row in rows {
        if let Some(waits) = row.cache.stats().waits() {
            out.histogram(READ_WAIT.name, &row.labels(), waits);
        }
    }
}

fn render_lists(rows: &[Row], out: &mut Exposition) {
    for family in [LISTS, LIST_FETCHED] {
        out.family(&family);
        for row in rows {
            let [group, resource] = row.labels();
            for listed in row.cache.lists().filter(|listed| listed.lists > 0) {
                let field = listed.index.and_then(|index| row.resource.selectable.get(index));
                let index = field.map(|field| format!("f:{}", field.label)).unwrap_or_default();
                let value = if family.name == LISTS.name { listed.lists } else { listed.fetched };
                out.sample(family.name, &[group, ("index", &index), resource], value);
            }
        }
    }
    out.family(&LIST_RETURNED);
    for row in rows.iter().filter(|row| row.cache.lists().any(|listed| listed.lists > 0)) {
        out.sample(LIST_RETURNED.name, &row.labels(), row.cache.stats().returned());
    }
}
