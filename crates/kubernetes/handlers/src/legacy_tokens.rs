//! Uses of legacy service account tokens: the label of the secret shows the day of the last one.
//! Guarantees that the label is written before the request goes on, and at most once a day for a secret.
//! Must never fail a request: a use that could not be written is logged.

use futures_util::future::{BoxFuture, FutureExt};
use pintle_auth::authentication::UsedSecret;
use pintle_auth::authentication::service_account::LAST_USED_LABEL;
use pintle_endpoints::Api;
use pintle_endpoints::token_uses::TokenUses;
use pintle_registry::update::{ManagedFieldsUpdate, Update};
use pintle_registry::{Result, Status, WriteOptions, metadata};
use pintle_schema::Value;
use std::time::Duration;

/// How long a request waits for the label of its token.
const WRITE_TIMEOUT: Duration = Duration::from_secs(5);

/// Writes uses of tokens to their secrets.
pub struct LegacyTokenUses;

impl TokenUses for LegacyTokenUses {
    fn record<'a>(&'a self, api: &'a Api, used: UsedSecret) -> BoxFuture<'a, ()> {
        async move {
            let outcome = tokio::time::timeout(WRITE_TIMEOUT, write(api, &used)).await;
            if let Err(status) = outcome.unwrap_or_else(|_| Err(Status::timed_out())) {
                let UsedSecret { namespace, name, .. } = used;
                let what =
                    format!("failed to label legacy service account token {namespace}/{name} with last-used date");
                api.registry.environment.log(&format!("{what}: {}", status.message));
            }
        }
        .boxed()
    }
}

async fn write(api: &Api, used: &UsedSecret) -> Result<()> {
    let target = api.registry.target_of(["", "v1", "secrets"], &used.namespace, &used.name);
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
    let update =
        Update { change: &change, part: None, create: false, from_stored: true, owners: ManagedFieldsUpdate::Compute };
    let options = WriteOptions::of_server("kube-apiserver");
    api.registry.update(&target, &update, &options).await.map(drop)
}
