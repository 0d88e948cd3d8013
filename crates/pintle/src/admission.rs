//! The admission plugins: the built-in ones, policies and webhooks, in kube-apiserver's order. Must never contain what
//! a plugin does.

use crate::sources;
use crate::start_error::StartError;
use crate::static_manifests::ManifestPlugins;
use crate::webhooks::Webhooks;
use pintle_expressions::ConditionMetrics;
use pintle_kubernetes_auth::rbac::Rbac;
use pintle_plugins::configuration::Configuration;
use pintle_policies::{Checks, MutatingPolicies, ValidatingPolicies};
use pintle_registry::AdmissionPlugin;
use pintle_schema::GateSet;
use pintle_server::{Builder, Opened};
use std::sync::Arc;

/// Which built-in admission plugins are enabled, and their configuration.
#[derive(Default)]
pub struct AdmissionOptions {
    /// The names of plugins to enable in addition to the default ones.
    pub enabled: Vec<String>,
    /// The names of plugins to disable.
    pub disabled: Vec<String>,
    pub configuration: Configuration,
}

impl AdmissionOptions {
    /// Has every write checked by the plugins, and returns those that take configurations from files.
    pub(crate) fn prepare(
        self,
        generic: &mut Builder,
        roles: &Arc<Rbac>,
        webhooks: &Webhooks,
        emulated_minor: u32,
        gates: Arc<GateSet>,
    ) -> ManifestPlugins {
        let AdmissionOptions { enabled, disabled, mut configuration } = self;
        let (authorizer, metrics) = (generic.authorizer().clone(), generic.metrics());
        configuration.pod_security.emulated_minor = Some(emulated_minor);
        let pod_security = configuration.pod_security.counts.clone();
        metrics.add_source(move |out| sources::pod_security(&pod_security, out));
        metrics.add_source(|out| sources::rules(&pintle_extensions::RULE_TIMES, out));
        metrics.add_source(|out| sources::conversions(&pintle_extensions::CONVERSIONS, out));
        let checks = [(); 2].map(|()| Arc::new(Checks::default()));
        let [mutating, validating] = checks.clone();
        metrics.add_source(move |out| sources::policies(&checks, out));
        let conditions: Arc<ConditionMetrics> = Arc::default();
        let counted = conditions.clone();
        metrics.add_source(move |out| sources::conditions(&counted, out));
        let [mutating_webhooks, validating_webhooks] =
            webhooks.plugins(&authorizer, &configuration, metrics, &conditions);
        let mutating_policies = Arc::new(MutatingPolicies::new(authorizer.clone(), mutating, conditions.clone()));
        let validating_policies = Arc::new(ValidatingPolicies::new(authorizer.clone(), validating, conditions));
        let manifests = ManifestPlugins {
            mutating_webhooks: mutating_webhooks.clone(),
            validating_webhooks: validating_webhooks.clone(),
            mutating_policies: mutating_policies.clone(),
            validating_policies: validating_policies.clone(),
            directories: std::mem::take(&mut configuration.manifests),
            disabled: disabled.clone(),
            gates,
        };
        let late: Vec<Arc<dyn AdmissionPlugin>> =
            vec![mutating_policies, mutating_webhooks, validating_policies, validating_webhooks];
        let chain = pintle_plugins::chain(&authorizer, roles.clone(), &enabled, &disabled, configuration, late);
        generic.set_admission(chain);
        manifests
    }
}

/// Applies the configurations in files, follows them, and adds the metrics of reloads.
///
/// # Errors
/// A file is invalid, or the system has no thread to spare.
pub(crate) fn install(manifests: ManifestPlugins, opened: &Opened) -> Result<(), StartError> {
    let followed = manifests.follow().map_err(StartError::Manifests)?;
    if !followed.is_empty() {
        opened.metrics().add_source(move |out| sources::manifests(&followed, out));
    }
    Ok(())
}
