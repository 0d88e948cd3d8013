//! The order of authorizers: from the modes of a flag, or from the file of `--authorization-config`, which is reloaded.
//! Guarantees that an invalid file changes nothing while a server runs. Must never let a changed file turn on a
//! built-in authorizer that the server did not start with, as kube-apiserver does not.

mod validate;

use crate::config_files;
use pintle::authorizers::{BuiltInAuthorizers, ChainMember};
use pintle::follow::follow;
use pintle::webhooks::client_of_kubeconfig;
use pintle_auth::AuthorizerUnion;
use pintle_auth::authorization::SharedAuthorizers;
use pintle_kubernetes_auth::Mode;
use pintle_reviews::{AccessReviewConfig, AccessReviews, CacheTimes, OnFailure, ReviewClient, ReviewVersion};
use pintle_types::config_apiserver::v1::{AuthorizationConfiguration, AuthorizerConfiguration, WebhookConfiguration};
use pintle_validation::ErrorList;
use pintle_webhook::Clients;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::Handle;

const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];

/// The file of `--authorization-config`.
pub struct AuthorizationFile {
    path: PathBuf,
    clients: Arc<Clients>,
    /// The last applied text of the file and of the files that it names.
    texts: Vec<Vec<u8>>,
    /// The authorizers, in order.
    pub members: Vec<ChainMember>,
}

impl AuthorizationFile {
    /// Reads the file and those that it names.
    ///
    /// # Errors
    /// A file cannot be read, or is invalid.
    pub fn load(path: &Path, clients: Arc<Clients>) -> Result<AuthorizationFile, String> {
        let (configuration, texts) = read(path)?;
        let members = members(configuration, &clients)?;
        Ok(AuthorizationFile { path: path.to_owned(), clients, texts, members })
    }

    /// The modes of its built-in authorizers.
    pub fn modes(&self) -> Vec<Mode> {
        modes(&self.members).collect()
    }

    /// Reloads the files when they change, until the union is dropped.
    ///
    /// # Errors
    /// A thread cannot be started.
    pub fn follow(mut self, union: &AuthorizerUnion, built_in: BuiltInAuthorizers) -> std::io::Result<()> {
        let (allowed, runtime) = (self.modes(), Handle::current());
        let needs_start = [Mode::Node, Mode::Rbac, Mode::Abac];
        follow("authorization configuration", union.shared(), move |union: &SharedAuthorizers| {
            let _within = runtime.enter();
            let (configuration, texts) = read(&self.path)?;
            if texts == self.texts {
                return Ok(());
            }
            // Only now, since a client of a webhook has a thread that follows its file.
            let members = members(configuration, &self.clients)?;
            if let Some(mode) = modes(&members).find(|mode| needs_start.contains(mode) && !allowed.contains(mode)) {
                let name = mode.name();
                return Err(format!(
                    "authorizer type {name} is not allowed if it was not enabled at initial server startup"
                ));
            }
            union.replace(built_in.chain(&members));
            self.texts = texts;
            Ok(())
        })
    }
}

fn modes(members: &[ChainMember]) -> impl Iterator<Item = Mode> {
    members.iter().filter_map(|member| match member {
        ChainMember::BuiltIn(mode, _) => Some(*mode),
        ChainMember::Webhook(..) => None,
    })
}

/// Reads the file, and the texts of it and of the files that it names.
fn read(path: &Path) -> Result<(AuthorizationConfiguration, Vec<Vec<u8>>), String> {
    let text = config_files::read(path)?;
    let configuration: AuthorizationConfiguration =
        config_files::decode(&text, &VERSIONS, "AuthorizationConfiguration")?;
    let faults = validate::configuration(&configuration);
    if !faults.is_empty() {
        return Err(faults.summary());
    }
    let mut texts = vec![text];
    for webhook in configuration.authorizers.iter().filter_map(|authorizer| authorizer.webhook.as_ref()) {
        texts.push(config_files::read(kubeconfig(webhook))?);
    }
    Ok((configuration, texts))
}

fn kubeconfig(webhook: &WebhookConfiguration) -> &Path {
    Path::new(webhook.connection_info.kube_config_file.as_deref().unwrap_or_default())
}

fn members(configuration: AuthorizationConfiguration, clients: &Arc<Clients>) -> Result<Vec<ChainMember>, String> {
    let member = |authorizer: AuthorizerConfiguration| match (authorizer.r#type.parse(), &authorizer.webhook) {
        (Ok(mode), _) => Ok(ChainMember::BuiltIn(mode, authorizer.name)),
        (Err(_), None) => Err(format!("authorizer {:?} has no webhook", authorizer.name)),
        (Err(_), Some(webhook)) => {
            let reviews = Arc::new(reviews(webhook, kubeconfig(webhook), clients)?);
            Ok(ChainMember::Webhook(authorizer.name, reviews))
        }
    };
    configuration.authorizers.into_iter().map(member).collect()
}

fn reviews(webhook: &WebhookConfiguration, file: &Path, clients: &Arc<Clients>) -> Result<AccessReviews, String> {
    let time = |time: pintle_schema::Duration, is_kept: Option<bool>| match is_kept.unwrap_or(true) {
        true => Duration::from_nanos(time.nanos.unsigned_abs()),
        false => Duration::ZERO,
    };
    let version = ReviewVersion::of_name(&webhook.subject_access_review_version).unwrap_or_default();
    let timeout = Duration::from_nanos(webhook.timeout.nanos.unsigned_abs());
    Ok(AccessReviews::new(AccessReviewConfig {
        posted: posted(file, version, timeout, clients)?,
        times: CacheTimes {
            allowed: time(webhook.authorized_ttl, webhook.cache_authorized_requests),
            others: time(webhook.unauthorized_ttl, webhook.cache_unauthorized_requests),
        },
        on_failure: if webhook.failure_policy == "Deny" { OnFailure::Deny } else { OnFailure::NoOpinion },
        conditions: validate::conditions(&webhook.match_conditions, "", &mut ErrorList::default()),
    }))
}

/// The client of the webhook that a kubeconfig describes; the file is followed.
///
/// # Errors
/// The file, or one that it names, cannot be used.
pub fn posted(
    kubeconfig: &Path,
    version: ReviewVersion,
    timeout: Duration,
    clients: &Arc<Clients>,
) -> Result<ReviewClient, String> {
    let client = client_of_kubeconfig(kubeconfig, clients)?;
    Ok(ReviewClient::new(client, version, timeout))
}

#[cfg(test)]
mod tests;
