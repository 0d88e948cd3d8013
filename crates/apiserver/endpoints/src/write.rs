//! Create and update: from a body to the registry and back, and the common steps of all writes.

use crate::audit;
use crate::context::Context;
use crate::decode::{self, Expected};
use crate::encoding::{Converted, MediaTypeOptions, ObjectEncoder};
use crate::query::{FieldValidation, write_options};
use crate::read::include_object;
use crate::request::{LazyBody, Request};
use crate::response::ApiResponse;
use bytes::Bytes;
use pintle_registry::create::WITHOUT_NAMESPACE;
use pintle_registry::update::{Change, ManagedFieldsUpdate, SubresourcePart, Update};
use pintle_registry::{Result, Status, Target, Written, metadata};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::Value;

/// Reads a body. The request takes a slot only afterwards: a slow sender blocks no other request.
///
/// # Errors
/// 413 when it is too large, 504 when it is too slow, 400 when it breaks off, 429 when there is no room or no slot.
pub async fn read_body(context: &Context, body: LazyBody) -> Result<Bytes> {
    let in_flight = &context.in_flight;
    let body = match in_flight.body_room() {
        Ok(room) => body.whole(Box::new(room)).await,
        Err(failure) => Err(failure),
    };
    let bytes = in_flight.enter_with_body(body).await?;
    pintle_compute::expect_input(bytes.len()).await;
    Ok(bytes)
}

/// POST to a collection.
///
/// # Errors
/// The body or the object is rejected.
pub async fn create(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    request: Request,
) -> Result<ApiResponse> {
    // The media type of the body is checked before the body is read.
    context.object_format(&target.resource)?;
    let bytes = read_body(context, request.body).await?;
    let query = write_options(&context.query, "CreateOptions", context.request.clone())?;
    let mut warnings = Vec::new();
    let object = decode_object(context, &target.resource, &bytes, query.field_validation, &mut warnings)?;
    check_namespace(target, &object).map_err(|status| status.with_warnings(warnings.clone()))?;
    let written = context.api.registry.create(target, object, &query.options).await;
    answer(context, target, wanted, written, warnings).await
}

/// PUT of an object, or of the part of it that a subresource writes.
///
/// # Errors
/// The body or the object is rejected.
pub async fn update(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    request: Request,
    part: Option<SubresourcePart<'_>>,
) -> Result<ApiResponse> {
    let bytes = read_body(context, request.body).await?;
    let query = write_options(&context.query, "UpdateOptions", context.request.clone())?;
    let mut warnings = Vec::new();
    let object = decode_object(context, &target.resource, &bytes, query.field_validation, &mut warnings)?;
    check_namespace(target, &object)
        .and_then(|()| check_name(target, &object))
        .and_then(|()| check_in_namespace(target))
        .map_err(|status| status.with_warnings(warnings.clone()))?;
    let replacement = Replacement { context, target, object };
    let update =
        Update { change: &replacement, part, create: false, from_stored: false, owners: ManagedFieldsUpdate::Compute };
    let written = context.api.registry.update(target, &update, &query.options).await;
    answer(context, target, wanted, written, warnings).await
}

/// The change of a PUT: replaces any stored object by the one sent.
struct Replacement<'a> {
    context: &'a Context,
    target: &'a Target,
    object: Value,
}

impl Change for Replacement<'_> {
    fn apply<'a>(&'a self, _: Option<&'a Value>) -> MaybeReady<'a, Result<Value>> {
        MaybeReady::Ready(Ok(self.object.clone()))
    }

    fn authorize_create(&self) -> MaybeReady<'_, Result<()>> {
        self.context.may_create(self.target)
    }
}

/// The object in a body of the resource's own kind.
///
/// # Errors
/// The body is no such object.
pub fn decode_object(
    context: &Context,
    resource: &Resource,
    bytes: &[u8],
    validation: FieldValidation,
    warnings: &mut Vec<String>,
) -> Result<Value> {
    let expected = Expected {
        group: &resource.group,
        version: &resource.version,
        kind: &resource.kind,
        schema: &resource.schema,
        also: &[],
        malformed: resource.strategy.malformed,
        custom: resource.custom.as_deref(),
        scheme: &context.api.scheme,
    };
    let object = decode::body(&expected, context.object_format(resource)?, bytes, validation, warnings)?;
    audit::request_object(context, resource, &object);
    Ok(object)
}

/// The name in a body that replaces an object must be the path's.
pub(crate) fn check_name(target: &Target, object: &Value) -> Result<()> {
    match metadata::text(object, "name") {
        "" => Err(without_name(&target.name)),
        name if name != target.name => Err(Status::bad_request(format!(
            "the name of the object ({name}) does not match the name on the URL ({})",
            target.name
        ))),
        _ => Ok(()),
    }
}

/// Objects in namespaces are not replaced elsewhere.
fn check_in_namespace(target: &Target) -> Result<()> {
    match target.resource.namespaced && target.namespace.is_empty() {
        true => Err(Status::bad_request(WITHOUT_NAMESPACE)),
        false => Ok(()),
    }
}

/// The error for an object without a name, at the path of an object of that name.
pub(crate) fn without_name(name: &str) -> Status {
    Status::bad_request(format!(
        "the name of the object ({name} based on URL) was undeterminable: name must be provided"
    ))
}

/// Checks that the namespace of a body, if any, is that of the path. One without a name is not compared: the body's does not
/// count there.
///
/// # Errors
/// They differ.
pub fn check_namespace(target: &Target, object: &Value) -> Result<()> {
    let namespace = metadata::text(object, "namespace");
    if !target.resource.namespaced
        || [namespace, target.namespace.as_str()].contains(&"")
        || namespace == target.namespace
    {
        return Ok(());
    }
    Err(Status::bad_request("the namespace of the provided object does not match the namespace sent on the request"))
}

/// The response of a write, with its warnings.
///
/// # Errors
/// Those of the write.
pub async fn answer(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    written: Result<Written>,
    warnings: Vec<String>,
) -> Result<ApiResponse> {
    let written = with_more_warnings(written, warnings)?;
    let (registry, include_object) = (&context.api.registry, include_object(&context.query, wanted)?);
    let converted = &Converted::of(registry, target, std::slice::from_ref(&written.payload)).await?;
    let encoder = ObjectEncoder { registry, target, wanted, include_object, converted };
    let code = if written.created { 201 } else { 200 };
    let body = encoder.object(&written.payload)?;
    Ok(ApiResponse::new(code, wanted.format.content_type(), body).with_warnings(written.warnings))
}

/// Prepends warnings to the outcome of a write.
pub(crate) fn with_more_warnings(written: Result<Written>, mut warnings: Vec<String>) -> Result<Written> {
    match written {
        Ok(written) => {
            warnings.extend(written.warnings);
            Ok(Written { warnings, ..written })
        }
        Err(status) => Err(status.warned_before(warnings)),
    }
}
