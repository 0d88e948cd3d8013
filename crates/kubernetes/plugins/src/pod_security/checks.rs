//! The catalogue of checks: which belong to which level, and since which version. Guarantees kube-apiserver's
//! order: baseline's checks before the restricted ones, each by their identifiers. Must never evaluate
//! a pod.

use super::policy::{Level, Policy};
use super::subject::Subject;
use super::{baseline, restricted};
use std::collections::BTreeSet;

/// A failed check of a pod.
pub struct Violation {
    pub reason: String,
    pub detail: String,
}

impl Violation {
    pub fn new(reason: impl Into<String>, detail: impl Into<String>) -> Option<Violation> {
        Some(Violation { reason: reason.into(), detail: detail.into() })
    }
}

pub type Check = fn(&Subject, minor: u32) -> Option<Violation>;

pub struct Row {
    pub check: Check,
    /// The minor version of Kubernetes that introduced it.
    pub since: u32,
    /// The version since which a check of the restricted level replaces it.
    pub replaced: Option<u32>,
}

impl Row {
    pub const fn since(check: Check, since: u32) -> Row {
        Row { check, since, replaced: None }
    }
}

/// The failed checks of a policy.
pub fn violations(policy: Policy, subject: &Subject) -> Vec<Violation> {
    let (baseline, restricted): (&[Row], &[Row]) = match policy.level {
        Level::Privileged => (&[], &[]),
        Level::Baseline => (baseline::CHECKS, &[]),
        Level::Restricted => (baseline::CHECKS, restricted::CHECKS),
    };
    let minor = policy.version.0;
    let is_restricted = policy.level == Level::Restricted;
    let kept = baseline.iter().filter(|row| !is_restricted || row.replaced.is_none_or(|since| minor < since));
    let rows = kept.chain(restricted).filter(|row| row.since <= minor);
    rows.filter_map(|row| (row.check)(subject, minor)).collect()
}

/// `container "a"`, `containers "a", "b"`.
pub fn containers(names: &[&str]) -> String {
    format!("{} {}", if names.len() == 1 { "container" } else { "containers" }, quoted(names))
}

pub fn quoted<T: AsRef<str>>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<String> = items.into_iter().map(|item| format!("\"{}\"", item.as_ref())).collect();
    items.join(", ")
}

pub fn plural<'a>(count: usize, one: &'a str, several: &'a str) -> &'a str {
    if count == 1 { one } else { several }
}

/// The pod or its containers that set a field.
#[derive(Default)]
pub struct Setters<'a> {
    pub pod: bool,
    pub containers: Vec<&'a str>,
    /// The values, if the message contains them.
    pub values: BTreeSet<String>,
}

impl Setters<'_> {
    pub fn is_empty(&self) -> bool {
        !self.pod && self.containers.is_empty()
    }

    pub fn names(&self) -> Vec<String> {
        let pod = self.pod.then(|| "pod".to_owned());
        let containers = (!self.containers.is_empty()).then(|| containers(&self.containers));
        pod.into_iter().chain(containers).collect()
    }

    pub fn text(&self) -> String {
        self.names().join(" and ")
    }
}

impl Subject {
    /// The names of the containers for which a predicate holds.
    pub fn containers_that(&self, holds: impl Fn(&super::subject::Contained) -> bool) -> Vec<&str> {
        let those = self.containers.iter().filter(|contained| holds(contained));
        those.map(|contained| contained.container.name.as_str()).collect()
    }

    /// Whether the version of the standards skips Linux-only checks for the pod.
    pub fn is_windows(&self, minor: u32) -> bool {
        minor >= 25 && self.spec.os.as_ref().is_some_and(|os| os.name == "windows")
    }

    /// Whether root inside is not root outside, where a version of the standards takes that into account.
    pub fn has_own_users(&self, minor: u32) -> bool {
        minor >= 35 && self.spec.host_users == Some(false)
    }
}
