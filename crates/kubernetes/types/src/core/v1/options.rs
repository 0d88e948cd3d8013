//! Types of `v1`: options of the connecting subresources.
//! Names, protobuf numbers and tags are the wire contract: a released one never changes meaning.
//! Data only: what a server does with these objects must never be decided here.

use pintle_schema::{ApiType, Time};

use crate::meta::v1::TypeMeta;

/// Query parameters accepted when reading the log of a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodLogOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Container whose log is wanted; may be left out if the pod has only one.
    #[k8s(proto = 1, optional)]
    pub container: String,
    /// True keeps the response open and sends new lines as they appear; defaults to false.
    #[k8s(proto = 2, optional)]
    pub follow: bool,
    /// True reads the log of the container's previous run; defaults to false.
    #[k8s(proto = 3, optional)]
    pub previous: bool,
    /// Leaves out lines older than this many seconds; not allowed together with sinceTime.
    #[k8s(proto = 4, optional)]
    pub since_seconds: Option<i64>,
    /// Leaves out lines written before this time; not allowed together with sinceSeconds.
    #[k8s(proto = 5, optional)]
    pub since_time: Option<Time>,
    /// True puts the time at the start of every line; defaults to false.
    #[k8s(proto = 6, optional)]
    pub timestamps: bool,
    /// Number of lines to return from the end of the log; absent returns all of it.
    #[k8s(proto = 7, optional)]
    pub tail_lines: Option<i64>,
    /// Largest number of bytes to return, which may cut off the last line; absent means no limit.
    #[k8s(proto = 8, optional)]
    pub limit_bytes: Option<i64>,
    /// True accepts any certificate from the kubelet, so the log might come from an impostor;
    /// defaults to false.
    #[k8s(proto = 9, name = "insecureSkipTLSVerifyBackend", optional)]
    pub insecure_skip_tls_verify_backend: bool,
    /// Which output to return: "All" (the default), "Stdout" or "Stderr". A single stream cannot be
    /// combined with tailLines.
    #[k8s(proto = 10, optional, gate = pintle_gates::POD_LOGS_QUERY_SPLIT_STREAMS)]
    pub stream: Option<String>,
}

/// Query parameters accepted when attaching to a running container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodAttachOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// True sends the client's input to the container; defaults to false.
    #[k8s(proto = 1, optional)]
    pub stdin: bool,
    /// True returns the container's standard output.
    #[k8s(proto = 2, optional)]
    pub stdout: bool,
    /// True returns the container's standard error; not possible together with a terminal.
    #[k8s(proto = 3, optional)]
    pub stderr: bool,
    /// True when the container runs in a terminal; standard error is then part of standard output.
    /// Defaults to false.
    #[k8s(proto = 4, optional)]
    pub tty: bool,
    /// Container to attach to; may be left out if the pod has only one.
    #[k8s(proto = 5, optional)]
    pub container: String,
}

/// Query parameters accepted when running a command in a container.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodExecOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// True sends the client's input to the command; defaults to false.
    #[k8s(proto = 1, optional)]
    pub stdin: bool,
    /// True returns the command's standard output.
    #[k8s(proto = 2, optional)]
    pub stdout: bool,
    /// True returns the command's standard error.
    #[k8s(proto = 3, optional)]
    pub stderr: bool,
    /// True runs the command in a terminal; defaults to false.
    #[k8s(proto = 4, optional)]
    pub tty: bool,
    /// Container to run the command in; may be left out if the pod has only one.
    #[k8s(proto = 5, optional)]
    pub container: String,
    /// Program and arguments to run; no shell is involved.
    #[k8s(proto = 6, always, list_type = atomic)]
    pub command: Vec<String>,
}

/// Query parameters accepted when forwarding ports of a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodPortForwardOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// Pod ports to forward; needed only when the connection uses WebSocket.
    #[k8s(proto = 1, optional, list_type = atomic)]
    pub ports: Vec<i32>,
}

/// Query parameters accepted when sending a request on to a pod.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct PodProxyOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// URL path to request from the pod.
    #[k8s(proto = 1, optional)]
    pub path: String,
}

/// Query parameters accepted when sending a request on to a node.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct NodeProxyOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// URL path to request from the kubelet of the node.
    #[k8s(proto = 1, optional)]
    pub path: String,
}

/// Query parameters accepted when sending a request on to a service.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
pub struct ServiceProxyOptions {
    /// The kind and API version of the object.
    #[k8s(inline)]
    pub type_meta: TypeMeta,
    /// URL path to request from the service, including any query.
    #[k8s(proto = 1, optional)]
    pub path: String,
}
