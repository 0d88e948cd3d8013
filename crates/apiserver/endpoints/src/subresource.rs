//! Subresources: a part of an object, its scale, or an action on it.

use crate::answer::{ApiResponse, warned};
use crate::context::Context;
use crate::decode::{self, Expected};
use crate::negotiation::{AllowedMediaTypes, MediaTypeOptions, ResponseKind};
use crate::query::write_options;
use crate::request::{Request, ResourcePath, Verb};
use crate::write::{self, read_body};
use crate::{binding, connect, patch, represent, scale};
use pintle_meta::meta::v1;
use pintle_registry::update::SubresourcePart;
use pintle_registry::{Result, Status, Target, WriteOptions, status};
use pintle_resource::{Action, Resource, Subresource};
use pintle_schema::label_selector::{Expression, LabelSelector};
use pintle_schema::{ApiType, Str, Value};
use std::sync::Arc;

/// A request for a subresource of an object.
#[derive(Clone, Copy)]
pub(crate) struct Call<'a> {
    pub context: &'a Context,
    pub target: &'a Target,
    pub subresource: &'a Subresource,
    pub wanted: MediaTypeOptions,
}

/// Answers a request for a subresource.
///
/// # Errors
/// What it does is refused.
pub async fn serve(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse> {
    let subresource = resource.subresource(&path.subresource).ok_or_else(Status::no_such_path)?;
    let namespace = if resource.namespaced { path.namespace.as_str() } else { "" };
    let target = context.api.registry.target(resource, namespace, &path.name).ok_or_else(Status::no_such_path)?;
    if let Action::Connect = subresource.action {
        return connect::serve(context, &target, subresource, path, request).await;
    }
    if verb == Verb::Patch {
        context.patch_type()?;
    }
    let wanted = context.negotiate(match subresource.action {
        Action::Binding | Action::Eviction | Action::Token => AllowedMediaTypes::Actions,
        _ => AllowedMediaTypes::Objects,
    })?;
    let call = Call { context, target: &target, subresource, wanted };
    match &subresource.action {
        Action::Part(rules) => {
            let part = Some(SubresourcePart { name: &subresource.name, rules });
            match verb {
                Verb::Get => crate::read::get(context, &target, wanted).await,
                Verb::Update => write::update(context, &target, wanted, request, part).await,
                _ => patch::patch(context, &target, wanted, request, part).await,
            }
        }
        Action::Scale(paths) => scale::serve(call, paths, verb, request).await,
        Action::Binding => {
            let (object, options, warnings) = body(call, request).await?;
            let bound = binding::bind(context, namespace, Some(&path.name), object, wanted, options.dry_run).await;
            warned(bound, warnings)
        }
        Action::Eviction => crate::eviction::evict(call, request).await,
        Action::Token => crate::token::create(call, request).await,
        Action::Connect => Err(Status::method_not_allowed()),
    }
}

/// The body of an action, decoded under the subresource's schema.
pub(crate) async fn body(call: Call<'_>, request: Request) -> Result<(Value, WriteOptions, Vec<String>)> {
    let Call { context, subresource, .. } = call;
    let query = write_options(&context.query, "CreateOptions", context.request.clone())?;
    let bytes = read_body(context, request.body).await?;
    let group_version = subresource.group_version.as_ref();
    let (group, version) = group_version.map_or(("", "v1"), |(group, version)| (group.as_str(), version.as_str()));
    let schema = subresource.schema.as_ref().ok_or_else(Status::method_not_allowed)?;
    // Evictions are taken in the version that older clients write, too.
    let also: &[&str] = if subresource.kind == "Eviction" { &["policy/v1beta1"] } else { &[] };
    let expected = Expected { group, version, kind: &subresource.kind, schema, also, malformed: None };
    let mut warnings = Vec::new();
    let object = decode::body(&expected, context.body_format()?, &bytes, query.field_validation, &mut warnings)?;
    Ok((object, query.options, warnings))
}

/// The selector that an object's field says; `None` when it is not valid.
pub(crate) fn label_selector(field: &v1::LabelSelector) -> Option<LabelSelector> {
    let values: Vec<Vec<Str>> =
        field.match_expressions.iter().map(|expression| expression.values.iter().map(Str::new).collect()).collect();
    let expressions = field.match_expressions.iter().zip(&values).map(|(expression, values)| Expression {
        key: &expression.key,
        operator: expression.operator.as_str(),
        values,
    });
    let labels = field.match_labels.iter().map(|(key, value)| (key.as_str(), value.as_str()));
    LabelSelector::from_parts(labels, expressions).ok()
}

/// What is answered where something was made to happen.
pub(crate) fn created(wanted: MediaTypeOptions) -> ApiResponse {
    let wanted = MediaTypeOptions { shape: ResponseKind::Object, ..wanted };
    let mut success = status::success(None);
    success.set_at(&["code"], 201);
    ApiResponse::new(201, wanted.format.content_type(), represent::encode(&success, v1::Status::schema(), wanted))
}
