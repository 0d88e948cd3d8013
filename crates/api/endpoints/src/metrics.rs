//! Metrics of requests, under the reference's names and labels.
//!
//! Counting is a few relaxed additions; text is made only when somebody reads it.

use pintle_kinds::resource::Resource;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, RwLock};
use std::time::Duration;

/// Upper bounds of the duration buckets, in seconds.
const BUCKETS: [f64; 22] = [
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    60.0,
];

/// What a request is counted under.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Labels {
    pub verb: &'static str,
    pub group: &'static str,
    pub version: &'static str,
    pub resource: &'static str,
    pub subresource: &'static str,
    pub scope: &'static str,
}

#[derive(Default)]
struct Durations {
    buckets: [AtomicU64; BUCKETS.len()],
    count: AtomicU64,
    micros: AtomicU64,
}

#[derive(Default)]
struct Series {
    codes: Mutex<BTreeMap<(u16, bool), u64>>,
    durations: Durations,
}

#[derive(Default)]
struct WatchSeries {
    open: AtomicI64,
    events: AtomicU64,
}

/// Group, version and resource of a watch.
type WatchLabels = (&'static str, &'static str, &'static str);

/// All counters of the endpoints.
#[derive(Default)]
pub struct Metrics {
    requests: RwLock<BTreeMap<Labels, Arc<Series>>>,
    watches: RwLock<BTreeMap<WatchLabels, Arc<WatchSeries>>>,
    inflight: [AtomicI64; 2],
}

/// Counts one open watch for as long as it lives.
pub struct Gauge(Arc<WatchSeries>);

impl Gauge {
    pub fn event(&self) {
        self.0.events.fetch_add(1, Ordering::Relaxed);
    }
}

impl Drop for Gauge {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Counts one request in flight for as long as it lives.
pub struct InFlight<'a>(&'a AtomicI64);

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    /// Counts an answered request.
    pub fn request(&self, labels: Labels, code: u16, dry_run: bool, took: Duration) {
        let found = self.requests.read().ok().and_then(|requests| requests.get(&labels).cloned());
        let series = match found {
            Some(series) => series,
            None => match self.requests.write() {
                Ok(mut requests) => requests.entry(labels).or_default().clone(),
                Err(_) => return,
            },
        };
        if let Ok(mut codes) = series.codes.lock() {
            *codes.entry((code, dry_run)).or_default() += 1;
        }
        let seconds = took.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|bound| seconds <= *bound) {
            series.durations.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        }
        series.durations.count.fetch_add(1, Ordering::Relaxed);
        series.durations.micros.fetch_add(u64::try_from(took.as_micros()).unwrap_or(u64::MAX), Ordering::Relaxed);
    }

    /// Counts a watch that begins.
    pub fn watch(&self, resource: &'static Resource) -> Gauge {
        let key = (resource.group, resource.version, resource.plural);
        let series = match self.watches.write() {
            Ok(mut watches) => watches.entry(key).or_default().clone(),
            Err(_) => Arc::default(),
        };
        series.open.fetch_add(1, Ordering::Relaxed);
        Gauge(series)
    }

    /// Counts a request that is being worked on; returns how many of its kind are.
    pub fn in_flight(&self, mutating: bool) -> (InFlight<'_>, i64) {
        let counter = &self.inflight[usize::from(mutating)];
        let now = counter.fetch_add(1, Ordering::Relaxed) + 1;
        (InFlight(counter), now)
    }

    /// Everything in the text format of Prometheus.
    pub fn render(&self, objects: impl Iterator<Item = (String, usize)>) -> String {
        let mut text = String::new();
        self.render_requests(&mut text);
        self.render_watches(&mut text);
        head(&mut text, "apiserver_current_inflight_requests", "gauge", "Requests being worked on, by kind, now.");
        for (at, kind) in ["readOnly", "mutating"].into_iter().enumerate() {
            let value = self.inflight[at].load(Ordering::Relaxed);
            let _ = writeln!(text, "apiserver_current_inflight_requests{{request_kind=\"{kind}\"}} {value}");
        }
        head(&mut text, "apiserver_storage_objects", "gauge", "Stored objects by resource.");
        for (resource, count) in objects {
            let _ = writeln!(text, "apiserver_storage_objects{{resource=\"{resource}\"}} {count}");
        }
        text
    }

    fn render_requests(&self, text: &mut String) {
        let Ok(requests) = self.requests.read() else { return };
        head(text, "apiserver_request_total", "counter", "Answered requests by verb, resource, scope and code.");
        for (labels, series) in requests.iter() {
            let Ok(codes) = series.codes.lock() else { continue };
            for ((code, dry_run), count) in codes.iter() {
                let dry_run = if *dry_run { "All" } else { "" };
                let _ = writeln!(
                    text,
                    "apiserver_request_total{{code=\"{code}\",component=\"apiserver\",dry_run=\"{dry_run}\",group=\"{}\",\
                     resource=\"{}\",scope=\"{}\",subresource=\"{}\",verb=\"{}\",version=\"{}\"}} {count}",
                    labels.group,
                    labels.resource,
                    labels.scope,
                    labels.subresource,
                    labels.verb.to_uppercase(),
                    labels.version
                );
            }
        }
        let name = "apiserver_request_duration_seconds";
        head(text, name, "histogram", "Time from a request's arrival to its answer.");
        for (labels, series) in requests.iter().filter(|(labels, _)| labels.verb != "watch") {
            let label = format!(
                "component=\"apiserver\",dry_run=\"\",group=\"{}\",resource=\"{}\",scope=\"{}\",subresource=\"{}\",verb=\"{}\",version=\"{}\"",
                labels.group,
                labels.resource,
                labels.scope,
                labels.subresource,
                labels.verb.to_uppercase(),
                labels.version
            );
            let mut total = 0;
            for (bound, bucket) in BUCKETS.iter().zip(&series.durations.buckets) {
                total += bucket.load(Ordering::Relaxed);
                let _ = writeln!(text, "{name}_bucket{{{label},le=\"{bound}\"}} {total}");
            }
            let count = series.durations.count.load(Ordering::Relaxed);
            let sum = series.durations.micros.load(Ordering::Relaxed) as f64 / 1e6;
            let _ = writeln!(
                text,
                "{name}_bucket{{{label},le=\"+Inf\"}} {count}\n{name}_sum{{{label}}} {sum}\n{name}_count{{{label}}} {count}"
            );
        }
    }

    fn render_watches(&self, text: &mut String) {
        let Ok(watches) = self.watches.read() else { return };
        head(text, "apiserver_longrunning_requests", "gauge", "Open watches by resource.");
        for ((group, version, resource), series) in watches.iter() {
            let open = series.open.load(Ordering::Relaxed);
            let _ = writeln!(
                text,
                "apiserver_longrunning_requests{{component=\"apiserver\",group=\"{group}\",resource=\"{resource}\",\
                 scope=\"\",subresource=\"\",verb=\"WATCH\",version=\"{version}\"}} {open}"
            );
        }
        head(text, "apiserver_watch_events_total", "counter", "Events sent to watchers by resource.");
        for ((group, version, resource), series) in watches.iter() {
            let events = series.events.load(Ordering::Relaxed);
            let _ = writeln!(
                text,
                "apiserver_watch_events_total{{group=\"{group}\",resource=\"{resource}\",version=\"{version}\"}} {events}"
            );
        }
    }
}

fn head(text: &mut String, name: &str, kind: &str, help: &str) {
    let _ = writeln!(text, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_counted_by_their_labels() {
        let metrics = Metrics::default();
        let labels =
            Labels { verb: "get", group: "", version: "v1", resource: "pods", subresource: "", scope: "resource" };
        metrics.request(labels.clone(), 200, false, Duration::from_millis(7));
        metrics.request(labels, 404, false, Duration::from_millis(1));
        let text = metrics.render([("pods".to_owned(), 3)].into_iter());
        assert!(text.contains("apiserver_request_total{code=\"404\""), "{text}");
        assert!(text.contains("verb=\"GET\",version=\"v1\",le=\"0.005\"} 1\n"), "{text}");
        assert!(text.contains("verb=\"GET\",version=\"v1\"} 2\n"), "{text}");
        assert!(text.contains("apiserver_storage_objects{resource=\"pods\"} 3\n"), "{text}");
    }
}
