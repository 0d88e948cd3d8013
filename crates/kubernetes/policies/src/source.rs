//! `Source`: the policies that have bindings, compiled, as they are now: those of files, then the stored ones.
//! Guarantees that a request sees every change that was published before it, and that a policy is compiled once for each of its
//! states.
//! Must never cost more than three comparisons while nothing changes.

use crate::policy::{Binding, Policy};
use crate::{Exemption, exemption};
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
    /// The policies of files with which it was made.
    files: Arc<Vec<Arc<BoundPolicy<E>>>>,
    pub hooks: Vec<Arc<BoundPolicy<E>>>,
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
    /// The policies of files alone.
    files: ArcSwap<Snapshot<E>>,
    /// Held while a snapshot is made.
    making: Mutex<()>,
}

impl<E> Snapshot<E> {
    /// The policies of files alone.
    fn of_files(files: Vec<Arc<BoundPolicy<E>>>) -> Self {
        let hooks = files.clone();
        Snapshot { at: [Revision(0); 2], files: Arc::new(files), hooks, compiled: HashMap::new() }
    }
}

impl<E: Send + Sync> Source<E> {
    /// Those of these resources.
    pub fn new(policies: &'static str, bindings: &'static str, compile: Compile<E>) -> Self {
        Source {
            policies,
            bindings,
            compile,
            targets: OnceLock::new(),
            current: ArcSwap::from_pointee(Snapshot::of_files(Vec::new())),
            files: ArcSwap::from_pointee(Snapshot::of_files(Vec::new())),
            making: Mutex::new(()),
        }
    }

    fn targets(&self, registry: &Registry) -> Option<&[Target; 2]> {
        let target = |plural| registry.target(pintle_groups::find(GROUP, "v1", plural)?, "", "");
        self.targets.get_or_init(|| Some([target(self.policies)?, target(self.bindings)?])).as_ref()
    }

    /// Replaces the policies of files and their bindings.
    pub fn set_files(&self, policies: &[Value], bindings: &[Value]) {
        let mut bound: HashMap<String, Vec<Binding>> = HashMap::new();
        for (policy, binding) in bindings.iter().map(Binding::read) {
            bound.entry(policy).or_default().push(binding);
        }
        let bind = |policy: &Value| {
            let policy = Arc::new(Policy::read(policy, self.compile));
            let bindings = bound.remove(&policy.name)?;
            Some(Arc::new(BoundPolicy { policy, bindings }))
        };
        self.files.store(Arc::new(Snapshot::of_files(policies.iter().filter_map(bind).collect())));
    }

    /// Whether there is none that a request may match.
    pub fn is_empty(&self, request: &AdmissionRequest<'_>) -> bool {
        let exemption = exemption(request);
        if exemption != Exemption::None {
            return exemption == Exemption::FromAll || self.files.load().hooks.is_empty();
        }
        self.has_none(request.registry)
    }

    /// Whether there is none at all.
    pub fn has_none(&self, registry: &Registry) -> bool {
        let Some(targets) = self.targets(registry) else { return self.files.load().hooks.is_empty() };
        let current = self.current.load();
        match self.is_current(&current, targets) {
            true => current.hooks.is_empty(),
            false => self.whole(registry, targets).hooks.is_empty(),
        }
    }

    fn is_current(&self, snapshot: &Snapshot<E>, targets: &[Target; 2]) -> bool {
        snapshot.at == last(targets) && Arc::ptr_eq(&snapshot.files, &self.files.load().files)
    }

    /// The policies as they are now, without those that do not act on the request's resource.
    pub fn snapshot(&self, request: &AdmissionRequest<'_>) -> Arc<Snapshot<E>> {
        match (exemption(request), self.targets(request.registry)) {
            (Exemption::FromAll, _) => Arc::new(Snapshot::of_files(Vec::new())),
            (Exemption::FromStored, _) | (_, None) => self.files.load_full(),
            (Exemption::None, Some(targets)) => self.whole(request.registry, targets),
        }
    }

    fn whole(&self, registry: &Registry, targets: &[Target; 2]) -> Arc<Snapshot<E>> {
        let current = self.current.load_full();
        if self.is_current(&current, targets) {
            return current;
        }
        let _guard = self.making.lock().unwrap_or_else(PoisonError::into_inner);
        let before = self.current.load_full();
        // Loaded before the objects, which may be newer: then the next request makes another snapshot.
        let at = last(targets);
        if self.is_current(&before, targets) {
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
        let files = self.files.load().files.clone();
        let (mut hooks, mut compiled) = (Vec::clone(&files), HashMap::new());
        for object in policies.cache.state().objects.values() {
            let Some(bindings) = bound.remove(object.name()) else { continue };
            let known = before.compiled.get(&object.id).cloned();
            let made = || {
                let value = registry.decode(policies, object).ok()?;
                Some(Arc::new(Policy::read(&value, self.compile)))
            };
            let Some(policy) = known.or_else(made) else { continue };
            compiled.insert(object.id, policy.clone());
            hooks.push(Arc::new(BoundPolicy { policy, bindings }));
        }
        Snapshot { at, files, hooks, compiled }
    }
}

fn last([policies, bindings]: &[Target; 2]) -> [Revision; 2] {
    [policies.cache.state().last, bindings.cache.state().last]
}
