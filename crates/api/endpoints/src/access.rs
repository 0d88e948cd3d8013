//! Who a request comes from, as whom it goes on, and whether it may.
//!
//! Every answer about rights is given here or by the authorizer itself; it never depends on what is stored under a name.

use crate::query::Query;
use crate::request::{Request, ResourcePath};
use crate::upgrade::take_bearer_protocol;
use crate::{Api, impersonation};
use http::header::HeaderValue;
use pintle_auth::authorization::{Forbidden, forbidden};
use pintle_auth::{Attributes, Credentials, UserInfo};
use pintle_registry::{Details, Status};
use pintle_schema::field_selector::FieldSelector;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Who the request is answered for: whose credential it shows, or who that one wants to be taken for.
///
/// # Errors
/// 401 for a credential that is no good, 403 for acting as somebody whom the user may not be taken for.
pub(crate) fn user(
    api: &Api,
    request: &mut Request,
    path: Option<&ResourcePath>,
    action: &str,
    query: &Query,
) -> Result<Arc<UserInfo>, Status> {
    let user = authenticate(api, request)?;
    let constrained = api.registry.environment.feature_enabled("ConstrainedImpersonation");
    let Some(wanted) = impersonation::take(&mut request.headers, constrained)? else { return Ok(user) };
    let (name, method);
    let attributes = match path {
        Some(path) => {
            name = name_asked_for(path, action, query);
            of_resource(&user, action, path, &name)
        }
        None => {
            method = request.method.as_str().to_ascii_lowercase();
            Attributes::non_resource(&user, &method, &request.path)
        }
    };
    api.impersonator.impersonate(&api.authorizer, wanted, &attributes, constrained).map(Arc::new).map_err(refusal)
}

fn authenticate(api: &Api, request: &mut Request) -> Result<Arc<UserInfo>, Status> {
    let started = Instant::now();
    let of_websocket = take_bearer_protocol(&mut request.headers).map_err(|_| Status::unauthorized())?;
    let authorization = request.headers.get(http::header::AUTHORIZATION).or(of_websocket.as_ref());
    let authorization = authorization.map(HeaderValue::as_bytes);
    let credentials =
        Credentials { authorization, client_certs: &request.client_certs, cert_cache: request.cert_cache.as_deref() };
    let user = api.authenticator.authenticate(credentials, SystemTime::now());
    api.metrics.access.authenticated(user.as_ref().ok().map(|user| &*user.name), started.elapsed());
    user.map_err(|_| Status::unauthorized())
}

/// # Errors
/// 403 for what no mode of authorization allows.
pub(crate) fn authorize(
    api: &Api,
    user: &UserInfo,
    action: &str,
    path: &ResourcePath,
    query: &Query,
) -> Result<(), Status> {
    decide(api, &of_resource(user, action, path, &name_asked_for(path, action, query)))
}

fn of_resource<'a>(user: &'a UserInfo, action: &'a str, path: &'a ResourcePath, name: &'a str) -> Attributes<'a> {
    Attributes {
        api_version: &path.version,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name,
        ..Attributes::resource(user, action, &path.group, &path.resource)
    }
}

/// The object that a request is about: a list or watch may be narrowed down to one by a field selector.
pub(crate) fn name_asked_for<'a>(path: &'a ResourcePath, action: &str, query: &Query) -> Cow<'a, str> {
    let selector = query.get("fieldSelector");
    if !path.name.is_empty() || selector.is_empty() || !matches!(action, "list" | "watch") {
        return Cow::Borrowed(&path.name);
    }
    let selector = FieldSelector::parse(selector).unwrap_or_default();
    let name = selector.exact_match("metadata.name").unwrap_or("");
    let is_segment = !matches!(name, "." | "..") && !name.contains(['/', '%']);
    Cow::Owned(if is_segment { name.to_owned() } else { String::new() })
}

/// # Errors
/// 403 for what no mode of authorization allows.
pub(crate) fn decide(api: &Api, attributes: &Attributes<'_>) -> Result<(), Status> {
    let started = Instant::now();
    let decision = api.authorizer.authorize(attributes);
    api.metrics.access.authorized(&decision, started.elapsed());
    if decision.is_allowed() {
        return Ok(());
    }
    Err(refusal(forbidden(attributes, &decision.reason())))
}

fn refusal(refused: Forbidden) -> Status {
    Status::new(403, "Forbidden", refused.message).with_details(Details {
        name: refused.name.to_string(),
        group: refused.group.to_string(),
        kind: refused.kind.to_string(),
        ..Details::default()
    })
}
