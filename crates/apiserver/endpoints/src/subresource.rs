//! Subresources: a part of an object, its scale, or an action on it.

use crate::audit;
use crate::context::Context;
use crate::decode::{self, Expected};
use crate::encoding::{AllowedMediaTypes, MediaTypeOptions, ResponseKind};
use crate::handler::{self, Call};
use crate::query::write_options;
use crate::request::{Request, Verb};
use crate::response::ApiResponse;
use crate::scale::ScaleCall;
use crate::write::{self, read_body};
use crate::{encoding, patch, scale};
use pintle_meta::meta::v1;
use pintle_registry::update::SubresourcePart;
use pintle_registry::{Result, Status, WriteOptions, status};
use pintle_resource::{Action, Subresource};
use pintle_schema::{ApiType, Value};

/// Serves a request for a subresource.
///
/// # Errors
/// The request is rejected.
pub async fn serve(call: Call<'_>, request: Request) -> Result<ApiResponse> {
    let Call { context, verb, .. } = call;
    let subresource = call.subresource()?;
    let target = call.target()?;
    if let Action::Handler | Action::Connect = subresource.action {
        return handler::serve(call, request).await;
    }
    if verb == Verb::Patch {
        context.patch_type(&target.resource)?;
    }
    let wanted = context.negotiate_of(&target.resource, AllowedMediaTypes::Objects)?;
    match &subresource.action {
        Action::Part(rules) => {
            let part = Some(SubresourcePart { name: &subresource.name, rules });
            match verb {
                Verb::Get => crate::read::get(context, &target, wanted).await,
                Verb::Update => write::update(context, &target, wanted, request, part).await,
                _ => patch::patch(context, &target, wanted, request, part).await,
            }
        }
        Action::Scale(paths) => {
            let scaled = ScaleCall { context, target: &target, subresource, wanted };
            scale::serve(scaled, paths, verb, request).await
        }
        Action::Handler | Action::Connect => Err(Status::method_not_allowed()),
    }
}

/// The body of a POST to a subresource, decoded under the subresource's schema. It may be of one of `also`, versions of the
/// same shape.
///
/// # Errors
/// The body is rejected.
pub async fn body(
    context: &Context,
    subresource: &Subresource,
    also: &'static [&'static str],
    request: Request,
) -> Result<(Value, WriteOptions, Vec<String>)> {
    let query = write_options(&context.query, "CreateOptions", context.request.clone())?;
    let bytes = read_body(context, request.body).await?;
    let group_version = subresource.group_version.as_ref();
    let (group, version) = group_version.map_or(("", "v1"), |(group, version)| (group.as_str(), version.as_str()));
    let schema = subresource.schema.as_ref().ok_or_else(Status::method_not_allowed)?;
    let scheme = &context.api.scheme;
    let expected =
        Expected { group, version, kind: &subresource.kind, schema, also, malformed: None, custom: None, scheme };
    let mut warnings = Vec::new();
    let object = decode::body(&expected, context.body_format()?, &bytes, query.field_validation, &mut warnings)?;
    audit::request_body(context, schema, &expected.api_version(), &subresource.kind, &object);
    Ok((object, query.options, warnings))
}

/// The success response to an action.
pub fn created(wanted: MediaTypeOptions) -> ApiResponse {
    let wanted = MediaTypeOptions { shape: ResponseKind::Object, ..wanted };
    let mut success = status::success(None);
    success.set_at(&["code"], 201);
    ApiResponse::new(201, wanted.format.content_type(), encoding::encode(&success, v1::Status::schema(), wanted))
}
