//! Paths that name no resource: discovery, OpenAPI, version, health, metrics. Guarantees that health checks are answered at once,
//! and that everything else, which may take long, takes turns with other long computations. Must never read a body.

use crate::exchange::Exchange;
use crate::observers::{Observers, Routed};
use crate::response::ApiResponse;
use crate::{documents, flow, health, metrics};
use pintle_registry::Status;

/// The kind of these requests, by which their times are learned.
const KIND: u64 = 0;

/// Answers a request for such a path.
///
/// # Errors
/// There is no such path, or it has no form that the client accepts.
pub(crate) async fn answer(exchange: &mut Exchange, observers: &mut Observers) -> Result<ApiResponse, Status> {
    let (api, context) = (exchange.api.clone(), exchange.context.clone());
    let answering = Box::pin(answer_in_turn(exchange, observers));
    pintle_compute::run(&api.flow.turns, &context.user().name, KIND, answering).await
}

async fn answer_in_turn(exchange: &mut Exchange, observers: &mut Observers) -> Result<ApiResponse, Status> {
    let path = exchange.request.path.as_str();
    let counted = match path {
        _ if path.starts_with("/openapi/v3/") => Some("openapi/v3/"),
        "/openapi/v3" => Some("openapi/v3"),
        _ => health::ENDPOINTS.into_iter().find(|endpoint| *endpoint == path),
    };
    counted.into_iter().for_each(|path| observers.routed(exchange, Routed::Path(path)));
    if let Some(answer) = health::serve(&exchange.api.health, path, &exchange.query) {
        return Ok(answer);
    }
    pintle_compute::expect_long().await;
    let Exchange { api, request, query, .. } = &*exchange;
    let path = request.path.as_str();
    match path {
        "/metrics" | "/metrics/slis" => Ok(metrics::answer(api, request)),
        _ if path.starts_with(flow::DUMPS) && api.flow.controller().is_some() => flow::dump(&api.flow, path, query),
        _ => {
            let answer = documents::serve(api, request, query);
            // Only aggregated discovery, which alone has an ETag, is counted.
            let aggregated = metrics::DISCOVERY.into_iter().find(|name| path.strip_prefix('/') == Some(*name));
            let is_tagged = |answer: &ApiResponse| answer.headers.iter().any(|(name, _)| *name == "etag");
            let counted = aggregated.filter(|_| answer.as_ref().is_ok_and(is_tagged));
            counted.into_iter().for_each(|path| observers.routed(exchange, Routed::Path(path)));
            answer
        }
    }
}
