//! Built-in admission: plugins that change or refuse objects between the request and the store.
//! Guarantees the reference's order and texts; a plugin sees only the resources and operations that its row names.
//! Must never wait: other objects are read from memory, and what is not there does not exist.

mod always_deny;
mod always_pull_images;
mod anti_affinity;
mod certificates;
pub mod configuration;
mod declared_features;
mod default_class;
mod default_tolerations;
mod escalation;
mod event_rate_limit;
mod extended_resources;
mod external_ips;
mod fields;
mod limit_ranger;
mod limits;
mod namespace_lifecycle;
mod node_restriction;
mod owner_references;
mod plugin;
mod pod_node_selector;
pub mod pod_references;
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
mod toleration_restriction;
mod tolerations;
mod volume_resize;

use configuration::Configuration;
pub use escalation::policy_rule;
use pintle_auth::Authorizer;
use pintle_registry::status::Result;
use pintle_registry::{
    Admission, AdmissionRequest, DeleteOptions, NamespaceCheck, Registry, Requester, Target, WriteOptions,
};
use pintle_schema::Value;
use pintle_validation::{Refusal, Right};
use plugin::{Operation, Plugin};
use request::{Phase, Request};
use std::time::{Duration, Instant};

/// On, unless it is switched off.
const ON: bool = true;
/// Off, unless it is switched on.
const OFF: bool = false;

/// The plugins by their names, in the order in which they act.
const PLUGINS: [(&str, &Plugin, bool); 28] = [
    ("LimitPodHardAntiAffinityTopology", &anti_affinity::PLUGIN, OFF),
    ("LimitRanger", &limit_ranger::PLUGIN, ON),
    ("ServiceAccount", &service_account::PLUGIN, ON),
    ("NodeRestriction", &node_restriction::PLUGIN, OFF),
    ("TaintNodesByCondition", &taint_nodes::PLUGIN, ON),
    ("AlwaysPullImages", &always_pull_images::PLUGIN, OFF),
    ("PodSecurity", &pod_security::PLUGIN, ON),
    ("PodNodeSelector", &pod_node_selector::PLUGIN, OFF),
    ("Priority", &priority::PLUGIN, ON),
    ("DefaultTolerationSeconds", &default_tolerations::PLUGIN, ON),
    ("PodTolerationRestriction", &toleration_restriction::PLUGIN, OFF),
    ("EventRateLimit", &event_rate_limit::PLUGIN, OFF),
    ("ExtendedResourceToleration", &extended_resources::PLUGIN, OFF),
    ("DefaultStorageClass", &default_class::DEFAULT_STORAGE_CLASS, ON),
    ("StorageObjectInUseProtection", &storage_protection::PLUGIN, ON),
    ("OwnerReferencesPermissionEnforcement", &owner_references::PLUGIN, OFF),
    ("PersistentVolumeClaimResize", &volume_resize::PLUGIN, ON),
    ("RuntimeClass", &runtime_class::PLUGIN, ON),
    ("CertificateApproval", &certificates::APPROVAL, ON),
    ("CertificateSigning", &certificates::SIGNING, ON),
    ("ClusterTrustBundleAttest", &certificates::ATTEST, ON),
    ("CertificateSubjectRestriction", &certificates::SUBJECT_RESTRICTION, ON),
    ("DefaultIngressClass", &default_class::DEFAULT_INGRESS_CLASS, ON),
    ("DenyServiceExternalIPs", &external_ips::PLUGIN, OFF),
    ("PodTopologyLabels", &pod_topology_labels::PLUGIN, ON),
    ("NodeDeclaredFeatureValidator", &declared_features::PLUGIN, ON),
    ("PodResizeValidator", &pod_resize::PLUGIN, ON),
    ("AlwaysDeny", &always_deny::PLUGIN, OFF),
];

/// Makes namespaces that are missing, which is the registry's work.
const NAMESPACE_AUTO_PROVISION: &str = "NamespaceAutoProvision";

/// Keeps what is created to namespaces that are there and stay, which the registry checks, and deletions from those that must stay.
const NAMESPACE_LIFECYCLE: &str = "NamespaceLifecycle";

/// Keeps what is created to namespaces that are there, where the plugin above is off.
const NAMESPACE_EXISTS: &str = "NamespaceExists";

/// Plugins that are no entries of the table above.
const IMPLIED: [&str; 2] = ["AlwaysAdmit", NAMESPACE_EXISTS];

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
    /// It is here.
    Here,
    /// It is not here.
    Elsewhere,
}

/// What there is of a plugin; `None` for a name that no plugin has.
pub fn standing(name: &str) -> Option<Standing> {
    let is_here = |name| PLUGINS.iter().any(|(own, ..)| *own == name) || IMPLIED.contains(&name);
    match name {
        NAMESPACE_LIFECYCLE | NAMESPACE_AUTO_PROVISION => Some(Standing::Here),
        name if is_here(name) => Some(Standing::Here),
        name => ELSEWHERE.contains(&name).then_some(Standing::Elsewhere),
    }
}

/// Plugins of the reference that are not here.
const ELSEWHERE: [&str; 9] = [
    "ImagePolicyWebhook",
    "JobValidation",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "PodGroupProtection",
    "PodGroupWorkloadExists",
    "ResourceQuota",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
];

/// The plugins of a server.
pub struct Chain {
    plugins: Vec<(&'static str, &'static Plugin)>,
    namespace_check: NamespaceCheck,
    provisions_namespaces: bool,
    configuration: Configuration,
    authorizer: Authorizer,
    observer: Option<Observer>,
}

impl Chain {
    /// The plugins that are on by default. The authorizer answers plugins that ask for more than the request's own verb.
    pub fn new(authorizer: Authorizer) -> Self {
        Chain::with(authorizer, &[], &[], Configuration::default())
    }

    /// The plugins that are on by default and those enabled, but not those disabled.
    pub fn with(authorizer: Authorizer, enabled: &[String], disabled: &[String], configuration: Configuration) -> Self {
        let is_among = |names: &[String], name: &str| names.iter().any(|named| named == name);
        let is_on = |(name, _, on): &&(&str, _, bool)| (*on || is_among(enabled, name)) && !is_among(disabled, name);
        let is_disabled = |name| is_among(disabled, name);
        let namespace_check = match is_among(enabled, NAMESPACE_EXISTS) && !is_disabled(NAMESPACE_EXISTS) {
            _ if !is_disabled(NAMESPACE_LIFECYCLE) => NamespaceCheck::Active,
            true => NamespaceCheck::Exists,
            false => NamespaceCheck::None,
        };
        Chain {
            namespace_check,
            plugins: PLUGINS.iter().filter(is_on).map(|(name, plugin, _)| (*name, *plugin)).collect(),
            provisions_namespaces: is_among(enabled, NAMESPACE_AUTO_PROVISION),
            configuration,
            authorizer,
            observer: None,
        }
    }

    /// The same, watched by an observer.
    pub fn observed(self, observer: Observer) -> Self {
        Chain { observer: Some(observer), ..self }
    }

    fn act(
        &self,
        plugin: &'static str,
        operation: Operation,
        phase: &'static str,
        act: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(observer) = &self.observer else { return act() };
        let started = Instant::now();
        let outcome = act();
        let (operation, refused) = (operation.name(), outcome.is_err());
        observer(Acted { plugin, operation, phase, refused, took: started.elapsed() });
        outcome
    }

    fn request<'a>(&'a self, write: &'a AdmissionRequest<'a>, operation: Operation, phase: Phase) -> Request<'a> {
        Request { write, operation, authorizer: &self.authorizer, configuration: &self.configuration, phase }
    }

    /// The plugins that have something to say about a request.
    fn concerned<'a>(
        &'a self,
        operation: Operation,
        write: &'a AdmissionRequest<'a>,
    ) -> impl Iterator<Item = (&'static str, &'static Plugin)> {
        self.plugins.iter().copied().filter(move |(_, plugin)| plugin.sees(operation, write))
    }
}

impl Admission for Chain {
    fn mutate(&self, write: &AdmissionRequest<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()> {
        let operation = Operation::of(write);
        let request = self.request(write, operation, Phase::Mutate);
        for (name, plugin) in self.concerned(operation, write) {
            if let Some(mutate) = plugin.mutate {
                self.act(name, operation, "admit", || mutate(&request, object, warnings))?;
            }
        }
        match escalation::REQUESTS.iter().any(|row| row.is_for(write)) {
            true => escalation::confirm(&request, object),
            false => Ok(()),
        }
    }

    fn validate(&self, write: &AdmissionRequest<'_>, object: &Value, warnings: &mut Vec<String>) -> Result<()> {
        let operation = Operation::of(write);
        let request = self.request(write, operation, Phase::Validate);
        for (name, plugin) in self.concerned(operation, write) {
            if let Some(validate) = plugin.validate {
                self.act(name, operation, "validate", || validate(&request, object, warnings))?;
            }
        }
        Ok(())
    }

    fn delete(&self, registry: &Registry, target: &Target, old: &Value, options: &DeleteOptions) -> Result<()> {
        let operation = Operation::Delete;
        if self.namespace_check == NamespaceCheck::Active {
            self.act(NAMESPACE_LIFECYCLE, operation, "admit", || namespace_lifecycle::check_deletion(target))?;
        }
        if !self.plugins.iter().any(|(_, plugin)| plugin.delete.is_some()) {
            return Ok(());
        }
        let options =
            WriteOptions { dry_run: options.dry_run, requester: options.requester.clone(), ..WriteOptions::default() };
        let write =
            AdmissionRequest { registry, target, subresource: "", old: Some(old), options: &options, around: &() };
        let request = self.request(&write, operation, Phase::Validate);
        for (name, plugin) in self.concerned(operation, &write) {
            if let Some(delete) = plugin.delete {
                self.act(name, operation, "admit", || delete(&request, old))?;
            }
        }
        Ok(())
    }

    fn namespace_check(&self) -> NamespaceCheck {
        self.namespace_check
    }

    fn provisions_namespaces(&self) -> bool {
        self.provisions_namespaces
    }

    fn refusal(&self, target: &Target, requester: &Requester, right: &Right<'_>) -> Option<Refusal> {
        rights::refusal(&self.authorizer, &target.resource, requester, right)
    }
}
