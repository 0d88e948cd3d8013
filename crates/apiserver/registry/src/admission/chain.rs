//! `AdmissionChain`: the admission plugins of a server, called one after the other. Guarantees their order, that the first
//! rejection ends a request, and that each plugin's time is reported once. Must never call a plugin for a request that it does
//! not handle.

use super::{AdmissionPlugin, AdmissionRequest, Admitted, NamespaceCheck, Operation, Phase, Reinvocation};
use crate::context::Step;
use crate::metadata;
use crate::status::{Result, Status};
use crate::{Registry, RequestContext, Target};
use pintle_resource::MaybeReady;
use pintle_schema::Value;
use pintle_validation::{Refusal, Right};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Is given the time of every plugin and every phase.
pub trait AdmissionObserver: Send + Sync {
    /// A plugin has returned.
    fn plugin(&self, name: &str, operation: Operation, phase: Phase, refused: bool, took: Duration);

    /// All plugins of a phase have returned, or one has rejected the request.
    fn phase(&self, operation: Operation, phase: Phase, refused: bool, took: Duration);
}

/// Checks whether a writer has a permission besides the write, for validation rules.
pub trait Rights: Send + Sync {
    /// Why the writer lacks a permission; `None` when they have it.
    fn refusal<'a>(
        &'a self,
        target: &'a Target,
        context: &'a RequestContext,
        right: &Right<'a>,
    ) -> MaybeReady<'a, Option<Refusal>>;
}

/// The admission plugins of a server, in the order in which they act.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    pub plugins: Vec<Arc<dyn AdmissionPlugin>>,
    pub observer: Option<Arc<dyn AdmissionObserver>>,
    /// What is checked of the namespace of a created object.
    pub namespace_check: NamespaceCheck,
    /// Whether a missing namespace is created with the first object in it.
    pub provisions_namespaces: bool,
    /// Without one, every permission is granted.
    pub rights: Option<Arc<dyn Rights>>,
}

impl AdmissionChain {
    /// Runs the mutating phase, before the strategy and validation.
    ///
    /// # Errors
    /// A plugin rejects the write.
    pub async fn mutate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let rounds = Reinvocation::default();
        let request = &AdmissionRequest { rounds: Some(&rounds), ..*request };
        let phase = self.begin(Phase::Mutate, request);
        let mut outcome = Self::mutate_once(&phase, object, warnings).await;
        if outcome.is_ok() && rounds.begin_reinvocation() {
            outcome = Self::mutate_once(&phase, object, warnings).await;
        }
        phase.end(outcome.and_then(|()| keep_namespace(request, object)))
    }

    /// One round of all plugins.
    async fn mutate_once(phase: &PhaseCall<'_>, object: &mut Value, warnings: &mut Vec<String>) -> Result<()> {
        for plugin in phase.concerned() {
            phase.ask(&**plugin, || plugin.mutate(phase.request, object, warnings)).await?;
        }
        Ok(())
    }

    /// Whether any plugin handles a request in a phase.
    pub fn concerns(&self, request: &AdmissionRequest<'_>) -> bool {
        let handles = |plugin: &Arc<dyn AdmissionPlugin>| {
            plugin.handles(Phase::Mutate, request) || plugin.handles(Phase::Validate, request)
        };
        self.plugins.iter().any(handles)
    }

    /// Whether a write of the server itself may have to wait for another process.
    pub fn may_wait(&self, registry: &Registry) -> bool {
        self.plugins.iter().any(|plugin| plugin.may_wait(registry))
    }

    /// Runs the validating phase on the object as it will be stored.
    ///
    /// # Errors
    /// A plugin rejects the write.
    pub async fn validate(
        &self,
        request: &AdmissionRequest<'_>,
        object: &Value,
        warnings: &mut Vec<String>,
    ) -> Result<()> {
        let phase = self.begin(Phase::Validate, request);
        let mut outcome = Ok(());
        for plugin in phase.concerned() {
            outcome = phase.ask(&**plugin, || plugin.validate(request, object, warnings)).await;
            if outcome.is_err() {
                break;
            }
        }
        phase.end(outcome)
    }

    /// Runs admission for the deletion of a stored object.
    ///
    /// # Errors
    /// A plugin rejects the deletion.
    pub async fn delete(&self, request: &AdmissionRequest<'_>, old: &Value) -> Result<()> {
        for phase in [Phase::Mutate, Phase::Validate] {
            let asked = self.begin(phase, request);
            let mut outcome = Ok(());
            for plugin in asked.concerned() {
                outcome = asked.ask(&**plugin, || plugin.delete(phase, request, old)).await;
                if outcome.is_err() {
                    break;
                }
            }
            asked.end(outcome)?;
        }
        Ok(())
    }

    fn begin<'a>(&'a self, phase: Phase, request: &'a AdmissionRequest<'a>) -> PhaseCall<'a> {
        PhaseCall { chain: self, phase, request, started: Instant::now() }
    }
}

/// Whatever plugins make of an object, it stays in the namespace of the request.
fn keep_namespace(request: &AdmissionRequest<'_>, object: &mut Value) -> Result<()> {
    let is_written = matches!(request.operation, Operation::Create | Operation::Update);
    if !is_written || !request.subresource.is_empty() || !request.resource().namespaced {
        return Ok(());
    }
    match metadata::text(object, "namespace") {
        "" => metadata::set(object, "namespace", request.target.namespace.as_str()),
        namespace if namespace == request.target.namespace => {}
        _ => {
            let why = "the namespace of the provided object does not match the namespace sent on the request";
            return Err(Status::bad_request(why));
        }
    }
    Ok(())
}

/// A phase of one request.
struct PhaseCall<'a> {
    chain: &'a AdmissionChain,
    phase: Phase,
    request: &'a AdmissionRequest<'a>,
    started: Instant,
}

impl<'a> PhaseCall<'a> {
    fn concerned(&self) -> impl Iterator<Item = &'a Arc<dyn AdmissionPlugin>> + use<'a> {
        let (phase, request) = (self.phase, self.request);
        self.chain.plugins.iter().filter(move |plugin| plugin.handles(phase, request))
    }

    /// Calls a plugin, whose result may be ready when `call` returns.
    async fn ask<'b>(&self, plugin: &dyn AdmissionPlugin, call: impl FnOnce() -> Admitted<'b>) -> Result<()> {
        let Some(observer) = self.chain.observer.as_ref().filter(|_| !plugin.name().is_empty()) else {
            return call().get().await;
        };
        let started = Instant::now();
        let outcome = call().get().await;
        observer.plugin(plugin.name(), self.request.operation, self.phase, outcome.is_err(), started.elapsed());
        outcome
    }

    fn end(&self, outcome: Result<()>) -> Result<()> {
        if let Some(observer) = &self.chain.observer {
            observer.phase(self.request.operation, self.phase, outcome.is_err(), self.started.elapsed());
        }
        let step = match self.phase {
            Phase::Mutate => Step::MutatingAdmission,
            Phase::Validate => Step::ValidatingAdmission,
        };
        self.request.options.context.spent(step, self.started);
        outcome
    }
}
