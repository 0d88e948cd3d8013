//! Requests whose resource is redefined while they are carried out: they begin anew under the new definition.
//! Guarantees that the body is read once, and that each attempt decodes it under the resource that it commits to.
//! Must never repeat a write that has taken place; a deletion of a collection is repeated for the objects that are left.

use crate::context::Context;
use crate::request::{BodyFailure, LazyBody, Request, ResourcePath, Room, UnreadBody, Verb};
use crate::routes;
use bytes::Bytes;
use futures_util::future::{BoxFuture, FutureExt, ready};
use futures_util::stream::StreamExt;
use http::{HeaderMap, Method};
use pintle_proxy::backend::ByteStream;
use pintle_registry::Status;
use pintle_resource::Resource;
use std::sync::{Arc, OnceLock};

/// What is needed to make a request again.
pub(crate) struct Repeatable {
    method: Method,
    path: String,
    query: String,
    headers: HeaderMap,
    body: Arc<OnceLock<Bytes>>,
}

impl Repeatable {
    /// What is needed to make a request again, and the request; `None` if its resource cannot be redefined while it is
    /// carried out.
    pub fn of(resource: &Resource, verb: Verb, request: Request) -> (Option<Repeatable>, Request) {
        if resource.custom.is_none() || verb.reads() {
            return (None, request);
        }
        let body = Arc::<OnceLock<Bytes>>::default();
        let repeatable = Repeatable {
            method: request.method.clone(),
            path: request.path.clone(),
            query: request.query.clone(),
            headers: request.headers.clone(),
            body: body.clone(),
        };
        let kept = Kept { body: request.body, read: body };
        (Some(repeatable), Request { body: Box::new(kept), ..request })
    }

    fn request(&self) -> Request {
        Request {
            method: self.method.clone(),
            path: self.path.clone(),
            query: self.query.clone(),
            headers: self.headers.clone(),
            body: Box::new(Read(self.body.get().cloned().unwrap_or_default())),
            client_certs: Vec::new(),
            cert_cache: None,
            peer: None,
            over_http2: false,
            is_unauthenticated: false,
        }
    }

    /// The request again, and its resource as it is defined now.
    ///
    /// # Errors
    /// The resource does not serve the request any more, or the change of its definition is not installed in time.
    pub async fn again(
        &self,
        context: &Context,
        resource: &Resource,
        path: &ResourcePath,
    ) -> Result<(Arc<Resource>, Request), Status> {
        let registry = &context.api.registry;
        let redefined = context.in_flight.wait(registry.redefined(resource)).await??;
        let redefined = redefined.ok_or_else(Status::no_such_path)?;
        routes::check(&redefined, path, &self.method)?;
        Ok((redefined, self.request()))
    }
}

/// A body that is remembered once it is read.
struct Kept {
    body: LazyBody,
    read: Arc<OnceLock<Bytes>>,
}

impl UnreadBody for Kept {
    fn whole(self: Box<Self>, room: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        let Kept { body, read } = *self;
        let remember = move |body: &Result<Bytes, BodyFailure>| {
            if let Ok(bytes) = body {
                let _ = read.set(bytes.clone());
            }
        };
        body.whole(room).inspect(remember).boxed()
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        self.body.pieces()
    }

    fn is_empty(&self) -> bool {
        self.body.is_empty()
    }
}

/// A body that was read before.
struct Read(Bytes);

impl UnreadBody for Read {
    fn whole(self: Box<Self>, _: Room) -> BoxFuture<'static, Result<Bytes, BodyFailure>> {
        ready(Ok(self.0)).boxed()
    }

    fn pieces(self: Box<Self>) -> ByteStream {
        futures_util::stream::once(ready(Ok(self.0))).boxed()
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
