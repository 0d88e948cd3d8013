//! The context of a request after authentication.
//!
//! It only provides what the request contains; it makes no decisions.

use crate::access::NotAllowed;
use crate::encoding::{
    AllowedMediaTypes, Format, MediaTypeOptions, PatchType, body_format, negotiate, negotiate_custom, unsupported_body,
};
use crate::flow::InFlightRequest;
use crate::query::Query;
use crate::{SharedApi, access};
use http::Method;
use http::header::{ACCEPT, USER_AGENT};
use pintle_auth::{Attributes, Authorizer, UserInfo};
use pintle_registry::{RequestContext, Status, Target};
use pintle_resource::{MaybeReady, Resource};
use pintle_schema::names::is_printable;
use std::sync::Arc;
use std::time::Instant;

/// The context of a request after authentication.
pub struct Context {
    pub api: SharedApi,
    /// The request as all rings know it.
    pub request: Arc<RequestContext>,
    pub query: Query,
    pub method: Method,
    pub headers: http::HeaderMap,
    /// The request's slot and its use of other limits.
    pub in_flight: InFlightRequest,
}

impl Context {
    /// The user that the request acts as.
    pub fn user(&self) -> &Arc<UserInfo> {
        self.request.user()
    }

    /// Whether the client may create the object that its request found missing.
    pub fn may_create<'a>(&'a self, target: &'a Target) -> MaybeReady<'a, Result<(), Status>> {
        let (started, creation) = (Instant::now(), self.creation(target));
        if let MaybeReady::Ready(decision) = self.api.authorizer.authorize(&creation) {
            let allowed = access::check_decision(&self.api, &creation, &decision, started);
            return MaybeReady::Ready(allowed.map_err(NotAllowed::into_status));
        }
        MaybeReady::wait(async move {
            let allowed = access::decide(&self.api, &self.creation(target)).await;
            allowed.map_err(NotAllowed::into_status)
        })
    }

    fn creation<'a>(&'a self, target: &'a Target) -> Attributes<'a> {
        // A namespace is in itself, as far as its path goes.
        let path = self.request.resource_path.as_ref();
        Attributes {
            api_version: &target.resource.version,
            namespace: path.map_or(target.namespace.as_str(), |path| path.namespace.as_str()),
            name: &target.name,
            ..Attributes::resource(self.user(), "create", &target.resource.group, &target.resource.plural)
        }
    }

    pub fn header(&self, name: http::header::HeaderName) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// Negotiates the form of a response with an object of a built-in kind.
    ///
    /// # Errors
    /// 406 when the client accepts none of the offered forms.
    pub fn negotiate(&self, offer: AllowedMediaTypes) -> Result<MediaTypeOptions, Status> {
        negotiate(self.header(ACCEPT), self.header(USER_AGENT), &self.query, offer, self.api.formats())
    }

    /// Negotiates the form of a response with objects of a resource.
    ///
    /// # Errors
    /// 406 when the client accepts none of the offered forms.
    pub fn negotiate_of(&self, resource: &Resource, offer: AllowedMediaTypes) -> Result<MediaTypeOptions, Status> {
        let negotiate = if resource.custom.is_some() { negotiate_custom } else { negotiate };
        negotiate(self.header(ACCEPT), self.header(USER_AGENT), &self.query, offer, self.api.formats())
    }

    /// The patch type of the body, for a resource's objects.
    ///
    /// # Errors
    /// 415 for any other media type.
    pub fn patch_type(&self, resource: &Resource) -> Result<PatchType, Status> {
        let of = if resource.custom.is_some() { PatchType::of_custom } else { PatchType::of };
        of(self.header(http::header::CONTENT_TYPE), self.api.formats())
    }

    /// The form of a body that is an object of a resource.
    ///
    /// # Errors
    /// 415 for a media type that such objects are not read from.
    pub fn object_format(&self, resource: &Resource) -> Result<Format, Status> {
        match self.body_format()? {
            Format::Protobuf if resource.custom.is_some() => Err(unsupported_body(self.api.formats())),
            format => Ok(format),
        }
    }

    /// The form of the body.
    ///
    /// # Errors
    /// 415 for a media type that objects are not read from.
    pub fn body_format(&self) -> Result<Format, Status> {
        body_format(self.header(http::header::CONTENT_TYPE), self.api.formats())
    }
}

/// The client's name in a User-Agent: the text before the first slash, printable characters only, at most 128 bytes.
pub(crate) fn agent_name(agent: &[u8]) -> String {
    const LONGEST: usize = 128;
    let first = agent.split(|byte| *byte == b'/').next().unwrap_or_default();
    let mut name = String::new();
    for c in String::from_utf8_lossy(first).chars().filter(|c| is_printable(*c)) {
        if name.len() + c.len_utf8() > LONGEST {
            break;
        }
        name.push(c);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::agent_name;

    #[test]
    fn managers_are_named_by_what_can_be_printed_of_an_agent() {
        let long = "é".repeat(100);
        for (agent, wanted) in [
            ("kubectl/v1.36 (linux)", "kubectl"),
            ("", ""),
            ("/x", ""),
            ("a b\t\u{a0}\u{200b}c/1", "a bc"),
            ("日本/1", "日本"),
            (long.as_str(), &long[..128]),
        ] {
            assert_eq!(agent_name(agent.as_bytes()), wanted, "{agent}");
        }
        assert_eq!(agent_name(b"\xffa/1"), "\u{fffd}a");
    }
}
