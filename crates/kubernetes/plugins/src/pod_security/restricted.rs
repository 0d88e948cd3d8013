//! The restricted level: requirements of hardened pods. Guarantees one violation per check, which names all its causes. Must
//! never repeat a violation of the baseline level about the same fields.

use super::baseline::{any_proc_mount, forbidden_capabilities, forbidden_seccomp, seccomp_profile};
use super::checks::{Row, Setters, Violation, containers, plural, quoted};
use super::subject::Subject;
use std::collections::BTreeSet;

/// In the order of their identifiers.
pub const CHECKS: &[Row] = &[
    Row::since(allow_privilege_escalation, 8),
    Row::since(capabilities, 22),
    Row::since(any_proc_mount, 35),
    Row::since(volumes, 0),
    Row::since(run_as_non_root, 0),
    Row::since(run_as_user, 23),
    Row::since(seccomp, 19),
];

const VOLUMES: [&str; 9] = [
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
];

fn allow_privilege_escalation(subject: &Subject, minor: u32) -> Option<Violation> {
    let names = subject.containers_that(|one| one.context.allow_privilege_escalation != Some(false));
    if names.is_empty() || subject.is_windows(minor) {
        return None;
    }
    let detail = format!("{} must set securityContext.allowPrivilegeEscalation=false", containers(&names));
    Violation::new("allowPrivilegeEscalation != false", detail)
}

fn capabilities(subject: &Subject, minor: u32) -> Option<Violation> {
    if subject.is_windows(minor) {
        return None;
    }
    let mut faults = Vec::new();
    let keeping = subject.containers_that(|one| {
        let mut dropped = one.context.capabilities.iter().flat_map(|capabilities| &capabilities.drop);
        !dropped.any(|dropped| *dropped == "ALL")
    });
    if !keeping.is_empty() {
        faults.push(format!("{} must set securityContext.capabilities.drop=[\"ALL\"]", containers(&keeping)));
    }
    faults.extend(forbidden_capabilities(subject, &["NET_BIND_SERVICE"]));
    if faults.is_empty() { None } else { Violation::new("unrestricted capabilities", faults.join("; ")) }
}

fn volumes(subject: &Subject, _: u32) -> Option<Violation> {
    let bad: Vec<_> = subject.volumes.iter().filter(|(_, kind)| !VOLUMES.contains(&kind.as_str())).collect();
    if bad.is_empty() {
        return None;
    }
    let kinds: BTreeSet<&str> = bad.iter().map(|(_, kind)| kind.as_str()).collect();
    let detail = format!(
        "{} {} {} {} {}",
        plural(bad.len(), "volume", "volumes"),
        quoted(bad.iter().map(|(name, _)| name)),
        plural(bad.len(), "uses", "use"),
        plural(kinds.len(), "restricted volume type", "restricted volume types"),
        quoted(kinds)
    );
    Violation::new("restricted volume types", detail)
}

fn run_as_non_root(subject: &Subject, minor: u32) -> Option<Violation> {
    const REASON: &str = "runAsNonRoot != true";
    if subject.has_own_users(minor) {
        return None;
    }
    let pod = subject.context.run_as_non_root;
    let setters = Setters {
        pod: pod == Some(false),
        containers: subject.containers_that(|one| one.context.run_as_non_root == Some(false)),
        ..Setters::default()
    };
    if !setters.is_empty() {
        return Violation::new(REASON, format!("{} must not set securityContext.runAsNonRoot=false", setters.text()));
    }
    let silent = subject.containers_that(|one| one.context.run_as_non_root.or(pod).is_none());
    if silent.is_empty() {
        return None;
    }
    let detail = format!("pod or {} must set securityContext.runAsNonRoot=true", containers(&silent));
    Violation::new(REASON, detail)
}

fn run_as_user(subject: &Subject, minor: u32) -> Option<Violation> {
    if subject.has_own_users(minor) {
        return None;
    }
    let setters = Setters {
        pod: subject.context.run_as_user == Some(0),
        containers: subject.containers_that(|one| one.context.run_as_user == Some(0)),
        ..Setters::default()
    };
    if setters.is_empty() {
        return None;
    }
    Violation::new("runAsUser=0", format!("{} must not set runAsUser=0", setters.text()))
}

fn seccomp(subject: &Subject, minor: u32) -> Option<Violation> {
    if subject.is_windows(minor) {
        return None;
    }
    let pod = &subject.context.seccomp_profile;
    let is_set = pod.is_some() && forbidden_seccomp(pod).is_none();
    let silent = subject.containers_that(|one| one.context.seccomp_profile.is_none() && !is_set);
    let explicit = seccomp_profile(subject, minor);
    if explicit.is_some() || silent.is_empty() {
        return explicit;
    }
    let detail = format!(
        "pod or {} must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\"",
        containers(&silent)
    );
    Violation::new("seccompProfile", detail)
}
