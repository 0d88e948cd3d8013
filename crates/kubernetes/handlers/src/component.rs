//! Component statuses: the health of the store and of the control plane's components on the same machine. Deprecated,
//! and probed for each request. Guarantees kube-apiserver's components, in a fixed order, and a response within the
//! timeout of a probe. Must never connect to another machine.

use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, join_all};
use futures_util::stream::{self, StreamExt};
use http::header::{ACCEPT, CONNECTION, HOST, USER_AGENT};
use pintle_endpoints::context::Context;
use pintle_endpoints::encoding::{self, AllowedMediaTypes, MediaTypeOptions, ResponseKind};
use pintle_endpoints::handler::{Call, Handler};
use pintle_endpoints::query::list_options;
use pintle_endpoints::read::{include_object, reject_export};
use pintle_endpoints::request::{Request, ResourcePath};
use pintle_endpoints::response::ApiResponse;
use pintle_gates as gates;
use pintle_proxy::backend::{Destination, Trust};
use pintle_registry::{Details, Result, Selection, Status};
use pintle_resource::Resource;
use pintle_schema::{ApiType, Value, canonicalize, value};
use pintle_types::core::v1::ComponentStatus;
use pintle_types::meta::v1::{PartialObjectMetadata, PartialObjectMetadataList, Table};
use std::sync::Arc;
use std::time::Duration;

/// The timeout of a probe, as in kube-apiserver.
const PROBE_TIME: Duration = Duration::from_secs(20);
/// The maximum bytes of a probe's response, as in kube-apiserver.
const PROBE_BYTES: usize = 10 << 10;

/// The source of a component's health.
enum Source {
    /// It serves `/healthz` on this port of this machine.
    Port(u16),
    /// It is the store, whose health the server follows.
    Store,
}

/// The components, by name.
const COMPONENTS: [(&str, Source); 3] =
    [("controller-manager", Source::Port(10257)), ("scheduler", Source::Port(10259)), ("etcd-0", Source::Store)];

/// The result of a probe: the status of the condition, its message and its error.
#[derive(Debug, PartialEq, Eq)]
struct ProbeResult {
    status: &'static str,
    message: String,
    error: &'static str,
}

/// Handles requests for component statuses.
pub struct ComponentStatuses;

impl Handler for ComponentStatuses {
    fn handle<'a>(&'a self, call: Call<'a>, _: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        let Call { context, resource, path, .. } = call;
        match path.name.is_empty() {
            true => list(context, resource, path).boxed(),
            false => get(context, resource, &path.name).boxed(),
        }
    }
}

/// The current status of a component.
async fn component(context: &Context, resource: &Resource, name: &str, source: &Source) -> Value {
    let found = match source {
        Source::Port(port) => probe(context, *port).await,
        Source::Store if context.api.health.has_store() => healthy("ok".to_owned()),
        Source::Store => ProbeResult {
            status: "False",
            message: String::new(),
            error: "error getting data from etcd: context deadline exceeded",
        },
    };
    let mut object = value!({
        "kind": (resource.kind.clone()), "apiVersion": (resource.api_version()), "metadata": {"name": name},
        "conditions": [
            {"type": "Healthy", "status": (found.status), "message": (found.message), "error": (found.error)}
        ]
    });
    canonicalize(ComponentStatus::schema(), &mut object);
    object
}

fn healthy(message: String) -> ProbeResult {
    ProbeResult { status: "True", message, error: "" }
}

fn unhealthy(message: String) -> ProbeResult {
    ProbeResult { status: "False", message, error: "" }
}

/// Probes a component on this machine.
async fn probe(context: &Context, port: u16) -> ProbeResult {
    let to = Destination { tls: true, host: "127.0.0.1".to_owned(), port, trust: Trust::Local };
    let url = format!("https://{}/healthz", to.authority());
    let request = http::Request::get("/healthz")
        .header(HOST, to.authority())
        .header(USER_AGENT, "kube-probe/1.36")
        .header(ACCEPT, "*/*")
        .header(CONNECTION, "close")
        .body(stream::empty().boxed());
    let Ok(request) = request else { return unhealthy(format!("Get {url:?}: no request can be made")) };
    let answer = async {
        let exchange = context.api.connector.send(to, request).await.map_err(|error| error.to_string())?;
        let mut body = Vec::new();
        let mut pieces = exchange.body;
        while let Some(piece) = pieces.next().await {
            let piece: Bytes = piece.map_err(|error| error.to_string())?;
            body.extend_from_slice(&piece[..piece.len().min(PROBE_BYTES - body.len())]);
            if body.len() == PROBE_BYTES {
                break;
            }
        }
        Ok::<_, String>((exchange.response.status.as_u16(), String::from_utf8_lossy(&body).into_owned()))
    };
    match tokio::time::timeout(PROBE_TIME, answer).await {
        Ok(Ok((code, body))) => probe_result(code, body),
        Ok(Err(error)) => unhealthy(format!("Get {url:?}: {error}")),
        Err(_) => {
            let why = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)";
            unhealthy(format!("Get {url:?}: {why}"))
        }
    }
}

/// Interprets the response to a probe.
fn probe_result(code: u16, body: String) -> ProbeResult {
    match code {
        200..300 => healthy(body),
        300..400 => {
            let message = format!("Probe terminated redirects, Response body: {body}");
            ProbeResult { status: "Unknown", message, error: "" }
        }
        _ => unhealthy(format!("HTTP probe failed with statuscode: {code}")),
    }
}

async fn get(context: &Context, resource: &Resource, name: &str) -> Result<ApiResponse> {
    let wanted = context.negotiate(AllowedMediaTypes::Objects)?;
    reject_export(&context.query)?;
    let Some((_, source)) = COMPONENTS.iter().find(|(component, _)| *component == name) else {
        // kube-apiserver uses the singular here.
        let message = format!("{} {name:?} not found", resource.singular);
        let details = Details { name: name.into(), kind: resource.singular.to_string(), ..Details::default() };
        return Err(Status::new(404, "NotFound", message).with_details(details));
    };
    let object = component(context, resource, name, source).await;
    let (shown, schema) = match wanted.shape {
        ResponseKind::Object => (object, ComponentStatus::schema()),
        ResponseKind::Partial => (encoding::partial(&object, wanted), PartialObjectMetadata::schema()),
        ResponseKind::Table => (table(context, resource, &[object], wanted)?, Table::schema()),
        ResponseKind::PartialList => return Err(encoding::not_a_list(&resource.schema, &resource.kind)),
    };
    Ok(ApiResponse::new(200, wanted.format.content_type(), encoding::encode(&shown, schema, wanted)))
}

async fn list(context: &Context, resource: &Arc<Resource>, path: &ResourcePath) -> Result<ApiResponse> {
    let wanted = context.negotiate(AllowedMediaTypes::Collection)?;
    let query = list_options(
        &context.query,
        path.legacy_watch,
        context.api.registry.environment.gates().is_on(&gates::WATCH_LIST),
    )?;
    let selection = Selection::parse(resource, &resource.selectable, &query.label_selector, &query.field_selector)?;
    // All are probed concurrently, even those that are not selected.
    let asked = COMPONENTS.iter().map(|(name, source)| component(context, resource, name, source));
    let mut objects: Vec<Value> = join_all(asked).await;
    objects.retain(|object| selection.matches_name(object.str_at(&["metadata", "name"])));
    let (shown, schema) = match wanted.shape {
        ResponseKind::Table => (table(context, resource, &objects, wanted)?, Table::schema()),
        ResponseKind::PartialList => {
            let items: Vec<_> = objects.iter().map(|object| encoding::partial(object, wanted)).collect();
            // Unlike other lists, kube-apiserver appends to a nil slice here: without items the list is null.
            let items = if items.is_empty() { Value::Null } else { Value::List(items) };
            let list = value!({
                "kind": "PartialObjectMetadataList", "apiVersion": (wanted.meta_version()), "metadata": {}, "items": items
            });
            (list, PartialObjectMetadataList::schema())
        }
        ResponseKind::Object => {
            for object in &mut objects {
                let map = object.make_map();
                map.remove("kind");
                map.remove("apiVersion");
            }
            let list = value!({"kind": "ComponentStatusList", "apiVersion": "v1", "metadata": {}, "items": (Value::List(objects))});
            (list, pintle_types::core::v1::ComponentStatusList::schema())
        }
        ResponseKind::Partial => return Err(encoding::is_a_list(resource)),
    };
    Ok(ApiResponse::new(200, wanted.format.content_type(), encoding::encode(&shown, schema, wanted)))
}

fn table(context: &Context, resource: &Resource, objects: &[Value], wanted: MediaTypeOptions) -> Result<Value> {
    let include = include_object(&context.query, wanted)?;
    let printer = &*resource.printer;
    let now = context.api.registry.environment.now_unix();
    let rows = encoding::made_rows(printer, objects, include, now, wanted);
    Ok(encoding::table(printer, Value::map(), true, rows, wanted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_response_is_interpreted_by_its_code() {
        for (code, body, status, message) in [
            (200, "ok", "True", "ok"),
            (302, "there", "Unknown", "Probe terminated redirects, Response body: there"),
            (500, "ill", "False", "HTTP probe failed with statuscode: 500"),
            (401, "", "False", "HTTP probe failed with statuscode: 401"),
        ] {
            let found = probe_result(code, body.to_owned());
            assert_eq!((found.status, found.message.as_str(), found.error), (status, message, ""), "{code}");
        }
    }
}
