//! Built-in admission: plugins that change or refuse objects between the request and the store.
//! Guarantees the reference's order and texts; a plugin sees only the resources and operations that its row names.
//! Must never wait: other objects are read from memory, and what is not there does not exist.

mod certificates;
mod default_class;
mod default_tolerations;
mod escalation;
mod fields;
mod limit_ranger;
mod limits;
mod namespace_lifecycle;
mod plugin;
mod pod_resize;
mod pod_security;
mod pod_topology_labels;
mod priority;
mod request;
mod rights;
mod runtime_class;
mod service_account;
mod signing_request;
mod storage_protection;
mod taint_nodes;
#[cfg(test)]
mod testing;
mod token_volume;
mod volume_resize;

pub use escalation::policy_rule;
use pintle_auth::Authorizer;
use pintle_registry::status::Result;
use pintle_registry::{Admission, AdmissionRequest, Registry, Requester, Target};
use pintle_schema::Value;
use pintle_validation::{Refusal, Right};
use plugin::Plugin;
use request::{Phase, Request};
use std::time::{Duration, Instant};

/// The plugins by their names, in the order in which they act.
const PLUGINS: [(&str, &Plugin); 16] = [
    ("LimitRanger", &limit_ranger::PLUGIN),
    ("ServiceAccount", &service_account::PLUGIN),
    ("TaintNodesByCondition", &taint_nodes::PLUGIN),
    ("PodSecurity", &pod_security::PLUGIN),
    ("Priority", &priority::PLUGIN),
    ("DefaultTolerationSeconds", &default_tolerations::PLUGIN),
    ("DefaultStorageClass", &default_class::DEFAULT_STORAGE_CLASS),
    ("StorageObjectInUseProtection", &storage_protection::PLUGIN),
    ("PersistentVolumeClaimResize", &volume_resize::PLUGIN),
    ("RuntimeClass", &runtime_class::PLUGIN),
    ("CertificateApproval", &certificates::APPROVAL),
    ("CertificateSigning", &certificates::SIGNING),
    ("CertificateSubjectRestriction", &certificates::SUBJECT_RESTRICTION),
    ("DefaultIngressClass", &default_class::DEFAULT_INGRESS_CLASS),
    ("PodTopologyLabels", &pod_topology_labels::PLUGIN),
    ("PodResizeValidator", &pod_resize::PLUGIN),
];

/// What a plugin did.
#[derive(Clone, Copy, Debug)]
pub struct Acted {
    pub plugin: &'static str,
    /// `CREATE`, `UPDATE` or `DELETE`.
    pub operation: &'static str,
    /// `admit` or `validate`.
    pub phase: &'static str,
    pub refused: bool,
    pub took: Duration,
}

/// Told of everything that a plugin does.
pub type Observer = Box<dyn Fn(Acted) + Send + Sync>;

/// What there is of a plugin that the reference has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It is here and can be turned off.
    Here,
    /// It is here, in what cannot be turned off.
    Always,
    /// It is not here.
    Elsewhere,
}

/// What there is of a plugin; `None` for a name that no plugin has.
pub fn standing(name: &str) -> Option<Standing> {
    match name {
        "NamespaceLifecycle" => Some(Standing::Always),
        name if PLUGINS.iter().any(|(own, _)| *own == name) => Some(Standing::Here),
        name => ELSEWHERE.contains(&name).then_some(Standing::Elsewhere),
    }
}

/// Plugins of the reference that are not here.
const ELSEWHERE: [&str; 24] = [
    "AlwaysAdmit",
    "AlwaysDeny",
    "AlwaysPullImages",
    "ClusterTrustBundleAttest",
    "DenyServiceExternalIPs",
    "EventRateLimit",
    "ExtendedResourceToleration",
    "ImagePolicyWebhook",
    "JobValidation",
    "LimitPodHardAntiAffinityTopology",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "NamespaceAutoProvision",
    "NamespaceExists",
    "NodeDeclaredFeatureValidator",
    "NodeRestriction",
    "OwnerReferencesPermissionEnforcement",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "PodNodeSelector",
    "PodTolerationRestriction",
    "ResourceQuota",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

/// The plugins of a server.
pub struct Chain {
    plugins: Vec<(&'static str, &'static Plugin)>,
    authorizer: Authorizer,
    observer: Option<Observer>,
}

impl Chain {
    /// The plugins that are on by default. The authorizer answers plugins that ask for more than the request's own verb.
    pub fn new(authorizer: Authorizer) -> Self {
        Chain { plugins: PLUGINS.to_vec(), authorizer, observer: None }
    }

    /// The same without some of them.
    pub fn without(mut self, names: &[String]) -> Self {
        self.plugins.retain(|(name, _)| !names.iter().any(|off| off == name));
        self
    }

    /// The same, watched by an observer.
    pub fn observed(self, observer: Observer) -> Self {
        Chain { observer: Some(observer), ..self }
    }

    fn act(
        &self,
        plugin: &'static str,
        operation: &'static str,
        phase: &'static str,
        act: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(observer) = &self.observer else { return act() };
        let started = Instant::now();
        let outcome = act();
        observer(Acted { plugin, operation, phase, refused: outcome.is_err(), took: started.elapsed() });
        outcome
    }
}

fn operation(write: &AdmissionRequest<'_>) -> &'static str {
    if write.old.is_some() { "UPDATE" } else { "CREATE" }
}

impl Admission for Chain {
    fn mutate(&self, write: &AdmissionRequest<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()> {
        let request = Request::new(write, &self.authorizer, Phase::Mutate);
        for (name, plugin) in self.plugins.iter().filter(|(_, plugin)| plugin.sees(write)) {
            if let Some(mutate) = plugin.mutate {
                self.act(name, operation(write), "admit", || mutate(&request, object, warnings))?;
            }
        }
        match escalation::REQUESTS.iter().any(|row| row.is_for(write)) {
            true => escalation::confirm(&request, object),
            false => Ok(()),
        }
    }

    fn validate(&self, write: &AdmissionRequest<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
        let request = Request::new(write, &self.authorizer, Phase::Validate);
        for (name, plugin) in self.plugins.iter().filter(|(_, plugin)| plugin.sees(write)) {
            if let Some(validate) = plugin.validate {
                self.act(name, operation(write), "validate", || validate(&request, object, warnings))?;
            }
        }
        Ok(())
    }

    fn delete(&self, _: &Registry, target: &Target, _: &Value) -> Result<()> {
        self.act("NamespaceLifecycle", "DELETE", "admit", || namespace_lifecycle::check_deletion(target))
    }

    fn refusal(&self, target: &Target, requester: &Requester, right: &Right<'_>) -> Option<Refusal> {
        rights::refusal(&self.authorizer, target.resource, requester, right)
    }
}
