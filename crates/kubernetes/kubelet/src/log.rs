//! The log of a container: validates the options, then streams it from the kubelet.
//!
//! Guarantees that a log is never buffered completely. Must never return a kubelet's failure as the log.

use crate::locate::{self, Location};
use futures_util::{StreamExt, TryStreamExt, future};
use pintle_endpoints::body::Body;
use pintle_endpoints::context::Context;
use pintle_endpoints::encoding::AllowedMediaTypes;
use pintle_endpoints::query::Query;
use pintle_endpoints::response::{ApiResponse, handshake_refused};
use pintle_gates as gates;
use pintle_proxy::backend::{BackendResponse, ByteStream, Trust};
use pintle_proxy::forward::encode_query;
use pintle_proxy::{upgrade, websocket};
use pintle_registry::{Details, Result, Status, Target};
use pintle_schema::Time;
use pintle_validation::{ErrorList, FieldPath};

/// The maximum bytes of a kubelet's error message.
const MAX_REFUSAL_BYTES: usize = 50_000;
/// Responds with a container's log.
///
/// # Errors
/// The options are invalid, or the kubelet returns an error.
pub async fn serve(context: &Context, address_types: &[String], target: &Target) -> Result<ApiResponse> {
    context.negotiate(AllowedMediaTypes::Text)?;
    let options = Options::read(context, &target.name)?;
    let pod = locate::object(context, target, &target.name)?;
    let container = locate::container(&pod, context.query.get("container"))?;
    let node = locate::node_of(&pod);
    if node.is_empty() {
        // The log is empty.
        return Ok(ApiResponse::new(204, "", ""));
    }
    let mut location = locate::kubelet(context, address_types, node)?.location;
    if options.insecure {
        location.to.trust = Trust::UnverifiedKubelet;
    }
    location.path = format!("/containerLogs/{}/{}/{container}", target.namespace, target.name);
    location.query = encode_query(options.parameters);
    let exchange = ask(context, location).await?;
    let code = exchange.response.status.as_u16();
    if !(200..=206).contains(&code) {
        return Err(refusal(code, &text(exchange.body).await?, &target.name));
    }
    if upgrade::is_websocket(&context.headers) {
        let pieces = exchange.body.map(std::result::Result::ok).take_while(|piece| future::ready(piece.is_some()));
        let accepted = websocket::bytes(&context.headers, pieces.filter_map(future::ready).boxed());
        return accepted.map(ApiResponse::from).map_err(handshake_refused);
    }
    let mut answer = ApiResponse::new(200, "text/plain", "");
    answer.body = Body::Proxied(exchange.body);
    Ok(answer)
}

async fn ask(context: &Context, location: Location) -> Result<BackendResponse> {
    let url = format!("https://{}{}", location.to.authority(), location.target());
    let request = http::Request::get(location.target())
        .header(http::header::HOST, location.to.authority())
        .body::<ByteStream>(Box::pin(futures_util::stream::empty()))
        .map_err(Status::internal)?;
    let sent = context.api.connector.send(location.to, request).await;
    sent.map_err(|error| Status::unexplained(format!("Get {url:?}: {error}")))
}

/// The beginning of a body, as text.
async fn text(mut body: ByteStream) -> Result<String> {
    let mut bytes = Vec::new();
    while let Some(piece) = body.try_next().await.map_err(Status::internal)? {
        bytes.extend_from_slice(&piece);
        if bytes.len() >= MAX_REFUSAL_BYTES {
            bytes.truncate(MAX_REFUSAL_BYTES);
            break;
        }
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The error for a kubelet's status code, as in kube-apiserver.
fn refusal(code: u16, text: &str, pod: &str) -> Status {
    let (reason, message) = match code {
        400 => return Status::bad_request(text),
        500 => return Status::internal(text),
        401 => ("Unauthorized", "the server has asked for the client to provide credentials".to_owned()),
        403 => ("Forbidden", text.to_owned()),
        404 => ("NotFound", "the server could not find the requested resource".to_owned()),
        405 => ("MethodNotAllowed", "the server does not allow this method on the requested resource".to_owned()),
        429 => {
            ("TooManyRequests", "the server has received too many requests and has asked us to try again later".into())
        }
        503 => ("ServiceUnavailable", "the server is currently unable to handle the request".to_owned()),
        504 => (
            "Timeout",
            "the server was unable to return a response in the time allotted, but may still be processing the request"
                .to_owned(),
        ),
        501.. => {
            ("InternalError", format!("an error on the server ({text:?}) has prevented the request from succeeding"))
        }
        _ => ("", format!("the server responded with the status code {code} but did not return more information")),
    };
    Status::new(code, reason, format!("{message} ( pods/log {pod})")).with_details(Details {
        name: pod.to_owned(),
        kind: "pods/log".to_owned(),
        ..Details::default()
    })
}

/// PodLogOptions for the kubelet.
struct Options {
    parameters: Vec<(&'static str, String)>,
    insecure: bool,
}

impl Options {
    fn read(context: &Context, pod: &str) -> Result<Options> {
        let query = &context.query;
        let split = context.api.registry.environment.gates().is_on(&gates::POD_LOGS_QUERY_SPLIT_STREAMS);
        let since_time = since_time(query)?;
        check(query, since_time.is_some(), split, pod)?;
        let flags = ["follow", "previous", "timestamps"].into_iter().filter(|name| query.flag(name));
        let numbers = ["sinceSeconds", "tailLines", "limitBytes"].into_iter();
        let mut parameters: Vec<_> = flags.map(|name| (name, "true".to_owned())).collect();
        for name in numbers {
            parameters.extend(query.integer(name)?.map(|number| (name, number.to_string())));
        }
        parameters.extend(since_time.map(|time| ("sinceTime", time.to_rfc3339())));
        if split {
            parameters.push(("stream", stream(query).to_owned()));
        }
        Ok(Options { parameters, insecure: query.flag("insecureSkipTLSVerifyBackend") })
    }
}

fn stream(query: &Query) -> &str {
    if query.has("stream") { query.get("stream") } else { "All" }
}

fn since_time(query: &Query) -> Result<Option<Time>> {
    match query.get("sinceTime") {
        "" | "null" => Ok(None),
        text => Time::parse(text).map(Some).map_err(|error| Status::bad_request(error.to_string())),
    }
}

fn check(query: &Query, since_time: bool, split: bool, pod: &str) -> Result<()> {
    let mut errors = ErrorList::default();
    let (tail, since, limit) =
        (query.integer("tailLines")?, query.integer("sinceSeconds")?, query.integer("limitBytes")?);
    if let Some(lines) = tail.filter(|lines| *lines < 0) {
        errors.invalid("tailLines", lines, "must be greater than or equal to 0");
    }
    if let Some(bytes) = limit.filter(|bytes| *bytes < 1) {
        errors.invalid("limitBytes", bytes, "must be greater than 0");
    }
    match since {
        Some(_) if since_time => {
            errors.forbidden(FieldPath::ROOT, "at most one of `sinceTime` or `sinceSeconds` may be specified");
        }
        Some(seconds) if seconds < 1 => errors.invalid("sinceSeconds", seconds, "must be greater than 0"),
        _ => {}
    }
    if split {
        match stream(query) {
            "All" => {}
            "Stdout" | "Stderr" if tail.is_some() => {
                errors.forbidden(FieldPath::ROOT, "`tailLines` and specific `stream` are mutually exclusive for now");
            }
            "Stdout" | "Stderr" => {}
            other => errors.not_supported("stream", other, &["All", "Stderr", "Stdout"]),
        }
    } else if query.has("stream") {
        errors.forbidden("stream", "may not be specified");
    }
    if errors.is_empty() { Ok(()) } else { Err(Status::invalid("", "PodLogOptions", pod, &errors)) }
}
