//! Metrics of the process and its connections. Guarantees that a figure that the system does not provide is left out. Must only
//! be called by a scrape: it reads files of the system.

use pintle_audit::{Level, Stats};
use pintle_cache::Cache;
use pintle_discovery::version::{self, EffectiveVersion};
use pintle_metrics::{Exposition, Family, Number};
use pintle_schema::GateSet;
use pintle_schema::gates::Stage;
use pintle_storage::DiskSpace;
use pintle_validation::OUTCOMES;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

const HANDSHAKE_ERRORS: Family =
    Family::counter("apiserver_tls_handshake_errors_total", "Connections that ended before they were encrypted.");
const EVENTS: Family = Family::counter("apiserver_audit_event_total", "Audit events that were made.");
const REJECTED: Family = Family::counter(
    "apiserver_audit_requests_rejected_total",
    "Requests that were refused because they could not be audited.",
);
const LEVELS: Family = Family::counter("apiserver_audit_level_total", "Requests by the level of the audit policy.");
const ERRORS: Family = Family::counter(
    "apiserver_audit_error_total",
    "Audit events that were lost, by the part of a backend that lost them.",
);
const MISMATCHES: [Family; 2] = mismatch_families();
const PANICS: [Family; 2] = panic_families();
const BUILD: Family = Family::gauge(
    "kubernetes_build_info",
    "1, labelled with the Kubernetes release that the server behaves as, and its build.",
);
/// The size of a store.
pub const STORAGE_SIZE: Family = Family::gauge("apiserver_storage_size_bytes", "Bytes of the store's files.").stable();
const FULL: Family = Family::gauge(
    "pintle_store_full",
    "1 while the store's disk has no space, so that only deletions and writes that do not grow are accepted, otherwise 0.",
);
const RESERVE: Family = Family::gauge(
    "pintle_store_reserve_bytes",
    "Bytes of the disk that are kept for deletions, and for freeing space.",
);
const REFUSED: Family =
    Family::counter("pintle_store_refused_writes_total", "Transactions that were refused because the store was full.");
const ENABLED_FEATURES: Family =
    Family::gauge("kubernetes_feature_enabled", "1 for each feature gate that is on.").beta();
const VERSION: Family =
    Family::gauge("version_info", "1, labelled with the versions that the server behaves as and is compatible with.");
const RECEIVED: Family = Family::counter("process_network_receive_bytes_total", "Bytes received.");
const TRANSMITTED: Family = Family::counter("process_network_transmit_bytes_total", "Bytes sent.");
const MAX_VIRTUAL: Family =
    Family::gauge("process_virtual_memory_max_bytes", "How many bytes of address space can be in use.");
const CPU: Family = Family::counter("process_cpu_seconds_total", "Seconds of processor time.");
const MAX_FDS: Family = Family::gauge("process_max_fds", "How many files can be open.");
const OPEN_FDS: Family = Family::gauge("process_open_fds", "How many files are open.");
const RESIDENT: Family = Family::gauge("process_resident_memory_bytes", "Bytes of memory in use.");
const VIRTUAL: Family = Family::gauge("process_virtual_memory_bytes", "Bytes of address space in use.");
const START: Family = Family::gauge("process_start_time_seconds", "When the process began, since 1970.");

/// The start time of the process in seconds since 1970, if the system provides it.
pub fn process_start() -> Option<f64> {
    Some(boot_seconds()? + Stat::read()?.start_seconds)
}

/// How many handshakes failed.
pub fn handshake_errors(count: &AtomicU64, out: &mut Exposition) {
    out.single(&HANDSHAKE_ERRORS, count.load(Ordering::Relaxed));
}

/// How much of the disk the files of a store in a directory take.
pub fn storage_size(directory: &Path, out: &mut Exposition) {
    main_storage_size(bytes_on_disk(directory, 8), out);
}

/// The size of a store without a disk: that of its objects.
pub fn memory_size(cache: &Cache, out: &mut Exposition) {
    main_storage_size(cache.resources().iter().map(|resource| resource.state().object_bytes as u64).sum(), out);
}

/// The size of the only store, under the name that the first cluster has in kube-apiserver.
fn main_storage_size(bytes: u64, out: &mut Exposition) {
    out.family(&STORAGE_SIZE);
    out.sample(STORAGE_SIZE.name, &[("storage_cluster_id", "etcd-0")], bytes);
}

/// The space of the store's disk.
pub fn space(space: &DiskSpace, out: &mut Exposition) {
    out.single(&FULL, u8::from(space.is_full()));
    out.single(&RESERVE, space.reserve_bytes());
    out.single(&REFUSED, space.refused());
}

/// Deeper directories are not counted. Files that are removed meanwhile count as empty.
fn bytes_on_disk(directory: &Path, depth: usize) -> u64 {
    const BLOCK: u64 = 512;
    let Some(below) = depth.checked_sub(1) else { return 0 };
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| Some((entry.path(), entry.metadata().ok()?)));
    sizes.map(|(path, found)| if found.is_dir() { bytes_on_disk(&path, below) } else { found.blocks() * BLOCK }).sum()
}

/// Names of one count: the enhancement proposal's, and the release's.
const fn mismatch_families() -> [Family; 2] {
    const HELP: &str = "Errors that declared and handwritten rules did not agree on.";
    [
        Family::counter("declarative_validation_mismatch_total", HELP).beta(),
        Family::counter("apiserver_validation_declarative_validation_mismatch_total", HELP).beta(),
    ]
}

const fn panic_families() -> [Family; 2] {
    const HELP: &str = "Rules that failed to run.";
    [
        Family::counter("declarative_validation_panic_total", HELP).beta(),
        Family::counter("apiserver_validation_declarative_validation_panic_total", HELP).beta(),
    ]
}

/// Counters of validation rules.
pub fn rules(out: &mut Exposition) {
    MISMATCHES.iter().for_each(|family| out.single(family, OUTCOMES.mismatches()));
    PANICS.iter().for_each(|family| out.single(family, OUTCOMES.panics()));
}

/// Counters of audit events.
pub fn audit(stats: Arc<Stats>) -> impl Fn(&mut Exposition) + Send + Sync {
    move |out| {
        out.single(&EVENTS, stats.events.get());
        out.single(&REJECTED, stats.rejected.get());
        let levels = Level::ALL.into_iter().map(|level| (level.name(), stats.levels[level as usize].get()));
        let levels: Vec<_> = levels.filter(|(_, count)| *count > 0).collect();
        let failed: Vec<_> = stats.failed().collect();
        for (family, label, counts) in [(&LEVELS, "level", levels), (&ERRORS, "plugin", failed)] {
            if !counts.is_empty() {
                out.family(family);
                counts.into_iter().for_each(|(value, count)| out.sample(family.name, &[(label, value)], count));
            }
        }
    }
}

/// The feature gates that are on.
pub fn feature_gates(gates: &GateSet, out: &mut Exposition) {
    out.family(&ENABLED_FEATURES);
    for (gate, spec, is_on) in gates.listed() {
        let stage = match spec.stage() {
            Stage::Alpha => "ALPHA",
            Stage::Beta => "BETA",
            Stage::Ga => "",
            Stage::Deprecated => "DEPRECATED",
        };
        out.sample(ENABLED_FEATURES.name, &[("name", gate.name()), ("stage", stage)], u8::from(is_on));
    }
}

/// Information about the build and this process.
pub fn process(effective: EffectiveVersion, out: &mut Exposition) {
    out.family(&BUILD);
    let platform = version::platform();
    let labels = [
        ("build_date", ""),
        ("compiler", version::COMPILER),
        ("git_commit", ""),
        ("git_tree_state", ""),
        ("git_version", version::GIT_VERSION),
        ("go_version", ""),
        ("major", version::MAJOR),
        ("minor", version::MINOR),
        ("platform", &*platform),
    ];
    out.sample(BUILD.name, &labels, 1);
    out.family(&VERSION);
    let release = |minor: u32| format!("{}.{minor}", version::MAJOR);
    let binary = release(version::CURRENT_MINOR);
    let [emulation, oldest] = [effective.emulated_minor, effective.compatibility_minor].map(release);
    let labels = [("binary", &*binary), ("component", "kube"), ("emulation", &emulation), ("min_compat", &oldest)];
    out.sample(VERSION.name, &labels, 1);
    if let Some(stat) = Stat::read() {
        out.single(&CPU, Number(stat.cpu_seconds));
        out.single(&RESIDENT, stat.resident_pages * PAGE_BYTES);
        out.single(&VIRTUAL, stat.virtual_bytes);
    }
    if let Some(start) = process_start() {
        out.single(&START, Number(start));
    }
    if let Ok(open) = fs::read_dir("/proc/self/fd") {
        // The directory that is being read is one of them.
        out.single(&OPEN_FDS, open.count().saturating_sub(1));
    }
    if let Ok(limits) = fs::read_to_string("/proc/self/limits") {
        if let Some(max) = limit(&limits, "Max open files") {
            out.single(&MAX_FDS, max);
        }
        // kube-apiserver's word for no limit.
        let max = limit(&limits, "Max address space").map_or(UNLIMITED, |max| max as f64);
        out.single(&MAX_VIRTUAL, Number(max));
    }
    if let Ok(counts) = fs::read_to_string("/proc/self/net/netstat") {
        for (family, name) in [(RECEIVED, "InOctets"), (TRANSMITTED, "OutOctets")] {
            if let Some(bytes) = network_count(&counts, name) {
                out.single(&family, bytes);
            }
        }
    }
}

/// Shown by Prometheus' clients where there is no limit.
const UNLIMITED: f64 = 18_446_744_073_709_551_615.0;

/// A figure of the whole network namespace, from two lines: the names, and in their order the values.
fn network_count(text: &str, name: &str) -> Option<u64> {
    let mut lines = text.lines().filter(|line| line.starts_with("IpExt:"));
    let (names, values) = (lines.next()?, lines.next()?);
    let at = names.split_whitespace().position(|found| found == name)?;
    values.split_whitespace().nth(at)?.parse().ok()
}

/// The unit of processor time that Linux reports, regardless of the kernel's own.
const TICKS: f64 = 100.0;
/// Bytes of a page. Where pages are larger, the reported memory is too small; nothing decides by it.
const PAGE_BYTES: u64 = 4096;

struct Stat {
    cpu_seconds: f64,
    start_seconds: f64,
    virtual_bytes: u64,
    resident_pages: u64,
}

impl Stat {
    fn read() -> Option<Stat> {
        Self::parse(&fs::read_to_string("/proc/self/stat").ok()?)
    }

    /// The fields are counted from 1, the second one is the program's name in parentheses.
    fn parse(text: &str) -> Option<Stat> {
        let (_, rest) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let field = |number: usize| fields.get(number - 3)?.parse::<u64>().ok();
        Some(Stat {
            cpu_seconds: (field(14)? + field(15)?) as f64 / TICKS,
            start_seconds: field(22)? as f64 / TICKS,
            virtual_bytes: field(23)?,
            resident_pages: field(24)?,
        })
    }
}

/// When the machine began, in seconds since 1970.
fn boot_seconds() -> Option<f64> {
    let uptime = fs::read_to_string("/proc/uptime").ok()?;
    let uptime: f64 = uptime.split_whitespace().next()?.parse().ok()?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(now.as_secs_f64() - uptime)
}

/// The soft limit of this name; `None` if unlimited.
fn limit(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_and_network_counts_are_found_by_name() {
        let limits = "Limit  Soft Limit  Hard Limit  Units\nMax open files  1024  4096  files\n\
                      Max address space  unlimited  unlimited  bytes\n";
        assert_eq!(limit(limits, "Max open files"), Some(1024));
        assert_eq!(limit(limits, "Max address space"), None);
        let counts = "TcpExt: A InOctets\nTcpExt: 1 2\nIpExt: InNoRoutes InOctets OutOctets\nIpExt: 3 4 5\n";
        assert_eq!((network_count(counts, "InOctets"), network_count(counts, "OutOctets")), (Some(4), Some(5)));
        assert_eq!(network_count("IpExt: InOctets\n", "InOctets"), None);
    }

    #[test]
    fn proc_stat_is_parsed_for_any_program_name() {
        let text = "7 (a) (b) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 3 0 12345 1000 25 18446744073709551615";
        let stat = Stat::parse(text).expect("stats");
        assert!((stat.cpu_seconds - 2.0).abs() < 1e-9 && (stat.start_seconds - 123.45).abs() < 1e-9);
        assert_eq!((stat.virtual_bytes, stat.resident_pages), (1000, 25));
        assert!(Stat::parse("7 (a) S 1").is_none());
    }
}
