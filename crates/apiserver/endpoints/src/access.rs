//! Authentication, impersonation and authorization of a request.
//!
//! Every decision is made here or by an authorizer; it never depends on the objects that the request is about.

use crate::query::Query;
use crate::request::{Request, ResourcePath, Verb};
use crate::{Api, impersonation};
use http::header::{AUTHORIZATION, HeaderMap, HeaderName, HeaderValue};
use pintle_auth::authentication::{self, bearer_token, has_space_before_token, is_front_proxy_header};
use pintle_auth::authorization::{AuthorizationError, Forbidden, Labels, forbidden};
use pintle_auth::{Attributes, AuthenticationRequest, Authenticator, Authorizer, Decision, UserInfo, groups};
use pintle_meta::gates;
use pintle_proxy::upgrade::take_bearer_protocol;
use pintle_registry::{Details, Identity, RequestContext, Status, Step};
use pintle_schema::field_selector::FieldSelector;
use pintle_schema::label_selector::LabelSelector;
use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

/// The user that sends the request.
///
/// # Errors
/// 401 for an invalid credential.
pub(crate) async fn authenticated(
    api: &Api,
    request: &mut Request,
    context: &RequestContext,
) -> Result<Arc<UserInfo>, Status> {
    let started = Instant::now();
    if request.headers.get(AUTHORIZATION).is_some_and(|header| has_space_before_token(header.as_bytes())) {
        context.warn(EXTRA_SPACE_WARNING);
    }
    let outcome = authenticate(api, request).await;
    context.spent(Step::Authentication, started);
    let authentication::Identity { user, warnings, .. } = outcome?;
    warnings.into_iter().for_each(|warning| context.warn(warning));
    Ok(user)
}

/// The user that sends the request, and the user that it acts as.
///
/// # Errors
/// 403 for an impersonation that is not allowed.
pub(crate) async fn identify(
    api: &Api,
    request: &mut Request,
    path: Option<&ResourcePath>,
    verb: Verb,
    query: &Query,
    context: &RequestContext,
    user: Arc<UserInfo>,
) -> Result<Identity, Status> {
    let constrained = api.registry.environment.gates().is_on(&gates::CONSTRAINED_IMPERSONATION);
    let Some(wanted) = impersonation::take(&mut request.headers, constrained).map_err(Status::without_sniffing)? else {
        return Ok(Identity { original: user.clone(), user });
    };
    let (name, method, selector);
    let attributes = match path {
        Some(path) => {
            name = requested_name(path, verb, query);
            selector = field_selector(path, verb, query);
            resource_attributes(&user, verb, path, &name, selector.as_ref(), label_selector(path, verb, query))
        }
        None => {
            method = request.method.as_str().to_ascii_lowercase();
            Attributes::non_resource(&user, &method, &request.path)
        }
    };
    // Boxed, as few requests impersonate.
    let outcome = Box::pin(api.impersonator.impersonate(&api.authorizer, wanted, &attributes, constrained)).await;
    let (acted_as, mode) = outcome.map_err(forbidden_status)?;
    let acted_as = Arc::new(acted_as);
    if let Some(record) = context.audit() {
        let constraint = if mode.is_empty() { String::new() } else { format!("impersonate:{mode}") };
        record.impersonated(acted_as.clone(), constraint);
    }
    Ok(Identity { original: user, user: acted_as })
}

/// The warning for an `Authorization` header whose bearer token is ignored.
const EXTRA_SPACE_WARNING: &str =
    "the provided Authorization header contains extra space before the bearer token, and is ignored";

async fn authenticate(api: &Api, request: &mut Request) -> Result<authentication::Identity, Status> {
    let started = Instant::now();
    let of_websocket = take_bearer_protocol(&mut request.headers);
    let of_header = request.headers.get(AUTHORIZATION).map(HeaderValue::as_bytes);
    let bearer_token = match &of_websocket {
        _ if of_header.is_some() => of_header.and_then(bearer_token),
        Ok(header) => header.as_ref().and_then(|header| bearer_token(header.as_bytes())),
        // No authenticator accepts an empty token.
        Err(_) => Some(&[][..]),
    };
    let outcome = api
        .authenticator
        .authenticate(&AuthenticationRequest {
            headers: &request.headers,
            bearer_token,
            client_certs: &request.client_certs,
            cert_cache: request.cert_cache.as_deref(),
            audiences: &api.authenticator.audiences,
            path: &request.path,
            now: SystemTime::now(),
        })
        .await;
    let name = outcome.as_ref().ok().map(|identity| &*identity.user.name);
    api.metrics.access.authenticated(name, started.elapsed());
    remove_identity_headers(api, &mut request.headers);
    let is_in = |identity: &authentication::Identity| identity.user.in_group(groups::UNAUTHENTICATED);
    request.is_unauthenticated = outcome.as_ref().map_or(true, is_in);
    outcome.map_err(|_| Status::unauthorized())
}

/// Removes the headers of identities, so that no backend trusts them.
fn remove_identity_headers(api: &Api, headers: &mut HeaderMap) {
    let is_consumed = |name: &&HeaderName| {
        is_front_proxy_header(name.as_str()) || api.authenticator.authenticators.consumes_header(name.as_str())
    };
    let names: Vec<HeaderName> = headers.keys().filter(is_consumed).cloned().collect();
    names.iter().for_each(|name| drop(headers.remove(name)));
}

/// Why a request is not authorized.
pub enum NotAllowed {
    /// It is forbidden.
    Forbidden(Status),
    /// No authorizer allows it, and one of them failed.
    Failed(AuthorizationError),
}

impl NotAllowed {
    /// The Status for a step after the request's own authorization.
    pub fn into_status(self) -> Status {
        match self {
            NotAllowed::Forbidden(status) => Status { no_sniffing: false, ..status },
            NotAllowed::Failed(error) => Status::internal(error),
        }
    }
}

/// # Errors
/// No authorizer allows the request.
pub async fn authorize(
    api: &Api,
    context: &RequestContext,
    user: &UserInfo,
    verb: Verb,
    path: &ResourcePath,
    query: &Query,
) -> Result<(), NotAllowed> {
    let selector = field_selector(path, verb, query);
    let (name, labels) = (requested_name(path, verb, query), label_selector(path, verb, query));
    decide_request(api, context, &resource_attributes(user, verb, path, &name, selector.as_ref(), labels)).await
}

/// The selector of a collection; a malformed one selects everything.
fn field_selector(path: &ResourcePath, verb: Verb, query: &Query) -> Option<FieldSelector> {
    let selector = query.get("fieldSelector");
    let of_collection = may_select(path, verb) && !selector.is_empty();
    of_collection.then(|| FieldSelector::parse(selector).ok()).flatten()
}

/// The label selector of a collection.
fn label_selector<'a>(path: &ResourcePath, verb: Verb, query: &'a Query) -> Option<Labels<'a>> {
    let selector = query.get("labelSelector");
    (may_select(path, verb) && !selector.is_empty()).then_some(Labels::Text(selector))
}

/// Whether authorizers are shown selectors. A legacy watch may be one of a single object, which ignores them.
fn may_select(path: &ResourcePath, verb: Verb) -> bool {
    !path.legacy_watch && matches!(verb, Verb::List | Verb::Watch | Verb::DeleteCollection)
}

fn resource_attributes<'a>(
    user: &'a UserInfo,
    verb: Verb,
    path: &'a ResourcePath,
    name: &'a str,
    field_selector: Option<&'a FieldSelector>,
    label_selector: Option<Labels<'a>>,
) -> Attributes<'a> {
    Attributes {
        api_version: &path.version,
        subresource: &path.subresource,
        namespace: &path.namespace,
        name,
        field_selector,
        label_selector,
        ..Attributes::resource(user, verb.name(), &path.group, &path.resource)
    }
}

/// The name of the object that a request is about: a field selector may select a single one for a list or watch, unless another
/// parameter is malformed.
pub(crate) fn requested_name<'a>(path: &'a ResourcePath, verb: Verb, query: &Query) -> Cow<'a, str> {
    let selector = query.get("fieldSelector");
    let may_name = !path.legacy_watch && matches!(verb, Verb::List | Verb::Watch);
    if !path.name.is_empty() || selector.is_empty() || !may_name || !is_decodable(query) {
        return Cow::Borrowed(&path.name);
    }
    let selector = FieldSelector::parse(selector).unwrap_or_default();
    let name = selector.exact_match("metadata.name").unwrap_or("");
    let is_segment = !matches!(name, "." | "..") && !name.contains(['/', '%']);
    Cow::Owned(if is_segment { name.to_owned() } else { String::new() })
}

/// Whether the parameters of a list that are not texts can be read.
fn is_decodable(query: &Query) -> bool {
    let labels = query.get("labelSelector");
    query.integer("limit").is_ok()
        && query.integer("timeoutSeconds").is_ok()
        && (labels.is_empty() || LabelSelector::parse(labels).is_ok())
}

/// Decides about a whole request, and notes it for audit.
///
/// # Errors
/// No authorizer allows the request.
pub(crate) async fn decide_request(
    api: &Api,
    context: &RequestContext,
    attributes: &Attributes<'_>,
) -> Result<(), NotAllowed> {
    let started = Instant::now();
    let decision = api.authorizer.authorize(attributes).get().await;
    if context.audit().is_some() {
        let reason = match decision.error() {
            Some(_) if !decision.is_allowed() => "internal error".to_owned(),
            _ => {
                let word = if decision.is_allowed() { "allow" } else { "forbid" };
                context.annotate("authorization.k8s.io/decision", word);
                decision.reason(attributes.user)
            }
        };
        context.annotate("authorization.k8s.io/reason", reason);
    }
    check_decision(api, attributes, &decision, started)
}

/// # Errors
/// No authorizer allows the request.
pub(crate) async fn decide(api: &Api, attributes: &Attributes<'_>) -> Result<(), NotAllowed> {
    let started = Instant::now();
    let decision = api.authorizer.authorize(attributes).get().await;
    check_decision(api, attributes, &decision, started)
}

/// Counts a decision.
///
/// # Errors
/// It does not allow the request.
pub(crate) fn check_decision(
    api: &Api,
    attributes: &Attributes<'_>,
    decision: &Decision,
    started: Instant,
) -> Result<(), NotAllowed> {
    api.metrics.access.authorized(decision, started.elapsed());
    if decision.is_allowed() {
        return Ok(());
    }
    Err(match decision.error() {
        Some(error) => NotAllowed::Failed(error.clone()),
        None => NotAllowed::Forbidden(forbidden_status(forbidden(attributes, &decision.reason(attributes.user)))),
    })
}

fn forbidden_status(refused: Forbidden) -> Status {
    let details = Details {
        name: refused.name.to_string(),
        group: refused.group.to_string(),
        kind: refused.kind.to_string(),
        ..Details::default()
    };
    Status::new(403, "Forbidden", refused.message).with_details(details).without_sniffing()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::request::parse_path;
    use http::Method;

    #[test]
    fn a_selector_names_an_object_only_of_well_formed_lists() {
        let rows = [
            ("/api/v1/pods", "fieldSelector=metadata.name%3Dx", "x", true),
            ("/api/v1/pods", "fieldSelector=metadata.name%3Dx&watch=1", "x", true),
            ("/api/v1/pods", "fieldSelector=metadata.name%3Dx&limit=a", "", true),
            ("/api/v1/pods", "fieldSelector=metadata.name%3Dx&timeoutSeconds=a", "", true),
            ("/api/v1/pods", "fieldSelector=metadata.name%3Dx&labelSelector=a+in", "", true),
            ("/api/v1/pods", "fieldSelector=metadata.name%3Da/b", "", true),
            ("/api/v1/watch/pods", "fieldSelector=metadata.name%3Dx", "", false),
        ];
        for (path, query, name, is_shown) in rows {
            let (path, query) = (parse_path(path).expect("a path"), Query::parse(query));
            let verb = Verb::of(&Method::GET, &path, &query);
            assert_eq!(requested_name(&path, verb, &query), name, "{query:?}");
            assert_eq!(field_selector(&path, verb, &query).is_some(), is_shown, "{query:?}");
        }
    }
}
