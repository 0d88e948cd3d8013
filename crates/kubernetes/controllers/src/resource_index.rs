//! `ResourceIndex`: the stored kinds and the cached objects, for controllers. Guarantees that an object is found
//! without decoding any other. Must never write: `requests` does.

use arc_swap::ArcSwap;
use pintle_cache::Object;
use pintle_codec::json::Members;
use pintle_registry::{Registry, Target};
use pintle_resource::{GarbageCollection, Resource, Verbs};
use pintle_schema::{Str, Value};
use pintle_storage::{Key, Revision};
use std::collections::HashMap;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use tokio::sync::Notify;

/// The member of the metadata that has the finalizers, before the list.
const FINALIZERS: &str = "\"finalizers\":";

/// Identifies a kind: a resource keeps its number for the lifetime of the server, even if it is removed and added
/// again.
pub type KindId = u32;

/// Identifies an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    pub kind: KindId,
    pub key: Key,
}

/// A stored kind, in its storage version.
pub struct Kind {
    pub resource: Arc<Resource>,
    /// Its collection in all namespaces.
    pub target: Target,
}

impl Kind {
    /// Whether the garbage collector handles its objects.
    pub fn is_collected(&self) -> bool {
        self.resource.verbs.contains(Verbs::DELETE)
            && self.resource.strategy.garbage_collection != GarbageCollection::Unsupported
    }

    /// The target of requests for an object of this kind.
    pub fn at(&self, object: &Object) -> Target {
        Target { namespace: object.namespace().to_owned(), name: object.name().to_owned(), ..self.target.clone() }
    }
}

/// The kinds at one time.
#[derive(Clone, Default)]
pub struct Kinds {
    /// The generation of their table.
    generation: u64,
    /// By their numbers; `None` for removed ones.
    kinds: Vec<Option<Arc<Kind>>>,
    by_prefix: HashMap<Str, KindId>,
    /// By apiVersion and kind, as owner references name them: every version of each.
    by_name: HashMap<String, HashMap<Str, KindId>>,
}

impl Kinds {
    /// The kinds of the current table, which keep their numbers in `self`.
    fn next(&self, registry: &Registry) -> Kinds {
        let table = registry.resources.snapshot();
        let mut next = Kinds {
            generation: table.generation(),
            kinds: vec![None; self.kinds.len()],
            by_prefix: self.by_prefix.clone(),
            by_name: HashMap::new(),
        };
        // In the order of their prefixes, so that all servers use the same order.
        let mut stored: Vec<_> = table.all_stored().filter(|stored| stored.hub.verbs != Verbs::NONE).collect();
        stored.sort_by(|a, b| (&a.hub.group, &a.hub.plural).cmp(&(&b.hub.group, &b.hub.plural)));
        for stored in stored {
            let Some(target) = registry.target(&stored.hub, "", "") else { continue };
            let new = KindId::try_from(next.kinds.len()).unwrap_or(KindId::MAX);
            let id = *next.by_prefix.entry(target.storage().prefix.clone()).or_insert(new);
            if id == new {
                next.kinds.push(None);
            }
            for version in &stored.versions {
                next.by_name.entry(version.api_version()).or_default().insert(version.kind.clone(), id);
            }
            if let Some(slot) = next.kinds.get_mut(id as usize) {
                *slot = Some(Arc::new(Kind { resource: stored.hub.clone(), target }));
            }
        }
        next
    }

    /// All kinds with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (KindId, &Arc<Kind>)> {
        (0..).zip(&self.kinds).filter_map(|(id, kind)| Some((id, kind.as_ref()?)))
    }
}

pub struct ResourceIndex {
    pub registry: Arc<Registry>,
    kinds: ArcSwap<Kinds>,
    /// By store, in the order of the cache's progress: the revision up to which the controllers have received all changes.
    observed: Vec<AtomicU64>,
    /// Notified when a controller waits for changes to be received.
    pub expected: Notify,
}

impl ResourceIndex {
    /// All resources that are stored, each once.
    pub fn new(registry: Arc<Registry>) -> Self {
        let kinds = ArcSwap::from_pointee(Kinds::default().next(&registry));
        let observed = registry.cache.progress().map(|_| AtomicU64::new(0)).collect();
        ResourceIndex { registry, kinds, observed, expected: Notify::new() }
    }

    pub fn kinds(&self) -> Arc<Kinds> {
        self.kinds.load_full()
    }

    /// Updates the kinds from the table of resources; returns those that were added since the last call.
    pub fn refresh(&self) -> Vec<(KindId, Arc<Kind>)> {
        let before = self.kinds();
        if before.generation == self.registry.resources.read().generation() {
            return Vec::new();
        }
        let now = Arc::new(before.next(&self.registry));
        self.kinds.store(now.clone());
        let is_known = |id: KindId, kind: &Kind| {
            let known = before.kinds.get(id as usize).and_then(Option::as_ref);
            known.is_some_and(|known| Arc::ptr_eq(&known.target.cache, &kind.target.cache))
        };
        now.iter().filter(|(id, kind)| !is_known(*id, kind)).map(|(id, kind)| (id, kind.clone())).collect()
    }

    /// The generation of the table whose kinds are known.
    pub fn generation(&self) -> u64 {
        self.kinds.load().generation
    }

    pub fn kind(&self, id: KindId) -> Option<Arc<Kind>> {
        self.kinds.load().kinds.get(id as usize)?.clone()
    }

    /// The kind of a resource, if it is stored.
    pub fn stored(&self, group: &str, plural: &str) -> Option<KindId> {
        let kinds = self.kinds.load();
        kinds.iter().find(|(_, kind)| kind.resource.group == group && kind.resource.plural == plural).map(|(id, _)| id)
    }

    /// The key of an object of a kind, if the kind is stored.
    pub fn place(&self, kind: KindId, namespace: &str, name: &str) -> Option<ObjectKey> {
        let key = self.kind(kind)?.target.storage().key(namespace, name).into();
        Some(ObjectKey { kind, key })
    }

    /// The kind that an owner reference names, with its number.
    pub fn named(&self, api_version: &str, kind: &str) -> Option<(KindId, Arc<Kind>)> {
        let kinds = self.kinds.load();
        let id = *kinds.by_name.get(api_version)?.get(kind)?;
        Some((id, kinds.kinds.get(id as usize)?.clone()?))
    }

    /// The current object with a key.
    pub fn object(&self, place: &ObjectKey) -> Option<Arc<Object>> {
        self.kind(place.kind)?.target.cache.get(&place.key)
    }

    /// Whether an object exists, even if it cannot be decoded.
    pub fn exists(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> bool {
        let Some(kind) = self.stored(group, plural).and_then(|id| self.kind(id)) else { return false };
        let key = kind.target.storage().key(namespace, name);
        let state = kind.target.cache.state();
        state.objects.contains_key(&key) || state.unreadable.contains_key(key.as_str())
    }

    /// An object of a resource, if it exists and can be decoded.
    pub fn decoded(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> Option<Value> {
        let kind = self.kind(self.stored(group, plural)?)?;
        let object = kind.target.cache.get(&kind.target.storage().key(namespace, name))?;
        self.registry.decode(&kind.target, &object).ok()
    }

    /// The objects of a resource in a namespace that match a predicate.
    pub fn decoded_in(
        &self,
        (group, plural): (&str, &str),
        namespace: &str,
        is_asked: impl Fn(&Object) -> bool,
    ) -> Vec<Value> {
        let Some(kind) = self.stored(group, plural).and_then(|id| self.kind(id)) else { return Vec::new() };
        let objects = ResourceIndex::content(&kind, namespace).into_iter().filter(|object| is_asked(object));
        objects.filter_map(|object| self.registry.decode(&kind.target, &object).ok()).collect()
    }

    /// The objects of a kind in a namespace.
    pub fn content(kind: &Kind, namespace: &str) -> Vec<Arc<Object>> {
        let state = kind.target.cache.state();
        state.objects.under(&ResourceIndex::prefix(kind, namespace)).map(|entry| entry.object.clone()).collect()
    }

    /// Whether a kind has an object in a namespace.
    pub fn has_content(kind: &Kind, namespace: &str) -> bool {
        kind.target.cache.state().objects.under(&ResourceIndex::prefix(kind, namespace)).next().is_some()
    }

    /// The beginning of the keys of the objects of a kind in a namespace.
    pub fn prefix(kind: &Kind, namespace: &str) -> String {
        format!("{}{namespace}/", kind.target.storage().prefix)
    }

    /// The number of objects of a kind in a namespace that cannot be decoded, and so cannot be deleted in the usual
    /// way.
    pub fn unreadable(kind: &Kind, namespace: &str) -> usize {
        let first = ResourceIndex::prefix(kind, namespace);
        let state = kind.target.cache.state();
        let from = state.unreadable.range::<_, str>((Bound::Included(&*first), Bound::Unbounded));
        from.take_while(|(key, _)| key.starts_with(&first)).count()
    }

    /// The revision of the store with this number up to which the controllers have received all changes.
    pub fn observed(&self, store: usize) -> Revision {
        Revision(self.observed.get(store).map_or(0, |observed| observed.load(Ordering::Acquire)))
    }

    /// Sets the same for all stores.
    pub fn set_observed(&self, revisions: &[Revision]) {
        for (observed, revision) in self.observed.iter().zip(revisions) {
            observed.store(revision.0, Ordering::Release);
        }
    }

    /// Whether some kinds are in stores of their own.
    pub fn has_several_stores(&self) -> bool {
        self.observed.len() > 1
    }
}

/// The finalizers of an object, as they are written in its JSON.
pub fn finalizers(object: &Object) -> impl Iterator<Item = &str> {
    let [_, finalizers] = object.encoded.ties();
    let mut items = Vec::new();
    if let Some(list) = str::from_utf8(finalizers).ok().and_then(|member| member.strip_prefix(FINALIZERS)) {
        Members::of(list).each_item(|item| items.push(item));
    }
    items.into_iter().map(|item| item.trim_matches('"'))
}

/// Whether an object is being deleted and waits for this finalizer.
pub fn waits_for(object: &Object, finalizer: &str) -> bool {
    object.encoded.terminating && has_finalizer(object, finalizer)
}

pub fn has_finalizer(object: &Object, finalizer: &str) -> bool {
    finalizers(object).any(|name| name == finalizer)
}
