//! The steps between the head of a request and the verb of its resource. Guarantees that none of them waits for another
//! server longer than the request may take. Must never read a body.

use crate::access::{self, NotAllowed};
use crate::delegation::{self, AggregatedApi, DelegatedRequest};
use crate::error_responses::{Stop, internal_server_error, no_request_info, no_route, timed_out, too_many_requests};
use crate::exchange::{Exchange, before_deadline, deadline};
use crate::flow::InFlightRequest;
use crate::observers::{Observers, Routed};
use crate::query::Query;
use crate::request::{Request, ResourcePath};
use crate::response::ApiResponse;
use crate::{Api, deprecation, documents, health, non_resource, peers, routes, verbs};
use pintle_auth::{Attributes, UserInfo};
use pintle_registry::{Status, Step};
use pintle_resource::{Found, Resource};
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

/// Rejects what is no request, and a malformed timeout.
///
/// # Errors
/// The path names no resource, or the timeout is malformed.
pub(crate) async fn check_form(exchange: &mut Exchange, observers: &mut Observers) -> Result<(), Stop> {
    if exchange.path().is_some_and(ResourcePath::is_prefix_alone) {
        return Err(no_request_info(&exchange.request).into());
    }
    if exchange.is_long_running() {
        return Ok(());
    }
    let Err(status) = check_timeout(&exchange.query) else { return Ok(()) };
    observers.identified(exchange, None).await;
    Err(status.into())
}

fn check_timeout(query: &Query) -> Result<(), Status> {
    let timeout = query.get("timeout");
    if timeout.is_empty() {
        return Ok(());
    }
    pintle_schema::Duration::parse(timeout)
        .map(drop)
        .map_err(|error| Status::bad_request(format!("invalid timeout specified in the request URL - {error}")))
}

/// The user that sends the request.
///
/// # Errors
/// 401 for an invalid credential; the request had to be audited and could not be.
pub(crate) async fn authenticate(exchange: &mut Exchange, observers: &mut Observers) -> Result<Arc<UserInfo>, Stop> {
    let Exchange { api, request, context, .. } = exchange;
    let authenticated = before_deadline(context, access::authenticated(api, request, context)).await.flatten();
    exchange.is_unauthenticated_http2 = exchange.request.over_http2 && exchange.request.is_unauthenticated;
    if !observers.identified(exchange, authenticated.as_ref().ok()).await {
        return Err(internal_server_error(&exchange.request, &"failed to store audit event").into());
    }
    Ok(authenticated?)
}

/// Notes the user that the request acts as.
///
/// # Errors
/// 403 for an impersonation that is not allowed.
pub(crate) async fn impersonate(exchange: &mut Exchange, user: Arc<UserInfo>) -> Result<(), Stop> {
    let Exchange { api, request, query, verb, context, .. } = exchange;
    let path = context.resource_path.as_ref();
    let identity = access::identify(api, request, path, *verb, query, context, user);
    context.identify(before_deadline(context, identity).await??);
    Ok(())
}

/// Takes a slot, or waits for it. A write takes it when its body has come; here it is rejected if there is no room.
///
/// # Errors
/// 429 when there is none for the request.
pub(crate) async fn admit(
    exchange: &mut Exchange,
    in_flight: &InFlightRequest,
    observers: &mut Observers,
) -> Result<(), Stop> {
    let is_admitted = match exchange.path() {
        // Health checks are answered in any case, unless a flow schema says otherwise.
        None if exchange.class.is_none() && health::is_asked_for(&exchange.request.path) => true,
        Some(_) if !exchange.verb.reads() && !exchange.is_long_running() => in_flight.has_room(),
        _ => in_flight.enter().await.is_ok(),
    };
    if is_admitted {
        return Ok(());
    }
    observers.metrics.turned_away(exchange);
    Err(too_many_requests(in_flight).into())
}

/// Asks the authorizers.
///
/// # Errors
/// No authorizer allows the request.
pub(crate) async fn authorize(exchange: &mut Exchange) -> Result<(), Stop> {
    let Exchange { api, request, query, verb, context, .. } = exchange;
    let (started, user) = (Instant::now(), context.user());
    let allowed = match &context.resource_path {
        Some(path) => before_deadline(context, access::authorize(api, context, user, *verb, path, query)).await?,
        None => {
            let method = request.method.as_str().to_ascii_lowercase();
            let attributes = Attributes::non_resource(user, &method, &request.path);
            before_deadline(context, access::decide_request(api, context, &attributes)).await?
        }
    };
    context.spent(Step::Authorization, started);
    allowed.map_err(|why| match why {
        NotAllowed::Forbidden(status) => status.into(),
        NotAllowed::Failed(error) => internal_server_error(request, &error).into(),
    })
}

/// Who answers a request.
pub(crate) enum Route {
    /// This server, for a path that names no resource.
    Path,
    Resource(Arc<Resource>),
    RemoteServer(Arc<dyn AggregatedApi>),
}

/// Finds who answers a request. Definitions that were written before are installed first.
///
/// # Errors
/// Nobody does, or the resource does not support the path or the method.
pub(crate) async fn route(exchange: &mut Exchange) -> Result<Route, Stop> {
    let Exchange { api, request, context, .. } = exchange;
    let Some(path) = &context.resource_path else {
        if documents::describe_resources(&request.path) {
            before_deadline(context, api.registry.install_definitions()).await?;
        }
        return Ok(delegation::server_of_document(api, &request.path).map_or(Route::Path, Route::RemoteServer));
    };
    if path.outside_apis {
        return Err(not_found().into());
    }
    let mut table = api.registry.resources.snapshot();
    let found = table.find(&path.group, &path.version, &path.resource);
    // Built-in resources do not depend on definitions.
    if !matches!(found, Found::Resource(resource) if resource.custom.is_none()) {
        before_deadline(context, api.registry.install_definitions()).await?;
        table = api.registry.resources.snapshot();
    }
    // What is defined is hidden by an extension server of the same version.
    let is_hidden =
        |resource: &Resource| resource.custom.is_some() && delegation::find(api, &path.group, &path.version).is_some();
    let resource = match table.find(&path.group, &path.version, &path.resource) {
        Found::Resource(resource) if !path.malformed && !is_hidden(resource) => resource,
        missing => match (remote_server(api, request, path), missing) {
            (Some(server), _) => return Ok(Route::RemoteServer(server)),
            (None, Found::NoGroup) => return Err(not_found().into()),
            // Only built-in groups have routes that a request can miss.
            (None, Found::NoResource) if !table.is_built_in(&path.group) => return Err(not_found().into()),
            (None, _) => return Err(Status::no_such_path().into()),
        },
    };
    deprecation::annotate(context, resource);
    if let Err(status) = routes::check(resource, path, &request.method) {
        return Err(match resource.custom.is_some() && status.code == 404 {
            true => no_route(resource, path),
            false => status.into(),
        });
    }
    Ok(Route::Resource(resource.clone()))
}

/// The response to a path that no router knows.
fn not_found() -> ApiResponse {
    ApiResponse::text(404, "404 page not found\n")
}

/// The server of a resource that is not served here: an extension server, or else another server over the same store.
fn remote_server(api: &Api, request: &Request, path: &ResourcePath) -> Option<Arc<dyn AggregatedApi>> {
    let extension = delegation::find(api, &path.group, &path.version);
    extension.or_else(|| peers::find(api.peers.as_ref(), request, path))
}

/// Answers a request for a path that names no resource.
///
/// # Errors
/// There is no such path, it has no form that the client accepts, or the deadline has passed.
pub(crate) async fn serve_path(
    exchange: &mut Exchange,
    in_flight: &InFlightRequest,
    observers: &mut Observers,
) -> Result<ApiResponse, Stop> {
    let context = exchange.context.clone();
    let outcome = before_deadline(&context, non_resource::answer(exchange, observers)).await?;
    keep_slot(observers, in_flight, outcome)
}

/// Has another server answer a request. Its slot is given back before, as what that server takes is no work of this
/// one, unless the request has no end.
///
/// # Errors
/// 504 when the response has not begun before the deadline.
pub(crate) async fn delegate(
    exchange: &mut Exchange,
    server: Arc<dyn AggregatedApi>,
    in_flight: &InFlightRequest,
    observers: &mut Observers,
) -> Result<ApiResponse, Stop> {
    if !exchange.is_long_running() {
        drop(in_flight.take_slot());
    }
    let (request, query) = exchange.take();
    let (api, context) = (exchange.api.clone(), exchange.context.clone());
    let outcome = delegation::forward(server, DelegatedRequest { api, request, query, context }).await;
    keep_slot(observers, in_flight, outcome)
}

/// Carries out the verb of a request for a resource that is served here, in turns with other long computations.
///
/// # Errors
/// The verb's step fails.
pub(crate) async fn act(
    exchange: &mut Exchange,
    resource: &Arc<Resource>,
    in_flight: InFlightRequest,
    observers: &mut Observers,
) -> Result<ApiResponse, Stop> {
    let request_context = exchange.context.clone();
    let Some(path) = &request_context.resource_path else { return Err(Status::no_such_path().into()) };
    observers.routed(exchange, Routed::Resource(resource));
    let (verb, long_running) = (exchange.verb, exchange.is_long_running());
    // Requests that are counted together are those that cost about the same.
    let kind = observers.metrics.kind();
    let (context, mut request) = exchange.take_for_verb(in_flight);
    if !verb.reads() && !long_running {
        request.body = context.api.metrics.bodies.counted(request.body, resource, verb);
    }
    let (turns, user) = (&context.api.flow.turns, &context.user().name);
    let acting = pin!(verbs::act_as_defined(&context, resource, path, verb, request));
    let acting = pin!(pintle_compute::run(turns, user, kind, acting));
    let outcome = match long_running {
        true => acting.await,
        false => tokio::time::timeout_at(deadline(&request_context), acting).await.unwrap_or_else(|_| {
            observers.metrics.given_up(504);
            Ok(timed_out())
        }),
    };
    let outcome = outcome.map(|mut answer| {
        answer.body = answer.body.in_turns(turns, user);
        answer
    });
    let outcome = keep_slot(observers, &context.in_flight, deprecation::with_warning(resource, outcome));
    context.in_flight.rejection_code().into_iter().for_each(|code| observers.metrics.given_up(code));
    outcome
}

/// Passes the slot on to the response. A response that exceeds the user's share of memory is replaced by 429.
fn keep_slot(
    observers: &mut Observers,
    in_flight: &InFlightRequest,
    outcome: Result<ApiResponse, Status>,
) -> Result<ApiResponse, Stop> {
    let held = outcome.as_ref().ok().and_then(|answer| answer.body.buffered_bytes());
    let has_room = held.is_none_or(|bytes| in_flight.hold_response(bytes).is_ok());
    observers.slot.hold(in_flight.take_slot().filter(|_| has_room));
    match has_room && in_flight.rejection_code() != Some(429) {
        true => Ok(outcome?),
        false => Ok(too_many_requests(in_flight)),
    }
}
