//! Authentication: the identity behind a request. The `Authenticator` trait, a union of authenticators, and implementations
//! that need no kind: client certificates, static tokens, the front proxy, and a cache for token authenticators that call
//! others. Guarantees that a credential that every authenticator rejects is an error, even where anonymous requests are
//! allowed. Must never trust a certificate without verifying its chain, nor tell the client why a credential was rejected.

mod authority;
mod cert_cache;
mod certificate;
mod direct;
mod front_proxy;
mod request;
mod token_cache;
mod token_file;
mod token_header;
mod union;
mod x509;

use std::borrow::Cow;
use std::sync::Arc;

use pintle_resource::MaybeReady;

use crate::{Str, UserInfo};

pub use cert_cache::CertCache;
pub use certificate::{Subject, not_after, subject_of_request};
pub use direct::public_key;
pub use front_proxy::{FrontProxy, FrontProxyHeaders, is_front_proxy_header, unescaped_key};
pub use request::{AuthenticationRequest, bearer_token, has_space_before_token};
pub use token_cache::{TokenCache, TokenCacheStats, TokenCacheTimes};
pub use token_file::{TokenFile, TokenFileError};
pub use token_header::{TokenHeader, is_public_key, wrong_type};
pub use union::{AnonymousAccess, AuthenticatorUnion, CurrentAnonymousAccess, RequestAuthenticator, common_audiences};
pub use x509::{ClientCa, ClientCaError};

/// Finds the identity behind the credentials of a request.
///
/// Called for every request, from many tasks at a time. An implementation that knows the result returns [`MaybeReady::Ready`];
/// one that uses the network returns [`MaybeReady::Wait`] and sets its own time limit.
pub trait Authenticator: Send + Sync {
    /// The identity of the request; `None` without a credential that this authenticator knows.
    ///
    /// # Errors
    /// The request has an invalid credential of this kind. Another authenticator may still accept the request.
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>>;

    /// Whether a header (in lower case) carries an identity for this authenticator. Such headers are removed from the request
    /// once it is authenticated, whichever client sent them, so that no backend trusts them.
    fn consumes_header(&self, _name: &str) -> bool {
        false
    }
}

/// An authenticated user, and further data of the credential.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    pub user: Arc<UserInfo>,
    /// The requested audiences that the credential is valid for; empty when credentials of its kind have no audience.
    pub audiences: Vec<Str>,
    /// Warnings for the client about its credential.
    pub warnings: Vec<&'static str>,
}

impl Identity {
    /// The identity of a credential that has no audience.
    pub fn of(user: Arc<UserInfo>) -> Identity {
        Identity { user, audiences: Vec::new(), warnings: Vec::new() }
    }

    /// The bytes that the identity takes on the heap, at most.
    fn heap_bytes(&self) -> usize {
        self.user.heap_bytes() + crate::heap_bytes(&self.audiences) + size_of_val(&*self.warnings)
    }
}

/// Why a request is not authenticated. The client gets 401 without the reason; only token reviews show it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AuthenticationError {
    /// The request has no credential, and anonymous requests are not allowed.
    #[error("no credentials")]
    NoCredentials,
    /// No authenticator accepts the bearer token.
    #[error("invalid bearer token")]
    InvalidToken,
    /// An authenticator rejects the credential.
    #[error("{0}")]
    Refused(Cow<'static, str>),
    /// Several authenticators reject it.
    #[error("[{}]", joined(.0))]
    All(Vec<AuthenticationError>),
}

impl AuthenticationError {
    /// A rejection with its reason.
    pub fn refused(reason: impl Into<Cow<'static, str>>) -> AuthenticationError {
        AuthenticationError::Refused(reason.into())
    }

    /// This error and another one.
    fn and(self, other: AuthenticationError) -> AuthenticationError {
        let list = |error| match error {
            AuthenticationError::All(errors) => errors,
            error => vec![error],
        };
        AuthenticationError::All([list(self), list(other)].concat())
    }
}

fn joined(errors: &[AuthenticationError]) -> String {
    errors.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}
