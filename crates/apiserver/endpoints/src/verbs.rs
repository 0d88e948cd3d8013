//! The verb of a request for a resource: read, watch or write. Guarantees that it is carried out under the definition
//! of the resource that holds when its outcome is committed. Must never decide whether a request is allowed.

use crate::context::Context;
use crate::encoding::AllowedMediaTypes;
use crate::handler::{self, Call};
use crate::redefined::Repeatable;
use crate::request::{Request, ResourcePath, Verb};
use crate::response::ApiResponse;
use crate::{freshness, patch, read, remove, routes, subresource, write};
use pintle_registry::{Result, Status};
use pintle_resource::Resource;
use std::sync::Arc;

/// Acts under the definition of the resource as it is when the outcome is committed. A definition that was written is
/// installed before the answer.
pub(crate) async fn act_as_defined(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse> {
    let (repeatable, request) = Repeatable::of(resource, verb, request);
    let mut outcome = act(context, resource, path, verb, request).await;
    let mut resource = resource.clone();
    while let (Some(repeatable), Err(status)) = (&repeatable, &outcome)
        && status.is_redefined
    {
        let (redefined, request) = repeatable.again(context, &resource, path).await?;
        resource = redefined;
        outcome = act(context, &resource, path, verb, request).await;
    }
    if !verb.reads() && outcome.is_ok() {
        context.api.registry.install_written(&resource).await;
    }
    outcome
}

/// negotiate → read, watch or write.
async fn act(
    context: &Context,
    resource: &Arc<Resource>,
    path: &ResourcePath,
    verb: Verb,
    request: Request,
) -> Result<ApiResponse> {
    routes::check_watchable(resource, verb)?;
    routes::check_named(context, resource, path, verb)?;
    if verb.reads() && freshness::needs_fresh_state(context, resource) {
        freshness::catch_up(context, resource, verb).await?;
    }
    let call = Call { context, resource, path, verb, admitted: None };
    if !path.subresource.is_empty() {
        return Box::pin(subresource::serve(call, request)).await;
    }
    if resource.storage.is_none() {
        return handler::serve(call, request).await;
    }
    let target = call.target()?;
    if verb == Verb::Patch {
        // The content type of the body is checked before the accepted types.
        context.patch_type(resource)?;
    }
    let offer = match verb {
        Verb::Watch => AllowedMediaTypes::Watch,
        Verb::List => AllowedMediaTypes::Collection,
        _ => AllowedMediaTypes::Objects,
    };
    let wanted = context.negotiate_of(resource, offer)?;
    // Large futures are boxed: most requests are reads, and many run at a time.
    match verb {
        Verb::Get => read::get(context, &target, wanted).await,
        Verb::List | Verb::Watch => read::list_or_watch(context, target, path, wanted).await,
        Verb::Create => Box::pin(write::create(context, &target, wanted, request)).await,
        Verb::Update => Box::pin(write::update(context, &target, wanted, request, None)).await,
        Verb::Patch => Box::pin(patch::patch(context, &target, wanted, request, None)).await,
        Verb::Delete => Box::pin(remove::delete(context, &target, wanted, request)).await,
        Verb::DeleteCollection => remove::delete_collection(context, &target, wanted, request).await,
        Verb::Proxy | Verb::Other => Err(Status::method_not_allowed()),
    }
}
