//! TokenRequest: validates and completes a request, and signs a token for a service account.
//!
//! Nothing is stored, so a dry run returns a token as well. A token must never be bound to an object outside the
//! account's namespace.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_endpoints::audit;
use pintle_endpoints::context::Context;
use pintle_endpoints::encoding::{self, AllowedMediaTypes};
use pintle_endpoints::handler::{Call, Handler};
use pintle_endpoints::request::Request;
use pintle_endpoints::response::ApiResponse;
use pintle_endpoints::subresource::body;
use pintle_endpoints::write::check_namespace;
use pintle_gates as gates;
use pintle_kubernetes_auth::service_account::{Claims, ObjectRef, ServiceAccountTokens, TokenContent};
use pintle_registry::environment::new_uid;
use pintle_registry::{
    AdmissionRequest, Charges, Details, Operation, Result, Status, Target, WriteOptions, metadata, set_type,
    track_posted,
};
use pintle_resource::MaybeReady;
use pintle_schema::{ApiType, ApiValue, Time, Value, View, canonicalize};
use pintle_types::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec, TokenRequestStatus};
use pintle_types::core::v1::{Pod, PodSpec};
use pintle_validation::ErrorList;
use std::sync::Arc;

const GROUP: &str = "authentication.k8s.io";
const API_VERSION: &str = "authentication.k8s.io/v1";
const KIND: &str = "TokenRequest";

/// The minimum lifetime of a token.
const MIN_EXPIRATION_SECONDS: i64 = 600;
/// The maximum lifetime.
const MAX_EXPIRATION_SECONDS: i64 = 1 << 32;
/// The lifetime that kubelets request for pods whose clients may not reload tokens. Its unusual value identifies such
/// requests.
const EXTENDABLE_EXPIRATION_SECONDS: i64 = 3607;

/// Handles a POST of a TokenRequest to a service account.
pub struct TokenRequests(pub Arc<ServiceAccountTokens>);

impl Handler for TokenRequests {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        create(&self.0, call, request).boxed()
    }
}

/// Handles a POST of a TokenRequest.
///
/// # Errors
/// The body is invalid, or the account or the bound object does not exist or has another uid.
async fn create(tokens: &ServiceAccountTokens, call: Call<'_>, request: Request) -> Result<ApiResponse> {
    let target = call.target()?;
    let wanted = call.context.negotiate(AllowedMediaTypes::Actions)?;
    let (mut object, options, mut warnings) = body(call.context, call.subresource()?, &[], request).await?;
    let now = call.context.api.registry.environment.now_unix();
    target.resource.defaults.apply(TokenRequest::schema(), &mut object, now);
    // The audit log shows the request with its defaults.
    audit::request_body(call.context, TokenRequest::schema(), API_VERSION, KIND, &object);
    if let Err(status) = complete(tokens, call, &target, &mut object, &options, &mut warnings).await {
        return Err(status.with_warnings(warnings));
    }
    set_type(&mut object, API_VERSION, KIND);
    canonicalize(TokenRequest::schema(), &mut object);
    let bytes = encoding::made(&object, "TokenRequest", TokenRequest::schema(), wanted)?;
    Ok(ApiResponse::new(201, wanted.format.content_type(), bytes).with_warnings(warnings))
}

/// Completes the request with its status.
async fn complete(
    tokens: &ServiceAccountTokens,
    call: Call<'_>,
    target: &Target,
    object: &mut Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<()> {
    let Call { context, path, .. } = call;
    let registry = &context.api.registry;
    let environment = registry.environment.as_ref();
    check_namespace(target, object)?;
    metadata::set(object, "namespace", target.namespace.as_str());
    metadata::dedup_owners(object, false, warnings);
    track_posted(TokenRequest::schema(), API_VERSION, "token", object, options, environment);
    registry.check_namespace(target, &target.name)?;
    let charges = Charges::default();
    let request = AdmissionRequest::new(registry, target, &path.subresource, Operation::Create, options, &charges);
    registry.admission.mutate(&request, object, warnings).await?;
    metadata::dedup_owners(object, true, warnings);
    let name = metadata::text(object, "name");
    if !name.is_empty() && name != target.name {
        let mut errors = ErrorList::default();
        errors.invalid("metadata.name", name, "must match the service account name if specified");
        return Err(Status::invalid(GROUP, KIND, &target.name, &errors));
    }
    let account = target.get()?;
    let uid = metadata::text(object, "uid");
    if !uid.is_empty() && uid != account.encoded.uid() {
        let own = account.encoded.uid();
        let why = format!("the UID in the token request ({uid}) does not match the UID of the service account ({own})");
        if environment.gates().is_on(&gates::TOKEN_REQUEST_SERVICE_ACCOUNT_UID_VALIDATION) {
            return Err(conflict(GROUP, KIND, &target.name, &why));
        }
        warnings.push(format!(
            "{why} but TokenRequestServiceAccountUIDValidation is not enabled. In the future, this will return a conflict error"
        ));
    } else {
        metadata::set(object, "uid", account.encoded.uid());
    }
    metadata::set(object, "name", target.name.as_str());
    metadata::set(object, "namespace", target.namespace.as_str());
    metadata::set(object, "creationTimestamp", metadata::now_text(environment));
    let mut spec = TokenRequest::from_value(object).map_err(|error| Status::bad_request(error.to_string()))?.spec;
    let config = tokens.config();
    if spec.audiences.is_empty() {
        spec.audiences = config.audiences.iter().map(ToString::to_string).collect();
    }
    let mut seconds = spec.expiration_seconds.unwrap_or(0);
    check_expiration(seconds)?;
    // Validating plugins see the request as it will be granted.
    object.set_at(&[TokenRequest::SPEC.name()], spec.to_value());
    object.remove_at(&[TokenRequest::STATUS.name()]);
    canonicalize(TokenRequest::schema(), object);
    registry.admission.validate(&request, object, warnings).await?;
    let mut claims = Claims {
        namespace: target.namespace.as_str().into(),
        service_account: ObjectRef { name: target.name.as_str().into(), uid: account.encoded.uid().into() },
        ..Claims::default()
    };
    if let Some(reference) = &spec.bound_object_ref {
        bind(context, target, reference, config.content, &mut claims)?;
    }
    let longest = config.max_expiration_seconds;
    if longest > 0 && seconds > longest {
        warnings.push(format!("requested expiration of {seconds} seconds shortened to {longest} seconds"));
        seconds = longest;
        spec.expiration_seconds = Some(longest);
    }
    let now = environment.now_unix();
    let id = if config.content.id { new_uid(environment) } else { String::new() };
    let token = sign(tokens, claims, &spec, seconds, now, id.clone()).get().await;
    let token = token.map_err(|error| Status::internal(format!("failed to generate token: {error}")))?;
    if !id.is_empty() {
        context.request.annotate("authentication.kubernetes.io/issued-credential-id", format!("JTI={id}"));
    }
    let status = TokenRequestStatus { token, expiration_timestamp: Time::from_seconds(now.saturating_add(seconds)) };
    object.set_at(&[TokenRequest::SPEC.name()], spec.to_value());
    object.set_at(&[TokenRequest::STATUS.name()], status.to_value());
    Ok(())
}

fn check_expiration(seconds: i64) -> Result<()> {
    let why = match seconds {
        ..MIN_EXPIRATION_SECONDS => "may not specify a duration less than 10 minutes",
        MIN_EXPIRATION_SECONDS..=MAX_EXPIRATION_SECONDS => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let mut errors = ErrorList::default();
    errors.invalid("spec.expirationSeconds", seconds, why);
    Err(Status::invalid(GROUP, KIND, "", &errors))
}

/// Finds the object that the token is bound to and adds it to the claims.
fn bind(
    context: &Context,
    account: &Target,
    reference: &BoundObjectReference,
    content: TokenContent,
    claims: &mut Claims,
) -> Result<()> {
    let registry = &context.api.registry;
    let (group, version) = match reference.api_version.split_once('/') {
        // A version with too many parts is ignored.
        Some((_, version)) if version.contains('/') => ("", ""),
        Some(parts) => parts,
        None => ("", reference.api_version.as_str()),
    };
    let find = |plural: &str, namespace: &str, name: &str| registry.target_of(["", "v1", plural], namespace, name);
    let (plural, namespace) = match (group, reference.kind.as_str()) {
        ("", "Pod") => ("pods", account.namespace.as_str()),
        ("", "Secret") => ("secrets", account.namespace.as_str()),
        ("", "Node") if !content.bound_to_nodes => {
            let gate = gates::SERVICE_ACCOUNT_TOKEN_NODE_BINDING.name();
            let message = format!("cannot bind token to a Node object as the {gate:?} feature-gate is disabled");
            return Err(Status::bad_request(message));
        }
        ("", "Node") => ("nodes", ""),
        (_, kind) => {
            let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
            return Err(Status::bad_request(message));
        }
    };
    if reference.name.is_empty() {
        return Err(Status::bad_request("Name parameter required."));
    }
    let target = find(plural, namespace, &reference.name).ok_or_else(Status::no_such_path)?;
    let found = target.get()?;
    let uid = found.encoded.uid();
    let object = Some(ObjectRef { name: reference.name.as_str().into(), uid: uid.into() });
    match plural {
        "pods" => {
            let pod = registry.decode(&target, &found)?;
            let spec = View::<Pod>::new(&pod).field(Pod::SPEC);
            if spec.field(PodSpec::SERVICE_ACCOUNT_NAME).get() != account.name {
                return Err(Status::bad_request(format!(
                    "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
                    account.name
                )));
            }
            let node = spec.field(PodSpec::NODE_NAME).get();
            if !node.is_empty() && content.node_of_pod {
                // The pod may name a node that does not exist.
                let there = find("nodes", "", &node).and_then(|target| target.get().ok());
                let uid = there.map(|node| node.encoded.uid().into()).unwrap_or_default();
                claims.node = Some(ObjectRef { name: node.as_str().into(), uid });
            }
            claims.pod = object;
        }
        "secrets" => claims.secret = object,
        _ => claims.node = object,
    }
    if !reference.uid.is_empty() && reference.uid != uid {
        let why = format!(
            "the UID in the bound object reference ({}) does not match the UID in record. The object might have been \
             deleted and then recreated",
            reference.uid
        );
        return Err(conflict("", &reference.kind, &reference.name, &why));
    }
    Ok(())
}

/// Fills in the claims that every token has, and signs it.
fn sign<'a>(
    tokens: &'a ServiceAccountTokens,
    claims: Claims,
    spec: &TokenRequestSpec,
    seconds: i64,
    now: i64,
    id: String,
) -> MaybeReady<'a, std::result::Result<String, String>> {
    let config = tokens.config();
    let for_this_server =
        spec.audiences.iter().all(|audience| config.audiences.iter().any(|own| own == audience.as_str()));
    let extended =
        config.extend_expiration && claims.pod.is_some() && seconds == EXTENDABLE_EXPIRATION_SECONDS && for_this_server;
    let lives = if extended { config.extended_expiration_seconds } else { seconds };
    tokens.issue(Claims {
        audiences: spec.audiences.iter().map(|audience| audience.as_str().into()).collect(),
        expires: Some(now.saturating_add(lives)),
        issued: Some(now),
        not_before: Some(now),
        id: id.into(),
        subject: pintle_auth::users::service_account(&claims.namespace, &claims.service_account.name),
        warn_after: extended.then(|| now.saturating_add(seconds)),
        ..claims
    })
}

/// kube-apiserver uses the kind where other conflicts have the resource.
fn conflict(group: &str, kind: &str, name: &str, why: &str) -> Status {
    let subject = Details { name: name.into(), group: group.into(), kind: kind.into(), ..Details::default() };
    Status::conflict_of(subject, why)
}
