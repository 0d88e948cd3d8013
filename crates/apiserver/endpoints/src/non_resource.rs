//! Paths that name no resource: discovery, OpenAPI, version, health, metrics. Guarantees that health checks are answered at once,
//! and that everything else, which may take long, takes turns with other long computations. Must never read a body.

use crate::metrics::{self, Labels, Series};
use crate::query::Query;
use crate::request::Request;
use crate::response::ApiResponse;
use crate::{Api, documents, flow, health};
use pintle_auth::UserInfo;
use pintle_registry::Status;
use pintle_schema::Str;
use std::sync::Arc;

/// The kind of these requests, by which their times are learned.
const KIND: u64 = 0;

/// Answers a request for such a path. `series` is set to what it is counted under.
///
/// # Errors
/// There is no such path, or it has no form that the client accepts.
pub async fn answer(
    api: &Api,
    user: &UserInfo,
    query: &Query,
    request: Request,
    series: &mut Option<Arc<Series>>,
) -> Result<ApiResponse, Status> {
    let answering = Box::pin(answer_in_turn(api, query, request, series));
    pintle_compute::run(&api.flow.turns, &user.name, KIND, answering).await
}

async fn answer_in_turn(
    api: &Api,
    query: &Query,
    request: Request,
    series: &mut Option<Arc<Series>>,
) -> Result<ApiResponse, Status> {
    let path = request.path.as_str();
    let counted = match path {
        _ if path.starts_with("/openapi/v3/") => Some("openapi/v3/"),
        "/openapi/v3" => Some("openapi/v3"),
        _ => health::ENDPOINTS.into_iter().find(|endpoint| *endpoint == path),
    };
    let mut count = |subresource: &'static str| {
        let labels = Labels { subresource: Str::new_static(subresource), verb: "GET", ..Labels::default() };
        *series = Some(api.metrics.requests.series(labels));
    };
    counted.into_iter().for_each(&mut count);
    if let Some(answer) = health::serve(&api.health, path, query) {
        return Ok(answer);
    }
    pintle_compute::expect_long().await;
    match path {
        "/metrics" | "/metrics/slis" => Ok(metrics::answer(api, &request)),
        _ if path.starts_with(flow::DUMPS) && api.flow.controller().is_some() => flow::dump(&api.flow, path, query),
        _ => {
            let answer = documents::serve(api, &request, query);
            // Only aggregated discovery, which alone has an ETag, is counted.
            let aggregated = metrics::DISCOVERY.into_iter().find(|name| path.strip_prefix('/') == Some(*name));
            let is_tagged = |answer: &ApiResponse| answer.headers.iter().any(|(name, _)| *name == "etag");
            aggregated.filter(|_| answer.as_ref().is_ok_and(is_tagged)).into_iter().for_each(count);
            answer
        }
    }
}
