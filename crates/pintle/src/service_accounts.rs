//! Provides the authenticators of service account tokens and bootstrap tokens with objects from the cache.
//!
//! They are read at every use of a token, so that a token becomes invalid with its account and its pod. Only objects
//! that are being deleted are decoded.

use futures_util::future::BoxFuture;
use pintle_auth::Str;
use pintle_kubernetes_auth::bootstrap_token::{self, TokenSecrets};
use pintle_kubernetes_auth::service_account::{
    BoundKind, BoundObject, BoundObjects, INVALID_SINCE_LABEL, LAST_USED_LABEL, ServiceAccountTokens, SigningKey,
    TokenConfig, TokenSecret, UsedSecret,
};
use pintle_registry::update::{ManagedFieldsUpdate, Update};
use pintle_registry::{Registry, Status, WriteOptions, metadata};
use pintle_schema::{ApiValue, Time, Value};
use pintle_types::core::v1::{Secret, ServiceAccount};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use tracing::warn;

/// The default issuer.
pub const DEFAULT_ISSUER: &str = "https://kubernetes.default.svc";

/// The tokens of service accounts. Without a configuration a new key signs them, which is lost when the server stops.
///
/// # Errors
/// No key could be generated.
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

/// The secrets of bootstrap tokens.
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

    fn record_use(&self, used: UsedSecret) -> BoxFuture<'_, ()> {
        Box::pin(async move {
            let outcome = tokio::time::timeout(RECORD_TIMEOUT, self.write_use(&used)).await;
            if let Err(status) = outcome.unwrap_or_else(|_| Err(Status::timed_out())) {
                let UsedSecret { namespace, name, .. } = used;
                let err = &*status.message;
                warn!(err, "failed to label legacy service account token {namespace}/{name} with last-used date");
            }
        })
    }
}

/// The timeout for writing the label of a token's last use.
const RECORD_TIMEOUT: Duration = Duration::from_secs(5);

impl Cached {
    /// Sets the label with the date of the last use.
    async fn write_use(&self, used: &UsedSecret) -> pintle_registry::Result<()> {
        let registry = &self.0;
        let target = pintle_groups::find("", "v1", "secrets");
        let target = target.and_then(|secrets| registry.target(secrets, &used.namespace, &used.name));
        let target = target.ok_or_else(Status::no_such_path)?;
        let change = |stored: Option<&Value>| {
            let Some(stored) = stored else { return Err(target.not_found()) };
            if metadata::text(stored, "uid") != used.uid {
                // Another secret of the same name.
                return Err(Status::modified(&target.resource, &target.name));
            }
            let mut secret = stored.clone();
            secret.set_at(&["metadata", "labels", LAST_USED_LABEL], used.date.as_str());
            Ok(secret)
        };
        let update = Update {
            change: &change,
            part: None,
            create: false,
            from_stored: true,
            owners: ManagedFieldsUpdate::Compute,
        };
        registry.update(&target, &update, &WriteOptions::of_server("kube-apiserver")).await.map(drop)
    }

    fn object<T: ApiValue>(&self, plural: &str, namespace: &str, name: &str) -> Option<T> {
        let target = self.0.target(pintle_groups::find("", "v1", plural)?, namespace, name)?;
        T::from_value(&self.0.decode(&target, target.get().ok()?.as_ref()).ok()?).ok()
    }
}
