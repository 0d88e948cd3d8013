//! The controllers that run in the server, on a thread of their own. Must never start before the server serves: they
//! send requests.

use crate::aggregation::Aggregation;
use crate::hooks::LEADER_ELECTION;
use crate::own_thread::OwnThread;
use crate::sources;
use pintle_aggregation::{DiscoveryCheck, ExtensionContent};
use pintle_controllers::{Controller, Controllers, ServedDefinitions, Settings};
use pintle_endpoints::Api;
use pintle_gates as gates;
use pintle_schema::GateSet;
use pintle_server::{Builder, Opened};
use pintle_webhook::Clients;
use std::io;
use std::sync::Arc;

/// Completes the settings by what the server is, and adds the hook of the election of leaders.
pub(crate) fn prepare(
    generic: &Builder,
    settings: &mut Settings,
    host: &str,
    aggregation: &Aggregation,
    gates: &GateSet,
    hooks: &mut Vec<&'static str>,
) {
    host.clone_into(&mut settings.host);
    settings.enabled.retain(|controller| *controller != Controller::EventTtl || !generic.store().expires());
    let api_services = aggregation.api_services();
    settings.api_services = Some(Arc::new(DiscoveryCheck(api_services.clone())));
    settings.aggregated = Some(Arc::new(ExtensionContent(api_services.clone())));
    if gates.is_on(&gates::COORDINATED_LEADER_ELECTION) {
        hooks.push(LEADER_ELECTION);
    }
}

/// Controllers that do not run yet.
pub(crate) struct PreparedControllers {
    settings: Settings,
    definitions: Option<Arc<ServedDefinitions>>,
}

impl PreparedControllers {
    /// Follows the definitions of custom resources, and has the first namespace completed before the server serves.
    pub(crate) async fn new(opened: &Opened, settings: Settings, webhooks: Arc<Clients>) -> PreparedControllers {
        let registry = opened.registry();
        let definitions = settings.conditions.then(|| ServedDefinitions::follow(registry.clone(), webhooks));
        if !registry.admission.may_wait(registry) {
            Controllers::prepare(registry.clone(), &settings).await;
        }
        PreparedControllers { settings, definitions: definitions.flatten() }
    }

    /// Starts the controllers.
    ///
    /// # Errors
    /// The system has no room for another thread.
    pub(crate) fn start(self, api: &Api) -> io::Result<RunningControllers> {
        let thread = OwnThread::start("controllers")?;
        let start = || Controllers::start(api.registry.clone(), &self.settings, self.definitions);
        let controllers = thread.within(start);
        let queues = controllers.queues();
        api.metrics.add_source(move |out| sources::work_queues(&queues, out));
        Ok(RunningControllers { controllers, _thread: thread })
    }
}

/// Running controllers.
pub(crate) struct RunningControllers {
    controllers: Controllers,
    _thread: OwnThread,
}

impl RunningControllers {
    /// Stops them, and waits until they have.
    pub(crate) async fn stop(self) {
        self.controllers.stop().await;
    }
}
