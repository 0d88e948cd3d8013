//! Rules of what hooks and probes do, where they depend on the pod.

use super::text;
use pintle_schema::{Value, View, names};
use pintle_types::core::v1::{
    HTTPGetAction, HTTPHeader, LifecycleHandler, PodOS, PodSpec, Probe, ProbeHandler, SleepAction,
};
use pintle_validation::{At, Cx, FieldPath};

const NO_HANDLER: &str = "must specify a handler type";

const SIGNALS: &[&str] = &[
    "SIGABRT",
    "SIGALRM",
    "SIGBUS",
    "SIGCHLD",
    "SIGCLD",
    "SIGCONT",
    "SIGFPE",
    "SIGHUP",
    "SIGILL",
    "SIGINT",
    "SIGIO",
    "SIGIOT",
    "SIGKILL",
    "SIGPIPE",
    "SIGPOLL",
    "SIGPROF",
    "SIGPWR",
    "SIGQUIT",
    "SIGRTMAX",
    "SIGRTMAX-1",
    "SIGRTMAX-10",
    "SIGRTMAX-11",
    "SIGRTMAX-12",
    "SIGRTMAX-13",
    "SIGRTMAX-14",
    "SIGRTMAX-2",
    "SIGRTMAX-3",
    "SIGRTMAX-4",
    "SIGRTMAX-5",
    "SIGRTMAX-6",
    "SIGRTMAX-7",
    "SIGRTMAX-8",
    "SIGRTMAX-9",
    "SIGRTMIN",
    "SIGRTMIN+1",
    "SIGRTMIN+10",
    "SIGRTMIN+11",
    "SIGRTMIN+12",
    "SIGRTMIN+13",
    "SIGRTMIN+14",
    "SIGRTMIN+15",
    "SIGRTMIN+2",
    "SIGRTMIN+3",
    "SIGRTMIN+4",
    "SIGRTMIN+5",
    "SIGRTMIN+6",
    "SIGRTMIN+7",
    "SIGRTMIN+8",
    "SIGRTMIN+9",
    "SIGSEGV",
    "SIGSTKFLT",
    "SIGSTOP",
    "SIGSYS",
    "SIGTERM",
    "SIGTRAP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGUSR1",
    "SIGUSR2",
    "SIGVTALRM",
    "SIGWINCH",
    "SIGXCPU",
    "SIGXFSZ",
];

/// A hook does something, and what it sleeps fits into the time that the pod has to end.
pub fn hook(hook: View<'_, LifecycleHandler>, grace: Option<i64>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let is_other = hook.field(LifecycleHandler::EXEC).is_set()
        || hook.field(LifecycleHandler::HTTP_GET).is_set()
        || hook.field(LifecycleHandler::TCP_SOCKET).is_set();
    match hook.field(LifecycleHandler::SLEEP).some() {
        _ if is_other => {}
        Some(sleep) => sleeps(sleep, grace, &path.to(LifecycleHandler::SLEEP), cx),
        None => cx.errors.required(path, NO_HANDLER),
    }
}

/// A probe does something.
pub fn probe(probe: View<'_, Probe>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let handler = probe.field(Probe::PROBE_HANDLER);
    let is_set = handler.field(ProbeHandler::EXEC).is_set()
        || handler.field(ProbeHandler::HTTP_GET).is_set()
        || handler.field(ProbeHandler::TCP_SOCKET).is_set()
        || handler.field(ProbeHandler::GRPC).is_set();
    if !is_set {
        cx.errors.required(path, NO_HANDLER);
    }
}

fn sleeps(sleep: View<'_, SleepAction>, grace: Option<i64>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let Some(grace) = grace else { return };
    let seconds = sleep.field(SleepAction::SECONDS).get();
    if cx.enabled("PodLifecycleSleepActionAllowZero") {
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

/// Names of headers; errors are told of the list.
pub fn headers(http: At<'_, HTTPGetAction>, cx: &mut Cx<'_>) {
    for header in http.new.field(HTTPGetAction::HTTP_HEADERS).iter() {
        let name = header.field(HTTPHeader::NAME).as_str();
        let messages = names::http_header_name(name);
        cx.errors.invalid_each(http.path.to(HTTPGetAction::HTTP_HEADERS), &Value::from(name), messages);
    }
}

/// Signals are those of the pod's system, which has to be told.
pub fn stop_signal(spec: View<'_, PodSpec>, signal: &str, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let Some(os) = spec.field(PodSpec::OS).some() else {
        return cx.errors.forbidden(path, "may not be set for containers with empty `spec.os.name`");
    };
    let supported: &[&str] = match text(os.field(PodOS::NAME)) {
        "windows" => &["SIGKILL", "SIGTERM"],
        "linux" => SIGNALS,
        _ => return,
    };
    if !supported.contains(&signal) {
        cx.errors.not_supported(path, signal, supported);
    }
}
