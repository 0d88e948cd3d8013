//! A union of authenticators, and the authentication of a server: the union, the server's audiences and the anonymous user.
//! Guarantees that the first identity wins, so that a valid token makes up for an unknown certificate, and that errors count
//! only without an identity. Must never allow an anonymous request that has a credential.

use std::sync::Arc;
use std::time::SystemTime;

use arc_swap::ArcSwap;
use http::HeaderMap;
use pintle_resource::MaybeReady;

use super::{AuthenticationError, AuthenticationRequest, Authenticator, Identity, bearer_token};
use crate::{Str, UserInfo};

/// Authenticators that are called in order until one finds an identity.
#[derive(Clone, Default)]
pub struct AuthenticatorUnion(Vec<Arc<dyn Authenticator>>);

impl AuthenticatorUnion {
    /// A union in the given order.
    pub fn new(authenticators: Vec<Arc<dyn Authenticator>>) -> AuthenticatorUnion {
        AuthenticatorUnion(authenticators)
    }
}

/// The errors so far.
#[derive(Default)]
struct Errors(Option<AuthenticationError>);

type Outcome = Result<Option<Identity>, AuthenticationError>;

impl Errors {
    /// The identity, if there is one.
    fn add(&mut self, outcome: Outcome) -> Option<Identity> {
        match outcome {
            Ok(identity) => identity,
            Err(error) => {
                self.0 = Some(match self.0.take() {
                    Some(before) => before.and(error),
                    None => error,
                });
                None
            }
        }
    }

    fn into_outcome(self) -> Outcome {
        self.0.map_or(Ok(None), Err)
    }
}

impl Authenticator for AuthenticatorUnion {
    fn authenticate<'a>(&'a self, request: &'a AuthenticationRequest<'a>) -> MaybeReady<'a, Outcome> {
        let mut errors = Errors::default();
        let mut authenticators = self.0.iter();
        while let Some(authenticator) = authenticators.next() {
            match authenticator.authenticate(request) {
                MaybeReady::Ready(outcome) => {
                    if let Some(identity) = errors.add(outcome) {
                        return MaybeReady::Ready(Ok(Some(identity)));
                    }
                }
                MaybeReady::Wait(outcome) => {
                    return MaybeReady::wait(async move {
                        if let Some(identity) = errors.add(outcome.await) {
                            return Ok(Some(identity));
                        }
                        for authenticator in authenticators {
                            if let Some(identity) = errors.add(authenticator.authenticate(request).get().await) {
                                return Ok(Some(identity));
                            }
                        }
                        errors.into_outcome()
                    });
                }
            }
        }
        MaybeReady::Ready(errors.into_outcome())
    }

    fn consumes_header(&self, name: &str) -> bool {
        self.0.iter().any(|authenticator| authenticator.consumes_header(name))
    }
}

/// The first step of every request: finds its user.
#[derive(Clone, Default)]
pub struct RequestAuthenticator {
    pub authenticators: AuthenticatorUnion,
    /// The audiences of the server itself, for which every credential without an audience is valid.
    pub audiences: Vec<Str>,
    /// Where requests without a credential are taken.
    pub anonymous: Arc<CurrentAnonymousAccess>,
}

/// Where requests without a credential are taken.
#[derive(Clone, Debug, Default)]
pub struct AnonymousAccess {
    /// Their user; `None` refuses them.
    pub user: Option<Arc<UserInfo>>,
    /// The only paths at which they are taken; all when there are none.
    pub paths: Vec<String>,
}

impl AnonymousAccess {
    /// At every path, or at none.
    pub fn everywhere(is_allowed: bool) -> AnonymousAccess {
        AnonymousAccess { user: is_allowed.then(|| Arc::new(UserInfo::anonymous())), paths: Vec::new() }
    }
}

/// The same, which may be replaced while the server runs. By default they are taken nowhere.
#[derive(Debug, Default)]
pub struct CurrentAnonymousAccess(ArcSwap<AnonymousAccess>);

impl CurrentAnonymousAccess {
    pub fn new(access: AnonymousAccess) -> Arc<CurrentAnonymousAccess> {
        Arc::new(CurrentAnonymousAccess(ArcSwap::from_pointee(access)))
    }

    pub fn replace(&self, access: AnonymousAccess) {
        self.0.store(Arc::new(access));
    }
}

impl RequestAuthenticator {
    /// The identity behind a request.
    ///
    /// # Errors
    /// The client gets 401.
    pub async fn authenticate(&self, request: &AuthenticationRequest<'_>) -> Result<Identity, AuthenticationError> {
        let outcome = self.authenticators.authenticate(request).get().await;
        let invalid = request.bearer_token.map(|_| AuthenticationError::InvalidToken);
        match (outcome, invalid) {
            (Ok(Some(identity)), _) => Ok(identity),
            (Ok(None), Some(invalid)) => Err(invalid),
            (Ok(None), None) => self.anonymous_at(request.path).ok_or(AuthenticationError::NoCredentials),
            (Err(error), Some(invalid)) => Err(invalid.and(error)),
            (Err(error), None) => Err(error),
        }
    }

    fn anonymous_at(&self, path: &str) -> Option<Identity> {
        let access = self.anonymous.0.load();
        let is_taken = access.paths.is_empty() || access.paths.iter().any(|taken| taken == path);
        access.user.clone().filter(|_| is_taken).map(Identity::of)
    }

    /// The user of a token, and its valid audiences among those requested (the server's own when there are none).
    ///
    /// The token is parsed as in an `Authorization` header: one that begins with a space is no credential.
    ///
    /// # Errors
    /// Why the token is not valid, for the status of the review.
    pub async fn review(
        &self,
        token: &str,
        audiences: &[Str],
        now: SystemTime,
    ) -> Result<Identity, AuthenticationError> {
        let audiences = if audiences.is_empty() { &self.audiences } else { audiences };
        let (headers, header) = (HeaderMap::new(), format!("Bearer {token}"));
        let Some(token) = bearer_token(header.as_bytes()) else {
            let anonymous = self.anonymous.0.load().user.clone().ok_or(AuthenticationError::InvalidToken)?;
            return Ok(Identity { audiences: audiences.to_vec(), ..Identity::of(anonymous) });
        };
        let request =
            AuthenticationRequest { bearer_token: Some(token), audiences, ..AuthenticationRequest::new(&headers, now) };
        let mut identity = self.authenticate(&request).await?;
        if identity.audiences.is_empty() {
            identity.audiences = common_audiences(&self.audiences, audiences);
            if identity.audiences.is_empty() && !self.audiences.is_empty() {
                return Err(AuthenticationError::InvalidToken);
            }
        }
        Ok(identity)
    }
}

/// The audiences that are in both lists, in the order and as often as they are requested.
pub fn common_audiences(have: &[Str], requested: &[Str]) -> Vec<Str> {
    requested.iter().filter(|audience| have.contains(audience)).cloned().collect()
}

#[cfg(test)]
#[path = "union_tests.rs"]
mod tests;
