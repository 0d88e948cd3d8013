//! The page of `pintle top`: totals of one scrape, or rates between two. Guarantees that a missing metric leaves its
//! field empty. Must never read anything but samples.

use super::samples::Samples;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

const REQUESTS: &str = "apiserver_request_total";
const DURATIONS: &str = "apiserver_request_duration_seconds_bucket";
/// How many lines a table has at most.
const LINES: usize = 20;

/// Everything since the server's start.
pub fn totals(url: &str, now: &Samples) -> String {
    page(url, "total", &Samples::default(), now, None)
}

/// The rates between two scrapes, per second.
pub fn rates(url: &str, before: &Samples, now: &Samples, took: Duration) -> String {
    page(url, "per second", before, now, Some(took.as_secs_f64().max(0.001)))
}

fn page(url: &str, unit: &str, before: &Samples, now: &Samples, seconds: Option<f64>) -> String {
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{url}   {}", version(now));
    let _ = writeln!(out, "{}", summary(before, now, seconds));
    let _ = writeln!(out, "\n{:<10} {:<44} {:>12} {:>9} {:>9}", "VERB", "RESOURCE", unit.to_uppercase(), "P50", "P99");
    let was = before.by(REQUESTS, &["verb", "group", "resource"]);
    let mut requests: Vec<(Vec<String>, f64)> = now.by(REQUESTS, &["verb", "group", "resource"]).into_iter().collect();
    requests.iter_mut().for_each(|(key, count)| *count -= was.get(key).copied().unwrap_or(0.0));
    requests.retain(|(_, count)| *count > 0.0);
    requests.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    let histograms = histograms(before, now);
    for (key, count) in requests.iter().take(LINES) {
        let [verb, group, resource] = key.as_slice() else { continue };
        let count = seconds.map_or(*count, |seconds| count / seconds);
        let name = if group.is_empty() { resource.clone() } else { format!("{resource}.{group}") };
        let quantile =
            |q: f64| histograms.get(key).and_then(|buckets| quantile(buckets, q)).map_or(String::new(), time);
        let _ = writeln!(out, "{verb:<10} {name:<44} {:>12} {:>9} {:>9}", number(count), quantile(0.5), quantile(0.99));
    }
    table(&mut out, "WATCHES", "OPEN", gauges(now, "apiserver_longrunning_requests", &["verb", "resource"]), number);
    table(&mut out, "QUEUES", "DEPTH", gauges(now, "workqueue_depth", &["name"]), number);
    let sizes = gauges(now, "apiserver_resource_size_estimate_bytes", &["group", "resource"]);
    table(&mut out, "MEMORY OF OBJECTS", "BYTES", sizes, bytes);
    out
}

fn version(now: &Samples) -> String {
    let info = now.of("kubernetes_build_info").first();
    info.map(|info| info.label("git_version").to_owned()).unwrap_or_default()
}

fn summary(before: &Samples, now: &Samples, seconds: Option<f64>) -> String {
    let mut parts = Vec::new();
    let mut add = |name: &str, text: Option<String>| parts.extend(text.map(|text| format!("{name} {text}")));
    add("memory", now.total("process_resident_memory_bytes").map(bytes));
    add("store", now.total("apiserver_storage_size_bytes").map(bytes));
    add("objects", now.total("apiserver_resource_objects").map(number));
    add("in flight", now.total("apiserver_current_inflight_requests").map(number));
    let cpu = now.total("process_cpu_seconds_total");
    add(
        "cpu",
        match (cpu, seconds) {
            (Some(cpu), None) => Some(format!("{cpu:.1}s")),
            (Some(cpu), Some(seconds)) => {
                let was = before.total("process_cpu_seconds_total").unwrap_or(cpu);
                Some(format!("{:.0}%", (cpu - was) / seconds * 100.0))
            }
            (None, _) => None,
        },
    );
    parts.join("   ")
}

/// Values that are not zero, the largest first, under the labels' values.
fn gauges(now: &Samples, name: &str, labels: &[&str]) -> Vec<(String, f64)> {
    let named = now.by(name, labels).into_iter().filter(|(_, value)| *value > 0.0);
    let mut rows: Vec<(String, f64)> = named
        .map(|(key, value)| {
            let words: Vec<&str> = key.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            (words.join(" "), value)
        })
        .collect();
    rows.sort_by(|(a, x), (b, y)| y.total_cmp(x).then_with(|| a.cmp(b)));
    rows
}

fn table(out: &mut String, title: &str, unit: &str, rows: Vec<(String, f64)>, show: fn(f64) -> String) {
    if rows.is_empty() {
        return;
    }
    let _ = writeln!(out, "\n{title:<55} {unit:>12}");
    for (name, value) in rows.iter().take(LINES) {
        let _ = writeln!(out, "{name:<55} {:>12}", show(*value));
    }
}

/// The observations of a histogram: how many there were up to each bound.
type Buckets = Vec<(f64, f64)>;

/// Durations of requests between two readings, by verb, group and resource.
fn histograms(before: &Samples, now: &Samples) -> BTreeMap<Vec<String>, Buckets> {
    let labels = ["verb", "group", "resource", "le"];
    let was = before.by(DURATIONS, &labels);
    let mut histograms: BTreeMap<Vec<String>, Buckets> = BTreeMap::new();
    for (mut key, count) in now.by(DURATIONS, &labels) {
        let count = count - was.get(&key).copied().unwrap_or(0.0);
        let bound = key.pop().and_then(|bound| bound.parse().ok());
        if let Some(bound) = bound {
            histograms.entry(key).or_default().push((bound, count));
        }
    }
    histograms.values_mut().for_each(|buckets| buckets.sort_by(|(a, _), (b, _)| a.total_cmp(b)));
    histograms
}

/// A quantile from buckets, as in Prometheus' `histogram_quantile`.
fn quantile(buckets: &[(f64, f64)], q: f64) -> Option<f64> {
    let (_, total) = *buckets.last()?;
    if total <= 0.0 {
        return None;
    }
    let rank = q * total;
    let at = buckets.iter().position(|(_, count)| *count >= rank)?;
    let (bound, count) = *buckets.get(at)?;
    let (lower, below) = match at.checked_sub(1).and_then(|at| buckets.get(at)) {
        Some((lower, below)) => (*lower, *below),
        None => (0.0, 0.0),
    };
    if bound.is_infinite() {
        return Some(lower);
    }
    Some(lower + (bound - lower) * ((rank - below) / (count - below).max(f64::MIN_POSITIVE)).clamp(0.0, 1.0))
}

fn number(value: f64) -> String {
    if value == value.trunc() { format!("{value:.0}") } else { format!("{value:.1}") }
}

fn bytes(value: f64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let (mut value, mut unit) = (value, 0);
    while value >= 1024.0 && unit + 1 < units.len() {
        value /= 1024.0;
        unit += 1;
    }
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 { format!("{value:.0} {name}") } else { format!("{value:.1} {name}") }
}

fn time(seconds: f64) -> String {
    match seconds {
        seconds if seconds >= 1.0 => format!("{seconds:.2}s"),
        seconds => format!("{:.1}ms", seconds * 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metrics(requests: u32) -> Samples {
        let half = requests / 2;
        Samples::parse(&format!(
            "kubernetes_build_info{{git_version=\"v1.36.2\"}} 1\nprocess_resident_memory_bytes 3145728\n\
             process_cpu_seconds_total {half}\nworkqueue_depth{{name=\"a\"}} 2\nworkqueue_depth{{name=\"b\"}} 0\n\
             apiserver_request_total{{verb=\"GET\",group=\"apps\",resource=\"deployments\",code=\"200\"}} {half}\n\
             apiserver_request_total{{verb=\"GET\",group=\"apps\",resource=\"deployments\",code=\"404\"}} {half}\n\
             apiserver_request_duration_seconds_bucket{{verb=\"GET\",group=\"apps\",resource=\"deployments\",le=\"0.1\"}} {half}\n\
             apiserver_request_duration_seconds_bucket{{verb=\"GET\",group=\"apps\",resource=\"deployments\",le=\"0.2\"}} {requests}\n\
             apiserver_request_duration_seconds_bucket{{verb=\"GET\",group=\"apps\",resource=\"deployments\",le=\"+Inf\"}} {requests}\n"
        ))
    }

    #[test]
    fn a_page_has_totals_and_latencies() {
        let text = totals("https://x", &metrics(10));
        let row = text.lines().find(|line| line.starts_with("GET")).expect("a row");
        let words: Vec<&str> = row.split_whitespace().collect();
        assert_eq!(words, ["GET", "deployments.apps", "10", "100.0ms", "198.0ms"]);
        assert!(text.starts_with("https://x   v1.36.2\nmemory 3.0 MiB   cpu 5.0s\n"), "{text}");
        assert!(text.contains("QUEUES") && !text.contains("\nb "), "{text}");
    }

    #[test]
    fn rates_are_of_the_time_between_two_readings() {
        let text = rates("https://x", &metrics(10), &metrics(30), Duration::from_secs(4));
        assert!(text.contains("cpu 250%"), "{text}");
        let row = text.lines().find(|line| line.starts_with("GET")).expect("a row");
        assert_eq!(row.split_whitespace().nth(2), Some("5"), "{text}");
        let idle = rates("https://x", &metrics(10), &metrics(10), Duration::from_secs(1));
        assert!(!idle.contains("GET"), "{idle}");
    }
}
