//! Rules of containers that are processes of a Windows node.

use super::containers;
use pintle_schema::View;
use pintle_types::core::v1::{Container, PodSecurityContext, PodSpec, SecurityContext, WindowsSecurityContextOptions};
use pintle_validation::{At, ValidationContext};

/// On Windows, all containers are processes of the node or none is.
pub fn host_process(spec: At<'_, PodSpec>, cx: &mut ValidationContext<'_>) {
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
