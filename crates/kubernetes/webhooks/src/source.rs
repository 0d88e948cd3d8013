//! `Source`: the active webhooks, from the stored configurations. Guarantees that a snapshot is never older than the cache, and
//! that only changed configurations are parsed again. Costs a request at most two loads if nothing has changed.

use crate::Kind;
use crate::hook::{Hook, HookContext};
use arc_swap::ArcSwapOption;
use pintle_cache::ResourceCache;
use pintle_registry::{AdmissionRequest, Registry};
use pintle_storage::{Key, Revision};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The webhooks of all configurations, in the order in which they are called.
pub(crate) struct Snapshot {
    revision: Revision,
    pub hooks: Vec<Arc<Hook>>,
    /// The resources that rules name.
    plurals: HashSet<String>,
    /// Whether a rule names all resources.
    is_any: bool,
}

impl Snapshot {
    /// Whether a webhook may match a request, as far as rules go.
    pub fn may_match(&self, request: &AdmissionRequest<'_>) -> bool {
        (self.is_any || self.plurals.contains(request.resource().plural.as_str()))
            && self.hooks.iter().any(|hook| hook.rules.find(request, None).is_some())
    }
}

/// The webhooks of a configuration, and the revision at which it was read.
type Known = HashMap<Key, (Revision, Vec<Arc<Hook>>)>;

pub(crate) struct Source {
    kind: Kind,
    making: HookContext,
    /// `None` if the server has no such resource.
    cache: OnceLock<Option<Arc<ResourceCache>>>,
    current: ArcSwapOption<Snapshot>,
    known: Mutex<Known>,
}

impl Source {
    pub fn new(kind: Kind, making: HookContext) -> Source {
        Source { kind, making, cache: OnceLock::new(), current: ArcSwapOption::empty(), known: Mutex::default() }
    }

    pub fn making(&self) -> &HookContext {
        &self.making
    }

    /// The active webhooks; `None` if there are none.
    pub fn snapshot(&self, registry: &Registry) -> Option<Arc<Snapshot>> {
        let cache = self.cache.get_or_init(|| Some(self.target(registry)?.cache.clone())).as_ref()?;
        let state = cache.state();
        let current = self.current.load();
        let is_current = |snapshot: &Snapshot| snapshot.revision >= state.last;
        match &*current {
            Some(snapshot) if is_current(snapshot) => Some(snapshot.clone()).filter(|one| !one.hooks.is_empty()),
            _ if state.objects.is_empty() && current.is_none() => None,
            _ => Some(self.read(registry)?).filter(|snapshot| !snapshot.hooks.is_empty()),
        }
    }

    fn target(&self, registry: &Registry) -> Option<pintle_registry::Target> {
        registry.target_of(["admissionregistration.k8s.io", "v1", self.kind.plural()], "", "")
    }

    /// Parses changed configurations.
    fn read(&self, registry: &Registry) -> Option<Arc<Snapshot>> {
        let target = self.target(registry)?;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let state = target.cache.state();
        if let Some(snapshot) = self.current.load_full().filter(|snapshot| snapshot.revision >= state.last) {
            return Some(snapshot);
        }
        let mut next = Known::new();
        let mut hooks = Vec::new();
        for entry in state.objects.under(&target.storage().prefix) {
            let object = &entry.object;
            let read = match known.remove(&object.key) {
                Some((revision, read)) if revision == object.revision => read,
                // An unreadable configuration is ignored; lists report it.
                _ => match registry.decode(&target, object) {
                    Ok(configuration) => Hook::all_of(self.kind, &configuration, &self.making),
                    Err(_) => continue,
                },
            };
            hooks.extend(read.iter().cloned());
            next.insert(object.key.clone(), (object.revision, read));
        }
        *known = next;
        let plurals: HashSet<String> = hooks.iter().flat_map(|hook: &Arc<Hook>| hook.plurals.iter().cloned()).collect();
        let snapshot = Arc::new(Snapshot { revision: state.last, hooks, is_any: plurals.contains("*"), plurals });
        self.current.store(Some(snapshot.clone()));
        Some(snapshot)
    }
}
