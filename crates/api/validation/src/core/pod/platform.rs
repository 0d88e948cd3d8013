//! Rules of what a pod's operating system and its namespaces allow.

use super::{containers, is_true, text};
use pintle_schema::View;
use pintle_types::core::v1::{
    Container, PodOS, PodSecurityContext, PodSpec, SecurityContext, WindowsSecurityContextOptions,
};
use pintle_validation::{At, Cx};

const NOT_ON_WINDOWS: &str = "cannot be set for a windows pod";
const NOT_ON_LINUX: &str = "windows options cannot be set for a linux pod";

/// Fields of a container's security context that Windows does not know, in the order of the reference's checks.
const CONTAINER_CONTEXT: &[&str] = &[
    SecurityContext::APP_ARMOR_PROFILE.name(),
    SecurityContext::SE_LINUX_OPTIONS.name(),
    SecurityContext::SECCOMP_PROFILE.name(),
    SecurityContext::CAPABILITIES.name(),
    SecurityContext::READ_ONLY_ROOT_FILESYSTEM.name(),
    SecurityContext::PRIVILEGED.name(),
    SecurityContext::ALLOW_PRIVILEGE_ESCALATION.name(),
    SecurityContext::PROC_MOUNT.name(),
    SecurityContext::RUN_AS_USER.name(),
    SecurityContext::RUN_AS_GROUP.name(),
];

/// A system that is known, and what it allows containers.
pub fn operating_system(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    let Some(os) = spec.new.field(PodSpec::OS).some() else { return };
    let path = spec.path.to(PodSpec::OS);
    match text(os.field(PodOS::NAME)) {
        "linux" => linux(spec, cx),
        "windows" => windows(spec, cx),
        "" => {}
        other => cx.errors.not_supported(path, other, &["linux", "windows"]),
    }
}

fn linux(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    containers::each(spec, |container, path| {
        let context = container.field(Container::SECURITY_CONTEXT).or_zero();
        if context.field(SecurityContext::WINDOWS_OPTIONS).is_set() {
            let path = path.to(Container::SECURITY_CONTEXT);
            cx.errors.forbidden(path.to(SecurityContext::WINDOWS_OPTIONS), NOT_ON_LINUX);
        }
    });
}

fn windows(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    containers::each(spec, |container, path| {
        let context = container.field(Container::SECURITY_CONTEXT).value();
        let path = path.to(Container::SECURITY_CONTEXT);
        let is_set = |field: &&&str| context.get(field).is_some_and(|value| !value.is_null());
        for field in CONTAINER_CONTEXT.iter().filter(is_set) {
            cx.errors.forbidden(path.child(field), NOT_ON_WINDOWS);
        }
    });
}

/// On Windows, all containers are processes of the node or none is.
pub fn host_process(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    let options = |options: View<'_, Option<WindowsSecurityContextOptions>>| {
        options.or_zero().field(WindowsSecurityContextOptions::HOST_PROCESS).get()
    };
    let context = spec.new.field(PodSpec::SECURITY_CONTEXT).or_zero();
    let of_pod = options(context.field(PodSecurityContext::WINDOWS_OPTIONS));
    let (mut all, mut processes) = (0, 0);
    containers::each(spec, |container, path| {
        let context = container.field(Container::SECURITY_CONTEXT).or_zero();
        let of_container = options(context.field(SecurityContext::WINDOWS_OPTIONS));
        if let (Some(pod), Some(own)) = (of_pod, of_container)
            && pod != own
        {
            let path = path.to(Container::SECURITY_CONTEXT);
            let path = path.to(SecurityContext::WINDOWS_OPTIONS);
            let detail = format!("pod hostProcess value must be identical if both are specified, was {pod}");
            cx.errors.invalid(path.to(WindowsSecurityContextOptions::HOST_PROCESS), own, detail);
        }
        all += 1;
        processes += usize::from(of_container.or(of_pod) == Some(true));
    });
    if processes == 0 {
        return;
    }
    if processes != all {
        let detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers";
        cx.errors.invalid(spec.path, "", detail);
    }
    if !spec.new.field(PodSpec::HOST_NETWORK).get() {
        let detail = "hostNetwork must be true if pod contains any hostProcess containers";
        cx.errors.invalid(spec.path.to(PodSpec::HOST_NETWORK), false, detail);
    }
}

/// A pod with users of its own shares no other namespace with the node.
pub fn user_namespace(spec: At<'_, PodSpec>, cx: &mut Cx<'_>) {
    let users = spec.new.field(PodSpec::HOST_USERS);
    if !users.is_set() || is_true(users) {
        return;
    }
    let detail = "when `hostUsers` is false";
    if spec.new.field(PodSpec::HOST_PID).get() {
        cx.errors.forbidden(spec.path.child("HostPID"), detail);
    }
    if spec.new.field(PodSpec::HOST_IPC).get() {
        cx.errors.forbidden(spec.path.child("HostIPC"), detail);
    }
}
