//! The status of validating admission policies: which of their expressions do not fit the types that they match. Guarantees
//! that each generation of a policy is checked once. Must never change what a policy does.

use super::{Reconciler, is_removal, read};
use crate::queue::Outcome;
use crate::requests::{Requests, Who, retry_on_failure};
use crate::resource_index::{KindId, ObjectKey, ResourceIndex};
use pintle_cache::{Event, Object, WatchFilter};
use pintle_policies::{ExpressionWarning, type_check};
use pintle_schema::{Value, value};
use std::sync::Arc;
use std::time::Duration;

/// The name of the controller, which is also its field manager.
const NAME: &str = "validatingadmissionpolicy-status-controller";

pub struct PolicyStatus {
    index: Arc<ResourceIndex>,
    policies: KindId,
}

/// The generation of a policy that was not checked yet.
fn unchecked_generation(policy: &Value) -> Option<i64> {
    let number = |path: &[&str]| policy.at(path).and_then(Value::as_i64).unwrap_or(0);
    let generation = number(&["metadata", "generation"]);
    (generation > number(&["status", "observedGeneration"])).then_some(generation)
}

fn configuration(name: &str, generation: i64, warnings: Vec<ExpressionWarning>) -> Value {
    let warning = |one: ExpressionWarning| value!({"fieldRef": (one.field_ref), "warning": (one.warning)});
    let mut checking = Value::map();
    if !warnings.is_empty() {
        checking.set_at(&["expressionWarnings"], Value::List(warnings.into_iter().map(warning).collect()));
    }
    value!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "status": {"observedGeneration": generation, "typeChecking": checking}
    })
}

impl Reconciler for PolicyStatus {
    const QUEUE: &'static str = "validatingadmissionpolicy-status";
    const WORKERS: usize = 5;

    fn new(index: Arc<ResourceIndex>) -> Option<Self> {
        let policies = index.stored("admissionregistration.k8s.io", "validatingadmissionpolicies")?;
        Some(PolicyStatus { index, policies })
    }

    fn interest(&self, kind: KindId) -> Option<WatchFilter> {
        (kind == self.policies).then_some(WatchFilter::Everything)
    }

    fn due(&self, kind: KindId, object: &Object, event: Option<&Event>, due: &mut dyn FnMut(ObjectKey, Duration)) {
        if kind == self.policies && !is_removal(event) {
            due(ObjectKey { kind, key: object.key.clone() }, Duration::ZERO);
        }
    }

    async fn sync(&self, place: &ObjectKey) -> Outcome {
        let Some(kind) = self.index.kind(place.kind) else { return Outcome::Done };
        let Some((stored, policy)) = read(&self.index, place) else { return Outcome::Done };
        let Some(generation) = unchecked_generation(&policy) else { return Outcome::Done };
        let registry = self.index.registry.clone();
        let mut stamp = [0; 4];
        registry.environment.random(&mut stamp);
        // Many expressions and large types take a while.
        let check =
            move || type_check(&policy, &registry.resources.snapshot(), u32::from_ne_bytes(stamp) % 1_000_000_000);
        let Ok(warnings) = tokio::task::spawn_blocking(check).await else { return Outcome::Done };
        let requests = Requests { index: &self.index, who: Who::Account(NAME) };
        let configuration = configuration(stored.name(), generation, warnings);
        match requests.apply(&kind.at(&stored), "status", NAME, &configuration).await {
            // Trying again would not help.
            Err(status) if matches!(status.code, 400 | 413 | 422) => Outcome::Done,
            outcome => retry_on_failure(&outcome),
        }
    }
}
