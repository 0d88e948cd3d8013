//! `/healthz`, `/livez`, `/readyz` and their checks one by one.
//!
//! A check is a name and a flag that the server sets; asking never does work.

use crate::Api;
use crate::query::Query;
use crate::serve::Answer;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::RwLock;
use std::sync::atomic::{AtomicBool, Ordering};

/// The checks every endpoint has.
const ALWAYS: [&str; 2] = ["ping", "log"];

/// Named checks and whether they pass.
#[derive(Default)]
pub struct Health {
    checks: RwLock<BTreeMap<&'static str, bool>>,
    stopping: AtomicBool,
}

impl Health {
    /// Sets whether a check passes.
    pub fn set(&self, check: &'static str, passes: bool) {
        if let Ok(mut checks) = self.checks.write() {
            checks.insert(check, passes);
        }
    }

    /// From now on the server is not ready.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    fn checks(&self, endpoint: &str) -> Vec<(&'static str, bool)> {
        let mut checks: Vec<_> = ALWAYS.iter().map(|name| (*name, true)).collect();
        if let Ok(own) = self.checks.read() {
            checks.extend(own.iter().map(|(name, passes)| (*name, *passes)));
        }
        if endpoint == "readyz" {
            checks.push(("shutdown", !self.stopping.load(Ordering::Relaxed)));
        }
        checks
    }
}

/// Answers a health path; `None` when it is none.
pub fn serve(api: &Api, path: &str, query: &Query) -> Option<Answer> {
    let rest = path.strip_prefix('/')?;
    let (endpoint, check) = match rest.split_once('/') {
        Some((endpoint, check)) => (endpoint, Some(check)),
        None => (rest, None),
    };
    if !matches!(endpoint, "healthz" | "livez" | "readyz") {
        return None;
    }
    let checks = api.health.checks(endpoint);
    if let Some(wanted) = check {
        return Some(match checks.iter().find(|(name, _)| *name == wanted) {
            Some((_, true)) => Answer::text(200, "ok"),
            Some((_, false)) => Answer::text(500, format!("internal server error: {wanted} failed\n")),
            None => Answer::text(404, "404 page not found\n"),
        });
    }
    let excluded: Vec<&str> = query.all("exclude").collect();
    let mut report = String::new();
    let mut failed = false;
    for (name, passes) in &checks {
        let _ = match (excluded.contains(name), passes) {
            (true, _) => writeln!(report, "[+]{name} excluded: ok"),
            (false, true) => writeln!(report, "[+]{name} ok"),
            (false, false) => writeln!(report, "[-]{name} failed: reason withheld"),
        };
        failed |= !passes && !excluded.contains(name);
    }
    let unknown: Vec<&str> =
        excluded.iter().filter(|name| checks.iter().all(|(check, _)| check != *name)).copied().collect();
    if !unknown.is_empty() {
        let names: Vec<String> = unknown.iter().map(|name| format!("{name:?}")).collect();
        let _ = writeln!(report, "warn: some health checks cannot be excluded: no matches for {}", names.join(","));
    }
    Some(match (failed, query.has("verbose")) {
        (true, _) => Answer::text(500, format!("{report}{endpoint} check failed\n")),
        (false, true) => Answer::text(200, format!("{report}{endpoint} check passed\n")),
        (false, false) => Answer::text(200, "ok"),
    })
}
