//! The checks of the baseline level, which prevents known privilege escalations. Guarantees one violation for a check,
//! which names all its causes. Must never reject an unset field.

use super::checks::{Row, Setters, Violation, containers, plural, quoted};
use super::subject::{Contained, SECCOMP_OF_CONTAINER, SECCOMP_OF_POD, Subject};
use pintle_schema::names;
use pintle_types::core::v1::{
    AppArmorProfile, HTTPGetAction, Lifecycle, Probe, SELinuxOptions, SeccompProfile, TCPSocketAction,
};
use std::collections::BTreeSet;

/// In the order of their identifiers.
pub const CHECKS: &[Row] = &[
    Row::since(app_armor_profile, 0),
    Row { check: capabilities, since: 0, replaced: Some(22) },
    Row::since(host_namespaces, 0),
    Row { check: host_path_volumes, since: 0, replaced: Some(0) },
    Row::since(host_ports, 0),
    Row::since(host_probes, 34),
    Row::since(privileged, 0),
    Row { check: proc_mount, since: 0, replaced: Some(35) },
    Row::since(se_linux_options, 0),
    Row { check: seccomp, since: 0, replaced: Some(19) },
    Row::since(sysctls, 0),
    Row::since(windows_host_process, 0),
];

const CAPABILITIES: [&str; 13] = [
    "AUDIT_WRITE",
    "CHOWN",
    "DAC_OVERRIDE",
    "FOWNER",
    "FSETID",
    "KILL",
    "MKNOD",
    "NET_BIND_SERVICE",
    "SETFCAP",
    "SETGID",
    "SETPCAP",
    "SETUID",
    "SYS_CHROOT",
];

/// The allowed sysctls, with the version that allowed them.
const SYSCTLS: [(&str, u32); 12] = [
    ("kernel.shm_rmid_forced", 0),
    ("net.ipv4.ip_local_port_range", 0),
    ("net.ipv4.tcp_syncookies", 0),
    ("net.ipv4.ping_group_range", 0),
    ("net.ipv4.ip_unprivileged_port_start", 0),
    ("net.ipv4.ip_local_reserved_ports", 27),
    ("net.ipv4.tcp_keepalive_time", 29),
    ("net.ipv4.tcp_fin_timeout", 29),
    ("net.ipv4.tcp_keepalive_intvl", 29),
    ("net.ipv4.tcp_keepalive_probes", 29),
    ("net.ipv4.tcp_rmem", 32),
    ("net.ipv4.tcp_wmem", 32),
];

/// The allowed SELinux types, with the version that allowed them.
const SELINUX_TYPES: [(&str, u32); 5] =
    [("", 0), ("container_t", 0), ("container_init_t", 0), ("container_kvm_t", 0), ("container_engine_t", 31)];

/// Before version 1.19, profiles were annotations: of the pod, and of a container that the key ends with.
const SECCOMP_FIELDS_SINCE: u32 = 19;

const APP_ARMOR_ANNOTATION: &str = "container.apparmor.security.beta.kubernetes.io/";

fn allows(table: &[(&str, u32)], name: &str, minor: u32) -> bool {
    table.iter().any(|(allowed, since)| *allowed == name && *since <= minor)
}

/// The forbidden values in the security contexts of a pod and its containers.
pub fn setters<'a>(
    subject: &'a Subject,
    of_pod: Option<String>,
    of_container: impl Fn(&Contained) -> Option<String>,
) -> Setters<'a> {
    let mut setters = Setters { pod: of_pod.is_some(), ..Setters::default() };
    setters.values.extend(of_pod);
    for contained in &subject.containers {
        if let Some(value) = of_container(contained) {
            setters.containers.push(&contained.container.name);
            setters.values.insert(value);
        }
    }
    setters
}

fn app_armor_profile(subject: &Subject, _: u32) -> Option<Violation> {
    let bad = |profile: &Option<AppArmorProfile>| {
        let kind = profile.as_ref()?.r#type.as_str();
        (!matches!(kind, "RuntimeDefault" | "Localhost")).then(|| kind.to_owned())
    };
    let setters = setters(subject, bad(&subject.context.app_armor_profile), |one| bad(&one.context.app_armor_profile));
    let annotations = subject.annotations.iter().filter(|(key, value)| {
        let allowed = matches!(value.as_str(), "" | "runtime/default") || value.starts_with("localhost/");
        key.starts_with(APP_ARMOR_ANNOTATION) && !allowed
    });
    let annotations: Vec<String> = annotations.map(|(key, value)| format!("{key}={}", names::quoted(value))).collect();
    let mut names = setters.names();
    if !annotations.is_empty() {
        names.push(plural(annotations.len(), "annotation", "annotations").to_owned());
    }
    if names.is_empty() {
        return None;
    }
    let values: Vec<String> = setters.values.into_iter().chain(annotations).collect();
    Violation::new(
        plural(values.len(), "forbidden AppArmor profile", "forbidden AppArmor profiles"),
        format!("{} must not set AppArmor profile type to {}", names.join(" and "), quoted(values)),
    )
}

fn capabilities(subject: &Subject, _: u32) -> Option<Violation> {
    let detail = forbidden_capabilities(subject, &CAPABILITIES)?;
    Violation::new("non-default capabilities", detail)
}

/// The containers that add forbidden capabilities, and these capabilities.
pub fn forbidden_capabilities(subject: &Subject, allowed: &[&str]) -> Option<String> {
    let forbidden = |one: &Contained| -> Vec<String> {
        let added = one.context.capabilities.iter().flat_map(|capabilities| &capabilities.add);
        added.map(|added| added.as_str().to_owned()).filter(|added| !allowed.contains(&added.as_str())).collect()
    };
    let names = subject.containers_that(|one| !forbidden(one).is_empty());
    if names.is_empty() {
        return None;
    }
    let added: BTreeSet<String> = subject.containers.iter().flat_map(forbidden).collect();
    Some(format!("{} must not include {} in securityContext.capabilities.add", containers(&names), quoted(added)))
}

fn host_namespaces(subject: &Subject, _: u32) -> Option<Violation> {
    let spec = &subject.spec;
    let set = [("hostNetwork", spec.host_network), ("hostPID", spec.host_pid), ("hostIPC", spec.host_ipc)];
    let set: Vec<String> = set.iter().filter(|(_, set)| *set).map(|(name, _)| format!("{name}=true")).collect();
    if set.is_empty() { None } else { Violation::new("host namespaces", set.join(", ")) }
}

fn host_path_volumes(subject: &Subject, _: u32) -> Option<Violation> {
    let names: Vec<&str> =
        subject.volumes.iter().filter(|(_, kind)| kind == "hostPath").map(|(name, _)| name.as_str()).collect();
    let volumes = plural(names.len(), "volume", "volumes");
    if names.is_empty() { None } else { Violation::new("hostPath volumes", format!("{volumes} {}", quoted(names))) }
}

fn host_ports(subject: &Subject, _: u32) -> Option<Violation> {
    let used = |one: &Contained| -> Vec<String> {
        let ports = one.container.ports.iter().map(|port| port.host_port).filter(|port| *port != 0);
        ports.map(|port| port.to_string()).collect()
    };
    let names = subject.containers_that(|one| !used(one).is_empty());
    if names.is_empty() {
        return None;
    }
    let ports: BTreeSet<String> = subject.containers.iter().flat_map(used).collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&names),
        plural(names.len(), "uses", "use"),
        plural(ports.len(), "hostPort", "hostPorts"),
        ports.into_iter().collect::<Vec<_>>().join(", ")
    );
    Violation::new("hostPort", detail)
}

fn host_probes(subject: &Subject, _: u32) -> Option<Violation> {
    let named = |one: &Contained| -> Vec<String> {
        let host = |http: &Option<HTTPGetAction>, tcp: &Option<TCPSocketAction>| {
            [http.as_ref().map(|http| http.host.clone()), tcp.as_ref().map(|tcp| tcp.host.clone())]
        };
        let container = &one.container;
        let probes = [&container.liveness_probe, &container.readiness_probe, &container.startup_probe];
        let probes = probes.into_iter().flatten();
        let of_probes =
            probes.flat_map(|Probe { probe_handler, .. }| host(&probe_handler.http_get, &probe_handler.tcp_socket));
        let lifecycle = container.lifecycle.iter();
        let handlers = lifecycle.flat_map(|Lifecycle { post_start, pre_stop, .. }| [post_start, pre_stop]).flatten();
        let of_handlers = handlers.flat_map(|handler| host(&handler.http_get, &handler.tcp_socket));
        of_probes.chain(of_handlers).flatten().filter(|host| !host.is_empty()).collect()
    };
    let names = subject.containers_that(|one| !named(one).is_empty());
    if names.is_empty() {
        return None;
    }
    let hosts: BTreeSet<String> = subject.containers.iter().flat_map(named).collect();
    let detail = format!(
        "{} {} {} {}",
        containers(&names),
        plural(names.len(), "uses", "use"),
        plural(hosts.len(), "probe or lifecycle host", "probe or lifecycle hosts"),
        quoted(hosts)
    );
    Violation::new("probe or lifecycle host", detail)
}

fn privileged(subject: &Subject, _: u32) -> Option<Violation> {
    let names = subject.containers_that(|one| one.context.privileged == Some(true));
    if names.is_empty() {
        return None;
    }
    Violation::new("privileged", format!("{} must not set securityContext.privileged=true", containers(&names)))
}

fn proc_mount(subject: &Subject, minor: u32) -> Option<Violation> {
    if subject.has_own_users(minor) { None } else { any_proc_mount(subject, minor) }
}

pub fn any_proc_mount(subject: &Subject, _: u32) -> Option<Violation> {
    let setters = setters(subject, None, |one| {
        let mount = one.context.proc_mount.as_ref()?.as_str();
        (mount != "Default").then(|| mount.to_owned())
    });
    if setters.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.procMount to {}", setters.text(), quoted(&setters.values));
    Violation::new("procMount", detail)
}

fn se_linux_options(subject: &Subject, minor: u32) -> Option<Violation> {
    let is_bad = |options: &SELinuxOptions| {
        !allows(&SELINUX_TYPES, &options.r#type, minor) || !options.user.is_empty() || !options.role.is_empty()
    };
    let of_pod = subject.context.se_linux_options.as_ref().filter(|options| is_bad(options));
    let of_containers = subject.containers.iter().filter_map(|one| one.context.se_linux_options.as_ref());
    let bad: Vec<&SELinuxOptions> = of_pod.into_iter().chain(of_containers.filter(|options| is_bad(options))).collect();
    if bad.is_empty() {
        return None;
    }
    let setters = Setters {
        pod: of_pod.is_some(),
        containers: subject.containers_that(|one| one.context.se_linux_options.as_ref().is_some_and(is_bad)),
        ..Setters::default()
    };
    let types: BTreeSet<&str> = bad.iter().map(|options| options.r#type.as_str()).collect();
    let types: Vec<&str> = types.into_iter().filter(|kind| !allows(&SELINUX_TYPES, kind, minor)).collect();
    let mut faults = Vec::new();
    if !types.is_empty() {
        faults.push(format!("{} {}", plural(types.len(), "type", "types"), quoted(types)));
    }
    for (field, set) in
        [("user", bad.iter().any(|one| !one.user.is_empty())), ("role", bad.iter().any(|one| !one.role.is_empty()))]
    {
        faults.extend(set.then(|| format!("{field} may not be set")));
    }
    let text = format!("{} set forbidden securityContext.seLinuxOptions: {}", setters.text(), faults.join("; "));
    Violation::new("seLinuxOptions", text)
}

/// A type of profile that runs without one.
pub fn forbidden_seccomp(profile: &Option<SeccompProfile>) -> Option<String> {
    let kind = profile.as_ref()?.r#type.as_str();
    (!matches!(kind, "RuntimeDefault" | "Localhost")).then(|| kind.to_owned())
}

fn seccomp(subject: &Subject, minor: u32) -> Option<Violation> {
    if minor >= SECCOMP_FIELDS_SINCE { seccomp_profile(subject, minor) } else { seccomp_annotations(subject) }
}

fn seccomp_annotations(subject: &Subject) -> Option<Violation> {
    let of_containers = subject.containers.iter().map(|one| format!("{SECCOMP_OF_CONTAINER}{}", one.container.name));
    let forbidden = |key: String| {
        let value = subject.annotations.get(&key)?;
        let allowed = matches!(value.as_str(), "runtime/default" | "docker/default") || value.starts_with("localhost/");
        (!allowed).then(|| format!("{key}={}", names::quoted(value)))
    };
    let keys = std::iter::once(SECCOMP_OF_POD.to_owned()).chain(of_containers);
    let forbidden: BTreeSet<String> = keys.filter_map(forbidden).collect();
    if forbidden.is_empty() {
        return None;
    }
    let annotations = plural(forbidden.len(), "annotation", "annotations");
    let forbidden: Vec<String> = forbidden.into_iter().collect();
    Violation::new("seccompProfile", format!("forbidden {annotations} {}", forbidden.join(", ")))
}

pub fn seccomp_profile(subject: &Subject, _: u32) -> Option<Violation> {
    let setters = setters(subject, forbidden_seccomp(&subject.context.seccomp_profile), |one| {
        forbidden_seccomp(&one.context.seccomp_profile)
    });
    if setters.is_empty() {
        return None;
    }
    let values = quoted(&setters.values);
    let detail = format!("{} must not set securityContext.seccompProfile.type to {values}", setters.text());
    Violation::new("seccompProfile", detail)
}

fn sysctls(subject: &Subject, minor: u32) -> Option<Violation> {
    let names = subject.context.sysctls.iter().map(|sysctl| sysctl.name.as_str());
    let forbidden: Vec<&str> = names.filter(|name| !allows(&SYSCTLS, name, minor)).collect();
    if forbidden.is_empty() { None } else { Violation::new("forbidden sysctls", forbidden.join(", ")) }
}

fn windows_host_process(subject: &Subject, _: u32) -> Option<Violation> {
    let is_host = |options: &Option<pintle_types::core::v1::WindowsSecurityContextOptions>| {
        options.as_ref().is_some_and(|options| options.host_process == Some(true))
    };
    let setters = Setters {
        pod: is_host(&subject.context.windows_options),
        containers: subject.containers_that(|one| is_host(&one.context.windows_options)),
        ..Setters::default()
    };
    if setters.is_empty() {
        return None;
    }
    let detail = format!("{} must not set securityContext.windowsOptions.hostProcess=true", setters.text());
    Violation::new("hostProcess", detail)
}
