//! `Configuration`: the settings of plugins, read when a server starts. Guarantees that a setting means what
//! kube-apiserver's configuration of that plugin means. Must never read files: it gets their content.

pub use crate::default_tolerations::TolerationSeconds;
pub use crate::event_rate_limit::EventLimits;
pub use crate::image_policy::ImagePolicy;
pub use crate::pod_node_selector::check as check_node_selector;
pub use crate::pod_security::{Counted, PodSecurity, PodSecurityCounts};
use pintle_types::config_podtolerationrestriction::v1alpha1 as tolerations;
use pintle_types::config_resourcequota::v1::LimitedResource;
use pintle_webhook::Kubeconfig;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Files with the credentials for webhooks.
#[derive(Clone, Debug, Default)]
pub struct WebhookCredentials {
    /// For mutating webhooks.
    pub mutating: Option<Kubeconfig>,
    /// For validating webhooks.
    pub validating: Option<Kubeconfig>,
}

/// The directories of configurations that plugins take from files, besides those of the API.
#[derive(Clone, Debug, Default)]
pub struct ManifestDirectories {
    pub mutating_webhooks: Option<PathBuf>,
    pub validating_webhooks: Option<PathBuf>,
    pub mutating_policies: Option<PathBuf>,
    pub validating_policies: Option<PathBuf>,
}

/// Settings of plugins; the default is kube-apiserver's behaviour without settings.
#[derive(Debug, Default)]
pub struct Configuration {
    /// `DefaultTolerationSeconds`: how long pods stay on a node that fails.
    pub toleration_seconds: TolerationSeconds,
    /// `EventRateLimit`: the limits of events.
    pub event_limits: EventLimits,
    /// `ImagePolicyWebhook`: the webhook that reviews images; without it, that plugin admits no pod.
    pub image_policy: Option<ImagePolicy>,
    /// `PodNodeSelector`: selectors by namespace, and a default.
    pub node_selectors: BTreeMap<String, String>,
    /// `PodSecurity`: the defaults for namespaces without labels, and the exemptions.
    pub pod_security: PodSecurity,
    /// `ResourceQuota`: resources that must not be consumed without a quota.
    pub limited_resources: Vec<LimitedResource>,
    /// `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`: credentials for webhooks.
    pub webhooks: WebhookCredentials,
    /// The plugins of webhooks and policies: `staticManifestsDir`.
    pub manifests: ManifestDirectories,
    /// `PodTolerationRestriction`: the defaults for namespaces without annotations.
    pub tolerations: tolerations::Configuration,
}
