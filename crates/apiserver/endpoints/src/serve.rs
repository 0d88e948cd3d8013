//! `serve()`: the steps of a request in their order. Read this page first.
//!
//! Guarantees that every request is answered, and that observers see its moments in one order. Must never know what a
//! step does.

use crate::SharedApi;
use crate::error_responses::{Stop, bad_escape, shutting_down};
use crate::exchange::Exchange;
use crate::observers::Observers;
use crate::query::well_escaped;
use crate::request::Request;
use crate::response::{ApiResponse, ResponseOptions, respond};
use crate::sent::SentBody;
use crate::steps::{Route, act, admit, authenticate, authorize, check_form, delegate, impersonate, route, serve_path};
use http::{Method, Response};
use pintle_schema::Str;

/// The user of what is answered before the user of the request is known.
static NOBODY: Str = Str::new_static("");

/// Serves a request.
pub async fn serve(api: SharedApi, request: Request) -> Response<SentBody> {
    if !well_escaped(&request.path) {
        let (turns, is_head) = (&api.flow.turns, request.method == Method::HEAD);
        let options = ResponseOptions { accepts_gzip: false, is_head, turns, user: &NOBODY };
        return respond(bad_escape(), options).map(SentBody::unobserved);
    }
    let mut observers = Observers::received(&api, &request);
    let mut exchange = Exchange::of(api, request);
    if exchange.is_too_late() {
        return exchange.respond(shutting_down()).map(SentBody::unobserved);
    }
    let outcome = match observers.trace() {
        // Boxed, as few requests are traced.
        Some(trace) => Box::pin(pintle_spans::within(trace, process(&mut exchange, &mut observers))).await,
        None => process(&mut exchange, &mut observers).await,
    };
    let (mut answer, error) = match outcome {
        Ok(answer) => (answer, None),
        Err(Stop::Answered(answer)) => (*answer, None),
        Err(Stop::Failed(status)) => (exchange.error(&status), Some(status)),
    };
    observers.answered(&mut exchange, &mut answer, error.as_ref()).await;
    exchange.respond(answer).map(|body| SentBody::observed(body, observers))
}

/// The steps of a request. Reads take a slot at once, or wait for it; writes do when their bodies have come.
async fn process(exchange: &mut Exchange, observers: &mut Observers) -> Result<ApiResponse, Stop> {
    check_form(exchange, observers).await?;
    let user = authenticate(exchange, observers).await?;
    impersonate(exchange, user).await?;
    let in_flight = exchange.classify();
    admit(exchange, &in_flight, observers).await?;
    authorize(exchange).await?;
    match route(exchange).await? {
        Route::Path => serve_path(exchange, &in_flight, observers).await,
        Route::RemoteServer(server) => delegate(exchange, server, &in_flight, observers).await,
        Route::Resource(resource) => act(exchange, &resource, in_flight, observers).await,
    }
}
