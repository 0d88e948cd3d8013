//! Webhooks of a server: the connections to them, the plugins that call them, and closures in their place. Guarantees
//! that all webhooks share one set of connections. Must never depend on the content of a call.

use crate::follow::follow;
use crate::sources;
use pintle_admission_webhooks::{AdmissionWebhooks, Parts, RegistryServices, WebhookMetrics};
use pintle_auth::AuthorizerUnion;
use pintle_endpoints::metrics::Metrics;
use pintle_expressions::ConditionMetrics;
use pintle_plugins::configuration::Configuration;
use pintle_server::Opened;
use pintle_services::routing::Routing;
use pintle_webhook::{Client, Clients, Kubeconfig, SharedClient};
use std::path::Path;
use std::sync::Arc;
use tokio::runtime::Handle;

/// Connections to webhooks.
pub(crate) struct Webhooks {
    /// Makes the clients of webhooks. Closures are registered here.
    pub(crate) clients: Arc<Clients>,
    /// Finds the services that webhooks refer to.
    pub(crate) services: Arc<RegistryServices>,
}

impl Default for Webhooks {
    fn default() -> Self {
        let services: Arc<RegistryServices> = Arc::default();
        Webhooks { clients: Arc::new(Clients::new(services.clone())), services }
    }
}

impl Webhooks {
    /// Finds the services that webhooks refer to in the cluster, and adds the metrics of calls.
    pub(crate) fn install(&self, opened: &Opened, routing: Routing) {
        self.services.set(Arc::downgrade(opened.registry()), routing);
        let clients = self.clients.clone();
        opened.metrics().add_source(move |out| sources::rest_clients(&clients, out));
    }

    /// The plugins that call admission webhooks.
    pub(crate) fn plugins(
        &self,
        authorizer: &AuthorizerUnion,
        configuration: &Configuration,
        metrics: &Metrics,
        conditions: &Arc<ConditionMetrics>,
    ) -> [Arc<AdmissionWebhooks>; 2] {
        let counted: Arc<WebhookMetrics> = Arc::default();
        let parts = Parts {
            clients: self.clients.clone(),
            authorizer: authorizer.clone(),
            metrics: counted.clone(),
            conditions: conditions.clone(),
        };
        metrics.add_source(move |out| sources::webhooks(&counted, out));
        let credentials = &configuration.webhooks;
        [
            Arc::new(AdmissionWebhooks::mutating(&parts, credentials.mutating.clone())),
            Arc::new(AdmissionWebhooks::validating(&parts, credentials.validating.clone())),
        ]
    }
}

/// The client of the webhook that a kubeconfig describes. Later calls go where the file says then, as who it says then.
///
/// # Errors
/// The file, or one that it names, cannot be used.
pub fn client_of_kubeconfig(path: &Path, clients: &Arc<Clients>) -> Result<Client, String> {
    let read = |path: &Path| {
        let settings = Kubeconfig::read(path).and_then(|file| file.current(crate::USER_AGENT));
        settings.map_err(|error| error.to_string())
    };
    let mut last = read(path)?;
    let client = clients.client(last.clone()).map_err(|error| error.to_string())?;
    let (path, clients, runtime) = (path.to_owned(), clients.clone(), Handle::try_current().ok());
    let look = move |shared: &SharedClient| {
        let settings = read(&path)?;
        if settings != last {
            let _within = runtime.as_ref().map(Handle::enter);
            shared.replace(&clients.client(settings.clone()).map_err(|error| error.to_string())?);
            last = settings;
        }
        Ok(())
    };
    follow("kubeconfig of a webhook", client.shared(), look).map_err(|error| error.to_string())?;
    Ok(client)
}
