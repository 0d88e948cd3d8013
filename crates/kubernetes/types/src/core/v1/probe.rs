//! Types of `v1`: probes, lifecycle hooks and what they do.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, IntOrString, string_type};

use super::Signal;

/// One header added to an HTTP request.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HTTPHeader {
    /// Header name, sent in canonical capitalisation; a name may occur several times.
    #[k8s(proto = 1, always)]
    pub name: String,
    /// Header value.
    #[k8s(proto = 2, always)]
    pub value: String,
}

/// An HTTP GET request; any status from 200 to 399 counts as success.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct HTTPGetAction {
    /// Path to request on the server; defaults to `/`.
    #[k8s(proto = 1, required, published = optional, default = "/")]
    pub path: String,
    /// Port to connect to, as a number from 1 to 65535 or as the name of a container port.
    #[k8s(proto = 2, always, format = "port-or-name")]
    pub port: IntOrString,
    /// Host to connect to; absent means the pod's IP. To send another Host header, use httpHeaders.
    #[k8s(proto = 3, optional)]
    pub host: String,
    /// Whether to use HTTP or HTTPS, the latter without verifying the certificate; defaults to
    /// HTTP.
    #[k8s(proto = 4, published = optional, default = "HTTP", enum("HTTP", "HTTPS"))]
    pub scheme: URIScheme,
    /// Extra request headers, in order; the same name may be repeated.
    #[k8s(proto = 5, optional, list_type = atomic)]
    pub http_headers: Vec<HTTPHeader>,
}

string_type! {
    /// Scheme used for a connection to a host.
    #[closed]
    pub URIScheme {
        /// Plain HTTP.
        HTTP = "HTTP",
        /// HTTP over TLS.
        HTTPS = "HTTPS",
    }
}

/// Attempts to open a TCP connection; success is that it can be established.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct TCPSocketAction {
    /// Port to connect to, as a number from 1 to 65535 or as the name of a container port.
    #[k8s(proto = 1, always, format = "port-or-name")]
    pub port: IntOrString,
    /// Host to connect to; absent means the pod's IP.
    #[k8s(proto = 2, optional)]
    pub host: String,
}

/// Calls the standard gRPC health service of a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct GRPCAction {
    /// Port number of the gRPC server, 1 to 65535; names are not accepted.
    #[k8s(proto = 1, always, format = "port")]
    pub port: i32,
    /// Service name put into the health request; defaults to the empty string, which asks about the
    /// server as a whole.
    #[k8s(proto = 2, optional, always, default = "", published = default)]
    pub service: Option<String>,
}

/// Runs a command inside the container; exit code 0 counts as success.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ExecAction {
    /// Program and its arguments, started in the container's root directory without a shell; call a
    /// shell explicitly if one is needed.
    #[k8s(proto = 1, required, published = optional, list_type = atomic)]
    pub command: Vec<String>,
}

/// Lets the container wait for a while.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct SleepAction {
    /// How long to wait, in seconds, from 0 up to the grace period of the pod.
    #[k8s(proto = 1, always)]
    pub seconds: i64,
}

/// Periodic health check of a container, with its timing and thresholds.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Probe {
    /// Way of carrying out a probe; exactly one of the members must be set.
    #[k8s(inline, proto = 1)]
    pub probe_handler: ProbeHandler,
    /// Seconds to wait after the container has started before the first check; absent means 0.
    #[k8s(proto = 2, optional, minimum = 0)]
    pub initial_delay_seconds: i32,
    /// Seconds after which an unanswered check counts as failed; defaults to 1.
    #[k8s(proto = 3, optional, minimum = 0, default = 1)]
    pub timeout_seconds: i32,
    /// Seconds between two checks; defaults to 10.
    #[k8s(proto = 4, optional, minimum = 0, default = 10)]
    pub period_seconds: i32,
    /// Successes in a row needed after a failure to count as healthy; defaults to 1, the only value
    /// for liveness and startup.
    #[k8s(proto = 5, optional, minimum = 0, default = 1)]
    pub success_threshold: i32,
    /// Failures in a row after which the container counts as unhealthy; defaults to 3.
    #[k8s(proto = 6, optional, minimum = 0, default = 3)]
    pub failure_threshold: i32,
    /// Seconds a container may take to stop after this probe failed, at least 1; absent means the
    /// pod's value. Not for readiness probes.
    #[k8s(proto = 7, optional, message(invalid = "must be greater than 0")(minimum = 1))]
    pub termination_grace_period_seconds: Option<i64>,
}

/// Way of carrying out a probe; exactly one of the members must be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ProbeHandler {
    /// Runs a command in the container.
    #[k8s(proto = 1, optional)]
    pub exec: Option<ExecAction>,
    /// Sends an HTTP GET request.
    #[k8s(
        proto = 2,
        optional,
        when_set(exec)(forbidden = "may not specify more than 1 handler type")
    )]
    pub http_get: Option<HTTPGetAction>,
    /// Opens a TCP connection.
    #[k8s(
        proto = 3,
        optional,
        when_set(exec)(forbidden = "may not specify more than 1 handler type"),
        when_set(http_get)(forbidden = "may not specify more than 1 handler type")
    )]
    pub tcp_socket: Option<TCPSocketAction>,
    /// Calls the gRPC health service.
    #[k8s(
        proto = 4,
        optional,
        gate = pintle_gates::POD_LIFECYCLE_SLEEP_ACTION,
        when_set(exec)(forbidden = "may not specify more than 1 handler type"),
        when_set(http_get)(forbidden = "may not specify more than 1 handler type"),
        when_set(tcp_socket)(forbidden = "may not specify more than 1 handler type")
    )]
    pub grpc: Option<GRPCAction>,
}

/// What a lifecycle hook does; exactly one of the members must be set.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct LifecycleHandler {
    /// Runs a command in the container.
    #[k8s(proto = 1, optional)]
    pub exec: Option<ExecAction>,
    /// Sends an HTTP GET request.
    #[k8s(
        proto = 2,
        optional,
        when_set(exec)(forbidden = "may not specify more than 1 handler type")
    )]
    pub http_get: Option<HTTPGetAction>,
    /// Kept for compatibility only: the hook fails when it runs.
    #[k8s(
        proto = 3,
        optional,
        when_set(exec)(forbidden = "may not specify more than 1 handler type"),
        when_set(http_get)(forbidden = "may not specify more than 1 handler type")
    )]
    pub tcp_socket: Option<TCPSocketAction>,
    /// Waits for a number of seconds.
    #[k8s(
        proto = 4,
        optional,
        when_set(exec)(forbidden = "may not specify more than 1 handler type"),
        when_set(http_get)(forbidden = "may not specify more than 1 handler type"),
        when_set(tcp_socket)(forbidden = "may not specify more than 1 handler type")
    )]
    pub sleep: Option<SleepAction>,
}

/// Hooks the node runs at the start and the end of a container's life.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct Lifecycle {
    /// Runs immediately after the container was created; if it fails, the container is stopped and
    /// treated by its restart policy.
    #[k8s(proto = 1, optional)]
    pub post_start: Option<LifecycleHandler>,
    /// Runs before the container is stopped on request or by a failed probe, not when it exits by
    /// itself; counts against the grace period.
    #[k8s(proto = 2, optional)]
    pub pre_stop: Option<LifecycleHandler>,
    /// Signal sent to stop the container, allowed only when spec.os.name is set; absent means the
    /// image's or runtime's default.
    #[k8s(proto = 3, optional, gate = pintle_gates::CONTAINER_STOP_SIGNALS)]
    pub stop_signal: Option<Signal>,
}
