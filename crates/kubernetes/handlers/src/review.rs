//! Reviews of access, tokens and the caller's own identity. Guarantees that nothing is stored. Must never copy a status
//! from the request.

mod selectors;

use crate::in_namespace;
use futures_util::future::{BoxFuture, FutureExt};
use pintle_auth::authorization::{Labels, aggregate};
use pintle_auth::{Attributes, Authorizer, UserInfo};
use pintle_endpoints::context::Context;
use pintle_endpoints::encoding::{self, AllowedMediaTypes};
use pintle_endpoints::handler::{Call, Handler};
use pintle_endpoints::query::write_options;
use pintle_endpoints::request::{Request, ResourcePath};
use pintle_endpoints::response::ApiResponse;
use pintle_endpoints::write::{decode_object, read_body};
use pintle_registry::{Environment, Result, Status, WriteOptions, metadata, prepare, set_type, track_posted};
use pintle_resource::Resource;
use pintle_schema::{ApiValue, Value, canonicalize, value};
use pintle_types::authentication::v1::{
    SelfSubjectReview, SelfSubjectReviewStatus, TokenReview, TokenReviewSpec, TokenReviewStatus, UserInfo as UserFacts,
};
use pintle_types::authorization::v1::{
    LocalSubjectAccessReview, NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview,
    SelfSubjectRulesReview, SubjectAccessReview, SubjectAccessReviewSpec, SubjectAccessReviewStatus,
};
use std::sync::Arc;
use std::time::SystemTime;

/// Handles a POST of a review of any kind.
pub struct Reviews;

impl Handler for Reviews {
    fn handle<'a>(&'a self, call: Call<'a>, request: Request) -> BoxFuture<'a, Result<ApiResponse>> {
        serve(call, request).boxed()
    }
}

async fn serve(call: Call<'_>, request: Request) -> Result<ApiResponse> {
    let Call { context, resource, path, .. } = call;
    let wanted = context.negotiate(AllowedMediaTypes::Actions)?;
    let query = write_options(&context.query, "CreateOptions", context.request.clone())?;
    let bytes = read_body(context, request.body).await?;
    let mut warnings = Vec::new();
    let mut object = decode_object(context, resource, &bytes, query.field_validation, &mut warnings)?;
    let outcome = complete(context, resource, path, &mut object, &query.options, &mut warnings).await;
    if let Err(status) = outcome {
        return Err(status.with_warnings(warnings));
    }
    let body = encoding::made(&object, &resource.kind, &resource.schema, wanted)?;
    let mut answer = ApiResponse::new(201, wanted.format.content_type(), body);
    answer.warnings = warnings;
    Ok(answer)
}

/// Completes the review with its status. Its metadata is treated as in other creates: fields that only the server sets
/// are removed, and managedFields are set.
async fn complete(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    object: &mut Value,
    options: &WriteOptions,
    warnings: &mut Vec<String>,
) -> Result<()> {
    for field in SET_BY_SERVERS {
        metadata::clear(object, field);
    }
    match resource.namespaced {
        true => in_namespace(object, &path.namespace)?,
        false => metadata::clear(object, "namespace"),
    }
    metadata::dedup_owners(object, false, warnings);
    let environment = context.api.registry.environment.as_ref();
    track_posted(&resource.schema, &resource.api_version(), "", object, options, environment);
    let check = |object: &mut Value| check(resource, object, environment);
    match context.api.registry.posted_target(resource, &path.namespace) {
        Some(target) => context.api.registry.admit_action(&target, "", object, options, warnings, &check).await?,
        None => check(object)?,
    }
    review(context, &resource.kind, object).await?;
    set_type(object, &resource.api_version(), &resource.kind);
    canonicalize(&resource.schema, object);
    Ok(())
}

/// Checks a review before admission validates it.
fn check(resource: &Resource, object: &Value, environment: &dyn Environment) -> Result<()> {
    if resource.group == "authorization.k8s.io" {
        prepare::validate_review(resource, object, environment)?;
    }
    match resource.kind.as_str() {
        "TokenReview" if object.str_at(&["spec", "token"]).is_empty() => {
            Err(Status::bad_request("token is required for TokenReview in authentication"))
        }
        "SelfSubjectRulesReview" if object.str_at(&["spec", "namespace"]).is_empty() => {
            Err(Status::bad_request("no namespace on request"))
        }
        _ => Ok(()),
    }
}

/// Metadata that clients cannot set.
const SET_BY_SERVERS: [&str; 5] =
    ["uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"];

async fn review(context: &Context, kind: &str, object: &mut Value) -> Result<()> {
    match kind {
        "SelfSubjectReview" => {
            let status = SelfSubjectReviewStatus { user_info: user_facts(context.user()) };
            // The response contains nothing of the request.
            *object = Value::map();
            metadata::set(object, "creationTimestamp", metadata::now_text(context.api.registry.environment.as_ref()));
            object.set_at(&[SelfSubjectReview::STATUS.name()], status.to_value());
        }
        "TokenReview" => {
            let TokenReview { spec, status: sent, .. } = shaped::<TokenReview>(object)?;
            let status = token_status(context, &spec, sent).await;
            object.set_at(&[TokenReview::STATUS.name()], status.to_value());
        }
        "SelfSubjectAccessReview" => {
            let review = shaped::<SelfSubjectAccessReview>(object)?;
            let spec = review.spec;
            let status =
                access(context, context.user(), spec.resource_attributes, spec.non_resource_attributes).await?;
            object.set_at(&[SelfSubjectAccessReview::STATUS.name()], status.to_value());
        }
        "SubjectAccessReview" => {
            let status = subject_access(context, shaped::<SubjectAccessReview>(object)?.spec).await?;
            object.set_at(&[SubjectAccessReview::STATUS.name()], status.to_value());
        }
        "LocalSubjectAccessReview" => {
            let status = subject_access(context, shaped::<LocalSubjectAccessReview>(object)?.spec).await?;
            object.set_at(&[LocalSubjectAccessReview::STATUS.name()], status.to_value());
        }
        "SelfSubjectRulesReview" => {
            let review = shaped::<SelfSubjectRulesReview>(object)?;
            *object = value!({"metadata": {}, "spec": {}});
            object.set_at(&[SelfSubjectRulesReview::STATUS.name()], rules(context, &review.spec.namespace).await);
        }
        _ => return Err(Status::method_not_allowed()),
    }
    Ok(())
}

fn shaped<T: ApiValue>(object: &Value) -> Result<T> {
    T::from_value(object).map_err(|error| Status::bad_request(error.to_string()))
}

fn user_facts(user: &UserInfo) -> UserFacts {
    UserFacts {
        username: user.name.to_string(),
        uid: user.uid.to_string(),
        groups: user.groups.iter().map(ToString::to_string).collect(),
        extra: user
            .extra
            .iter()
            .map(|(key, values)| {
                let items = values.iter().map(ToString::to_string).collect();
                (key.to_string(), pintle_types::authentication::v1::ExtraValue { items })
            })
            .collect(),
    }
}

/// Warnings about the token are for its holder, not for the reviewer.
/// The status of a review. What the client sent stays where there is nothing to say.
async fn token_status(context: &Context, spec: &TokenReviewSpec, sent: TokenReviewStatus) -> TokenReviewStatus {
    let audiences: Vec<_> = spec.audiences.iter().map(pintle_auth::Str::new).collect();
    match context.api.authenticator.review(&spec.token, &audiences, SystemTime::now()).await {
        Ok(identity) => TokenReviewStatus {
            authenticated: true,
            user: user_facts(&identity.user),
            audiences: identity.audiences.iter().map(ToString::to_string).collect(),
            ..sent
        },
        Err(error) => TokenReviewStatus { authenticated: false, error: error.to_string(), ..sent },
    }
}

fn texts(list: &[String]) -> Vec<pintle_auth::Str> {
    list.iter().map(|text| text.as_str().into()).collect()
}

async fn subject_access(context: &Context, spec: SubjectAccessReviewSpec) -> Result<SubjectAccessReviewStatus> {
    let user = UserInfo {
        name: spec.user.as_str().into(),
        uid: spec.uid.as_str().into(),
        groups: spec.groups.iter().map(|group| group.as_str().into()).collect(),
        extra: spec.extra.iter().map(|(key, values)| (key.as_str().into(), texts(&values.items))).collect(),
    };
    access(context, &user, spec.resource_attributes, spec.non_resource_attributes).await
}

async fn access(
    context: &Context,
    user: &UserInfo,
    resource: Option<ResourceAttributes>,
    path: Option<NonResourceAttributes>,
) -> Result<SubjectAccessReviewStatus> {
    let (resource, path) = match (resource, path) {
        (Some(_), Some(_)) | (None, None) => {
            return Err(Status::bad_request(
                "exactly one of nonResourceAttributes or resourceAttributes must be specified",
            ));
        }
        (resource, path) => (resource, path),
    };
    let fields = resource.as_ref().and_then(selectors::field_selector);
    let labels = resource.as_ref().and_then(selectors::label_selector);
    let attributes = match (&resource, &path) {
        (Some(asked), _) => Attributes {
            namespace: &asked.namespace,
            name: &asked.name,
            subresource: &asked.subresource,
            // An empty version stands for all versions.
            api_version: if asked.version.is_empty() { "*" } else { &asked.version },
            field_selector: fields.as_ref(),
            label_selector: labels.as_ref().map(Labels::Parsed),
            ..Attributes::resource(user, &asked.verb, &asked.group, &asked.resource)
        },
        (None, Some(asked)) => Attributes::non_resource(user, &asked.verb, &asked.path),
        (None, None) => return Err(Status::bad_request("nothing to review")),
    };
    let decision = context.api.authorizer.authorize(&attributes).get().await;
    let of_selectors = resource.as_ref().map(selectors::errors).filter(|errors| !errors.is_empty());
    let errors: Vec<String> = of_selectors.into_iter().chain(decision.error().map(ToString::to_string)).collect();
    Ok(SubjectAccessReviewStatus {
        allowed: decision.is_allowed(),
        denied: decision.is_denied(),
        reason: decision.reason(user),
        evaluation_error: if errors.len() > 1 { format!("[{}]", errors.join(", ")) } else { errors.concat() },
    })
}

/// The rules that the authorizers list for the caller in a namespace.
async fn rules(context: &Context, namespace: &str) -> Value {
    let texts = |items: &[pintle_auth::Str]| Value::List(items.iter().map(|item| Value::from(item.as_str())).collect());
    let rules = context.api.authorizer.rules_for(context.user(), namespace).get().await;
    let resource_rules = rules.resource_rules.iter().map(|rule| {
        let mut value = value!({
            "verbs": (texts(&rule.verbs)), "apiGroups": (texts(&rule.api_groups)), "resources": (texts(&rule.resources))
        });
        if !rule.resource_names.is_empty() {
            value.set_at(&["resourceNames"], texts(&rule.resource_names));
        }
        value
    });
    let other_rules = rules
        .non_resource_rules
        .iter()
        .map(|rule| value!({"verbs": (texts(&rule.verbs)), "nonResourceURLs": (texts(&rule.non_resource_urls))}));
    let mut status = value!({
        "resourceRules": (Value::List(resource_rules.collect())),
        "nonResourceRules": (Value::List(other_rules.collect())),
        "incomplete": (Value::Bool(rules.incomplete))
    });
    if !rules.errors.is_empty() {
        status.set_at(&["evaluationError"], aggregate(rules.errors.iter().map(String::as_str)));
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;
    use pintle_schema::gates::{GateSet, NO_GATES};

    struct Nowhere;

    impl Environment for Nowhere {
        fn now_unix(&self) -> i64 {
            0
        }

        fn random(&self, buffer: &mut [u8]) {
            buffer.fill(0);
        }

        fn gates(&self) -> &GateSet {
            &NO_GATES
        }
    }

    #[test]
    fn reviews_are_checked() {
        let find = |group: &str, plural: &str| pintle_groups::find(group, "v1", plural).expect("a known resource");
        let tokens = find("authentication.k8s.io", "tokenreviews");
        let rules = find("authorization.k8s.io", "selfsubjectrulesreviews");
        for (resource, review, expected) in [
            (tokens, value!({"spec": {"token": "t"}}), None),
            (tokens, value!({"spec": {}}), Some("token is required for TokenReview in authentication")),
            (rules, value!({"spec": {"namespace": "n"}}), None),
            (rules, value!({"spec": {}}), Some("no namespace on request")),
        ] {
            let refusal = check(resource, &review, &Nowhere).err().map(|status| status.message);
            assert_eq!(refusal.as_deref(), expected, "{review:?}");
        }
    }
}
