//! `Source`: the policies that have bindings, compiled, as they are now.
//! Guarantees that a request sees every change that was published before it, and that a policy is compiled once for each of its
//! states.
//! Must never cost more than two comparisons while nothing changes.

use crate::policy::{Binding, Policy};
use arc_swap::ArcSwap;
use pintle_registry::{AdmissionRequest, Registry, Status, Target};
use pintle_resource::Resource;
use pintle_schema::Value;
use pintle_storage::Revision;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

const GROUP: &str = "admissionregistration.k8s.io";

/// A policy and its bindings, by name.
pub struct BoundPolicy<E> {
    pub policy: Arc<Policy<E>>,
    pub bindings: Vec<Binding>,
}

/// The policies of one moment, by name.
pub struct Snapshot<E> {
    at: [Revision; 2],
    pub hooks: Vec<BoundPolicy<E>>,
    /// By the identity of the state they were compiled from.
    compiled: HashMap<u64, Arc<Policy<E>>>,
}

/// Policies that match a request, by their position: each with the version that it matches, or the error.
pub type Matches = Vec<(usize, Result<Arc<Resource>, Box<Status>>)>;

impl<E> Snapshot<E> {
    /// The policies that match a request. Costs no allocation if there are none.
    pub fn matching(&self, request: &AdmissionRequest<'_>, object: Option<&Value>) -> Matches {
        let hooks = self.hooks.iter().enumerate();
        hooks.filter_map(|(at, hook)| Some((at, hook.policy.matching.find(request, object).transpose()?))).collect()
    }
}

/// Compiles a policy from its name and spec.
type Compile<E> = fn(&str, &Value) -> E;

/// The policies of a kind.
pub struct Source<E> {
    policies: &'static str,
    bindings: &'static str,
    compile: Compile<E>,
    targets: OnceLock<Option<[Target; 2]>>,
    current: ArcSwap<Snapshot<E>>,
    /// Held while a snapshot is made.
    making: Mutex<()>,
}

impl<E: Send + Sync> Source<E> {
    /// Those of these resources.
    pub fn new(policies: &'static str, bindings: &'static str, compile: Compile<E>) -> Self {
        let none = Snapshot { at: [Revision(0); 2], hooks: Vec::new(), compiled: HashMap::new() };
        Source {
            policies,
            bindings,
            compile,
            targets: OnceLock::new(),
            current: ArcSwap::from_pointee(none),
            making: Mutex::new(()),
        }
    }

    fn targets(&self, registry: &Registry) -> Option<&[Target; 2]> {
        let target = |plural| registry.target(pintle_groups::find(GROUP, "v1", plural)?, "", "");
        self.targets.get_or_init(|| Some([target(self.policies)?, target(self.bindings)?])).as_ref()
    }

    /// Whether there is any.
    pub fn is_empty(&self, registry: &Registry) -> bool {
        let Some(targets) = self.targets(registry) else { return true };
        let current = self.current.load();
        match current.at == last(targets) {
            true => current.hooks.is_empty(),
            false => self.snapshot(registry).hooks.is_empty(),
        }
    }

    /// The policies as they are now.
    pub fn snapshot(&self, registry: &Registry) -> Arc<Snapshot<E>> {
        let Some(targets) = self.targets(registry) else { return self.current.load_full() };
        let current = self.current.load_full();
        if current.at == last(targets) {
            return current;
        }
        let _guard = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load_full();
        // Loaded before the objects, which may be newer: then the next request makes another snapshot.
        let at = last(targets);
        if before.at == at {
            return before;
        }
        let next = Arc::new(self.make(registry, targets, at, &before));
        self.current.store(next.clone());
        next
    }

    fn make(
        &self,
        registry: &Registry,
        [policies, bindings]: &[Target; 2],
        at: [Revision; 2],
        before: &Snapshot<E>,
    ) -> Snapshot<E> {
        let mut bound: HashMap<String, Vec<Binding>> = HashMap::new();
        for object in bindings.cache.state().objects.values() {
            if let Ok(value) = registry.decode(bindings, object) {
                let (policy, binding) = Binding::read(&value);
                bound.entry(policy).or_default().push(binding);
            }
        }
        let (mut hooks, mut compiled) = (Vec::new(), HashMap::new());
        for object in policies.cache.state().objects.values() {
            let Some(bindings) = bound.remove(object.name()) else { continue };
            let known = before.compiled.get(&object.id).cloned();
            let made = || {
                let value = registry.decode(policies, object).ok()?;
                Some(Arc::new(Policy::read(&value, self.compile)))
            };
            let Some(policy) = known.or_else(made) else { continue };
            compiled.insert(object.id, policy.clone());
            hooks.push(BoundPolicy { policy, bindings });
        }
        Snapshot { at, hooks, compiled }
    }
}

fn last([policies, bindings]: &[Target; 2]) -> [Revision; 2] {
    [policies.cache.state().last, bindings.cache.state().last]
}
