//! `Source`: the active webhooks, from configurations in files and from the stored ones, in this order. Guarantees that a
//! snapshot is never older than the cache, and that only changed configurations are parsed again. Costs a request at most three
//! loads if nothing has changed.

use crate::Kind;
use crate::hook::{Hook, HookContext};
use arc_swap::ArcSwapOption;
use pintle_cache::ResourceCache;
use pintle_registry::{AdmissionRequest, Registry};
use pintle_schema::Value;
use pintle_storage::{Key, Revision};
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The webhooks of all configurations, in the order in which they are called.
pub(crate) struct Snapshot {
    revision: Revision,
    /// Those of configurations in files, with which it was made.
    files: Option<Arc<Snapshot>>,
    pub hooks: Vec<Arc<Hook>>,
    /// The resources that rules name.
    plurals: HashSet<String>,
    /// Whether a rule names all resources.
    is_any: bool,
}

impl Snapshot {
    fn of(revision: Revision, files: Option<Arc<Snapshot>>, hooks: Vec<Arc<Hook>>) -> Arc<Snapshot> {
        let plurals: HashSet<String> = hooks.iter().flat_map(|hook: &Arc<Hook>| hook.plurals.iter().cloned()).collect();
        Arc::new(Snapshot { revision, files, hooks, is_any: plurals.contains("*"), plurals })
    }

    /// Whether it was made with these webhooks of files.
    fn is_with(&self, files: Option<&Arc<Snapshot>>) -> bool {
        match (&self.files, files) {
            (Some(own), Some(files)) => Arc::ptr_eq(own, files),
            (own, files) => own.is_none() && files.is_none(),
        }
    }

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
    /// The webhooks of configurations in files; `None` if there are none.
    files: ArcSwapOption<Snapshot>,
    current: ArcSwapOption<Snapshot>,
    known: Mutex<Known>,
}

impl Source {
    pub fn new(kind: Kind, making: HookContext) -> Source {
        Source {
            kind,
            making,
            cache: OnceLock::new(),
            files: ArcSwapOption::empty(),
            current: ArcSwapOption::empty(),
            known: Mutex::default(),
        }
    }

    pub fn making(&self) -> &HookContext {
        &self.making
    }

    /// Replaces the configurations in files.
    pub fn set_files(&self, configurations: &[Value]) {
        let read = |configuration| Hook::all_of(self.kind, configuration, &self.making);
        let hooks: Vec<Arc<Hook>> = configurations.iter().flat_map(read).collect();
        self.files.store((!hooks.is_empty()).then(|| Snapshot::of(Revision(0), None, hooks)));
    }

    /// The webhooks of configurations in files; `None` if there are none.
    pub fn of_files(&self) -> Option<Arc<Snapshot>> {
        self.files.load_full()
    }

    /// The active webhooks; `None` if there are none.
    pub fn snapshot(&self, registry: &Registry) -> Option<Arc<Snapshot>> {
        let files = self.files.load();
        let cache = self.cache.get_or_init(|| Some(self.target(registry)?.cache.clone())).as_ref();
        let Some(cache) = cache else { return files.clone() };
        let state = cache.state();
        let current = self.current.load();
        let is_current = |snapshot: &Snapshot| snapshot.revision >= state.last && snapshot.is_with(files.as_ref());
        match &*current {
            Some(snapshot) if is_current(snapshot) => Some(snapshot.clone()).filter(|one| !one.hooks.is_empty()),
            _ if state.objects.is_empty() && current.is_none() => files.clone(),
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
        let (state, files) = (target.cache.state(), self.files.load_full());
        let is_current = |snapshot: &Arc<Snapshot>| snapshot.revision >= state.last && snapshot.is_with(files.as_ref());
        if let Some(snapshot) = self.current.load_full().filter(is_current) {
            return Some(snapshot);
        }
        let mut next = Known::new();
        let mut hooks = files.as_ref().map(|files| files.hooks.clone()).unwrap_or_default();
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
        let snapshot = Snapshot::of(state.last, files, hooks);
        self.current.store(Some(snapshot.clone()));
        Some(snapshot)
    }
}
