//! Get, list and the start of watches.

use crate::body::Body;
use crate::context::Context;
use crate::encoding::{Converted, Format, IncludeObject, ListEncoder, MediaTypeOptions, ObjectEncoder, ResponseKind};
use crate::freshness::await_revision;
use crate::query::{Query, list_options};
use crate::request::ResourcePath;
use crate::response::{ApiResponse, handshake_refused};
use crate::watch;
use pintle_meta::gates;
use pintle_proxy::{upgrade, websocket};
use pintle_registry::{Payload, Result, Selection, Status, Target};
use pintle_storage::Revision;
use pintle_validation::ErrorList;

/// Gets one object. Budget: a map look-up and one copy of the stored bytes.
///
/// # Errors
/// There is no such object, or the requested version is not available.
pub async fn get(context: &Context, target: &Target, wanted: MediaTypeOptions) -> Result<ApiResponse> {
    reject_export(&context.query)?;
    let version = context.query.get("resourceVersion");
    if !version.is_empty() {
        if let Ok(version) = version.parse() {
            await_revision(context, &target.cache, Revision(version)).await?;
        }
        context.api.registry.check_get_version(target, version)?;
    }
    let object = target.get()?;
    let include_object = include_object(&context.query, wanted)?;
    let registry = &context.api.registry;
    if wanted != MediaTypeOptions::JSON {
        pintle_compute::expect_input(object.encoded.size()).await;
    }
    let payload = Payload::Stored(object);
    let converted = &Converted::of(registry, target, std::slice::from_ref(&payload)).await?;
    let encoder = ObjectEncoder { registry, target, wanted, include_object, converted };
    Ok(ApiResponse::new(200, wanted.format.content_type(), encoder.object(&payload)?))
}

/// Rejects the `export` parameter, which was removed.
///
/// # Errors
/// The parameter is set.
pub fn reject_export(query: &Query) -> Result<()> {
    if query.flag("export") {
        return Err(Status::bad_request("the export parameter, deprecated since v1.14, is no longer supported"));
    }
    Ok(())
}

/// Lists or watches a collection.
///
/// # Errors
/// Options or selectors are invalid, or the requested version is not available.
pub async fn list_or_watch(
    context: &Context,
    target: Target,
    path: &ResourcePath,
    wanted: MediaTypeOptions,
) -> Result<ApiResponse> {
    let query = list_options(
        &context.query,
        path.legacy_watch,
        context.api.registry.environment.gates().is_on(&gates::WATCH_LIST),
    )?;
    let include_object = include_object(&context.query, wanted)?;
    let selection = Selection::of(&target, &query.label_selector, &query.field_selector)?;
    if !path.name.is_empty() && !selection.agrees_with_name(&path.name) {
        return Err(Status::bad_request("fieldSelector metadata.name doesn't match requested name"));
    }
    target.check_key()?;
    let registry = &context.api.registry;
    let selection = selection.sharded(&query.shard_selector, &*registry.environment)?;
    if query.watch {
        let content_type = wanted.format.stream_content_type();
        if wanted.format == Format::Cbor && upgrade::is_websocket(&context.headers) {
            // Items that follow each other have no marks to cut messages at.
            return Err(Status::not_acceptable(&[Format::Json.content_type(), Format::Protobuf.content_type()]));
        }
        let body = watch::start(context, target, selection, &query, wanted, include_object).await?;
        let body = match body {
            Body::Watch(events, _) if upgrade::is_websocket(&context.headers) => {
                let binary = wanted.format == Format::Protobuf;
                let framing = if binary { websocket::Framing::Lengths } else { websocket::Framing::Lines };
                let accepted = websocket::watch(&context.headers, events, framing);
                return accepted.map(ApiResponse::from).map_err(handshake_refused);
            }
            body => body,
        };
        let mut answer = ApiResponse::new(200, content_type, "");
        answer.body = body;
        return Ok(answer);
    }
    if let Some(revision) = query.list.revision() {
        await_revision(context, &target.cache, revision).await?;
    }
    let mut page = registry.list(&target, &selection, &query.list).await?;
    let mut encoder = ListEncoder::new(registry, &target, wanted, include_object);
    page.items = encoder.selected(page.items, &selection).await?;
    let mut answer = ApiResponse::new(200, wanted.format.content_type(), "");
    answer.body = encoder.list(page).await?;
    Ok(answer)
}

/// The object column of a table's rows.
///
/// # Errors
/// 400 for a value that is not allowed, if a table is requested.
pub fn include_object(query: &Query, wanted: MediaTypeOptions) -> Result<IncludeObject> {
    match query.get("includeObject") {
        _ if wanted.shape != ResponseKind::Table => Ok(IncludeObject::Metadata),
        "" | "Metadata" => Ok(IncludeObject::Metadata),
        "None" => Ok(IncludeObject::None),
        "Object" => Ok(IncludeObject::Object),
        other => {
            let mut errors = ErrorList::default();
            errors.invalid("includeObject", other, "must be 'Metadata', 'Object', 'None', or empty");
            Err(Status::bad_request(format!("Unable to convert to Table as requested: {}", errors.summary())))
        }
    }
}
