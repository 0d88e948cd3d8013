//! The authenticators that need objects or other servers: service account tokens, bootstrap tokens, and tokens that
//! other parties issue or review. Must never call one that sends requests before one that does not.

use crate::service_accounts::{self, BootstrapSecrets};
use crate::sources;
use pintle_auth::Authenticator;
use pintle_auth::authentication::TokenCache;
use pintle_codec::json;
use pintle_discovery::PublishedPath;
use pintle_endpoints::documents::PublishedDocument;
use pintle_kubernetes_auth::bootstrap_token::BootstrapTokens;
use pintle_kubernetes_auth::service_account::{JWKS_PATH, ServiceAccountTokens, TokenConfig};
use pintle_schema::Value;
use pintle_server::Opened;
use std::io;
use std::sync::Arc;
use std::time::SystemTime;

/// The authenticators of tokens.
#[derive(Default)]
pub(crate) struct Authentication {
    /// The keys, issuers and audiences of service account tokens.
    pub(crate) service_account_tokens: Option<TokenConfig>,
    /// Whether bootstrap tokens authenticate nodes.
    pub(crate) bootstrap_tokens: bool,
    /// Authenticators that are called after all others.
    pub(crate) remote: Vec<Arc<dyn Authenticator>>,
    /// The cache of tokens that other parties issue or review, for its metrics.
    pub(crate) token_cache: Option<Arc<TokenCache>>,
}

impl Authentication {
    /// Adds the authenticators, the documents of the issuer, the handlers that issue and review tokens, and metrics.
    ///
    /// # Errors
    /// No key could be generated.
    pub(crate) fn install(self, opened: &mut Opened) -> io::Result<()> {
        let Authentication { service_account_tokens, bootstrap_tokens, remote, token_cache } = self;
        let registry = opened.registry().clone();
        let tokens = service_accounts::tokens(service_account_tokens, registry.clone());
        let tokens = Arc::new(tokens.map_err(io::Error::other)?);
        opened.set_audiences(tokens.config().audiences.clone());
        opened.add_authenticator(tokens.clone());
        if bootstrap_tokens {
            opened.add_authenticator(Arc::new(BootstrapTokens(Box::new(BootstrapSecrets(registry)))));
        }
        remote.into_iter().for_each(|authenticator| opened.add_authenticator(authenticator));
        let documents = published(&tokens, &opened.settings().server_address);
        opened.publish(documents);
        pintle_handlers::install(opened.handlers(), tokens.clone());
        let metrics = opened.metrics();
        metrics.add_source(move |out| sources::service_accounts(&tokens.stats, token_cache.as_deref(), out));
        Ok(())
    }
}

/// The OIDC discovery documents for service account tokens; none without an issuer that is a URL.
fn published(tokens: &Arc<ServiceAccountTokens>, server_address: &str) -> Vec<PublishedDocument> {
    if tokens.key_set().is_none() {
        return Vec::new();
    }
    type Document = Box<dyn Fn(&ServiceAccountTokens) -> Option<Value> + Send + Sync>;
    let document = |described, of: Document| {
        let tokens = tokens.clone();
        let body = move || {
            let text = of(&tokens).map(|document| json::to_vec(&document)).unwrap_or_default();
            (text.into(), tokens.keys_fresh_seconds(SystemTime::now()))
        };
        PublishedDocument { described, body: Box::new(body) }
    };
    let address = server_address.to_owned();
    vec![
        document(OPENID_CONFIGURATION, Box::new(move |tokens| tokens.discovery(&address))),
        document(KEY_SET, Box::new(ServiceAccountTokens::key_set)),
    ]
}

const OPENID_CONFIGURATION: PublishedPath = PublishedPath {
    path: "/.well-known/openid-configuration",
    media_types: &["application/json"],
    operation_id: "getServiceAccountIssuerOpenIDConfiguration",
    tag: "WellKnown",
    content: "the OpenID configuration of the issuer of service account tokens",
};

const KEY_SET: PublishedPath = PublishedPath {
    path: JWKS_PATH,
    media_types: &["application/jwk-set+json"],
    operation_id: "getServiceAccountIssuerOpenIDKeyset",
    tag: "openid",
    content: "the keys that verify service account tokens, as a JSON Web Key Set",
};
