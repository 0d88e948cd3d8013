//! Authorization: whether a user may perform a request. The `Authorizer` trait, an ordered union of authorizers, and
//! implementations that need no kind: AlwaysAllow, AlwaysDeny and ABAC. Guarantees that a request that no authorizer allows is
//! forbidden, with kube-apiserver's message. Must never look at objects: only at the attributes of the request.

pub mod abac;
mod always;
mod attributes;
mod forbidden;
mod rules;
mod union;

use std::borrow::Cow;
use std::sync::Arc;

use pintle_resource::MaybeReady;

use crate::UserInfo;

pub use always::{AlwaysAllow, AlwaysDeny};
pub use attributes::{Attributes, Labels};
pub use forbidden::{Forbidden, escape, forbidden};
pub use rules::{NonResourceRule, ResourceRule, UserRules};
pub use union::{AuthorizerUnion, NamedAuthorizer, SharedAuthorizers, aggregate};

/// Decides about requests.
///
/// Called for every request, from many tasks at a time. An implementation that knows its decision returns
/// [`MaybeReady::Ready`]; one that uses the network returns [`MaybeReady::Wait`] and sets its own time limit.
pub trait Authorizer: Send + Sync {
    /// Whether the request is allowed. A future that is never polled must have no effect: the union may drop it and call
    /// again.
    fn authorize<'a>(&'a self, attributes: &'a Attributes<'a>) -> MaybeReady<'a, Decision>;

    /// The user's permissions in a namespace, as a list of rules. An authorizer that cannot list rules returns
    /// [`UserRules::incomplete`].
    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules>;
}

/// The decision of an authorizer.
#[derive(Clone, Debug)]
pub enum Decision {
    /// The request is allowed; no further authorizer is called.
    Allow(Reason),
    /// The request is forbidden; no further authorizer is called.
    Deny(Refusal),
    /// The next authorizer is called. Without one the request is forbidden.
    NoOpinion(Refusal),
}

/// Why a request is not allowed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Refusal {
    /// For the client; mostly empty.
    pub reason: String,
    /// The authorizer could not decide as it should.
    pub error: Option<AuthorizationError>,
}

/// Why a request is allowed.
#[derive(Clone, Debug)]
pub enum Reason {
    /// No reason is given.
    None,
    Text(Cow<'static, str>),
    /// Composed when it is needed, which is in reviews and audit events only.
    Explained(Arc<dyn Explain>),
}

/// A source of permissions that can explain a decision.
pub trait Explain: std::fmt::Debug + Send + Sync {
    /// Why the user's request is allowed.
    fn explain(&self, user: &UserInfo) -> String;
}

/// An authorizer failed, or could not evaluate all of its configuration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct AuthorizationError(pub String);

impl Decision {
    /// No opinion, for a reason that may be empty.
    pub fn no_opinion(reason: impl Into<String>) -> Decision {
        Decision::NoOpinion(Refusal { reason: reason.into(), error: None })
    }

    /// Whether the request is allowed.
    pub fn is_allowed(&self) -> bool {
        matches!(self, Decision::Allow(_))
    }

    /// Whether an authorizer denies the request, as opposed to none allowing it.
    pub fn is_denied(&self) -> bool {
        matches!(self, Decision::Deny(_))
    }

    /// The reason for access reviews; empty when there is none.
    pub fn reason(&self, user: &UserInfo) -> String {
        match self {
            Decision::Allow(Reason::None) => String::new(),
            Decision::Allow(Reason::Text(text)) => text.to_string(),
            Decision::Allow(Reason::Explained(by)) => by.explain(user),
            Decision::Deny(refusal) | Decision::NoOpinion(refusal) => refusal.reason.clone(),
        }
    }

    /// The error of an authorizer. An allowed request has none.
    pub fn error(&self) -> Option<&AuthorizationError> {
        match self {
            Decision::Allow(_) => None,
            Decision::Deny(refusal) | Decision::NoOpinion(refusal) => refusal.error.as_ref(),
        }
    }
}
