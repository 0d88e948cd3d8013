//! The authenticator that sends TokenReviews. Guarantees that a user is accepted only for audiences of both the request and the
//! response. Must never send an empty token.

use std::collections::BTreeMap;
use std::sync::Arc;

use pintle_auth::Str;
use pintle_auth::authentication::{
    AuthenticationError, AuthenticationRequest, Authenticator, Identity, common_audiences,
};
use pintle_resource::MaybeReady;
use pintle_schema::{ApiType, Value, value};
use tracing::warn;

use crate::review::ReviewClient;

/// An authenticator that calls another server.
pub struct TokenReviews {
    posted: ReviewClient,
    /// The server's own audiences: a response without audiences is for them.
    audiences: Vec<Str>,
}

/// The response.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct TokenReview {
    #[k8s(optional)]
    status: TokenReviewStatus,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct TokenReviewStatus {
    #[k8s(optional)]
    authenticated: bool,
    #[k8s(optional)]
    user: UserInfo,
    #[k8s(optional)]
    audiences: Vec<String>,
    #[k8s(optional)]
    error: String,
}

/// Named as in Kubernetes: errors name it.
#[derive(ApiType, Clone, Debug, Default, PartialEq)]
struct UserInfo {
    #[k8s(optional)]
    username: String,
    #[k8s(optional)]
    uid: String,
    #[k8s(optional)]
    groups: Vec<String>,
    #[k8s(optional)]
    extra: BTreeMap<String, ExtraValue>,
}

#[derive(ApiType, Clone, Debug, Default, PartialEq)]
#[k8s(wrapper)]
struct ExtraValue {
    items: Vec<String>,
}

impl TokenReviews {
    /// Sends reviews there, for a server with these audiences.
    pub fn new(posted: ReviewClient, audiences: Vec<Str>) -> TokenReviews {
        TokenReviews { posted, audiences }
    }

    async fn identity(&self, token: &str, wanted: &[Str]) -> Result<Option<Identity>, AuthenticationError> {
        let mut spec = value!({"token": token});
        if !wanted.is_empty() {
            let audiences = wanted.iter().map(|audience| Value::from(audience.as_str())).collect();
            spec.set_at(&["audiences"], Value::List(audiences));
        }
        let status = value!({"user": (Value::map())});
        let review = self.posted.review("authentication.k8s.io", "TokenReview", spec, status, |_, _| ()).await;
        let TokenReview { status } = review.map_err(|error| {
            let err = error.to_string();
            warn!(err, "failed to make webhook authenticator request");
            AuthenticationError::refused(err)
        })?;
        let named: Vec<Str> = status.audiences.iter().map(Str::new).collect();
        let audiences = common_audiences(wanted, if named.is_empty() { &self.audiences } else { &named });
        if audiences.is_empty() && !wanted.is_empty() {
            return Ok(None);
        }
        if !status.authenticated {
            let error = Some(status.error).filter(|error| !error.is_empty());
            return error.map_or(Ok(None), |error| Err(AuthenticationError::refused(error)));
        }
        let UserInfo { username, uid, groups, extra } = status.user;
        let texts = |list: Vec<String>| list.into_iter().map(Str::from).collect();
        let extra = extra.into_iter().map(|(key, values)| (Str::from(key), texts(values.items))).collect();
        let user = pintle_auth::UserInfo { name: username.into(), uid: uid.into(), groups: texts(groups), extra };
        Ok(Some(Identity { audiences, ..Identity::of(Arc::new(user.authenticated())) }))
    }
}

impl Authenticator for TokenReviews {
    fn authenticate<'a>(
        &'a self,
        request: &'a AuthenticationRequest<'a>,
    ) -> MaybeReady<'a, Result<Option<Identity>, AuthenticationError>> {
        match request.bearer_token.map(std::str::from_utf8) {
            Some(Ok(token)) if !token.is_empty() => {
                MaybeReady::wait(async move { self.identity(token, request.audiences).await })
            }
            _ => MaybeReady::Ready(Ok(None)),
        }
    }
}
