//! Rules of lifecycle hooks and probes.

use super::is_sidecar;
use crate::rules::has_format;
use pintle_gates as gates;
use pintle_schema::{Value, View};
use pintle_types::core::v1::{Container, HTTPHeader, Lifecycle, LifecycleHandler, ProbeHandler, SleepAction};
use pintle_validation::{At, FieldPath, ValidationContext};

/// The probes of a container.
pub const PROBES: [&str; 3] =
    [Container::LIVENESS_PROBE.name(), Container::READINESS_PROBE.name(), Container::STARTUP_PROBE.name()];

/// A header has a name. kube-apiserver's path is that of the list.
pub fn header_name(header: At<'_, HTTPHeader>, cx: &mut ValidationContext<'_>) {
    has_format("http-header-name", header.new.field(HTTPHeader::NAME).value(), header.path.parent(), cx);
}

type Containers<'a> = At<'a, Vec<Container>>;

/// Every hook has a handler.
pub fn of_hooks(containers: Containers<'_>, cx: &mut ValidationContext<'_>) {
    containers.each(|container| hooks_are_there(container, cx));
}

/// Every probe has one.
pub fn of_probes(containers: Containers<'_>, cx: &mut ValidationContext<'_>) {
    containers.each(|container| probes_are_there(container, cx));
}

/// Of init containers, only sidecars have hooks.
pub fn of_hooks_of_sidecars(containers: Containers<'_>, cx: &mut ValidationContext<'_>) {
    containers.each(|container| {
        if is_sidecar(container.new) {
            hooks_are_there(container, cx)
        }
    });
}

/// And only they have probes.
pub fn of_probes_of_sidecars(containers: Containers<'_>, cx: &mut ValidationContext<'_>) {
    containers.each(|container| {
        if is_sidecar(container.new) {
            probes_are_there(container, cx)
        }
    });
}

fn hooks_are_there(container: At<'_, Container>, cx: &mut ValidationContext<'_>) {
    let handlers = [
        LifecycleHandler::EXEC.name(),
        LifecycleHandler::HTTP_GET.name(),
        LifecycleHandler::TCP_SOCKET.name(),
        LifecycleHandler::SLEEP.name(),
    ];
    let lifecycle = container.new.field(Container::LIFECYCLE).value();
    let hooks = container.path.to(Container::LIFECYCLE);
    for hook in [Lifecycle::POST_START.name(), Lifecycle::PRE_STOP.name()] {
        is_there(lifecycle.get(hook), &handlers, &hooks.child(hook), cx);
    }
}

fn probes_are_there(container: At<'_, Container>, cx: &mut ValidationContext<'_>) {
    let handlers = [
        ProbeHandler::EXEC.name(),
        ProbeHandler::HTTP_GET.name(),
        ProbeHandler::TCP_SOCKET.name(),
        ProbeHandler::GRPC.name(),
    ];
    for probe in PROBES {
        is_there(container.new.value().get(probe), &handlers, &container.path.child(probe), cx);
    }
}

fn is_there(handler: Option<&Value>, fields: &[&str], path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let Some(handler) = handler.filter(|handler| !handler.is_null()) else { return };
    if fields.iter().all(|field| handler.get(field).is_none_or(Value::is_null)) {
        cx.errors.required(path, "must specify a handler type");
    }
}

/// The duration of a sleep hook is within the grace period of the pod.
pub fn hook(
    hook: View<'_, LifecycleHandler>,
    grace: Option<i64>,
    path: &FieldPath<'_>,
    cx: &mut ValidationContext<'_>,
) {
    let others =
        [LifecycleHandler::EXEC.name(), LifecycleHandler::HTTP_GET.name(), LifecycleHandler::TCP_SOCKET.name()];
    if let Some(sleep) = hook.field(LifecycleHandler::SLEEP).some()
        && others.iter().all(|other| hook.value().get(other).is_none_or(Value::is_null))
    {
        sleeps(sleep, grace, &path.to(LifecycleHandler::SLEEP), cx);
    }
}

fn sleeps(sleep: View<'_, SleepAction>, grace: Option<i64>, path: &FieldPath<'_>, cx: &mut ValidationContext<'_>) {
    let Some(grace) = grace else { return };
    let seconds = sleep.field(SleepAction::SECONDS).get();
    if cx.enabled(&gates::POD_LIFECYCLE_SLEEP_ACTION_ALLOW_ZERO) {
        if !(0..=grace).contains(&seconds) {
            let detail = format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
            cx.errors.invalid(path, seconds, detail);
        }
    } else if !(1..=grace).contains(&seconds) {
        let detail = format!(
            "must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). \
             Enable AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        );
        cx.errors.invalid(path, seconds, detail);
    }
}
