//! Responses to requests that are rejected before they reach a resource, as text and with kube-apiserver's messages.
//! Must never show more of a request than its URL, which is escaped.

use crate::flow::InFlightRequest;
use crate::limits;
use crate::request::{Request, ResourcePath};
use crate::response::ApiResponse;
use pintle_auth::authorization::escape;
use pintle_codec::json;
use pintle_registry::Status;
use pintle_resource::Resource;
use pintle_schema::names::quoted;
use std::fmt::Display;

/// Why the steps of a request end early.
pub enum Stop {
    /// With an error, in the form that the client accepts.
    Failed(Status),
    /// With a response whose form does not depend on the client.
    Answered(Box<ApiResponse>),
}

impl From<Status> for Stop {
    fn from(status: Status) -> Self {
        Stop::Failed(status)
    }
}

impl From<ApiResponse> for Stop {
    fn from(answer: ApiResponse) -> Self {
        Stop::Answered(Box::new(answer))
    }
}

/// The response to a request beyond the limits.
pub fn too_many_requests(in_flight: &InFlightRequest) -> ApiResponse {
    let mut answer = ApiResponse::text(429, "Too many requests, please try again later.\n");
    answer.headers.push(("retry-after", in_flight.retry_after().to_string()));
    answer
}

/// The response to a path without a resource, as `/api/v1/watch`.
pub fn no_request_info(request: &Request) -> ApiResponse {
    let why =
        format!("failed to create RequestInfo: unable to determine kind and namespace from url, {}", request.uri());
    internal_server_error(request, &why)
}

/// The response to a request that fails before it reaches a resource.
pub fn internal_server_error(request: &Request, why: &dyn Display) -> ApiResponse {
    let text = format!("Internal Server Error: {}: {why}\n", quoted(&request.uri()));
    ApiResponse::text(500, escape(&text))
}

/// The response to a path with an invalid escape, which closes the connection.
pub fn bad_escape() -> ApiResponse {
    let mut answer = ApiResponse::text(400, "400 Bad Request");
    answer.headers.push(("connection", "close".to_owned()));
    answer
}

/// The response to a request during shutdown, which closes the connection.
pub fn shutting_down() -> ApiResponse {
    let mut answer = ApiResponse::text(429, "The apiserver is shutting down, please try again later.\n");
    answer.headers.push(("retry-after", limits::RETRY_AFTER_SHUTDOWN_SECONDS.to_string()));
    answer.headers.push(("connection", "close".to_owned()));
    answer
}

/// The response to a request that took too long. No form is negotiated for its Status, which has no type.
pub fn timed_out() -> ApiResponse {
    let mut status = Status::timed_out().to_value();
    for field in ["kind", "apiVersion"] {
        status.remove_at(&[field]);
    }
    ApiResponse::new(504, "text/plain; charset=utf-8", format!("{}\n", json::to_string(&status)))
}

/// Whether a response is that of `timed_out`, and not of a backend.
pub fn is_timed_out(answer: &ApiResponse) -> bool {
    answer.code == 504 && answer.content_type.starts_with("text/plain") && answer.passed.is_empty()
}

/// The response for an unsupported path of a custom resource: only its subresources have a Status.
pub fn no_route(resource: &Resource, path: &ResourcePath) -> Stop {
    match path.subresource.is_empty() || resource.namespaced == path.namespace.is_empty() {
        true => ApiResponse::text(404, "404 page not found\n").into(),
        false => Status::not_found(resource, &path.name).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::body::Body;

    #[test]
    fn a_request_that_took_too_long_is_answered_as_text() {
        let answer = timed_out();
        assert!(is_timed_out(&answer) && !is_timed_out(&shutting_down()));
        let Body::Full(body) = answer.body else { panic!("a body in one piece") };
        let expected = "{\"metadata\":{},\"status\":\"Failure\",\"message\":\"Timeout: request did not complete within the \
                        allotted timeout\",\"reason\":\"Timeout\",\"details\":{},\"code\":504}\n";
        assert_eq!((answer.code, answer.content_type.as_str()), (504, "text/plain; charset=utf-8"));
        assert_eq!(String::from_utf8_lossy(&body), expected);
    }
}
