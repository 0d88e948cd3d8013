//! Admission webhooks: the plugins `MutatingAdmissionWebhook` and `ValidatingAdmissionWebhook`. Guarantees that a configuration
//! applies to every request that begins after its write was acknowledged, and that a request that no webhook matches never
//! waits. Must never call a webhook of a stored configuration for webhook configurations or admission policies: a bad one could
//! not be removed. Webhooks of configurations in files are called for these, too.

mod annotations;
mod dispatch;
mod failure;
mod hook;
mod metrics;
mod mutating;
mod owners;
mod review;
mod services;
mod source;
mod validating;
mod versioned;

pub use metrics::WebhookMetrics;
pub use services::RegistryServices;

use hook::HookContext;
use pintle_auth::AuthorizerUnion;
use pintle_expressions::ConditionMetrics;
use pintle_registry::{AdmissionPlugin, AdmissionRequest, Admitted, Phase, Registry};
use pintle_schema::Value;
use pintle_webhook::{Clients, Kubeconfig};
use source::{Snapshot, Source};
use std::sync::Arc;

/// The name of the plugin that calls mutating webhooks.
pub const MUTATING: &str = "MutatingAdmissionWebhook";
/// The name of the plugin that calls validating webhooks.
pub const VALIDATING: &str = "ValidatingAdmissionWebhook";

/// The User-Agent of calls to admission webhooks.
const USER_AGENT: &str = "kube-apiserver-admission";

/// The two kinds of webhooks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Mutating,
    Validating,
}

impl Kind {
    /// The resource of its configurations.
    const fn plural(self) -> &'static str {
        match self {
            Kind::Mutating => "mutatingwebhookconfigurations",
            Kind::Validating => "validatingwebhookconfigurations",
        }
    }

    /// As metrics name it.
    const fn metric_type(self) -> &'static str {
        match self {
            Kind::Mutating => "admit",
            Kind::Validating => "validating",
        }
    }

    const fn phase(self) -> Phase {
        match self {
            Kind::Mutating => Phase::Mutate,
            Kind::Validating => Phase::Validate,
        }
    }
}

/// The shared parts of both plugins.
pub struct Parts {
    /// Connections to webhooks.
    pub clients: Arc<Clients>,
    /// Evaluates match conditions.
    pub authorizer: AuthorizerUnion,
    /// Counts calls.
    pub metrics: Arc<WebhookMetrics>,
    /// Counts match conditions.
    pub conditions: Arc<ConditionMetrics>,
}

/// A plugin that calls webhooks.
pub struct AdmissionWebhooks {
    kind: Kind,
    source: Source,
    authorizer: AuthorizerUnion,
    metrics: Arc<WebhookMetrics>,
    conditions: Arc<ConditionMetrics>,
}

impl AdmissionWebhooks {
    /// The plugin that calls mutating webhooks, with the credentials of a file.
    pub fn mutating(parts: &Parts, credentials: Option<Kubeconfig>) -> AdmissionWebhooks {
        AdmissionWebhooks::new(Kind::Mutating, parts, credentials)
    }

    /// The plugin that calls validating webhooks.
    pub fn validating(parts: &Parts, credentials: Option<Kubeconfig>) -> AdmissionWebhooks {
        AdmissionWebhooks::new(Kind::Validating, parts, credentials)
    }

    fn new(kind: Kind, parts: &Parts, credentials: Option<Kubeconfig>) -> AdmissionWebhooks {
        AdmissionWebhooks {
            kind,
            source: Source::new(kind, HookContext { clients: parts.clients.clone(), credentials }),
            authorizer: parts.authorizer.clone(),
            metrics: parts.metrics.clone(),
            conditions: parts.conditions.clone(),
        }
    }

    /// Replaces the configurations in files, which are complete and valid, in the order in which they are called. They apply to
    /// every request that begins afterwards.
    pub fn set_files(&self, configurations: &[Value]) {
        self.source.set_files(configurations);
    }

    /// The webhooks in force, if one may match the request.
    fn concerned(&self, request: &AdmissionRequest<'_>) -> Option<Arc<Snapshot>> {
        let mut snapshot = self.source.snapshot(request.registry)?;
        if is_exempt(request) {
            snapshot = self.source.of_files()?;
        }
        snapshot.may_match(request).then_some(snapshot)
    }
}

/// Whether the request is about webhook configurations or admission policies, for which stored webhooks are not called.
fn is_exempt(request: &AdmissionRequest<'_>) -> bool {
    const EXEMPT: [&str; 6] = [
        "mutatingadmissionpolicies",
        "mutatingadmissionpolicybindings",
        "mutatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
        "validatingwebhookconfigurations",
    ];
    let resource = request.resource();
    resource.group == "admissionregistration.k8s.io" && EXEMPT.contains(&resource.plural.as_str())
}

impl AdmissionPlugin for AdmissionWebhooks {
    fn name(&self) -> &str {
        match self.kind {
            Kind::Mutating => MUTATING,
            Kind::Validating => VALIDATING,
        }
    }

    fn handles(&self, phase: Phase, request: &AdmissionRequest<'_>) -> bool {
        phase == self.kind.phase() && self.concerned(request).is_some()
    }

    fn may_wait(&self, registry: &Registry) -> bool {
        self.source.snapshot(registry).is_some()
    }

    fn mutate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a mut Value,
        _warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        match self.concerned(request) {
            Some(hooks) => Admitted::wait(async move { self.call_mutating(&hooks, request, Some(object)).await }),
            None => Admitted::Ready(Ok(())),
        }
    }

    fn validate<'a>(
        &'a self,
        request: &'a AdmissionRequest<'a>,
        object: &'a Value,
        warnings: &'a mut Vec<String>,
    ) -> Admitted<'a> {
        match self.concerned(request) {
            Some(hooks) => {
                Admitted::wait(async move { self.call_validating(&hooks, request, Some(object), Some(warnings)).await })
            }
            None => Admitted::Ready(Ok(())),
        }
    }

    fn delete<'a>(&'a self, _phase: Phase, request: &'a AdmissionRequest<'a>, _old: &'a Value) -> Admitted<'a> {
        match (self.concerned(request), self.kind) {
            (None, _) => Admitted::Ready(Ok(())),
            (Some(hooks), Kind::Mutating) => {
                Admitted::wait(async move { self.call_mutating(&hooks, request, None).await })
            }
            (Some(hooks), Kind::Validating) => {
                Admitted::wait(async move { self.call_validating(&hooks, request, None, None).await })
            }
        }
    }
}
