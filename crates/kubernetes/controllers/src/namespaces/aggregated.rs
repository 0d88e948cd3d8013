//! Resources that extension servers serve, for the deletion of namespaces. Guarantees that a namespace stays while a
//! server's resources are unknown or its objects remain. Must never send a request: an `AggregatedClient` does.

use super::NamespaceController;
use super::content::{Emptied, Remaining};
use crate::requests::AT_A_TIME;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use futures_util::stream;
use pintle_auth::UserInfo;
use pintle_registry::Registry;
use pintle_types::meta::v1::ObjectMeta;
use std::fmt;
use std::time::Duration;

/// Time to delete what one resource has in a namespace. The rest follows in the next attempt.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A resource that an extension server serves.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregatedResource {
    pub group: String,
    pub version: String,
    /// The plural name.
    pub name: String,
    pub verbs: Vec<String>,
}

impl AggregatedResource {
    fn has(&self, verb: &str) -> bool {
        self.verbs.iter().any(|known| known == verb)
    }
}

/// What is known of the resources of extension servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AggregatedResources {
    /// The namespaced ones, each in one version.
    pub namespaced: Vec<AggregatedResource>,
    /// The versions, as `group/version`, whose resources are not known because their server does not respond.
    pub undiscovered: Vec<String>,
}

/// The collection of a resource in a namespace, and the user of requests for it.
#[derive(Clone, Copy)]
pub struct AggregatedCollection<'a> {
    pub registry: &'a Registry,
    pub user: &'a UserInfo,
    pub resource: &'a AggregatedResource,
    pub namespace: &'a str,
}

/// Why a request to an extension server failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AggregatedError {
    /// The object does not exist, or the server does not support the request.
    #[error("the request is not supported")]
    Unsupported,
    #[error("{0}")]
    Failed(String),
}

/// Sends requests of controllers to extension servers. Each request ends within a time and reads a response up to a size.
pub trait AggregatedClient: Send + Sync + fmt::Debug {
    /// The resources of all extension servers, without a request.
    fn resources(&self, registry: &Registry) -> AggregatedResources;

    /// Deletes an object and in the background its dependents, or all objects of the collection.
    ///
    /// # Errors
    /// The request failed.
    fn delete<'a>(
        &'a self,
        of: AggregatedCollection<'a>,
        name: Option<&'a str>,
    ) -> BoxFuture<'a, Result<(), AggregatedError>>;

    /// The metadata of all objects of the collection.
    ///
    /// # Errors
    /// The request failed.
    fn list<'a>(&'a self, of: AggregatedCollection<'a>) -> BoxFuture<'a, Result<Vec<ObjectMeta>, AggregatedError>>;
}

impl NamespaceController {
    /// Deletes what extension servers have in a namespace. Servers do not wait for each other.
    pub(super) async fn empty_aggregated(
        &self,
        client: &dyn AggregatedClient,
        resources: &[AggregatedResource],
        namespace: &str,
        emptied: &mut Emptied,
    ) {
        let user = self.requests().user();
        let deletable = resources.iter().filter(|resource| resource.has("delete"));
        let deletions = deletable.map(|resource| {
            let of = AggregatedCollection { registry: &self.index.registry, user: &user, resource, namespace };
            async move { (resource, empty_within(client, of).await) }
        });
        let deletions: Vec<_> = deletions.collect();
        let outcomes: Vec<_> = stream::iter(deletions).buffer_unordered(AT_A_TIME).collect().await;
        for (AggregatedResource { group, version, name, .. }, outcome) in outcomes {
            match outcome {
                Ok(left) => {
                    let mut remaining = Remaining::default();
                    left.iter().for_each(|object| remaining.add(object.finalizers.iter().map(String::as_str)));
                    emptied.count([group, version, name], namespace, remaining, 0);
                }
                Err(why) => emptied.failures.push(why),
            }
        }
    }
}

async fn empty_within(client: &dyn AggregatedClient, of: AggregatedCollection<'_>) -> Result<Vec<ObjectMeta>, String> {
    tokio::time::timeout(TIMEOUT, empty(client, of)).await.unwrap_or_else(|_| {
        let AggregatedCollection { resource: AggregatedResource { group, name, .. }, namespace, .. } = of;
        Err(format!("{name}.{group} in namespace {namespace} were not deleted within {} seconds", TIMEOUT.as_secs()))
    })
}

/// Deletes the objects of a collection, one by one if the server cannot delete all at once; returns those that remain.
async fn empty(client: &dyn AggregatedClient, of: AggregatedCollection<'_>) -> Result<Vec<ObjectMeta>, String> {
    let at_once = of.resource.has("deletecollection") && supported(client.delete(of, None).await)?.is_some();
    if !at_once {
        for object in list(client, of).await? {
            supported(client.delete(of, Some(&object.name)).await)?;
        }
    }
    list(client, of).await
}

/// The objects of a collection; none if they cannot be listed.
async fn list(client: &dyn AggregatedClient, of: AggregatedCollection<'_>) -> Result<Vec<ObjectMeta>, String> {
    if !of.resource.has("list") {
        return Ok(Vec::new());
    }
    Ok(supported(client.list(of).await)?.unwrap_or_default())
}

fn supported<T>(outcome: Result<T, AggregatedError>) -> Result<Option<T>, String> {
    match outcome {
        Ok(found) => Ok(Some(found)),
        Err(AggregatedError::Unsupported) => Ok(None),
        Err(AggregatedError::Failed(why)) => Err(why),
    }
}
