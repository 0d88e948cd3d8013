//! Metrics of requests: count, duration, size, and requests in flight. Guarantees that a request costs one look-up and a few
//! additions, and that clients cannot create series. Must never get a label value that a client chose: labels are the server's
//! names of resources and verbs.

use crate::request::Verb;
use pintle_metrics::{Exposition, Family, Histogram, Keyed, Label, Layout, TraceId};
use pintle_resource::Resource;
use pintle_schema::Str;
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::{Duration, Instant};

static DURATIONS: Layout = Layout::seconds(&[
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0,
    45.0, 60.0,
]);
static SLI_DURATIONS: Layout = Layout::seconds(&[
    0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
]);
static SIZES: Layout = Layout::bytes(&[1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9]);

const TOTAL: Family = Family::counter(
    "apiserver_request_total",
    "Answered requests by verb, dry run, resource, scope, component, client of the system and code.",
)
.stable();
const DURATION: Family = Family::histogram(
    "apiserver_request_duration_seconds",
    "Time from a request's arrival to its answer by verb, dry run, resource, scope and component.",
)
.stable();
const SLI_DURATION: Family = Family::histogram(
    "apiserver_request_sli_duration_seconds",
    "Time to answer that the server itself is answerable for; dry runs are not counted.",
);
const VALIDATION_DURATION: Family = Family::histogram(
    "field_validation_request_duration_seconds",
    "Time to answer writes by how they ask for their fields to be validated.",
);
const RESPONSE_SIZES: Family =
    Family::histogram("apiserver_response_sizes", "Bytes of the answers to gets and lists.").stable();
const LONG_RUNNING: Family =
    Family::gauge("apiserver_longrunning_requests", "Requests without an end of their own that are open now.").stable();
const TERMINATIONS: Family = Family::counter(
    "apiserver_request_terminations_total",
    "Requests that were given up or turned away to protect the server.",
);
const ABORTS: Family =
    Family::counter("apiserver_request_aborts_total", "Requests whose work was dropped before there was an answer.");
const DEPRECATED: Family = Family::gauge(
    "apiserver_requested_deprecated_apis",
    "1 for each deprecated resource that was asked for, with the release that removes it.",
)
.stable();

/// Where discovery in the aggregated form is counted.
pub const DISCOVERY: [&str; 2] = ["api", "apis"];

/// The labels of a request: only the server's names of resources and verbs.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Labels {
    pub group: Str,
    pub version: Str,
    /// The plural name; "" for a path that names no resource.
    pub resource: Str,
    /// The subresource, or the path.
    pub subresource: Str,
    /// In capitals, as [`verb`] makes them.
    pub verb: &'static str,
    pub scope: &'static str,
    /// The warning of a deprecated version.
    pub deprecation: Str,
}

impl Labels {
    /// The labels of requests to a resource.
    pub fn of(resource: &Resource, subresource: Str, verb: &'static str, scope: &'static str) -> Self {
        Labels {
            group: resource.group.clone(),
            version: resource.version.clone(),
            resource: resource.plural.clone(),
            subresource,
            verb,
            scope,
            deprecation: resource.deprecation.clone(),
        }
    }
}

/// The verb label: the HTTP method, except where one method has several verbs.
pub fn verb(verb: Verb, connects: bool, applies: bool) -> &'static str {
    match verb {
        _ if connects => "CONNECT",
        Verb::Get => "GET",
        Verb::List => "LIST",
        Verb::Watch => "WATCH",
        Verb::Create => "POST",
        Verb::Update => "PUT",
        Verb::Patch if applies => "APPLY",
        Verb::Patch => "PATCH",
        Verb::Delete | Verb::DeleteCollection => "DELETE",
        Verb::Proxy | Verb::Other => "other",
    }
}

/// The value of a request's `dryRun` parameter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DryRun {
    #[default]
    No = 0,
    All = 1,
    Invalid = 2,
}

impl DryRun {
    const LABELS: [&str; 3] = ["", "All", "invalid"];

    /// Parses the values of the parameter.
    pub fn of<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        values.into_iter().fold(DryRun::No, |found, value| match (found, value) {
            (DryRun::Invalid, _) => DryRun::Invalid,
            (_, "All") => DryRun::All,
            _ => DryRun::Invalid,
        })
    }
}

/// The value of a request's `fieldValidation` parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldValidation {
    Unset = 0,
    Ignore = 1,
    Strict = 2,
    Warn = 3,
    Invalid = 4,
}

impl FieldValidation {
    const LABELS: [&str; 5] = ["", "Ignore", "Strict", "Warn", "invalid"];

    pub fn of(value: &str) -> Self {
        match value {
            "" => FieldValidation::Unset,
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "Warn" => FieldValidation::Warn,
            _ => FieldValidation::Invalid,
        }
    }
}

/// The component that a User-Agent names, if it is one of the system's own.
pub fn system_client(user_agent: &str) -> &'static str {
    const CLIENTS: [&str; 4] =
        ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "cluster-policy-controller"];
    let name = user_agent.split_once('/').map_or("", |(name, _)| name);
    CLIENTS.into_iter().find(|client| *client == name).unwrap_or("")
}

/// The observation that one response adds to its series.
#[derive(Clone, Copy, Debug, Default)]
pub struct Outcome {
    pub code: u16,
    pub dry_run: DryRun,
    pub system_client: &'static str,
    pub took: Duration,
    /// The sampled trace that the request belongs to.
    pub trace: Option<TraceId>,
}

/// The counters of requests with the same labels.
pub struct Series {
    labels: Labels,
    /// By code, dry run and client: a handful, so that a walk finds them.
    totals: RwLock<Vec<(Total, AtomicU64)>>,
    /// By dry run.
    durations: [OnceLock<Histogram>; 3],
    sli: Histogram,
    sizes: OnceLock<Histogram>,
    open: AtomicI64,
    was_long_running: AtomicBool,
    /// By code: 429 and 504.
    terminations: [AtomicU64; 2],
    aborts: AtomicU64,
}

type Total = (u16, DryRun, &'static str);

const TERMINATION_CODES: [u16; 2] = [429, 504];

impl Series {
    fn new(labels: Labels) -> Self {
        Series {
            labels,
            totals: RwLock::default(),
            durations: Default::default(),
            sli: Histogram::new(&SLI_DURATIONS),
            sizes: OnceLock::new(),
            open: AtomicI64::new(0),
            was_long_running: AtomicBool::new(false),
            terminations: Default::default(),
            aborts: AtomicU64::new(0),
        }
    }

    /// Counts a response. Budget: a shared lock, a short walk and five additions.
    pub fn answered(&self, outcome: &Outcome) {
        self.total((outcome.code, outcome.dry_run, outcome.system_client));
        if let Some(durations) = self.durations.get(outcome.dry_run as usize) {
            durations.get_or_init(|| Histogram::new(&DURATIONS)).observe_traced(outcome.took, outcome.trace);
        }
        if outcome.dry_run == DryRun::No {
            self.sli.observe_traced(outcome.took, outcome.trace);
        }
    }

    /// Counts the bytes of a response, once they are sent.
    pub fn sent(&self, bytes: u64) {
        if let "GET" | "LIST" = self.labels.verb {
            self.sizes.get_or_init(|| Histogram::new(&SIZES)).observe(bytes as f64);
        }
    }

    /// Counts a request that the server ended or rejected with this code.
    pub fn terminated(&self, code: u16) {
        if let Some(at) = TERMINATION_CODES.iter().position(|known| *known == code) {
            self.terminations[at].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Counts a request that was rejected before it was processed.
    pub fn dropped(&self, code: u16, dry_run: DryRun, system_client: &'static str) {
        self.total((code, dry_run, system_client));
        self.terminated(code);
    }

    /// Counts a request whose future was dropped.
    pub fn aborted(&self) {
        self.aborts.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a long-running request until the returned value is dropped, which counts its response.
    pub fn long_running(self: &Arc<Self>, started: Instant, outcome: Outcome) -> LongRunning {
        self.was_long_running.store(true, Ordering::Relaxed);
        self.open.fetch_add(1, Ordering::Relaxed);
        LongRunning { series: self.clone(), started, outcome }
    }

    fn total(&self, total: Total) {
        let add = |totals: &[(Total, AtomicU64)]| {
            let found = totals.iter().find(|(key, _)| *key == total);
            found.map(|(_, count)| count.fetch_add(1, Ordering::Relaxed))
        };
        if add(&self.totals.read().unwrap_or_else(PoisonError::into_inner)).is_none() {
            let mut totals = self.totals.write().unwrap_or_else(PoisonError::into_inner);
            if add(&totals).is_none() {
                totals.push((total, AtomicU64::new(1)));
            }
        }
    }
}

/// An open request without an end of its own.
pub struct LongRunning {
    series: Arc<Series>,
    started: Instant,
    outcome: Outcome,
}

impl Drop for LongRunning {
    fn drop(&mut self) {
        self.series.open.fetch_sub(1, Ordering::Relaxed);
        self.series.answered(&Outcome { took: self.started.elapsed(), ..self.outcome });
    }
}

/// All series of requests.
#[derive(Default)]
pub struct Requests {
    series: Keyed<Labels, Series>,
    /// Of writes, by how their fields were validated.
    validations: [OnceLock<Histogram>; FieldValidation::LABELS.len()],
}

impl Requests {
    /// The series of a request.
    pub fn series(&self, labels: Labels) -> Arc<Series> {
        self.series.get(&labels, || Series::new(labels.clone()))
    }

    /// Counts a write by how its fields were validated.
    pub fn validated(&self, validation: FieldValidation, took: Duration) {
        self.validations[validation as usize].get_or_init(|| Histogram::new(&SLI_DURATIONS)).observe_duration(took);
    }

    pub(super) fn render(&self, out: &mut Exposition) {
        let all: Vec<_> = self.series.sorted().into_iter().map(|(_, series)| series).collect();
        render_totals(&all, out);
        out.family(&DURATION);
        for series in &all {
            for (dry_run, durations) in DryRun::LABELS.into_iter().zip(&series.durations) {
                let Some(durations) = durations.get() else { continue };
                let mut labels = series_labels(series).to_vec();
                labels.insert(1, ("dry_run", dry_run));
                out.histogram(DURATION.name, &labels, durations);
            }
        }
        out.family(&SLI_DURATION);
        for series in all.iter().filter(|series| !series.sli.is_empty()) {
            out.histogram(SLI_DURATION.name, &series_labels(series), &series.sli);
        }
        out.family(&RESPONSE_SIZES);
        for series in &all {
            if let Some(sizes) = series.sizes.get() {
                out.histogram(RESPONSE_SIZES.name, &series_labels(series), sizes);
            }
        }
        out.family(&LONG_RUNNING);
        for series in all.iter().filter(|series| series.was_long_running.load(Ordering::Relaxed)) {
            out.sample(LONG_RUNNING.name, &series_labels(series), series.open.load(Ordering::Relaxed));
        }
        out.family(&VALIDATION_DURATION);
        for (label, durations) in FieldValidation::LABELS.into_iter().zip(&self.validations) {
            if let Some(durations) = durations.get() {
                out.histogram(VALIDATION_DURATION.name, &[("field_validation", label)], durations);
            }
        }
        render_endings(&all, out);
        render_deprecated(&all, out);
    }
}

fn series_labels(series: &Series) -> [Label<'_>; 7] {
    let Labels { group, version, resource, subresource, verb, scope, .. } = &series.labels;
    // kube-apiserver has no component for other paths.
    let component = if !resource.is_empty() || DISCOVERY.contains(&subresource.as_str()) { "apiserver" } else { "" };
    [
        ("component", component),
        ("group", group),
        ("resource", resource),
        ("scope", scope),
        ("subresource", subresource),
        ("verb", verb),
        ("version", version),
    ]
}

fn render_totals(all: &[Arc<Series>], out: &mut Exposition) {
    out.family(&TOTAL);
    for series in all {
        let [component, group, resource, scope, subresource, verb, version] = series_labels(series);
        for ((code, dry_run, client), count) in series.totals.read().unwrap_or_else(PoisonError::into_inner).iter() {
            let code = code.to_string();
            let dry_run = ("dry_run", DryRun::LABELS[*dry_run as usize]);
            let client = ("system_client", *client);
            let labels =
                [("code", &*code), component, dry_run, group, resource, scope, subresource, client, verb, version];
            out.sample(TOTAL.name, &labels, count.load(Ordering::Relaxed));
        }
    }
}

fn render_endings(all: &[Arc<Series>], out: &mut Exposition) {
    out.family(&TERMINATIONS);
    for series in all {
        for (code, count) in TERMINATION_CODES.iter().zip(&series.terminations) {
            let count = count.load(Ordering::Relaxed);
            if count > 0 {
                let code = code.to_string();
                let labels: Vec<Label<'_>> = [("code", &*code)].into_iter().chain(series_labels(series)).collect();
                out.sample(TERMINATIONS.name, &labels, count);
            }
        }
    }
    out.family(&ABORTS);
    for series in all {
        let count = series.aborts.load(Ordering::Relaxed);
        if count > 0 {
            out.sample(ABORTS.name, &series_labels(series)[1..], count);
        }
    }
}

fn render_deprecated(all: &[Arc<Series>], out: &mut Exposition) {
    out.family(&DEPRECATED);
    let mut rendered = Vec::new();
    for series in all {
        let Labels { group, version, resource, subresource, deprecation, .. } = &series.labels;
        if deprecation.is_empty() {
            continue;
        };
        let labels = [
            ("group", group.as_str()),
            ("removed_release", removed_release(deprecation)),
            ("resource", resource),
            ("subresource", subresource),
            ("version", version),
        ];
        if !rendered.contains(&labels) {
            out.sample(DEPRECATED.name, &labels, 1);
            rendered.push(labels);
        }
    }
}

/// The release in which a version is removed, according to its deprecation warning; "" if it names none.
pub(crate) fn removed_release(warning: &str) -> &str {
    let release = warning.split_once("unavailable in v").map_or("", |(_, rest)| rest);
    release.split(|c: char| c != '.' && !c.is_ascii_digit()).next().unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rendered(requests: &Requests) -> String {
        let mut out = Exposition::default();
        requests.render(&mut out);
        out.into_text()
    }

    fn pods(verb: &'static str) -> Labels {
        let pods = pintle_groups::find("", "v1", "pods").expect("a resource");
        Labels::of(pods, Str::default(), verb, "namespace")
    }

    #[test]
    fn requests_are_counted_by_their_labels() {
        let requests = Requests::default();
        let series = requests.series(pods("LIST"));
        let outcome = Outcome { code: 200, took: Duration::from_millis(7), ..Outcome::default() };
        series.sent(2_000_000);
        series.answered(&outcome);
        series.answered(&Outcome { code: 404, system_client: "kube-scheduler", ..outcome });
        series.answered(&Outcome { code: 200, dry_run: DryRun::All, ..outcome });
        series.sent(2_000_000);
        requests.validated(FieldValidation::of("Strict"), Duration::from_millis(60));
        requests.validated(FieldValidation::of("strict"), Duration::ZERO);
        let text = rendered(&requests);
        for line in [
            "apiserver_request_total{code=\"200\",component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",\
             scope=\"namespace\",subresource=\"\",system_client=\"\",verb=\"LIST\",version=\"v1\"} 1\n",
            "dry_run=\"All\",group=\"\",resource=\"pods\",scope=\"namespace\",subresource=\"\",system_client=\"\"",
            "system_client=\"kube-scheduler\",verb=\"LIST\",version=\"v1\"} 1\n",
            "apiserver_request_duration_seconds_bucket{component=\"apiserver\",dry_run=\"\",group=\"\",resource=\"pods\",\
             scope=\"namespace\",subresource=\"\",verb=\"LIST\",version=\"v1\",le=\"0.005\"} 0\n",
            "version=\"v1\",le=\"0.025\"} 2\n",
            "apiserver_request_sli_duration_seconds_count{component=\"apiserver\",group=\"\",resource=\"pods\",\
             scope=\"namespace\",subresource=\"\",verb=\"LIST\",version=\"v1\"} 2\n",
            "verb=\"LIST\",version=\"v1\",le=\"1e+06\"} 0\n",
            "field_validation_request_duration_seconds_bucket{field_validation=\"Strict\",le=\"0.1\"} 1\n",
            "field_validation_request_duration_seconds_count{field_validation=\"invalid\"} 1\n",
            "verb=\"LIST\",version=\"v1\",le=\"1e+07\"} 2\n",
        ] {
            assert!(text.contains(line), "{line} in {text}");
        }
    }

    #[test]
    fn a_long_request_is_open_and_then_answered() {
        let requests = Requests::default();
        let open =
            requests.series(pods("WATCH")).long_running(Instant::now(), Outcome { code: 200, ..Outcome::default() });
        let gauge = |text: &str| {
            let line = text.lines().find(|line| line.starts_with("apiserver_longrunning_requests{"));
            line.and_then(|line| line.rsplit(' ').next()).map(str::to_owned)
        };
        let text = rendered(&requests);
        assert_eq!(gauge(&text).as_deref(), Some("1"));
        assert!(!text.contains("apiserver_request_total{"), "it has not ended: {text}");
        drop(open);
        let text = rendered(&requests);
        assert_eq!(gauge(&text).as_deref(), Some("0"));
        assert!(text.contains("apiserver_request_total{code=\"200\""), "{text}");
    }

    #[test]
    fn labels_of_requests() {
        let rows = [
            (Verb::Create, false, false, "POST"),
            (Verb::DeleteCollection, false, false, "DELETE"),
            (Verb::Patch, false, true, "APPLY"),
            (Verb::Patch, false, false, "PATCH"),
            (Verb::Get, true, false, "CONNECT"),
            (Verb::Other, false, false, "other"),
        ];
        for (does, connects, applies, expected) in rows {
            assert_eq!(verb(does, connects, applies), expected, "{does:?}");
        }
        for (values, expected) in [
            (vec![], DryRun::No),
            (vec!["All"], DryRun::All),
            (vec!["All", "All"], DryRun::All),
            (vec!["all"], DryRun::Invalid),
            (vec!["All", ""], DryRun::Invalid),
        ] {
            assert_eq!(DryRun::of(values.iter().copied()), expected, "{values:?}");
        }
        for (agent, expected) in
            [("kube-scheduler/v1.36.2 (linux/amd64)", "kube-scheduler"), ("kube-scheduler", ""), ("kubectl/v1.36", "")]
        {
            assert_eq!(system_client(agent), expected, "{agent}");
        }
        assert_eq!(removed_release("x y is deprecated in v1.22+, unavailable in v1.25+; use z"), "1.25");
        assert_eq!(removed_release("v1 ComponentStatus is deprecated in v1.19+"), "");
    }
}
