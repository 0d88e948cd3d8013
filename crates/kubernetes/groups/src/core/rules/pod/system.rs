//! Rules of what a pod shares with its node: namespaces, users, the host name, and the operating system.
//!
//! Each function is one part of the validation of a pod's spec; errors stand in the order of the functions.

use super::{containers, is_true, text};
use crate::rules::forbid;
use pintle_gates as gates;
use pintle_schema::{ApiValue, Type, View, names};
use pintle_types::core::v1::{
    Container, ContainerResizePolicy, Lifecycle, PodDNSConfig, PodOS, PodSpec, SecurityContext, Signal,
};
use pintle_validation::{At, FieldPath, ValidationContext};
use std::collections::HashSet;

/// Without a policy of the cluster, the pod has to name its servers.
pub fn dns_policy(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if text(spec.new.field(PodSpec::DNS_POLICY)) != "None" {
        return;
    }
    let path = spec.path.to(PodSpec::DNS_CONFIG);
    match spec.new.field(PodSpec::DNS_CONFIG).some() {
        None => cx.errors.required(path, "must provide `dnsConfig` when `dnsPolicy` is None"),
        Some(config) if config.field(PodDNSConfig::NAMESERVERS).value().is_zero() => {
            let detail = "must provide at least one DNS nameserver when `dnsPolicy` is None";
            cx.errors.required(path.to(PodDNSConfig::NAMESERVERS), detail);
        }
        Some(_) => {}
    }
}

/// Whether a pod has to name its servers and does not: nothing else of its configuration is validated then.
pub fn has_no_nameservers(spec: At<'_, PodSpec>, _: &ValidationContext<'_>) -> bool {
    let config = spec.new.field(PodSpec::DNS_CONFIG).or_zero();
    text(spec.new.field(PodSpec::DNS_POLICY)) == "None" && config.field(PodDNSConfig::NAMESERVERS).value().is_zero()
}

const MAX_HOST_NAME: usize = 64;

/// `hostnameOverride` excludes the other fields that set a host name.
pub fn hostname_override(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let Some(name) = spec.new.field(PodSpec::HOSTNAME_OVERRIDE).some() else { return };
    let (name, path) = (name.as_str(), spec.path.to(PodSpec::HOSTNAME_OVERRIDE));
    if is_true(spec.new.field(PodSpec::SET_HOSTNAME_AS_FQDN)) {
        cx.errors.forbidden(path, "may not be specified when setHostnameAsFQDN is true");
    }
    if spec.new.field(PodSpec::HOST_NETWORK).get() {
        cx.errors.forbidden(path, "may not be specified when hostNetwork is true");
    }
    if name.len() > MAX_HOST_NAME {
        cx.errors.too_long(path, MAX_HOST_NAME);
    }
    cx.errors.invalid_each(path, &name.into(), names::dns1123_subdomain(name));
}

/// Unmasked `/proc` needs a user namespace.
pub fn unmasked(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if spec.new.field(PodSpec::HOST_USERS).get() == Some(false) {
        return;
    }
    containers::each(spec, |container, path| {
        let context = container.field(Container::SECURITY_CONTEXT).or_zero();
        let mount = text(context.field(SecurityContext::PROC_MOUNT));
        if mount == "Unmasked" {
            let path = path.to(Container::SECURITY_CONTEXT);
            let detail = "`hostUsers` must be false to use `Unmasked`";
            cx.errors.invalid(path.to(SecurityContext::PROC_MOUNT), mount, detail);
        }
    });
}

/// A user namespace excludes the node's other namespaces.
pub fn user_namespace(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if spec.new.field(PodSpec::HOST_USERS).get() != Some(false) {
        return;
    }
    let detail = "when `hostUsers` is false";
    if spec.new.field(PodSpec::HOST_NETWORK).get() && !cx.enabled(&gates::USER_NAMESPACES_HOST_NETWORK_SUPPORT) {
        cx.errors.forbidden(spec.path.to(PodSpec::HOST_NETWORK), detail);
    }
    containers::each(spec, |container, path| {
        forbid(container, path, &[Container::VOLUME_DEVICES.name()], detail, cx);
    });
    // kube-apiserver names these two fields as its own types do.
    if spec.new.field(PodSpec::HOST_PID).get() {
        cx.errors.forbidden(spec.path.child("HostPID"), detail);
    }
    if spec.new.field(PodSpec::HOST_IPC).get() {
        cx.errors.forbidden(spec.path.child("HostIPC"), detail);
    }
}

/// Processes are shared among the containers or with the node.
pub fn process_namespace(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if spec.new.field(PodSpec::HOST_PID).get() && is_true(spec.new.field(PodSpec::SHARE_PROCESS_NAMESPACE)) {
        let path = spec.path.to(PodSpec::SECURITY_CONTEXT);
        let path = path.to(PodSpec::SHARE_PROCESS_NAMESPACE);
        cx.errors.invalid(path, true, "ShareProcessNamespace and HostPID cannot both be enabled");
    }
}

/// A resize policy names a resource, once, and what a resize does; containers that are never restarted cannot be
/// restarted to be resized. Most of kube-apiserver's paths have no index.
pub fn resize_policies(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let is_never = text(spec.new.field(PodSpec::RESTART_POLICY)) == "Never";
    containers::each(spec, |container, path| {
        let path = path.to(Container::RESIZE_POLICY);
        let mut seen = HashSet::new();
        for (index, policy) in container.field(Container::RESIZE_POLICY).iter().enumerate() {
            let resource = text(policy.field(ContainerResizePolicy::RESOURCE_NAME));
            let restart = text(policy.field(ContainerResizePolicy::RESTART_POLICY));
            if !seen.insert(resource) {
                cx.errors.duplicate(path.index(index), resource);
            }
            for (value, supported) in [(resource, ["cpu", "memory"]), (restart, ["NotRequired", "RestartContainer"])] {
                if value.is_empty() {
                    cx.errors.required(path, "");
                } else if !supported.contains(&value) {
                    cx.errors.unknown_name(path, value, &supported);
                }
            }
            if is_never && restart != "NotRequired" {
                let detail = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
                cx.errors.invalid(path, restart, detail);
            }
        }
    });
}

/// The signals of the two systems differ.
pub fn stop_signals(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    if !cx.enabled(&gates::CONTAINER_STOP_SIGNALS) {
        return;
    }
    let os = spec.new.field(PodSpec::OS).some().map(|os| text(os.field(PodOS::NAME)));
    let all = Signal::TYPE;
    let signals: Vec<&str> = match os {
        Some("linux") => match &all {
            Type::Enum(signals) => {
                let mut signals: Vec<&str> = signals.values.iter().map(|signal| signal.value.as_str()).collect();
                signals.sort_unstable();
                signals
            }
            _ => return,
        },
        Some("windows") => vec!["SIGKILL", "SIGTERM"],
        Some(_) => return,
        None => Vec::new(),
    };
    let mut validate = |container: View<'_, Container>, path: &FieldPath<'_>| {
        let lifecycle = container.field(Container::LIFECYCLE).or_zero();
        let Some(signal) = lifecycle.field(Lifecycle::STOP_SIGNAL).some() else { return };
        let path = path.to(Container::LIFECYCLE);
        let path = path.to(Lifecycle::STOP_SIGNAL);
        if os.is_none() {
            cx.errors.forbidden(path, "may not be set for containers with empty `spec.os.name`");
        } else if !signals.contains(&text(signal)) {
            cx.errors.unknown_name(path, text(signal), &signals);
        }
    };
    let path = spec.path.to(PodSpec::CONTAINERS);
    for (index, container) in spec.new.field(PodSpec::CONTAINERS).iter().enumerate() {
        validate(container, &path.index(index));
    }
    let path = spec.path.to(PodSpec::INIT_CONTAINERS);
    let init = spec.new.field(PodSpec::INIT_CONTAINERS).iter().enumerate();
    for (index, container) in init.filter(|(_, container)| super::is_sidecar(*container)) {
        validate(container, &path.index(index));
    }
}

/// Fields of a pod's security context that only Linux has, in the order of kube-apiserver.
const LINUX_OF_POD: [&[&str]; 3] = [
    &["appArmorProfile", "seLinuxOptions"],
    &["seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls"],
    &["runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"],
];

/// The same of a container's.
const LINUX_OF_CONTAINER: &[&str] = &[
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
];

/// A system is one of the two, and has no settings of the other.
pub fn operating_system(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
    let Some(os) = spec.new.field(PodSpec::OS).some() else { return };
    let context = spec.new.field(PodSpec::SECURITY_CONTEXT).or_zero();
    let context_path = spec.path.to(PodSpec::SECURITY_CONTEXT);
    match text(os.field(PodOS::NAME)) {
        "linux" => {
            let (fields, detail) =
                (&[SecurityContext::WINDOWS_OPTIONS.name()], "windows options cannot be set for a linux pod");
            forbid(context, &context_path, fields, detail, cx);
            containers::each(spec, |container, path| {
                let context = container.field(Container::SECURITY_CONTEXT).or_zero();
                forbid(context, &path.to(Container::SECURITY_CONTEXT), fields, detail, cx);
            });
        }
        "windows" => {
            let detail = "cannot be set for a windows pod";
            let [profiles, files, users] = LINUX_OF_POD;
            let namespaces = [PodSpec::HOST_USERS.name(), PodSpec::HOST_PID.name(), PodSpec::HOST_IPC.name()];
            forbid(context, &context_path, profiles, detail, cx);
            forbid(spec.new, spec.path, &namespaces, detail, cx);
            forbid(context, &context_path, files, detail, cx);
            forbid(spec.new, spec.path, &[PodSpec::SHARE_PROCESS_NAMESPACE.name()], detail, cx);
            forbid(context, &context_path, users, detail, cx);
            containers::each(spec, |container, path| {
                let context = container.field(Container::SECURITY_CONTEXT).or_zero();
                forbid(context, &path.to(Container::SECURITY_CONTEXT), LINUX_OF_CONTAINER, detail, cx);
            });
        }
        // An absent name is reported where it is declared.
        "" => {}
        other => cx.errors.unknown_name(spec.path.to(PodSpec::OS), other, &["linux", "windows"]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::{ApiType, Struct};
    use pintle_types::core::v1::PodSecurityContext;

    fn has_all(schema: &Struct, fields: &[&str]) -> bool {
        fields.iter().all(|name| schema.fields.iter().any(|field| &*field.name == *name))
    }

    #[test]
    fn the_settings_of_linux_are_fields() {
        assert!(LINUX_OF_POD.iter().all(|fields| has_all(PodSecurityContext::schema(), fields)));
        assert!(has_all(SecurityContext::schema(), LINUX_OF_CONTAINER));
    }
}
