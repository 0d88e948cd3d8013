//! Webhooks of a server: the connections to them, the plugins that call them, and closures in their place. Guarantees
//! that all webhooks share one set of connections. Must never depend on the content of a call.

use crate::sources;
use pintle_admission_webhooks::{AdmissionWebhooks, Parts, RegistryServices, WebhookMetrics};
use pintle_auth::AuthorizerUnion;
use pintle_endpoints::metrics::Metrics;
use pintle_expressions::ConditionMetrics;
use pintle_plugins::configuration::Configuration;
use pintle_registry::AdmissionPlugin;
use pintle_webhook::Clients;
use std::sync::Arc;

/// Connections to webhooks.
pub struct Webhooks {
    /// Makes the clients of webhooks. Closures are registered here.
    pub clients: Arc<Clients>,
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
    /// The plugins that call admission webhooks.
    pub(crate) fn plugins(
        &self,
        authorizer: &AuthorizerUnion,
        configuration: &Configuration,
        metrics: &Metrics,
        conditions: &Arc<ConditionMetrics>,
    ) -> [Arc<dyn AdmissionPlugin>; 2] {
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
