//! Who a request comes from, as whom it goes on, and whether it may.
//!
//! Every answer about rights is given here or by the authorizer itself; it never depends on what is stored under a name.

use crate::query::Query;
use crate::request::{Request, ResourcePath, Verb};
use crate::upgrade::take_bearer_protocol;
use crate::{Api, impersonation};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use pintle_auth::authentication::{Findings, is_of_front_proxies};
use pintle_auth::authorization::{Forbidden, forbidden};
use pintle_auth::{Attributes, Credentials, UserInfo, groups};
use pintle_registry::{Details, Identity, RequestContext, Status, Step};
use pintle_schema::field_selector::FieldSelector;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// Who the request is answered for: whose credential it shows, or who that one wants to be taken for.
///
/// # Errors
/// 401 for a credential that is no good, 403 for acting as somebody whom the user may not be taken for.
pub(crate) async fn identify(
    api: &Api,
    request: &mut Request,
    path: Option<&ResourcePath>,
    verb: Verb,
    query: &Query,
    context: &RequestContext,
) -> Result<Identity, Status> {
    let started = Instant::now();
    let mut findings = Findings::default();
    let user = authenticate(api, request, &mut findings);
    if let Some(used) = findings.used_secret.take() {
        api.token_uses.record(api, used).await;
    }
    findings.warnings.into_iter().for_each(|warning| context.warn(warning));
    context.spent(Step::Authentication, started);
    let user = user?;
    let constrained = api.registry.environment.feature_enabled("ConstrainedImpersonation");
    let Some(wanted) = impersonation::take(&mut request.headers, constrained)? else {
        return Ok(Identity { original: user.clone(), user });
    };
    let (name, method, selector);
    let attributes = match path {
        Some(path) => {
            name = name_asked_for(path, verb, query);
            selector = field_selector(verb, query);
            of_resource(&user, verb, path, &name, selector.as_ref())
        }
        None => {
            method = request.method.as_str().to_ascii_lowercase();
            Attributes::non_resource(&user, &method, &request.path)
        }
    };
    let acted_as = api.impersonator.impersonate(&api.authorizer, wanted, &attributes, constrained).map_err(refusal)?;
    Ok(Identity { original: user, user: Arc::new(acted_as) })
}

fn authenticate(api: &Api, request: &mut Request, findings: &mut Findings) -> Result<Arc<UserInfo>, Status> {
    let started = Instant::now();
    let user = match front_proxys(api, request) {
        Some(user) => Ok(Arc::new(user)),
        None => {
            let of_websocket = take_bearer_protocol(&mut request.headers).map_err(|_| Status::unauthorized())?;
            let authorization = request.headers.get(http::header::AUTHORIZATION).or(of_websocket.as_ref());
            let credentials = Credentials {
                authorization: authorization.map(HeaderValue::as_bytes),
                client_certs: &request.client_certs,
                cert_cache: request.cert_cache.as_deref(),
            };
            api.authenticator.authenticate(credentials, SystemTime::now(), findings)
        }
    };
    api.metrics.access.authenticated(user.as_ref().ok().map(|user| &*user.name), started.elapsed());
    drop_front_proxys(api, &mut request.headers);
    request.is_unauthenticated = user.as_ref().map_or(true, |user| user.in_group(groups::UNAUTHENTICATED));
    user.map_err(|_| Status::unauthorized())
}

/// Whom the front proxy says that a request comes from.
fn front_proxys(api: &Api, request: &Request) -> Option<UserInfo> {
    let proxy = api.authenticator.front_proxy.as_ref()?;
    let headers = request.headers.iter();
    let headers: Vec<_> =
        headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes()))).collect();
    let shown = Credentials {
        authorization: None,
        client_certs: &request.client_certs,
        cert_cache: request.cert_cache.as_deref(),
    };
    proxy.user(shown, &headers, SystemTime::now())
}

/// Who a request comes from is known now: nobody behind this server is told otherwise.
fn drop_front_proxys(api: &Api, headers: &mut HeaderMap) {
    let own = api.authenticator.front_proxy.as_ref().map(|proxy| &proxy.headers);
    let is_one = |name: &&HeaderName| {
        is_of_front_proxies(name.as_str()) || own.is_some_and(|headers| headers.contain(name.as_str()))
    };
    let names: Vec<HeaderName> = headers.keys().filter(is_one).cloned().collect();
    names.iter().for_each(|name| drop(headers.remove(name)));
}

/// # Errors
/// 403 for what no mode of authorization allows.
pub fn authorize(api: &Api, user: &UserInfo, verb: Verb, path: &ResourcePath, query: &Query) -> Result<(), Status> {
    let selector = field_selector(verb, query);
    decide(api, &of_resource(user, verb, path, &name_asked_for(path, verb, query), selector.as_ref()))
}

/// Which objects of a collection are asked for; what cannot be read narrows nothing.
fn field_selector(verb: Verb, query: &Query) -> Option<FieldSelector> {
    let selector = query.get("fieldSelector");
    let of_collection = matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection) && !selector.is_empty();
    of_collection.then(|| FieldSelector::parse(selector).ok()).flatten()
}

fn of_resource<'a>(
    user: &'a UserInfo,
    verb: Verb,
    path: &'a ResourcePath,
    name: &'a str,
    field_selector: Option<&'a FieldSelector>,
) -> Attributes<'a> {
    Attributes {
        api_version: &path.version,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name,
        field_selector,
        ..Attributes::resource(user, verb.name(), &path.group, &path.resource)
    }
}

/// The object that a request is about: a list or watch may be narrowed down to one by a field selector.
pub(crate) fn name_asked_for<'a>(path: &'a ResourcePath, verb: Verb, query: &Query) -> Cow<'a, str> {
    let selector = query.get("fieldSelector");
    if !path.name.is_empty() || selector.is_empty() || !matches!(verb, Verb::List | Verb::Watch) {
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
