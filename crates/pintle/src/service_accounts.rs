//! What service account tokens name, from the cache to the authenticator.
//!
//! Read at every use of a token, so that a token ends with its account and its pod; no object is decoded for that but
//! those that are going away.

use pintle_auth::Str;
use pintle_auth::authentication::bootstrap_token::{self, TokenSecrets};
use pintle_auth::authentication::service_account::{
    BoundKind, BoundObject, BoundObjects, INVALID_SINCE_LABEL, LAST_USED_LABEL, ServiceAccountTokens, SigningKey,
    TokenConfig, TokenSecret,
};
use pintle_registry::{Registry, metadata};
use pintle_schema::{ApiValue, Time};
use pintle_types::core::v1::{Secret, ServiceAccount};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The issuer of a server that is told none.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// The server's own tokens. Without a configuration they are signed with a key that lives as long as the server.
///
/// # Errors
/// No key could be made.
pub(crate) fn tokens(
    config: Option<TokenConfig>,
    registry: Arc<Registry>,
) -> Result<ServiceAccountTokens, Box<dyn std::error::Error + Send + Sync>> {
    let config = match config {
        Some(config) => config,
        None => {
            let pem = rcgen::KeyPair::generate()?.serialize_pem();
            TokenConfig::new(DEFAULT_ISSUER, SigningKey::from_pem(pem.as_bytes())?)
        }
    };
    Ok(ServiceAccountTokens::new(config, Box::new(Cached(registry))))
}

/// Secrets by which bootstrap tokens are judged.
pub(crate) struct BootstrapSecrets(pub Arc<Registry>);

impl TokenSecrets for BootstrapSecrets {
    fn data(&self, name: &str) -> Option<BTreeMap<String, Vec<u8>>> {
        let target = self.0.target(pintle_groups::find("", "v1", "secrets")?, bootstrap_token::NAMESPACE, name)?;
        let stored = target.get().ok().filter(|stored| !stored.encoded.terminating)?;
        let secret = Secret::from_value(&self.0.decode(&target, &stored).ok()?).ok()?;
        let is_token = secret.r#type.as_str() == bootstrap_token::SECRET_TYPE;
        is_token.then(|| secret.data.into_iter().map(|(key, value)| (key, value.0)).collect())
    }
}

struct Cached(Arc<Registry>);

impl BoundObjects for Cached {
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject> {
        let plural = match kind {
            BoundKind::ServiceAccount => "serviceaccounts",
            BoundKind::Pod => "pods",
            BoundKind::Secret => "secrets",
            BoundKind::Node => "nodes",
        };
        let target = self.0.target(pintle_groups::find("", "v1", plural)?, namespace, name)?;
        let found = target.get().ok()?;
        let deleted = match found.encoded.terminating {
            false => None,
            true => {
                let object = self.0.decode(&target, &found).ok()?;
                Some(Time::parse(metadata::text(&object, "deletionTimestamp")).ok()?.seconds)
            }
        };
        Some(BoundObject { uid: found.encoded.uid().into(), deleted })
    }
    fn token_secret(&self, namespace: &str, name: &str) -> Option<TokenSecret> {
        let secret: Secret = self.object("secrets", namespace, name)?;
        let label = |key: &str| secret.metadata.labels.get(key).map_or("", String::as_str).into();
        Some(TokenSecret {
            uid: secret.metadata.uid.as_str().into(),
            is_terminating: secret.metadata.deletion_timestamp.is_some(),
            token: secret.data.get("token").map(|token| token.0.clone()).unwrap_or_default(),
            invalid_since: label(INVALID_SINCE_LABEL),
            last_used: label(LAST_USED_LABEL),
        })
    }

    fn account_secrets(&self, namespace: &str, name: &str) -> Vec<Str> {
        let account: Option<ServiceAccount> = self.object("serviceaccounts", namespace, name);
        account.iter().flat_map(|account| &account.secrets).map(|secret| secret.name.as_str().into()).collect()
    }
}

impl Cached {
    fn object<T: ApiValue>(&self, plural: &str, namespace: &str, name: &str) -> Option<T> {
        let target = self.0.target(pintle_groups::find("", "v1", plural)?, namespace, name)?;
        T::from_value(&self.0.decode(&target, target.get().ok()?.as_ref()).ok()?).ok()
    }
}
