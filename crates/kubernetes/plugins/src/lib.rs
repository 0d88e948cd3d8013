//! Built-in admission: plugins that change or reject objects between the request and the store. Guarantees kube-apiserver's
//! order and messages; a plugin sees only the resources and operations that its row names. Must never wait for anything but the
//! authorizer and, in ImagePolicyWebhook, its webhook: other objects are read from memory, and a missing one does not exist.

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
mod image_policy;
mod limit_ranger;
mod limits;
mod namespace_lifecycle;
mod node_restriction;
mod owner_references;
mod parameters;
mod plugin;
mod pod_groups;
mod pod_node_selector;
pub mod pod_references;
mod pod_resize;
mod pod_security;
mod pod_topology_labels;
mod priority;
mod request;
mod resource_quota;
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
use pintle_auth::AuthorizerUnion;
use pintle_kubernetes_auth::rbac::RbacSource;
use pintle_registry::{AdmissionChain, AdmissionPlugin, AdmissionRequest, Admitted, NamespaceCheck, Operation, Phase};
use pintle_schema::Value;
use plugin::Plugin;
use request::Request;
use resource_quota::Quotas;
use rights::AuthorizerRights;
use std::sync::Arc;

/// On by default.
const ON: bool = true;
/// Off by default.
const OFF: bool = false;

/// The plugins by their names, in order.
const PLUGINS: [(&str, &Plugin, bool); 31] = [
    ("LimitPodHardAntiAffinityTopology", &anti_affinity::PLUGIN, OFF),
    ("LimitRanger", &limit_ranger::PLUGIN, ON),
    ("ServiceAccount", &service_account::PLUGIN, ON),
    ("NodeRestriction", &node_restriction::PLUGIN, OFF),
    ("TaintNodesByCondition", &taint_nodes::PLUGIN, ON),
    ("AlwaysPullImages", &always_pull_images::PLUGIN, OFF),
    ("ImagePolicyWebhook", &image_policy::PLUGIN, OFF),
    ("PodSecurity", &pod_security::PLUGIN, ON),
    ("PodNodeSelector", &pod_node_selector::PLUGIN, OFF),
    ("Priority", &priority::PLUGIN, ON),
    ("DefaultTolerationSeconds", &default_tolerations::PLUGIN, ON),
    ("PodTolerationRestriction", &toleration_restriction::PLUGIN, OFF),
    ("EventRateLimit", &event_rate_limit::PLUGIN, OFF),
    ("ExtendedResourceToleration", &extended_resources::PLUGIN, OFF),
    ("DefaultStorageClass", &default_class::DEFAULT_STORAGE_CLASS, ON),
    ("StorageObjectInUseProtection", &storage_protection::PLUGIN, ON),
    ("PodGroupProtection", &pod_groups::PROTECTION, ON),
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
    ("PodGroupWorkloadExists", &pod_groups::WORKLOAD_EXISTS, ON),
    ("NodeDeclaredFeatureValidator", &declared_features::PLUGIN, ON),
    ("JobValidation", &pod_groups::JOB_VALIDATION, ON),
    ("PodResizeValidator", &pod_resize::PLUGIN, ON),
];

/// Rejects everything, after all others.
const ALWAYS_DENY: &str = "AlwaysDeny";

/// Makes namespaces that are missing, which is the registry's work.
const NAMESPACE_AUTO_PROVISION: &str = "NamespaceAutoProvision";

/// Restricts creates to existing, non-terminating namespaces, which the registry checks, and protects some namespaces from
/// deletion.
const NAMESPACE_LIFECYCLE: &str = "NamespaceLifecycle";

/// Restricts creates to existing namespaces, if the plugin above is disabled.
const NAMESPACE_EXISTS: &str = "NamespaceExists";

/// Plugins that are no entries of the table above.
const IMPLIED: [&str; 4] = ["AlwaysAdmit", NAMESPACE_EXISTS, resource_quota::NAME, ALWAYS_DENY];

/// Plugins of other crates that act after those of the table and before the last ones, in the order in which they act.
const LATE: [&str; 4] =
    ["MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook"];

/// The names of all plugins.
pub fn names() -> impl Iterator<Item = &'static str> {
    let others = [NAMESPACE_LIFECYCLE, NAMESPACE_AUTO_PROVISION];
    PLUGINS.iter().map(|(name, ..)| *name).chain(IMPLIED).chain(LATE).chain(others)
}

/// Whether a plugin has this name.
pub fn is_known(name: &str) -> bool {
    names().any(|own| own == name)
}

/// The plugins that are enabled, by default or by `enabled`, and not disabled, as a chain without an observer. The authorizer
/// serves plugins and rules that need more than the request's own verb. `late` are plugins of other crates that are on by
/// default.
pub fn chain(
    authorizer: &AuthorizerUnion,
    roles: Arc<dyn RbacSource>,
    enabled: &[String],
    disabled: &[String],
    mut configuration: Configuration,
    mut late: Vec<Arc<dyn AdmissionPlugin>>,
) -> AdmissionChain {
    let is_among = |names: &[String], name: &str| names.iter().any(|named| named == name);
    let is_on = |(name, _, on): &&(&str, _, bool)| (*on || is_among(enabled, name)) && !is_among(disabled, name);
    let is_disabled = |name| is_among(disabled, name);
    let namespace_check = match is_among(enabled, NAMESPACE_EXISTS) && !is_disabled(NAMESPACE_EXISTS) {
        _ if !is_disabled(NAMESPACE_LIFECYCLE) => NamespaceCheck::Active,
        true => NamespaceCheck::Exists,
        false => NamespaceCheck::None,
    };
    let limited = std::mem::take(&mut configuration.limited_resources);
    let context = Arc::new(PluginContext { authorizer: authorizer.clone(), roles, configuration });
    let built_in =
        |name, plugin| -> Arc<dyn AdmissionPlugin> { Arc::new(BuiltIn { name, plugin, context: context.clone() }) };
    let mut plugins = vec![built_in("", &parameters::PLUGIN), built_in("", &certificates::POD_SIGNING)];
    if namespace_check == NamespaceCheck::Active {
        plugins.push(built_in(NAMESPACE_LIFECYCLE, &namespace_lifecycle::PLUGIN));
    }
    plugins.extend(PLUGINS.iter().filter(is_on).map(|(name, plugin, _)| built_in(name, plugin)));
    late.retain(|plugin| !is_among(disabled, plugin.name()));
    late.sort_by_key(|plugin| LATE.iter().position(|name| *name == plugin.name()));
    plugins.append(&mut late);
    if !is_disabled(resource_quota::NAME) {
        plugins.push(Arc::new(Quotas::new(limited)));
    }
    if is_among(enabled, ALWAYS_DENY) && !is_disabled(ALWAYS_DENY) {
        plugins.push(built_in(ALWAYS_DENY, &always_deny::PLUGIN));
    }
    plugins.push(built_in("", &escalation::PLUGIN));
    AdmissionChain {
        plugins,
        observer: None,
        namespace_check,
        provisions_namespaces: is_among(enabled, NAMESPACE_AUTO_PROVISION),
        rights: Some(Arc::new(AuthorizerRights(authorizer.clone()))),
    }
}

/// The environment of plugins.
struct PluginContext {
    authorizer: AuthorizerUnion,
    roles: Arc<dyn RbacSource>,
    configuration: Configuration,
}

/// One of the plugins above in a chain.
struct BuiltIn {
    name: &'static str,
    plugin: &'static Plugin,
    context: Arc<PluginContext>,
}

impl BuiltIn {
    fn request<'a>(&'a self, write: &'a AdmissionRequest<'a>, phase: Phase) -> Request<'a> {
        let PluginContext { authorizer, roles, configuration } = &*self.context;
        Request { write, authorizer, roles: &**roles, configuration, phase }
    }

    fn authorizes_in(&self, phase: Phase) -> bool {
        self.plugin.authorize.is_some_and(|(own, _)| own == phase)
    }

    /// The outcome of a phase after the plugin's authorization checks.
    fn authorized<'a>(
        &self,
        outcome: pintle_registry::Result<()>,
        request: Request<'a>,
        object: &'a Value,
    ) -> Admitted<'a> {
        match (outcome, self.plugin.authorize) {
            (Ok(()), Some((phase, authorize))) if phase == request.phase => authorize(request, object),
            (outcome, _) => outcome.into(),
        }
    }
}

impl AdmissionPlugin for BuiltIn {
    fn name(&self) -> &str {
        self.name
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        let acts = match (request.operation, phase) {
            (Operation::Delete, Phase::Mutate) => self.plugin.delete.is_some(),
            (Operation::Delete, Phase::Validate) | (Operation::Connect, _) => false,
            (_, Phase::Mutate) => self.plugin.mutate.is_some() || self.authorizes_in(phase),
            (_, Phase::Validate) => self.plugin.validate.is_some() || self.authorizes_in(phase),
        };
        acts && self.plugin.sees(request)
    }

    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let request = self.request(request, Phase::Mutate);
        let outcome = self.plugin.mutate.map_or(Ok(()), |mutate| mutate(&request, object, warnings));
        self.authorized(outcome, request, object)
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        let request = self.request(request, Phase::Validate);
        let outcome = self.plugin.validate.map_or(Ok(()), |validate| validate(&request, object, warnings));
        self.authorized(outcome, request, object)
    }

    fn delete<'a>(&'a self, _: Phase, request: &'a AdmissionRequest<'a>, old: &'a Value) -> Admitted<'a> {
        let request = self.request(request, Phase::Validate);
        self.plugin.delete.map_or(Ok(()), |delete| delete(&request, old)).into()
    }
}
