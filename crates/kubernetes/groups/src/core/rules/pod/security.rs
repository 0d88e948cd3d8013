//! Rules of security contexts: privileges, profiles, sysctls, Windows users.

use super::{is_true, text};
use crate::rules::internal_form::in_full;
use pintle_schema::{View, names};
use pintle_types::core::v1::{
    Capabilities, PodSecurityContext, PodSpec, SeccompProfile, SecurityContext, Sysctl, WindowsSecurityContextOptions,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashSet;

const MAX_USER_DOMAIN: usize = 256;
const MAX_USER: usize = 104;

/// Rights that exclude each other.
pub fn privileges(context: At<'_, SecurityContext>, cx: &mut ValidationContext<'_>) {
    if context.new.field(SecurityContext::ALLOW_PRIVILEGE_ESCALATION).get() != Some(false) {
        return;
    }
    if is_true(context.new.field(SecurityContext::PRIVILEGED)) {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
        cx.errors.invalid(context.path, in_full(context.new), detail);
    }
    let added = context.new.field(SecurityContext::CAPABILITIES).or_zero().field(Capabilities::ADD);
    if added.iter().any(|capability| capability.as_str() == "CAP_SYS_ADMIN") {
        let detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
        cx.errors.invalid(context.path, in_full(context.new), detail);
    }
}

/// Only profiles of type `Localhost` have a file.
pub fn seccomp(profile: At<'_, SeccompProfile>, cx: &mut ValidationContext<'_>) {
    let kind = text(profile.new.field(SeccompProfile::TYPE));
    let local = profile.new.field(SeccompProfile::LOCALHOST_PROFILE);
    if let Some(local) = local.some().filter(|_| kind != "Localhost") {
        let path = profile.path.to(SeccompProfile::LOCALHOST_PROFILE);
        let shown = pintle_schema::value!({"Type": kind, "LocalhostProfile": (local.as_str())});
        cx.errors.invalid(path, shown, "can only be set when seccomp type is Localhost");
    }
}

/// The user of Windows containers.
pub fn windows(options: At<'_, WindowsSecurityContextOptions>, cx: &mut ValidationContext<'_>) {
    if let Some(user) = options.new.field(WindowsSecurityContextOptions::RUN_AS_USER_NAME).some() {
        windows_user(user.as_str(), &options.path.to(WindowsSecurityContextOptions::RUN_AS_USER_NAME), cx);
    }
}

fn windows_user(name: &str, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let mut wrong = |detail: &str| cx.errors.invalid(path, name, format!("runAsUserName{detail}"));
    if name.is_empty() {
        return wrong(" cannot be an empty string");
    }
    if name.chars().any(char::is_control) {
        return wrong(" cannot contain control characters");
    }
    let (domain, user) = match name.split_once('\\') {
        Some((_, user)) if user.contains('\\') => return wrong(" cannot contain more than one backslash"),
        Some((domain, user)) => (Some(domain), user),
        None => (None, name),
    };
    if let Some(domain) = domain {
        if domain.len() >= MAX_USER_DOMAIN {
            wrong("'s Domain length must be under 256 characters");
        }
        if !is_net_bios_name(domain) && !is_windows_domain(domain) {
            wrong("'s Domain doesn't match the NetBios nor the DNS format");
        }
    }
    if user.is_empty() {
        wrong("'s User cannot be empty");
    } else if user.len() > MAX_USER {
        wrong("'s User length must not be longer than 104 characters");
    }
    if !user.is_empty() && user.chars().all(|letter| matches!(letter, '.' | ' ')) {
        wrong("'s User cannot contain only periods or spaces");
    }
    if user.contains(|letter: char| "\"/\\:;|=,+*?<>@[]".contains(letter)) {
        wrong("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]");
    }
}

fn is_net_bios_name(domain: &str) -> bool {
    (1..=15).contains(&domain.chars().count())
        && !domain.starts_with('.')
        && !domain.contains(|letter: char| "\\/:*?\"<>|".contains(letter))
}

fn is_windows_domain(domain: &str) -> bool {
    domain.split('.').all(|label| {
        let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        label.len() <= 63
            && is_edge(label.as_bytes().first())
            && is_edge(label.as_bytes().last())
            && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    })
}

/// Rules of security contexts that depend on the pod.
pub fn fits_pod(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let Some(context) = spec.new.field(PodSpec::SECURITY_CONTEXT).some() else { return };
    let path = spec.path.to(PodSpec::SECURITY_CONTEXT);
    sysctls(spec.new, context, &path.to(PodSecurityContext::SYSCTLS), cx);
}

/// Names of kernel parameters use dots or slashes; this has them in one form.
fn normal_sysctl(name: &str) -> String {
    match name.find(['.', '/']).and_then(|at| name.as_bytes().get(at)) {
        Some(b'/') => name
            .chars()
            .map(|letter| match letter {
                '/' => '.',
                '.' => '/',
                other => other,
            })
            .collect(),
        _ => name.to_owned(),
    }
}

fn sysctls(
    spec: View<'_, PodSpec>,
    context: View<'_, PodSecurityContext>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let mut seen = HashSet::new();
    for (index, sysctl) in context.field(PodSecurityContext::SYSCTLS).iter().enumerate() {
        let name = sysctl.field(Sysctl::NAME).as_str();
        let path = path.index(index);
        let path = path.to(Sysctl::NAME);
        let normal = normal_sysctl(name);
        if name.is_empty() {
            continue;
        }
        // The two forms of a name count as two names.
        if names::is_sysctl_name(name) && !seen.insert(name) {
            cx.errors.duplicate(path, name);
        }
        let is_ipc = normal == "kernel.sem"
            || ["kernel.shm", "kernel.msg", "fs.mqueue."].iter().any(|prefix| normal.starts_with(prefix));
        if spec.field(PodSpec::HOST_NETWORK).get() && normal.starts_with("net.") {
            cx.errors.invalid(path, name, "may not be specified when 'hostNetwork' is true");
        } else if spec.field(PodSpec::HOST_IPC).get() && is_ipc {
            cx.errors.invalid(path, name, "may not be specified when 'hostIPC' is true");
        }
    }
}
