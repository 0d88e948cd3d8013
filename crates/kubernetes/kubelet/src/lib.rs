//! Streams to a kubelet or a backend: log, exec, attach, portforward and proxy.
//!
//! Validates the options of a request, locates its backend and forwards it. Must never open a socket: the `Connector`
//! does.

mod locate;
mod log;
mod metrics;
mod proxy;
mod translate;
mod tunnel;

use crate::metrics::StreamMetrics;
use futures_util::future::{BoxFuture, FutureExt};
use locate::Kubelet;
use pintle_endpoints::access::{self, NotAllowed};
use pintle_endpoints::handler::{Call, Handler, Handlers};
use pintle_endpoints::metrics::Metrics;
use pintle_endpoints::request::{Request, Verb};
use pintle_endpoints::response::ApiResponse;
use pintle_gates as gates;
use pintle_proxy::forward::{encode_path, encode_query};
use pintle_proxy::rewrite;
use pintle_registry::{Result, Status, Target};
use std::sync::Arc;

/// The default order of node address types, as in kube-apiserver.
pub const ADDRESS_TYPES: [&str; 5] = ["Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP"];

/// The subresources that connect. Their requests are long-running.
pub const SUBRESOURCES: [&str; 5] = ["attach", "exec", "proxy", "log", "portforward"];

/// Handles requests for streams.
pub struct Connections {
    /// Node address types, the preferred first.
    address_types: Vec<String>,
    streams: Arc<StreamMetrics>,
}

impl Connections {
    /// Connects to kubelets at the node address of the first of these types that the node has.
    pub fn new(address_types: Vec<String>) -> Connections {
        Connections { address_types, streams: Arc::default() }
    }

    /// Registers the handlers of connections to nodes, pods and services.
    pub fn install(self, handlers: &Handlers, metrics: &Metrics) {
        let streams = self.streams.clone();
        metrics.add_source(move |out| streams.render(out));
        let handler: Arc<dyn Handler> = Arc::new(self);
        SUBRESOURCES.iter().for_each(|subresource| handlers.register("", "pods", subresource, handler.clone()));
        ["nodes", "services"].iter().for_each(|resource| handlers.register("", resource, "proxy", handler.clone()));
    }

    async fn serve(&self, call: Call<'_>, request: Request) -> Result<ApiResponse> {
        let Call { context, path, .. } = call;
        let (target, subresource) = (&call.target()?, call.subresource()?);
        let mut location = match (target.resource.kind.as_str(), subresource.name.as_str()) {
            ("Pod", "log") => return log::serve(context, &self.address_types, target).await,
            ("Pod", "proxy") => locate::pod(context, target)?,
            ("Pod", name) => {
                let kubelet = self.stream(call, target, name).await?;
                return self.carry(call, kubelet, name, request).await;
            }
            ("Service", _) => locate::service(context, target)?,
            _ => locate::node(context, &self.address_types, target)?,
        };
        let (rest, ends_with_slash) = match call.admitted.map(|options| options.get("path")) {
            Some(admitted) => (admitted.trim_matches('/'), admitted.ends_with('/')),
            None => (path.rest.as_str(), request.path.ends_with('/')),
        };
        location.path = inner_path(rest, ends_with_slash);
        location.query = request.query.clone();
        let asked = request.path.strip_suffix('/').unwrap_or(&request.path);
        let prefix = asked.strip_suffix(rest).unwrap_or(asked).trim_end_matches('/').to_owned();
        proxy::pass(context, location, prefix, request).await
    }

    /// Connects a client to a kubelet's stream. This server terminates a WebSocket, unless the kubelet accepts it.
    async fn carry(&self, call: Call<'_>, kubelet: Kubelet, name: &str, request: Request) -> Result<ApiResponse> {
        let context = call.context;
        let gates = context.api.registry.environment.gates();
        let Kubelet { location, takes_websockets } = kubelet;
        if takes_websockets && gates.is_on(&gates::EXTEND_WEB_SOCKETS_TO_KUBELET) {
            return proxy::upgrade(context, location, request).await;
        }
        match name {
            "portforward"
                if gates.is_on(&gates::PORT_FORWARD_WEBSOCKETS) && !tunnel::offered(&request.headers).is_empty() =>
            {
                tunnel::serve(context, &self.streams, location, request).await
            }
            "portforward" => proxy::upgrade(context, location, request).await,
            _ if gates.is_on(&gates::TRANSLATE_STREAM_CLOSE_WEBSOCKET_REQUESTS)
                && translate::is_asked(&request.headers) =>
            {
                let [stdin, stdout, stderr, tty] =
                    ["stdin", "stdout", "stderr", "tty"].map(|flag| call.options().flag(flag));
                translate::serve(
                    context,
                    self.streams.clone(),
                    location,
                    translate::StreamOptions { stdin, stdout, stderr, tty },
                )
            }
            _ => proxy::upgrade(context, location, request).await,
        }
    }

    /// The kubelet's side of exec, attach or portforward.
    async fn stream(&self, call: Call<'_>, target: &Target, name: &str) -> Result<Kubelet> {
        let Call { context, path, .. } = call;
        let gate = &gates::AUTHORIZE_POD_WEBSOCKET_UPGRADE_CREATE_PERMISSION;
        if context.method == http::Method::GET && context.api.registry.environment.gates().is_on(gate) {
            // A WebSocket begins with a GET, but needs the permission to create.
            let allowed =
                access::authorize(&context.api, &context.request, context.user(), Verb::Create, path, &context.query)
                    .await;
            allowed.map_err(NotAllowed::into_status)?;
        }
        let query = call.options();
        let ports = query.integers("ports")?;
        let pod = locate::object(context, target, &target.name)?;
        let container = match name {
            "portforward" => String::new(),
            _ => format!("/{}", locate::container(&pod, query.get("container"))?),
        };
        let node = locate::node_of(&pod);
        if node.is_empty() {
            return Err(Status::bad_request(format!("pod {} does not have a host assigned", target.name)));
        }
        let mut kubelet = locate::kubelet(context, &self.address_types, node)?;
        let location = &mut kubelet.location;
        let kubelets_name = if name == "portforward" { "portForward" } else { name };
        location.path = format!("/{kubelets_name}/{}/{}{container}", target.namespace, target.name);
        location.query = encode_query(match name {
            "portforward" if ports.is_empty() => Vec::new(),
            "portforward" => vec![("port", ports.iter().map(i64::to_string).collect::<Vec<_>>().join(","))],
            _ => {
                let flags = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];
                let flags = flags.into_iter().filter(|(name, _)| query.flag(name));
                let command = query.all("command").filter(|_| name == "exec");
                let command = command.map(|word| ("command", word.to_owned()));
                flags.map(|(_, name)| (name, "1".to_owned())).chain(command).collect()
            }
        });
        Ok(kubelet)
    }
}

impl Handler for Connections {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        self.serve(call, request).boxed()
    }
}

/// The path behind `proxy`, cleaned, and encoded as kube-apiserver encodes paths.
fn inner_path(rest: &str, ends_with_slash: bool) -> String {
    if rest.is_empty() {
        return if ends_with_slash { "/".to_owned() } else { String::new() };
    }
    let mut path = rewrite::join("", rest);
    if ends_with_slash && !path.ends_with('/') {
        path.push('/');
    }
    encode_path(&path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_behind_a_proxy_are_cleaned() {
        let rows = [
            ("", false, ""),
            ("", true, "/"),
            ("a/b", false, "/a/b"),
            ("a/b", true, "/a/b/"),
            ("a//../b c?", false, "/b%20c%3F"),
            ("../../x", false, "/x"),
        ];
        for (rest, slash, expected) in rows {
            assert_eq!(inner_path(rest, slash), expected, "{rest}");
        }
    }
}
