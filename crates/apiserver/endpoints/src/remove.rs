//! Delete and deletecollection.

use crate::audit;
use crate::context::Context;
use crate::encoding::{self, Converted, Format, ListEncoder, MediaTypeOptions, ObjectEncoder, ResponseKind};
use crate::query::{ListQuery, delete_options, delete_options_from_body, list_options};
use crate::read::include_object;
use crate::request::Request;
use crate::response::{ApiResponse, attach_warnings};
use crate::scheme;
use crate::write::read_body;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use pintle_auth::{Attributes, Authorizer};
use pintle_cache::Object;
use pintle_codec::{Strictness, cbor, json, protobuf, yaml};
use pintle_meta::gates;
use pintle_meta::meta::v1;
use pintle_registry::delete::Deleted;
use pintle_registry::unreadable::{UNSAFE_DELETION_OPTION, UNSAFE_DELETION_VERB};
use pintle_registry::{DeleteOptions, Result, Selection, Status, Target, status};
use pintle_schema::{ApiType, Value};
use pintle_validation::ErrorList;
use std::sync::Arc;

/// DELETE of one object.
///
/// # Errors
/// The options are wrong, there is no such object, or a precondition does not hold.
pub async fn delete(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    request: Request,
) -> Result<ApiResponse> {
    let options = options(context, request).await?;
    let registry = &context.api.registry;
    let (undeletable, why) = target.resource.strategy.undeletable;
    if undeletable.contains(&target.name.as_str()) {
        return Err(Status::forbidden(&target.resource, &target.name, why));
    }
    if options.ignore_read_error {
        authorize_unsafe(context, target).await?;
        registry.delete_unreadable(target).await?;
        let kind = target.resource.kind.to_string();
        let details = pintle_registry::Details { name: target.name.clone(), kind, ..Default::default() };
        let mut status = status::success(Some(&details));
        status.set_at(&["code"], 200);
        let wanted = MediaTypeOptions { shape: ResponseKind::Object, ..wanted };
        let body = encoding::encode(&status, v1::Status::schema(), wanted);
        return Ok(ApiResponse::new(200, wanted.format.content_type(), body));
    }
    let warnings = orphan_warning(target, &options);
    let deleted = registry.delete(target, &options).await;
    let deleted = deleted.map_err(|status| status.with_warnings(warnings.clone()))?;
    let shows_object = !deleted.gone || target.resource.strategy.delete_answers_object;
    if shows_object {
        let mut answer = show(context, target, wanted, &deleted).await?;
        // A client that sets orphanDependents to false gets 202, because dependents are still being deleted.
        if !deleted.gone && options.orphan_dependents == Some(false) {
            answer.code = 202;
        }
        return Ok(answer.with_warnings(warnings));
    }
    let details = pintle_registry::Details { uid: deleted.uid, ..status::named(&target.resource, &target.name) };
    let wanted = MediaTypeOptions { shape: ResponseKind::Object, ..wanted };
    let body = encoding::encode(&status::success(Some(&details)), v1::Status::schema(), wanted);
    Ok(ApiResponse::new(200, wanted.format.content_type(), body).with_warnings(warnings))
}

/// The warning for a delete that orphans dependents by default, whether the delete succeeds or not.
fn orphan_warning(target: &Target, options: &DeleteOptions) -> Vec<String> {
    let silent = options.propagation.is_some() || options.orphan_dependents.is_some();
    let text = target.resource.strategy.orphan_warning;
    if silent || text.is_empty() { Vec::new() } else { vec![text.to_owned()] }
}

/// Deleting an undecodable object needs a right of its own.
async fn authorize_unsafe(context: &Context, target: &Target) -> Result<()> {
    let resource = &target.resource;
    let attributes = Attributes {
        api_version: &resource.version,
        namespace: &target.namespace,
        name: &target.name,
        ..Attributes::resource(context.user(), UNSAFE_DELETION_VERB, &resource.group, &resource.plural)
    };
    let decision = context.api.authorizer.authorize(&attributes).get().await;
    if decision.is_allowed() {
        return Ok(());
    }
    let why = format!("not permitted to do {UNSAFE_DELETION_VERB:?}, reason: {}", decision.reason(context.user()));
    Err(Status::forbidden(resource, &target.name, &why))
}

async fn show(context: &Context, target: &Target, wanted: MediaTypeOptions, deleted: &Deleted) -> Result<ApiResponse> {
    let registry = &context.api.registry;
    let include_object = include_object(&context.query, wanted)?;
    let converted = &Converted::of(registry, target, std::slice::from_ref(&deleted.payload)).await?;
    let encoder = ObjectEncoder { registry, target, wanted, include_object, converted };
    Ok(ApiResponse::new(200, wanted.format.content_type(), encoder.object(&deleted.payload)?))
}

/// DELETE of a collection: every object that the selectors match.
///
/// # Errors
/// The options are invalid, or an object cannot be deleted for another reason than that it no longer exists.
pub async fn delete_collection(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    request: Request,
) -> Result<ApiResponse> {
    let query =
        list_options(&context.query, false, context.api.registry.environment.gates().is_on(&gates::WATCH_LIST))?;
    let options = options(context, request).await?;
    if options.ignore_read_error {
        let mut errors = ErrorList::default();
        let why = "is not allowed with DELETECOLLECTION, try again after removing the option";
        errors.invalid(UNSAFE_DELETION_OPTION, true, why);
        return Err(Status::invalid("meta.k8s.io", "DeleteOptions", "", &errors));
    }
    let warnings = orphan_warning(target, &options);
    let deleted = delete_selected(context, target, wanted, &query, &options).await;
    attach_warnings(deleted, warnings)
}

async fn delete_selected(
    context: &Context,
    target: &Target,
    wanted: MediaTypeOptions,
    query: &ListQuery,
    options: &DeleteOptions,
) -> Result<ApiResponse> {
    let registry = &context.api.registry;
    let selection = Selection::of(target, &query.label_selector, &query.field_selector)?;
    target.check_key()?;
    let selection = selection.sharded(&query.shard_selector, &*registry.environment)?;
    let mut page = registry.list(target, &selection, &query.list).await?;
    let include_object = include_object(&context.query, wanted)?;
    let mut encoder = ListEncoder::new(registry, target, wanted, include_object);
    page.items = encoder.selected(page.items, &selection).await?;
    // Nothing is deleted that cannot be converted for the response.
    encoder.check(&page.items).await?;
    let delete = |object: Arc<Object>| {
        let one = Target { namespace: object.namespace().to_owned(), name: object.name().to_owned(), ..target.clone() };
        async move {
            match registry.delete(&one, options).await {
                // Another client has deleted it.
                Err(status) if status.code != 404 => Err(status),
                _ => Ok(()),
            }
        }
    };
    let objects: Vec<_> = page.items.iter().cloned().collect();
    let deleting = stream::iter(objects).map(delete).buffered(context.api.settings.delete_collection_workers.max(1));
    deleting.try_collect::<()>().await?;
    let mut answer = ApiResponse::new(200, wanted.format.content_type(), "");
    answer.body = encoder.list(page).await?;
    Ok(answer)
}

/// The version of the options in the audit log, whatever version was sent.
const OPTIONS_VERSION: &str = "meta.k8s.io/__internal";

/// The options of a delete: a body hides the whole query.
async fn options(context: &Context, request: Request) -> Result<DeleteOptions> {
    let bytes = read_body(context, request.body).await?;
    let unsafe_allowed = context.api.registry.environment.gates().is_on(&gates::ALLOW_UNSAFE_MALFORMED_OBJECT_DELETION);
    if bytes.is_empty() {
        return delete_options(&context.query, unsafe_allowed, context.request.clone());
    }
    let format = context.body_format()?;
    let schema = v1::DeleteOptions::schema();
    let decoded: std::result::Result<Value, _> = match format {
        Format::Json => json::decode(schema, &bytes, Strictness::Ignore).map(|decoded| decoded.value),
        Format::Yaml => yaml::decode(schema, &bytes, Strictness::Ignore).map(|decoded| decoded.value),
        Format::Cbor => cbor::decode(schema, &bytes, Strictness::Ignore).map(|decoded| decoded.value),
        Format::Protobuf => {
            protobuf::decode_envelope(&bytes).and_then(|envelope| protobuf::decode(schema, envelope.raw))
        }
    };
    let body = decoded.map_err(|error| match json::type_meta(&bytes) {
        Err(error) if format == Format::Json => {
            Status::bad_request(format!("couldn't get version/kind; json parse error: {error}"))
        }
        _ => Status::bad_request(error.to_string()),
    })?;
    if let Some(why) = scheme::delete_options_mismatch(body.str_at(&["apiVersion"]), body.str_at(&["kind"])) {
        return Err(Status::bad_request(why));
    }
    audit::request_body(context, schema, OPTIONS_VERSION, "DeleteOptions", &body);
    delete_options_from_body(&body, unsafe_allowed, context.request.clone())
}
