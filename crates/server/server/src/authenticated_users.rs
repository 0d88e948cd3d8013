//! `AuthenticatedUsers`: the authorizer of a server without another one. Guarantees that anonymous requests can read
//! only the server's health and version. Must never depend on a user's name.

use pintle_auth::authorization::{AlwaysAllow, Reason, UserRules};
use pintle_auth::{Attributes, Authorizer, Decision, NamedAuthorizer, UserInfo, groups};
use pintle_resource::MaybeReady;
use std::sync::Arc;

/// Allows everything to authenticated users.
pub struct AuthenticatedUsers;

impl AuthenticatedUsers {
    /// The authorizer under its name, as a server takes it.
    pub fn named() -> NamedAuthorizer {
        let authorizer: Arc<dyn Authorizer> = Arc::new(AuthenticatedUsers);
        NamedAuthorizer::new("AuthenticatedUsers", "authenticatedusers", authorizer)
    }
}

/// Paths that need no authorization: health and version.
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

impl Authorizer for AuthenticatedUsers {
    fn authorize<'a>(&'a self, request: &'a Attributes<'a>) -> MaybeReady<'a, Decision> {
        let is_open = OPEN.contains(&request.path);
        let decision = match is_open || !request.user.in_group(groups::UNAUTHENTICATED) {
            true => Decision::Allow(Reason::None),
            false => Decision::no_opinion(""),
        };
        MaybeReady::Ready(decision)
    }

    fn rules_for<'a>(&'a self, user: &'a UserInfo, namespace: &'a str) -> MaybeReady<'a, UserRules> {
        match user.in_group(groups::UNAUTHENTICATED) {
            true => MaybeReady::Ready(UserRules::default()),
            false => AlwaysAllow.rules_for(user, namespace),
        }
    }
}
