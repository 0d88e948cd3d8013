//! Metrics of watches: events sent, their sizes, and the time to send a whole collection. Guarantees that an event costs two
//! additions. Must never count an event that is not sent.

use pintle_metrics::{Exposition, Family, Histogram, Keyed, Label, Layout};
use pintle_resource::Resource;
use pintle_schema::Str;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

static SIZES: Layout = Layout::bytes(&[1024.0, 2048.0, 4096.0, 8192.0, 16_384.0, 32_768.0, 65_536.0, 131_072.0]);
static DURATIONS: Layout = Layout::seconds(&[
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
    90.0, 120.0, 180.0, 300.0,
]);

const EVENTS: Family = Family::counter("apiserver_watch_events_total", "Events sent to watchers.");
const EVENT_SIZES: Family =
    Family::histogram("apiserver_watch_events_sizes", "Bytes of the objects in the events sent to watchers.");
const LIST_DURATION: Family = Family::histogram(
    "apiserver_watch_list_duration_seconds",
    "Time until a watch that begins with the whole collection has sent it.",
)
.beta();
const INIT_EVENTS: Family =
    Family::counter("apiserver_init_events_total", "Events that watches began with, before they followed changes.");

const TERMINATED: Family =
    Family::counter("apiserver_terminated_watchers_total", "Watches that were ended because they did not keep up.");

const SHARDS: Family = Family::gauge("apiserver_watch_shards_total", "Watches of a shard that are open.");
const FILTERED: Family =
    Family::counter("apiserver_watch_filtered_events_total", "Events that were not of the shard that is watched.");

/// The counters of a resource's watches, in one version.
pub struct WatchSeries {
    sizes: Histogram,
    init_events: AtomicU64,
    terminated: AtomicU64,
    /// Watches of a shard.
    shards: AtomicU64,
    /// Whether there was ever one of these.
    has_shards: AtomicBool,
    filtered: AtomicU64,
    /// By scope: cluster, namespace, resource.
    lists: [Histogram; 3],
}

const SCOPES: [&str; 3] = ["cluster", "namespace", "resource"];

impl WatchSeries {
    fn new() -> Self {
        WatchSeries {
            sizes: Histogram::new(&SIZES),
            init_events: AtomicU64::new(0),
            terminated: AtomicU64::new(0),
            shards: AtomicU64::new(0),
            has_shards: AtomicBool::new(false),
            filtered: AtomicU64::new(0),
            lists: std::array::from_fn(|_| Histogram::new(&DURATIONS)),
        }
    }

    /// Counts an event with an object of this size.
    pub fn event(&self, bytes: usize) {
        self.sizes.observe(bytes as f64);
    }

    /// Counts the events that a watch begins with.
    pub fn begins_with(&self, events: usize) {
        self.init_events.fetch_add(events as u64, Ordering::Relaxed);
    }

    /// Counts a watch that is ended because the history has moved past it.
    pub fn terminated(&self) {
        self.terminated.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a watch of a shard as open.
    pub fn shard_begins(&self) {
        self.has_shards.store(true, Ordering::Relaxed);
        self.shards.fetch_add(1, Ordering::Relaxed);
    }

    /// A watch of a shard has ended.
    pub fn shard_ends(&self) {
        self.shards.fetch_sub(1, Ordering::Relaxed);
    }

    /// Counts an event that is not of the shard that is watched.
    pub fn filtered(&self) {
        self.filtered.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a collection that has been sent as a whole.
    pub fn listed(&self, has_namespace: bool, has_name: bool, took: Duration) {
        let scope = if has_name { 2 } else { usize::from(has_namespace) };
        self.lists[scope].observe_duration(took);
    }
}

/// All series of watches, by group, resource and version.
#[derive(Default)]
pub struct Watches {
    series: Keyed<[Str; 3], WatchSeries>,
}

impl Watches {
    /// The series of a resource.
    pub fn series(&self, resource: &Resource) -> Arc<WatchSeries> {
        self.series.get(&[resource.group.clone(), resource.plural.clone(), resource.version.clone()], WatchSeries::new)
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        let all = self.series.sorted();
        fn labels([group, resource, version]: &[Str; 3]) -> [Label<'_>; 3] {
            [("group", group), ("resource", resource), ("version", version)]
        }
        out.family(&EVENTS);
        for (key, series) in &all {
            out.sample(EVENTS.name, &labels(key), series.sizes.buckets().map(|(_, count)| count).sum::<u64>());
        }
        out.family(&EVENT_SIZES);
        for (key, series) in &all {
            out.histogram(EVENT_SIZES.name, &labels(key), &series.sizes);
        }
        out.family(&INIT_EVENTS);
        for (key, series) in &all {
            out.sample(INIT_EVENTS.name, &labels(key)[..2], series.init_events.load(Ordering::Relaxed));
        }
        out.family(&TERMINATED);
        for (key, series) in &all {
            let terminated = series.terminated.load(Ordering::Relaxed);
            if terminated > 0 {
                out.sample(TERMINATED.name, &labels(key)[..2], terminated);
            }
        }
        out.family(&SHARDS);
        for (key, series) in all.iter().filter(|(_, series)| series.has_shards.load(Ordering::Relaxed)) {
            out.sample(SHARDS.name, &labels(key)[..2], series.shards.load(Ordering::Relaxed));
        }
        out.family(&FILTERED);
        for (key, series) in &all {
            let filtered = series.filtered.load(Ordering::Relaxed);
            if filtered > 0 {
                out.sample(FILTERED.name, &labels(key)[..2], filtered);
            }
        }
        out.family(&LIST_DURATION);
        for (key, series) in &all {
            let [group, resource, version] = labels(key);
            for (scope, durations) in SCOPES.into_iter().zip(&series.lists).filter(|(_, found)| !found.is_empty()) {
                out.histogram(LIST_DURATION.name, &[group, resource, ("scope", scope), version], durations);
            }
        }
    }
}
