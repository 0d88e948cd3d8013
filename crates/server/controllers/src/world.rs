//! What controllers know of the server: the kinds that are stored, and the objects in memory.
//! Guarantees that an object is found without decoding any other.
//! Must never write: that is `requests`.

use pintle_cache::Object;
use pintle_codec::json;
use pintle_kinds::resource::{Resource, Verbs};
use pintle_kinds::strategy::GarbageCollection;
use pintle_registry::{Registry, Target};
use pintle_schema::{ApiType, Value, View};
use pintle_storage::{Key, Revision};
use pintle_types::meta::v1::ObjectMeta;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Which kind, as an index into `World::kinds`.
pub type KindId = u16;

/// Where an object is.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    pub kind: KindId,
    pub key: Key,
}

/// A stored kind, seen from its storage version.
pub struct Kind {
    pub resource: &'static Resource,
    /// Its collection, in no namespace.
    pub target: Target,
}

impl Kind {
    /// Whether its objects depend on others and others on them.
    pub fn is_collected(&self) -> bool {
        self.resource.verbs.contains(Verbs::DELETE)
            && self.resource.strategy.garbage_collection != GarbageCollection::Unsupported
    }

    /// The object at a place of this kind, to be written.
    pub fn at(&self, object: &Object) -> Target {
        Target { namespace: object.namespace().to_owned(), name: object.name().to_owned(), ..self.target.clone() }
    }
}

pub struct World {
    pub registry: Arc<Registry>,
    pub kinds: Vec<Kind>,
    /// The kinds by apiVersion and kind, as owner references name them: every version of each.
    by_name: HashMap<String, HashMap<&'static str, KindId>>,
    /// Everything up to this revision that concerns the controllers has been shown to them.
    observed: AtomicU64,
}

impl World {
    /// All resources that are stored, each once.
    pub fn new(registry: Arc<Registry>) -> Self {
        let (mut kinds, mut by_prefix) = (Vec::<Kind>::new(), HashMap::new());
        let mut by_name: HashMap<String, HashMap<&'static str, KindId>> = HashMap::new();
        for resource in pintle_kinds::all() {
            let Some(storage) = &resource.storage else { continue };
            let hub = registry.hub(storage).unwrap_or(resource);
            let Some(target) = registry.target(hub, "", "") else { continue };
            let id = *by_prefix.entry(storage.prefix).or_insert_with(|| {
                kinds.push(Kind { resource: hub, target });
                KindId::try_from(kinds.len() - 1).unwrap_or(KindId::MAX)
            });
            by_name.entry(resource.api_version()).or_default().insert(resource.kind, id);
        }
        World { registry, kinds, by_name, observed: AtomicU64::new(0) }
    }

    pub fn kind(&self, id: KindId) -> Option<&Kind> {
        self.kinds.get(usize::from(id))
    }

    /// The kind of a resource, if it is stored.
    pub fn stored(&self, group: &str, plural: &str) -> Option<KindId> {
        let is_asked = |kind: &Kind| (kind.resource.group, kind.resource.plural) == (group, plural);
        KindId::try_from(self.kinds.iter().position(is_asked)?).ok()
    }

    /// The kind that an owner reference names.
    pub fn named(&self, api_version: &str, kind: &str) -> Option<&Kind> {
        self.kind(*self.by_name.get(api_version)?.get(kind)?)
    }

    /// The object at a place as it is now.
    pub fn object(&self, place: &Place) -> Option<Arc<Object>> {
        self.kind(place.kind)?.target.cache.get(&place.key)
    }

    /// Whether an object exists, readable or not.
    pub fn exists(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> bool {
        let Some(kind) = self.stored(group, plural).and_then(|id| self.kind(id)) else { return false };
        let key = Resource::key(kind.target.storage, namespace, name);
        let state = kind.target.cache.state();
        state.objects.contains_key(&key) || state.unreadable.contains_key(key.as_str())
    }

    /// An object of a resource, if it exists and can be read.
    pub fn decoded(&self, (group, plural): (&str, &str), namespace: &str, name: &str) -> Option<Value> {
        let kind = self.kind(self.stored(group, plural)?)?;
        let object = kind.target.cache.get(&Resource::key(kind.target.storage, namespace, name))?;
        self.registry.decode(&kind.target, &object).ok()
    }

    /// Those objects of a resource in a namespace that are asked for.
    pub fn decoded_in(
        &self,
        (group, plural): (&str, &str),
        namespace: &str,
        is_asked: impl Fn(&Object) -> bool,
    ) -> Vec<Value> {
        let Some(kind) = self.stored(group, plural).and_then(|id| self.kind(id)) else { return Vec::new() };
        let objects = World::content(kind, namespace).into_iter().filter(|object| is_asked(object));
        objects.filter_map(|object| self.registry.decode(&kind.target, &object).ok()).collect()
    }

    /// The objects of a kind in a namespace.
    pub fn content(kind: &Kind, namespace: &str) -> Vec<Arc<Object>> {
        let first = format!("{}{namespace}/", kind.target.storage.prefix);
        let state = kind.target.cache.state();
        state.objects.under(&first).map(|entry| entry.object.clone()).collect()
    }

    /// How many objects of a kind in a namespace cannot be read, and so cannot be deleted in the usual way.
    pub fn unreadable(kind: &Kind, namespace: &str) -> usize {
        let first = format!("{}{namespace}/", kind.target.storage.prefix);
        let state = kind.target.cache.state();
        state.unreadable.keys().filter(|key| key.starts_with(&first)).count()
    }

    pub fn observed(&self) -> Revision {
        Revision(self.observed.load(Ordering::Acquire))
    }

    pub fn set_observed(&self, revision: Revision) {
        self.observed.store(revision.0, Ordering::Release);
    }
}

/// The metadata of a stored object but for who manages which field; `Null` when the record is damaged.
///
/// Budget: some microseconds, whatever the size of the object.
pub fn metadata(object: &Object) -> Value {
    let schema = ObjectMeta::schema();
    let omitted = [(schema, ObjectMeta::MANAGED_FIELDS.name())];
    json::decode_trusted_without(schema, object.image.metadata(), &omitted).unwrap_or(Value::Null)
}

/// Whether an object is being deleted and waits for this finalizer.
pub fn waits_for(object: &Object, finalizer: &str) -> bool {
    object.image.terminating && has_finalizer(&metadata(object), finalizer)
}

pub fn has_finalizer(metadata: &Value, finalizer: &str) -> bool {
    View::<ObjectMeta>::new(metadata).field(ObjectMeta::FINALIZERS).iter().any(|name| name.as_str() == finalizer)
}
