//! `/healthz`, `/livez`, `/readyz` and their individual checks.
//!
//! A check is a name and a flag that the server sets, or a probe; requests only read them. The reason of a failure is shown for
//! an individual check only, because these paths need no authorization.

use crate::query::Query;
use crate::response::ApiResponse;
use pintle_metrics::{Exposition, Family, Format};
use pintle_schema::names::quoted;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

/// The endpoints, each with its set of checks.
pub const ENDPOINTS: [&str; 3] = ["/healthz", "/livez", "/readyz"];

const HEALTHY: Family = Family::gauge(
    "kubernetes_healthcheck",
    "Whether a check passed when it was last asked for: 1 if it did, otherwise 0.",
)
.stable();
const HEALTH_CHECKS: Family =
    Family::counter("kubernetes_healthchecks_total", "How often a check was asked for, by its outcome.").stable();

/// The endpoints that include a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Scope {
    Everywhere,
    /// In `/readyz` only: whether the server should receive requests.
    Readyz,
    /// Not in `/livez`: a restart would not help.
    NotLivez,
    /// Not in `/readyz`, where another check covers it.
    NotReadyz,
    /// Everywhere, but it always passes in `/livez`: a restart would begin the same work anew.
    Start,
}

struct Check {
    name: Cow<'static, str>,
    scope: Scope,
    passes: AtomicBool,
    /// Evaluates the check, if it is not set by the server.
    probe: Option<Probe>,
    /// A further condition of a check that is set by the server.
    further: Option<Probe>,
    /// The last outcome.
    passed: AtomicBool,
    /// By endpoint, how often it failed and passed.
    outcomes: [[AtomicU64; 2]; ENDPOINTS.len()],
}

/// Returns why a check fails. Called for every request, so it must neither work nor wait.
pub type Probe = Box<dyn Fn() -> Result<(), String> + Send + Sync>;

impl Check {
    fn new(name: impl Into<Cow<'static, str>>, scope: Scope, passes: bool) -> Self {
        Check {
            name: name.into(),
            scope,
            passes: AtomicBool::new(passes),
            probe: None,
            further: None,
            passed: AtomicBool::new(passes),
            outcomes: Default::default(),
        }
    }

    /// Why it does not pass at an endpoint.
    fn fault(&self, endpoint: usize) -> Result<(), String> {
        if self.scope == Scope::Start && ENDPOINTS.get(endpoint) == Some(&"/livez") {
            return Ok(());
        }
        match &self.probe {
            Some(probe) => {
                let outcome = probe();
                self.passes.store(outcome.is_ok(), Ordering::Relaxed);
                outcome
            }
            None if self.passes.load(Ordering::Relaxed) => self.further.as_ref().map_or(Ok(()), |probe| probe()),
            None if self.name == SHUTDOWN => Err("process is shutting down".to_owned()),
            None => Err("not finished".to_owned()),
        }
    }

    /// Whether it was added by `watch_liveness`.
    fn is_liveness(&self) -> bool {
        self.scope == Scope::NotReadyz && self.probe.is_some()
    }

    fn run(&self, endpoint: usize) -> bool {
        let passes = self.fault(endpoint).is_ok();
        self.passed.store(passes, Ordering::Relaxed);
        if let Some(outcomes) = self.outcomes.get(endpoint) {
            outcomes[usize::from(passes)].fetch_add(1, Ordering::Relaxed);
        }
        passes
    }
}

/// The checks, in the order in which they are listed.
pub struct Health {
    checks: RwLock<Vec<Check>>,
    rejects_requests: AtomicBool,
}

impl Default for Health {
    fn default() -> Self {
        let always = ALWAYS.map(|name| Check::new(name, Scope::Everywhere, true));
        let ready = ["informer-sync", SHUTDOWN].map(|name| Check::new(name, Scope::Readyz, true));
        Health {
            checks: RwLock::new(always.into_iter().chain(ready).collect()),
            rejects_requests: AtomicBool::new(false),
        }
    }
}

/// The checks that pass whenever the server responds.
const ALWAYS: [&str; 2] = ["ping", "log"];

/// The checks of the store, as kube-apiserver names them whatever the store is.
const STORE: &str = "etcd";
const STORE_READINESS: &str = "etcd-readiness";
/// Those of its partitions begin so.
const OVERRIDE: &str = "etcd-override-";

/// The check that fails as soon as shutdown begins.
const SHUTDOWN: &str = "shutdown";

impl Health {
    /// Sets whether a check passes; a new one is included everywhere.
    pub fn set(&self, name: &'static str, passes: bool) {
        self.set_in(Scope::Everywhere, name, passes);
    }

    /// Sets whether a step of the start is done; a new one is included everywhere. One that is not done makes the server
    /// not ready, but does not let it be restarted: kube-apiserver does the same within `--livez-grace-period`.
    pub fn set_started(&self, name: &'static str, is_done: bool) {
        self.set_in(Scope::Start, name, is_done);
    }

    /// Whether there is a check of this name.
    pub fn has(&self, name: &str) -> bool {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().any(|check| check.name == name)
    }

    fn set_in(&self, scope: Scope, name: &'static str, passes: bool) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        match checks.iter().find(|check| check.name == name) {
            Some(check) => check.passes.store(passes, Ordering::Relaxed),
            None => {
                let last = checks.len().saturating_sub(1);
                checks.insert(last, Check::new(name, scope, passes));
            }
        }
    }

    /// Adds a liveness check, evaluated by `probe`: when it fails, the process has to be restarted.
    pub fn watch_liveness(&self, name: &'static str, probe: Probe) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        checks.insert(ALWAYS.len(), Check { probe: Some(probe), ..Check::new(name, Scope::NotReadyz, true) });
    }

    /// Whether the store is alive, as last reported.
    pub fn has_store(&self) -> bool {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        checks.iter().find(|check| check.name == STORE).is_none_or(|check| check.passes.load(Ordering::Relaxed))
    }

    /// Adds a check of a dependency, evaluated by `probe`. It is not part of liveness.
    pub fn watch(&self, name: &'static str, probe: Probe) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        checks.insert(ALWAYS.len(), Check { probe: Some(probe), ..Check::new(name, Scope::NotLivez, true) });
    }

    /// Sets whether the store, or its partition with a number, is alive and ready.
    pub fn set_store(&self, partition: Option<usize>, alive: bool, ready: bool) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        let [name, readiness] = match partition {
            None => [STORE.into(), STORE_READINESS.into()],
            Some(number) => ["", "readiness-"].map(|what| Cow::from(format!("{OVERRIDE}{what}{number}"))),
        };
        // Before the others, which depend on the store.
        for (name, scope, passes) in [(name, Scope::NotReadyz, alive), (readiness, Scope::Readyz, ready)] {
            match checks.iter().find(|check| check.name == name) {
                Some(check) => check.passes.store(passes, Ordering::Relaxed),
                None => {
                    let is_before = |check: &&Check| {
                        ALWAYS.contains(&&*check.name) || check.is_liveness() || check.name.starts_with(STORE)
                    };
                    let at = checks.iter().take_while(is_before).count();
                    checks.insert(at, Check::new(name, scope, passes));
                }
            }
        }
    }

    /// Makes a condition, evaluated by `probe`, a part of the readiness of the store. It is not part of liveness.
    pub fn watch_store(&self, probe: Probe) {
        let mut checks = self.checks.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(check) = checks.iter_mut().find(|check| check.name == STORE_READINESS) {
            check.further = Some(probe);
        }
    }

    /// From now on the server is not ready.
    pub fn stop(&self) {
        self.set(SHUTDOWN, false);
    }

    /// From now on requests are rejected, except for health checks, metrics, and requests of other API servers.
    pub fn reject_requests(&self) {
        self.rejects_requests.store(true, Ordering::Relaxed);
    }

    /// Whether a request is rejected because the server is stopping.
    pub(crate) fn rejects(&self, path: &str, user_agent: &str) -> bool {
        self.rejects_requests.load(Ordering::Relaxed)
            && !ENDPOINTS.into_iter().chain(["/metrics"]).any(|exempt| path.starts_with(exempt))
            && !user_agent.starts_with("kube-apiserver/")
    }

    /// The paths of the endpoints and of each of their checks.
    pub(crate) fn paths(&self) -> Vec<String> {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        let mut paths: Vec<String> = ENDPOINTS.map(str::to_owned).into();
        for (at, endpoint) in ENDPOINTS.iter().enumerate() {
            let included = checks.iter().filter(|check| is_in_scope(check, at));
            paths.extend(included.map(|check| format!("{endpoint}/{}", check.name)));
        }
        paths
    }

    /// Metrics of health checks.
    pub fn metrics(&self, format: Format) -> String {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        let asked = || {
            checks.iter().flat_map(|check| {
                let by_endpoint = ENDPOINTS.iter().zip(&check.outcomes);
                by_endpoint.map(move |(endpoint, outcomes)| {
                    let counts = [0, 1].map(|at| outcomes[at].load(Ordering::Relaxed));
                    (check, &endpoint[1..], counts)
                })
            })
        };
        // Samples are in the order of the values of their labels.
        let mut asked: Vec<_> = asked().collect();
        asked.sort_by(|a, b| (&*a.0.name, a.1).cmp(&(&*b.0.name, b.1)));
        let mut out = Exposition::new(format, Arc::default());
        out.family(&HEALTHY);
        for &(check, endpoint, _) in asked.iter().filter(|(.., counts)| counts.iter().any(|count| *count > 0)) {
            let passes = u8::from(check.passed.load(Ordering::Relaxed));
            out.sample(HEALTHY.name, &[("name", &check.name), ("type", endpoint)], passes);
        }
        let mut counted = Vec::new();
        for (check, endpoint, counts) in asked {
            for (status, count) in ["error", "success"].into_iter().zip(counts).filter(|(_, count)| *count > 0) {
                counted.push((&*check.name, status, endpoint, count));
            }
        }
        counted.sort_unstable();
        out.family(&HEALTH_CHECKS);
        for (name, status, endpoint, count) in counted {
            out.sample(HEALTH_CHECKS.name, &[("name", name), ("status", status), ("type", endpoint)], count);
        }
        out.into_text()
    }

    /// Starts to count the outcomes of checks anew.
    pub fn forget_outcomes(&self) {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        let counts = checks.iter().flat_map(|check| check.outcomes.iter().flatten());
        counts.for_each(|count| count.store(0, Ordering::Relaxed));
    }

    /// The response for one check.
    fn one(&self, endpoint: usize, name: &str) -> ApiResponse {
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        match checks.iter().find(|check| check.name == name && is_in_scope(check, endpoint)) {
            Some(check) => match check.fault(endpoint) {
                // Not among the responses whose type browsers may not guess.
                Ok(()) => ApiResponse::new(200, "text/plain; charset=utf-8", "ok"),
                Err(fault) => ApiResponse::text(500, format!("internal server error: {fault}\n")),
            },
            None => ApiResponse::text(404, "404 page not found\n"),
        }
    }

    /// The response for all checks of an endpoint.
    fn all(&self, endpoint: usize, query: &Query) -> ApiResponse {
        let excluded: BTreeSet<&str> = query.all("exclude").collect();
        let mut unknown = excluded.clone();
        let mut report = String::new();
        let mut failed = false;
        let checks = self.checks.read().unwrap_or_else(PoisonError::into_inner);
        for check in checks.iter().filter(|check| is_in_scope(check, endpoint)) {
            let name = &*check.name;
            unknown.remove(name);
            let _ = if excluded.contains(name) {
                writeln!(report, "[+]{name} excluded: ok")
            } else if check.run(endpoint) {
                writeln!(report, "[+]{name} ok")
            } else {
                failed = true;
                writeln!(report, "[-]{name} failed: reason withheld")
            };
        }
        if !unknown.is_empty() {
            let names: Vec<String> = unknown.iter().map(|name| quoted(name)).collect();
            let _ = writeln!(report, "warn: some health checks cannot be excluded: no matches for {}", names.join(","));
        }
        let endpoint = &ENDPOINTS[endpoint][1..];
        match (failed, query.has("verbose")) {
            (true, _) => ApiResponse::text(500, format!("{report}{endpoint} check failed\n")),
            (false, true) => ApiResponse::text(200, format!("{report}{endpoint} check passed\n")),
            (false, false) => ApiResponse::text(200, "ok"),
        }
    }
}

fn is_in_scope(check: &Check, endpoint: usize) -> bool {
    match check.scope {
        Scope::Everywhere | Scope::Start => true,
        Scope::Readyz => ENDPOINTS[endpoint] == "/readyz",
        Scope::NotLivez => ENDPOINTS[endpoint] != "/livez",
        Scope::NotReadyz => ENDPOINTS[endpoint] != "/readyz",
    }
}

/// Whether a path is one of health.
pub(crate) fn is_asked_for(path: &str) -> bool {
    ENDPOINTS
        .iter()
        .any(|endpoint| path.strip_prefix(endpoint).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
}

/// Answers a health path; `None` when it is none.
pub fn serve(health: &Health, path: &str, query: &Query) -> Option<ApiResponse> {
    let endpoint = ENDPOINTS.iter().position(|endpoint| path.starts_with(endpoint))?;
    let rest = &path[ENDPOINTS[endpoint].len()..];
    match rest.strip_prefix('/') {
        None if rest.is_empty() => Some(health.all(endpoint, query)),
        Some(check) => Some(health.one(endpoint, check)),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    fn ask(health: &Health, path: &str, query: &str) -> (u16, String) {
        let answer = serve(health, path, &Query::parse(query)).expect("a health path");
        let Body::Full(text) = answer.body else { panic!("a text") };
        (answer.code, String::from_utf8_lossy(&text).into_owned())
    }

    #[test]
    fn checks_are_reported_together_and_one_by_one() {
        let health = Health::default();
        health.set("poststarthook/a", true);
        let verbose = "[+]ping ok\n[+]log ok\n[+]informer-sync ok\n[+]poststarthook/a ok\n[+]shutdown ok\n";
        assert_eq!(ask(&health, "/readyz", ""), (200, "ok".to_owned()));
        assert_eq!(ask(&health, "/readyz", "verbose"), (200, format!("{verbose}readyz check passed\n")));
        let live = "[+]ping ok\n[+]log excluded: ok\n[+]poststarthook/a ok\n\
                    warn: some health checks cannot be excluded: no matches for \"etcd\",\"shutdown\"\n\
                    livez check passed\n";
        let excluding = "verbose&exclude=shutdown&exclude=log&exclude=etcd&exclude=etcd";
        assert_eq!(ask(&health, "/livez", excluding), (200, live.to_owned()));
        assert_eq!(ask(&health, "/livez/poststarthook/a", ""), (200, "ok".to_owned()));
        for path in ["/livez/shutdown", "/readyz/none", "/healthz/"] {
            assert_eq!(ask(&health, path, ""), (404, "404 page not found\n".to_owned()), "{path}");
        }
        assert!(serve(&health, "/healthzz", &Query::parse("")).is_none());
    }

    #[test]
    fn an_unfinished_start_is_alive_and_not_ready() {
        let health = Health::default();
        health.set_started("poststarthook/a", false);
        for (path, expected) in [("/livez", 200), ("/livez/poststarthook/a", 200), ("/healthz", 500), ("/readyz", 500)]
        {
            assert_eq!(ask(&health, path, "").0, expected, "{path}");
        }
        let unfinished = (500, "internal server error: not finished\n".to_owned());
        assert_eq!(ask(&health, "/readyz/poststarthook/a", ""), unfinished);
        assert!(health.has("poststarthook/a") && !health.has("poststarthook/b"));
        health.set_started("poststarthook/a", true);
        assert_eq!(ask(&health, "/readyz", ""), (200, "ok".to_owned()));
    }

    #[test]
    fn a_single_check_shows_why_it_fails() {
        let health = Health::default();
        let well = std::sync::Arc::new(AtomicBool::new(true));
        let asked = well.clone();
        let probe = move || if asked.load(Ordering::Relaxed) { Ok(()) } else { Err("it is ill".to_owned()) };
        health.watch("kms-providers", Box::new(probe));
        assert_eq!(ask(&health, "/readyz/kms-providers", ""), (200, "ok".to_owned()));
        well.store(false, Ordering::Relaxed);
        assert_eq!(ask(&health, "/readyz/kms-providers", ""), (500, "internal server error: it is ill\n".to_owned()));
        assert_eq!((ask(&health, "/livez", "").0, ask(&health, "/livez/kms-providers", "").0), (200, 404));
        health.set_store(None, true, true);
        let (_, text) = ask(&health, "/readyz", "verbose");
        assert!(text.contains("[+]log ok\n[+]etcd-readiness ok\n[-]kms-providers failed"), "{text}");
        assert_eq!((ask(&health, "/readyz/etcd", "").0, ask(&health, "/livez/etcd", "").0), (404, 200));
        let (code, text) = ask(&health, "/healthz", "");
        assert_eq!(code, 500);
        assert!(text.contains("[-]kms-providers failed: reason withheld\n"), "{text}");
    }

    #[test]
    fn a_store_that_is_full_is_alive_and_not_ready() {
        let health = Health::default();
        health.set_store(None, true, true);
        let full = std::sync::Arc::new(AtomicBool::new(true));
        let asked = full.clone();
        let probe = move || if asked.load(Ordering::Relaxed) { Err("it is full".to_owned()) } else { Ok(()) };
        health.watch_store(Box::new(probe));
        let (code, text) = ask(&health, "/readyz", "");
        assert!(code == 500 && text.contains("[-]etcd-readiness failed: reason withheld\n"), "{text}");
        assert_eq!(ask(&health, "/readyz/etcd-readiness", ""), (500, "internal server error: it is full\n".to_owned()));
        assert_eq!((ask(&health, "/livez", "").0, ask(&health, "/healthz", "").0), (200, 200));
        let gauge = |value| format!("kubernetes_healthcheck{{name=\"etcd-readiness\",type=\"readyz\"}} {value}\n");
        assert!(health.metrics(Format::Text).contains(&gauge(0)));
        full.store(false, Ordering::Relaxed);
        assert_eq!(ask(&health, "/readyz", ""), (200, "ok".to_owned()));
        assert!(health.metrics(Format::Text).contains(&gauge(1)));
        health.set_store(None, true, false);
        assert_eq!(ask(&health, "/readyz", "").0, 500);
    }

    #[test]
    fn liveness_checks_do_not_affect_readiness() {
        let health = Health::default();
        assert!(health.has_store(), "nobody said otherwise");
        let good = std::sync::Arc::new(AtomicBool::new(true));
        let asked = good.clone();
        let probe = move || if asked.load(Ordering::Relaxed) { Ok(()) } else { Err("it is over".to_owned()) };
        health.watch("kms-providers", Box::new(|| Ok(())));
        health.watch_liveness("certificate", Box::new(probe));
        health.set_store(None, true, true);
        let (_, text) = ask(&health, "/healthz", "verbose");
        let first = "[+]ping ok\n[+]log ok\n[+]certificate ok\n[+]etcd ok\n[+]kms-providers ok\n";
        assert!(text.starts_with(first), "{text}");
        good.store(false, Ordering::Relaxed);
        assert_eq!(ask(&health, "/livez/certificate", ""), (500, "internal server error: it is over\n".to_owned()));
        assert_eq!(
            (ask(&health, "/livez", "").0, ask(&health, "/healthz", "").0, ask(&health, "/readyz", "").0),
            (500, 500, 200)
        );
        assert_eq!(ask(&health, "/livez", "exclude=certificate"), (200, "ok".to_owned()));
        health.set_store(None, false, false);
        assert!(!health.has_store());
        assert_eq!(ask(&health, "/readyz", "").0, 500);
        health.set_store(None, true, true);
        health.set_store(Some(0), true, true);
        health.set_store(Some(1), false, false);
        let (code, text) = ask(&health, "/readyz", "verbose");
        let overrides = "[+]etcd-readiness ok\n[+]etcd-override-readiness-0 ok\n[-]etcd-override-readiness-1 failed";
        assert!(code == 500 && text.contains(overrides), "{text}");
        let (code, text) = ask(&health, "/livez", "verbose");
        let overrides = "[+]etcd ok\n[+]etcd-override-0 ok\n[-]etcd-override-1 failed";
        assert!(code == 500 && text.contains(overrides), "{text}");
        assert!(health.has_store(), "only the main one counts");
    }

    #[test]
    fn a_server_that_stops_lives_but_is_not_ready() {
        let health = Health::default();
        health.stop();
        let failed = "[+]ping ok\n[+]log ok\n[+]informer-sync ok\n[-]shutdown failed: reason withheld\n\
                      readyz check failed\n";
        assert_eq!(ask(&health, "/readyz", ""), (500, failed.to_owned()));
        assert_eq!(ask(&health, "/readyz", "exclude=shutdown"), (200, "ok".to_owned()));
        assert_eq!(ask(&health, "/livez", ""), (200, "ok".to_owned()));
        let one = "internal server error: process is shutting down\n";
        assert_eq!(ask(&health, "/readyz/shutdown", ""), (500, one.to_owned()));
        assert!(!health.rejects("/api/v1", ""), "it still answers");
        health.reject_requests();
        for (path, agent, late) in [
            ("/api/v1", "kubectl/v1.36.2", true),
            ("/version", "", true),
            ("/readyz/ping", "", false),
            ("/metrics", "", false),
            ("/api/v1", "kube-apiserver/v1.36.2", false),
        ] {
            assert_eq!(health.rejects(path, agent), late, "{path} {agent}");
        }
        let metrics = health.metrics(Format::Text);
        for line in [
            "kubernetes_healthcheck{name=\"shutdown\",type=\"readyz\"} 0\n",
            "kubernetes_healthchecks_total{name=\"shutdown\",status=\"error\",type=\"readyz\"} 1\n",
            "kubernetes_healthchecks_total{name=\"ping\",status=\"success\",type=\"livez\"} 1\n",
        ] {
            assert!(metrics.contains(line), "{line} in {metrics}");
        }
        let names = |line: &str| line.split('}').next().map(str::to_owned);
        let samples: Vec<_> =
            metrics.lines().filter(|line| line.starts_with("kubernetes_healthchecks_")).map(names).collect();
        assert!(samples.len() > 2 && samples.is_sorted(), "{samples:?}");
        health.forget_outcomes();
        assert!(!health.metrics(Format::Text).contains("{name="));
    }
}
