//! Built-in admission: plugins that change or refuse objects between the request and the store.
//! Guarantees the reference's order and texts; a plugin sees only the resources and operations that its row names.
//! Must never wait: other objects are read from memory, and what is not there does not exist.

mod certificates;
mod default_class;
mod default_tolerations;
mod fields;
mod limit_ranger;
mod limits;
mod namespace_lifecycle;
mod plugin;
mod pod_topology_labels;
mod priority;
mod request;
mod runtime_class;
mod service_account;
mod signing_request;
mod storage_protection;
mod taint_nodes;
#[cfg(test)]
mod testing;
mod token_volume;
mod volume_resize;

use pintle_auth::Authorizer;
use pintle_registry::status::Result;
use pintle_registry::{Admission, AdmissionRequest, Registry, Target};
use pintle_schema::Value;
use plugin::Plugin;
use request::{Phase, Request};

/// The plugins, in the order in which they act.
const PLUGINS: [&Plugin; 14] = [
    &limit_ranger::PLUGIN,
    &service_account::PLUGIN,
    &taint_nodes::PLUGIN,
    &priority::PLUGIN,
    &default_tolerations::PLUGIN,
    &default_class::DEFAULT_STORAGE_CLASS,
    &storage_protection::PLUGIN,
    &volume_resize::PLUGIN,
    &runtime_class::PLUGIN,
    &certificates::APPROVAL,
    &certificates::SIGNING,
    &certificates::SUBJECT_RESTRICTION,
    &default_class::DEFAULT_INGRESS_CLASS,
    &pod_topology_labels::PLUGIN,
];

/// The plugins of a server.
pub struct Chain {
    authorizer: Authorizer,
}

impl Chain {
    /// The plugins that are on by default. The authorizer answers plugins that ask for more than the request's own verb.
    pub fn new(authorizer: Authorizer) -> Self {
        Chain { authorizer }
    }
}

impl Admission for Chain {
    fn mutate(&self, write: &AdmissionRequest<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()> {
        let request = Request::new(write, &self.authorizer, Phase::Mutate);
        for mutate in PLUGINS.iter().filter(|plugin| plugin.sees(write)).filter_map(|plugin| plugin.mutate) {
            mutate(&request, object, warnings)?;
        }
        Ok(())
    }

    fn validate(&self, write: &AdmissionRequest<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
        let request = Request::new(write, &self.authorizer, Phase::Validate);
        for validate in PLUGINS.iter().filter(|plugin| plugin.sees(write)).filter_map(|plugin| plugin.validate) {
            validate(&request, object, warnings)?;
        }
        Ok(())
    }

    fn delete(&self, _: &Registry, target: &Target, _: &Value) -> Result<()> {
        namespace_lifecycle::check_deletion(target)
    }
}
