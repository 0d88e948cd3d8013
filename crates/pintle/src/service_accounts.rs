//! What service account tokens name, from the cache to the authenticator.
//!
//! Read at every use of a token, so that a token ends with its account and its pod; no object is decoded for that but
//! those that are going away.

use pintle_auth::authentication::service_account::{
    BoundKind, BoundObject, BoundObjects, ServiceAccountTokens, SigningKey, TokenConfig,
};
use pintle_registry::{Registry, metadata};
use pintle_schema::Time;
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

struct Cached(Arc<Registry>);

impl BoundObjects for Cached {
    fn find(&self, kind: BoundKind, namespace: &str, name: &str) -> Option<BoundObject> {
        let plural = match kind {
            BoundKind::ServiceAccount => "serviceaccounts",
            BoundKind::Pod => "pods",
            BoundKind::Secret => "secrets",
            BoundKind::Node => "nodes",
        };
        let target = self.0.target(pintle_kinds::find("", "v1", plural)?, namespace, name)?;
        let found = target.get().ok()?;
        let deleted = match found.image.terminating {
            false => None,
            true => {
                let object = self.0.decode(&target, &found).ok()?;
                Some(Time::parse(metadata::text(&object, "deletionTimestamp")).ok()?.seconds)
            }
        };
        Some(BoundObject { uid: found.image.uid().into(), deleted })
    }
}
