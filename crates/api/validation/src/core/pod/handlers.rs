//! Rules of what hooks and probes do: one handler, and that one right.

use super::text;
use pintle_schema::{IntOrString, Value, View, names};
use pintle_types::core::v1::{
    ExecAction, GRPCAction, HTTPGetAction, HTTPHeader, LifecycleHandler, PodOS, PodSpec, Probe, ProbeHandler,
    SleepAction, TCPSocketAction,
};
use pintle_validation::{Cx, FieldPath};

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

/// The members of a hook or a probe, those that it can have.
#[derive(Default)]
pub struct Handlers<'a> {
    exec: Option<View<'a, ExecAction>>,
    http: Option<View<'a, HTTPGetAction>>,
    tcp: Option<View<'a, TCPSocketAction>>,
    grpc: Option<View<'a, GRPCAction>>,
    sleep: Option<View<'a, SleepAction>>,
}

impl<'a> Handlers<'a> {
    pub fn of_hook(hook: View<'a, LifecycleHandler>) -> Self {
        Handlers {
            exec: hook.field(LifecycleHandler::EXEC).some(),
            http: hook.field(LifecycleHandler::HTTP_GET).some(),
            tcp: hook.field(LifecycleHandler::TCP_SOCKET).some(),
            sleep: hook.field(LifecycleHandler::SLEEP).some(),
            ..Handlers::default()
        }
    }

    pub fn of_probe(probe: View<'a, Probe>) -> Self {
        let handler = probe.field(Probe::PROBE_HANDLER);
        Handlers {
            exec: handler.field(ProbeHandler::EXEC).some(),
            http: handler.field(ProbeHandler::HTTP_GET).some(),
            tcp: handler.field(ProbeHandler::TCP_SOCKET).some(),
            grpc: handler.field(ProbeHandler::GRPC).some(),
            ..Handlers::default()
        }
    }
}

/// The first handler is judged, any other refused.
pub fn one_handler(handlers: Handlers<'_>, grace: Option<i64>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    let mut found = false;
    let mut first = |path: &FieldPath<'_>, cx: &mut Cx<'_>| {
        if found {
            cx.errors.forbidden(path, "may not specify more than 1 handler type");
        }
        !std::mem::replace(&mut found, true)
    };
    if let Some(exec) = handlers.exec {
        let path = path.to(ProbeHandler::EXEC);
        if first(&path, cx) && exec.field(ExecAction::COMMAND).iter().len() == 0 {
            cx.errors.required(path.to(ExecAction::COMMAND), "");
        }
    }
    if let Some(http) = handlers.http {
        let path = path.to(ProbeHandler::HTTP_GET);
        if first(&path, cx) {
            http_get(http, &path, cx);
        }
    }
    if let Some(tcp) = handlers.tcp {
        let path = path.to(ProbeHandler::TCP_SOCKET);
        if first(&path, cx) {
            port(tcp.field(TCPSocketAction::PORT), &path.to(TCPSocketAction::PORT), cx);
        }
    }
    if let Some(grpc) = handlers.grpc {
        let path = path.to(ProbeHandler::GRPC);
        if first(&path, cx) {
            let number = grpc.field(GRPCAction::PORT).get();
            let messages = names::port_number(number.into());
            cx.errors.invalid_each(path.to(GRPCAction::PORT), &Value::from(number), messages);
        }
    }
    if let Some(sleep) = handlers.sleep {
        let path = path.to(LifecycleHandler::SLEEP);
        if first(&path, cx) {
            sleeps(sleep, grace, &path, cx);
        }
    }
    if !found {
        cx.errors.required(path, "must specify a handler type");
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

fn http_get(http: View<'_, HTTPGetAction>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    if http.field(HTTPGetAction::PATH).as_str().is_empty() {
        cx.errors.required(path.to(HTTPGetAction::PATH), "");
    }
    port(http.field(HTTPGetAction::PORT), &path.to(HTTPGetAction::PORT), cx);
    let scheme = text(http.field(HTTPGetAction::SCHEME));
    if !matches!(scheme, "HTTP" | "HTTPS") {
        cx.errors.not_supported(path.to(HTTPGetAction::SCHEME), scheme, &["HTTP", "HTTPS"]);
    }
    for header in http.field(HTTPGetAction::HTTP_HEADERS).iter() {
        let name = header.field(HTTPHeader::NAME).as_str();
        let messages = names::http_header_name(name);
        cx.errors.invalid_each(path.to(HTTPGetAction::HTTP_HEADERS), &Value::from(name), messages);
    }
}

/// A port by number or by name.
pub fn port(port: View<'_, IntOrString>, path: &FieldPath<'_>, cx: &mut Cx<'_>) {
    match port.value() {
        Value::String(name) => cx.errors.invalid_each(path, port.value(), names::port_name(name)),
        number => {
            let number = number.as_i64().unwrap_or_default();
            cx.errors.invalid_each(path, &Value::from(number), names::port_number(number));
        }
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
